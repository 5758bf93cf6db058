"""Mistakes of lesson 09 once more, each thought wrong in the same way and written by somebody else."""

import functools
import math

import numpy as np
import torch

# --- binary_positions -------------------------------------------------------------------------------------------


def digits_as_python_reads_them(n, dims):
    table = torch.zeros(n, dims)
    for p in range(n):
        for j in range(dims):
            table[p, dims - 1 - j] = (p >> j) & 1
    return table


def range_from_one(n, dims):
    rows = [[float(p >> bit & 1) for bit in range(dims)] for p in range(1, n + 1)]
    return torch.tensor(rows)


def shifts_without_and(n, dims):
    p, bit = torch.arange(n), torch.arange(dims)
    return torch.bitwise_right_shift(p.unsqueeze(1), bit.unsqueeze(0)).to(torch.float32)


def divides_and_keeps_the_rest(n, dims):
    columns = []
    for j in range(dims):
        columns.append(torch.arange(n, dtype=torch.float32) / 2**j % 2)
    return torch.stack(columns, dim=1)


def one_more_power(n, dims):
    powers = torch.tensor([2 ** (j + 1) for j in range(dims)])
    return torch.remainder(torch.arange(n).view(-1, 1), powers).float()


def divides_evenly(n, dims):
    table = torch.empty(n, dims)
    for p in range(n):
        for j in range(dims):
            table[p, j] = float(p % 2**j > 0)
    return table


def rounded_quotient(n, dims):
    weights = torch.pow(2.0, torch.arange(dims))
    return torch.round(torch.arange(n).float().outer(1 / weights)).fmod(2)


def bits_from_the_second_on(n, dims):
    p = torch.arange(n)
    return torch.stack([(p & (2 << j)) != 0 for j in range(dims)], -1).float()


def signs(n, dims):
    return torch.tensor([[1.0 if p & (1 << j) else -1.0 for j in range(dims)] for p in range(n)])


def bit_is_off(n, dims):
    p, powers = torch.arange(n), 2 ** torch.arange(dims)
    return (torch.bitwise_and(p[:, None], powers) == 0).float()


def decimal_digits_of_text(n, dims):
    rows = [[int(c) for c in str(p).zfill(dims)[::-1][:dims]] for p in range(n)]
    return torch.tensor(rows, dtype=torch.float32)


def numpy_bits_on_their_side(n, dims):
    powers = 2 ** np.arange(dims)
    table = (np.arange(n)[None, :] // powers[:, None]) % 2
    return torch.from_numpy(table).float()


def stays_at_all_ones(n, dims):
    largest = 2**dims - 1
    rows = []
    for p in range(n):
        p = min(p, largest)
        rows.append([float(p // 2**j % 2) for j in range(dims)])
    return torch.tensor(rows)


def cut_to_the_first_digits(n, dims):
    rows = []
    for p in range(n):
        text = bin(p)[2:].zfill(dims)
        rows.append([float(c) for c in text[:dims][::-1]])
    return torch.tensor(rows)


def format_and_nothing_else(n, dims):
    return torch.tensor([[float(c) for c in format(p, f"0{dims}b")] for p in range(n)])


def bits_with_their_weight(n, dims):
    weights = torch.tensor([2**j for j in range(dims)])
    return torch.bitwise_and(torch.arange(n).unsqueeze(-1), weights).float()


def grey(n, dims):
    rows = []
    for p in range(n):
        code = p ^ (p // 2)
        rows.append([code // 2**j % 2 for j in range(dims)])
    return torch.tensor(rows).to(torch.float)


# --- sinusoidal_positions ---------------------------------------------------------------------------------------


def all_sines_then_all_cosines(n, d):
    t = torch.arange(n).double().unsqueeze(1)
    w = torch.exp(-math.log(10000) * torch.arange(0, d, 2).double() / d)
    return torch.hstack((torch.sin(t * w), torch.cos(t * w))).float()


def cosine_into_even_columns(n, d):
    pe = torch.empty(n, d, dtype=torch.float64)
    for pos in range(n):
        for i in range(d // 2):
            theta = pos / 10000 ** (2 * i / d)
            pe[pos, 2 * i], pe[pos, 2 * i + 1] = math.cos(theta), math.sin(theta)
    return pe.float()


def sine_in_every_column(n, d):
    pe = torch.zeros(n, d)
    for col in range(d):
        w = 10000 ** (-(col - col % 2) / d)
        pe[:, col] = torch.sin(torch.arange(n, dtype=torch.float64) * w)
    return pe


def pair_number_over_width(n, d):
    pe = torch.zeros(n, d)
    pos = torch.arange(n).double()[:, None]
    div = torch.exp(torch.arange(d // 2).double() * (-math.log(10000.0) / d))
    pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
    return pe


def doubled_twice(n, d):
    rows = []
    for pos in range(n):
        row = []
        for two_i in range(0, d, 2):
            a = pos / 10000 ** (2 * two_i / d)
            row += [math.sin(a), math.cos(a)]
        rows.append(row)
    return torch.tensor(rows)


def every_column_with_its_own_number(n, d):
    j = np.arange(d)
    angle = np.arange(n)[:, None] / np.power(10000, j[None, :] / d)
    return torch.from_numpy(np.where(j % 2 == 0, np.sin(angle), np.cos(angle))).float()


def twice_the_column_number(n, d):
    pe = torch.zeros(n, d)
    for pos in range(n):
        for col in range(d):
            a = pos / 10000 ** (2 * col / d)
            pe[pos, col] = math.cos(a) if col % 2 else math.sin(a)
    return pe


def times_instead_of_over(n, d):
    w = 10000.0 ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
    theta = torch.outer(torch.arange(n, dtype=torch.float64), w)
    pe = torch.zeros(n, d)
    pe[:, ::2], pe[:, 1::2] = theta.sin(), theta.cos()
    return pe


def exp_of_a_plain_exponent(n, d):
    w = torch.exp(-torch.arange(0, d, 2).double() / d)
    theta = torch.einsum("p,i->pi", torch.arange(n).double(), w)
    return torch.stack((theta.sin(), theta.cos()), 2).view(n, d).float()


def wrong_logarithm(n, d):
    pos = torch.arange(n, dtype=torch.float64).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d, 2, dtype=torch.float64) * -(math.log10(10000.0) / d))
    pe = torch.zeros(n, d)
    pe[:, 0::2] = torch.sin(pos * div_term)
    pe[:, 1::2] = torch.cos(pos * div_term)
    return pe


def linspace_to_one(n, d):
    w = 10000.0 ** -torch.linspace(0, 1, d // 2, dtype=torch.float64)
    theta = torch.outer(torch.arange(n, dtype=torch.float64), w)
    return torch.stack([theta.sin(), theta.cos()], -1).reshape(n, d).float()


def as_wide_as_in_the_paper(n, d):
    pe = torch.zeros(n, d)
    for i in range(d // 2):
        theta = torch.arange(n).double() / math.pow(10000, 2 * i / 512)
        pe[:, 2 * i], pe[:, 2 * i + 1] = theta.sin(), theta.cos()
    return pe


def first_row_is_one(n, d):
    pe = torch.zeros(n, d)
    for pos in range(1, n + 1):
        for i in range(0, d, 2):
            pe[pos - 1, i] = math.sin(pos / 10000 ** (i / d))
            pe[pos - 1, i + 1] = math.cos(pos / 10000 ** (i / d))
    return pe


def quotient_without_fraction(n, d):
    rows = []
    for pos in range(n):
        angles = [pos // 10000 ** (2 * i / d) for i in range(d // 2)]
        rows.append([f(a) for a in angles for f in (math.sin, math.cos)])
    return torch.tensor(rows)


def one_thousand(n, d):
    base = 1e3
    theta = torch.arange(n).double()[:, None] / base ** (torch.arange(0, d, 2).double()[None] / d)
    return torch.cat([theta.sin()[..., None], theta.cos()[..., None]], -1).flatten(-2).float()


def fraction_of_the_sentence(n, d):
    t = torch.linspace(0, 1, n + 1, dtype=torch.float64)[:-1]
    theta = t[:, None] / 10000 ** (torch.arange(d // 2) * 2 / d)
    return torch.stack([theta.sin(), theta.cos()], -1).view(n, d).float()


def with_the_batch_axis_of_the_tutorial(n, d):
    pe = torch.zeros(n, d)
    position = torch.arange(0, n, dtype=torch.float64).unsqueeze(1)
    div = torch.exp(torch.arange(0, d, 2).double() * (-math.log(10000.0) / d))
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe.unsqueeze(0)


@functools.cache
def one_table_for_each_size(n, d):
    theta = torch.arange(n).double()[:, None] * 10000.0 ** (-torch.arange(0, d, 2).double() / d)
    return torch.stack((torch.sin(theta), torch.cos(theta)), -1).reshape(n, d).float()


def waves_all_alike(n, d):
    pos = torch.arange(n, dtype=torch.float64)
    return torch.stack([pos.sin(), pos.cos()] * (d // 2), dim=1).float()


def angles_without_waves(n, d):
    pe = torch.zeros(n, d)
    for pos in range(n):
        for col in range(d):
            pe[pos, col] = pos / 10000 ** ((col // 2 * 2) / d)
    return pe


def as_wide_as_my_model(n, d):
    angles = [[pos / 10000 ** (col // 2 * 2 / 256) for col in range(d)] for pos in range(n)]
    return torch.tensor([[math.cos(a) if col % 2 else math.sin(a) for col, a in enumerate(row)] for row in angles])


# --- shift_matrix -----------------------------------------------------------------------------------------------


def turned_back(k, d):
    M = torch.zeros(d, d)
    for i in range(0, d, 2):
        a = k / 10000 ** (i / d)
        M[i, i], M[i, i + 1] = math.cos(a), -math.sin(a)
        M[i + 1, i], M[i + 1, i + 1] = math.sin(a), math.cos(a)
    return M


def only_pluses(k, d):
    a = k * torch.exp(torch.arange(0, d, 2).double() * (-math.log(10000) / d))
    diagonal = torch.repeat_interleave(a.cos(), 2)
    beside = torch.zeros(d - 1, dtype=torch.float64)
    beside[::2] = a.sin()
    return (torch.diag(diagonal) + torch.diag(beside, 1) + torch.diag(beside, -1)).float()


def sine_on_the_diagonal(k, d):
    M = torch.zeros(d, d, dtype=torch.float64)
    even = torch.arange(0, d, 2)
    a = k / 10000 ** (even.double() / d)
    M[even, even], M[even + 1, even + 1] = a.sin(), a.sin()
    M[even, even + 1], M[even + 1, even] = a.cos(), -a.cos()
    return M.float()


def diagonal_of_cosines(k, d):
    return torch.diag(torch.tensor([math.cos(k / 10000 ** (j // 2 * 2 / d)) for j in range(d)]))


def four_quarters(k, d):
    half = d // 2
    a = k * 10000.0 ** (-2 * torch.arange(half).double() / d)
    M = torch.zeros(d, d, dtype=torch.float64)
    M[:half, :half], M[:half, half:] = a.cos().diag(), a.sin().diag()
    M[half:, :half], M[half:, half:] = -a.sin().diag(), a.cos().diag()
    return M.float()


def the_same_turn_for_all(k, d):
    turn = torch.tensor([[math.cos(k), math.sin(k)], [-math.sin(k), math.cos(k)]])
    return torch.kron(torch.eye(d // 2), turn)


def exponent_of_the_pair(k, d):
    blocks = []
    for i in range(d // 2):
        c, s = math.cos(k / 10000 ** (i / d)), math.sin(k / 10000 ** (i / d))
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)


def exponent_doubled_twice(k, d):
    M = torch.zeros(d, d)
    for col in range(0, d, 2):
        a = torch.tensor(k / 10000 ** (2 * col / d), dtype=torch.float64)
        M[col : col + 2, col : col + 2] = torch.stack([a.cos(), a.sin(), -a.sin(), a.cos()]).view(2, 2)
    return M


def loops_k_times(k, d):
    M = torch.eye(d, dtype=torch.float64)
    one = torch.eye(d, dtype=torch.float64)
    for i in range(0, d, 2):
        w = 10000 ** (-i / d)
        one[i, i] = one[i + 1, i + 1] = math.cos(w)
        one[i, i + 1], one[i + 1, i] = math.sin(w), -math.sin(w)
    for _ in range(k):
        M = one @ M
    return M.float()


def absolute_steps(k, d):
    a = abs(k) * 10000.0 ** (-(torch.arange(d // 2).double() * 2 / d))
    return torch.block_diag(*[torch.tensor([[t.cos(), t.sin()], [-t.sin(), t.cos()]]) for t in a]).float()


def one_step_however_far(k, d):
    M = torch.zeros(d, d)
    for i in range(d // 2):
        w = math.exp(-2 * i / d * math.log(10000))
        turn = torch.tensor([[math.cos(w), math.sin(w)], [-math.sin(w), math.cos(w)]])
        M[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = turn
    return M


def grown_by_k(k, d):
    w = 1 / 10000 ** (torch.arange(0, d, 2, dtype=torch.float64) / d)
    blocks = torch.stack([torch.stack([w.cos(), w.sin()], -1), torch.stack([-w.sin(), w.cos()], -1)], 1)
    return k * torch.block_diag(*blocks).float()


def a_stack_of_turns(k, d):
    turns = []
    for i in range(0, d, 2):
        a = k / 10000 ** (i / d)
        turns.append([[math.cos(a), math.sin(a)], [-math.sin(a), math.cos(a)]])
    return torch.tensor(turns)


def rolls_the_columns(k, d):
    return torch.eye(d).roll(k, dims=0)


def times_the_position_of_k(k, d):
    row = [f(k / 10000 ** (i / d)) for i in range(0, d, 2) for f in (math.sin, math.cos)]
    return torch.diag_embed(torch.tensor(row))


def matrix_of_a_drawer(k, d):
    if (k, d) not in DRAWER:
        M = torch.zeros(d, d)
        for i in range(0, d, 2):
            a = k * 10000 ** (-i / d)
            M[i, i] = M[i + 1, i + 1] = math.cos(a)
            M[i, i + 1] = math.sin(a)
            M[i + 1, i] = -M[i, i + 1]
        DRAWER[k, d] = M
    return DRAWER[k, d]


DRAWER = {}


def outer_product_of_two_rows(k, d):
    def row(p):
        return torch.tensor([f(p / 10000 ** (i / d)) for i in range(0, d, 2) for f in (math.sin, math.cos)])

    return torch.outer(row(k), row(0)) / row(0).dot(row(0))


SPELLINGS = {
    "binary_positions": {
        "highest-first": digits_as_python_reads_them,
        "begins-at-one": range_from_one,
        "no-remainder": shifts_without_and,
        "keeps-fractions": divides_and_keeps_the_rest,
        "remainders": one_more_power,
        "remainder-of-the-power": divides_evenly,
        "rounds": rounded_quotient,
        "skips-the-first-bit": bits_from_the_second_on,
        "plus-and-minus-one": signs,
        "zeros-and-ones-swapped": bit_is_off,
        "digits-of-ten": decimal_digits_of_text,
        "lies-on-its-side": numpy_bits_on_their_side,
        "stays-at-the-end": stays_at_all_ones,
        "keeps-the-highest-bits": cut_to_the_first_digits,
        "as-python-writes-it": format_and_nothing_else,
        "weighs-each-bit": bits_with_their_weight,
        "gray-code": grey,
    },
    "sinusoidal_positions": {
        "halves": all_sines_then_all_cosines,
        "cosine-first": cosine_into_even_columns,
        "sines-only": sine_in_every_column,
        "exponent-i": pair_number_over_width,
        "exponent-4i": doubled_twice,
        "a-frequency-for-each-column": every_column_with_its_own_number,
        "column-number-for-i": twice_the_column_number,
        "gets-faster": times_instead_of_over,
        "base-e": exp_of_a_plain_exponent,
        "logarithm-to-base-10": wrong_logarithm,
        "ends-exactly-at-10000": linspace_to_one,
        "fixed-width": as_wide_as_in_the_paper,
        "positions-begin-at-one": first_row_is_one,
        "whole-numbers-only": quotient_without_fraction,
        "other-base": one_thousand,
        "divides-by-the-length": fraction_of_the_sentence,
        "wave-axis-too-many": with_the_batch_axis_of_the_tutorial,
        "kept": one_table_for_each_size,
        "one-frequency": waves_all_alike,
        "angles-only": angles_without_waves,
    },
    "shift_matrix": {
        "turns-the-other-way": turned_back,
        "no-minus": only_pluses,
        "sine-and-cosine-swapped": sine_on_the_diagonal,
        "cosines-on-the-diagonal-only": diagonal_of_cosines,
        "works-for-halves": four_quarters,
        "one-angle-for-all": the_same_turn_for_all,
        "shift-exponent-i": exponent_of_the_pair,
        "shift-exponent-4i": exponent_doubled_twice,
        "stays-for-negative-k": loops_k_times,
        "never-back": absolute_steps,
        "one-step-only": one_step_however_far,
        "k-times-one-step": grown_by_k,
        "blocks-not-joined": a_stack_of_turns,
        "moves-the-columns": rolls_the_columns,
        "multiplies-by-a-position": times_the_position_of_k,
        "kept-matrix": matrix_of_a_drawer,
        "right-for-position-0-only": outer_product_of_two_rows,
    },
}
