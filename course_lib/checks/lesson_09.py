"""Lesson 09, positions: judged by Python's own binary numbers, by sines one at a time, and by where positions go."""

import math

import torch

from course_lib import positions
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import always, equivariant, given


def asked_twice(*args):
    """Twice in a row, since a kept table that was written over twice looks right again."""
    return lambda generator: [Call(args, "two calls, of which the second must not change the first result", twice=True)
                              for _ in range(2)]


# --- binary_positions -------------------------------------------------------------------------------------------


def python_bits(n, dims):
    """Each position written by Python, read from its last digit to its first."""
    texts = [format(p, "b").zfill(dims)[::-1][:dims] for p in range(n)]
    return torch.tensor([[float(digit) for digit in text] for text in texts])


# --- sinusoidal_positions ---------------------------------------------------------------------------------------


def one_sine_at_a_time(n, d):
    """Section 3.5 of the paper, number by number, in double precision."""
    table = torch.zeros(n, d, dtype=torch.float64)
    for pos in range(n):
        for i in range(d // 2):
            angle = pos / 10000 ** (2 * i / d)
            table[pos, 2 * i], table[pos, 2 * i + 1] = math.sin(angle), math.cos(angle)
    return table


def first_pair_is_plain_sine_and_cosine(output, generator):
    p = torch.arange(9.0)
    return torch.allclose(output(9, 6)[:, :2], torch.stack([p.sin(), p.cos()], 1), atol=1e-4)


def waves_get_slower(output, generator):
    steps = (output(2, 8)[1] - output(2, 8)[0])[0::2]
    return bool((steps.diff() < 0).all() and (steps > 0).all())


# --- shift_matrix -----------------------------------------------------------------------------------------------


def where_two_positions_go(k, d):
    """A 2 by 2 block is known from where two positions go. Position 0 has (sine, cosine) = (0, 1), so the second
    column is what position k has. A quarter of a turn has (1, 0), so the first column is what is k steps on from it."""
    matrix = torch.zeros(d, d, dtype=torch.float64)
    for i in range(d // 2):
        frequency = 10000 ** (-2 * i / d)
        for column, start in ((2 * i, math.pi / 2), (2 * i + 1, 0.0)):
            matrix[2 * i, column] = math.sin(start + k * frequency)
            matrix[2 * i + 1, column] = math.cos(start + k * frequency)
    return matrix


def moves_every_position(output, generator):
    table = one_sine_at_a_time(40, 6).float()
    return torch.allclose(table[:-3] @ output(3, 6).T, table[3:], atol=1e-4)


def back_undoes_on(output, generator):
    return torch.allclose(output(-4, 6) @ output(4, 6), torch.eye(6), atol=1e-4)


def steps_add_up(output, generator):
    return torch.allclose(output(2, 6) @ output(3, 6), output(5, 6), atol=1e-4)


def far_positions_arrive_if_near_ones_do(output, generator):
    M, table = output(3, 16).double(), one_sine_at_a_time(1040, 16)
    error = (table[:-3] @ M.T - table[3:]).abs().amax(1)
    return bool(error[:37].max() > 1e-2 or error.max() < 1e-3)


def pairs_do_not_mix(output, generator):
    off = 1 - torch.block_diag(*torch.ones(3, 2, 2))
    return bool((output(3, 6) * off).abs().max() < 1e-4)


EXERCISES = (
    Exercise(
        lesson="09",
        grows=(0,),  # some count up to 2**dims
        asked="a table (n, dims) of 0.0 and 1.0: row p holds the bits of p, beginning at p = 0, the lowest bit first; "
        "of a position that needs more than dims bits, only the lowest dims.",
        verified=positions.binary_positions,
        oracle=python_bits,
        examples=((6, 3), (7, 2)),
        sizes=((5, 7), (10, 4), (4, 4), (20, 3), (3, 5), (40, 12), (130, 8), (600, 10), (9, 1), (1, 5), (1, 1)),
        make=given,
        calls=asked_twice(5, 3),
        properties=(
            ("There are other numbers than 0 and 1 in the table.",
             always(given, (9, 5), lambda out, *size: ((out == 0) | (out == 1)).all())),
            ("Column 0 does not alternate 0, 1, 0, 1.",
             always(given, (8, 3), lambda out, *size: torch.equal(out[:, 0], torch.tensor([0.0, 1.0]).repeat(4)))),
            ("With the weights 1, 2, 4, 8 the bits of a row do not add up to its position.",
             always(given, (13, 4), lambda out, *size: torch.equal(out @ 2.0 ** torch.arange(4), torch.arange(13.0)))),
            ("With 3 bits, position 8 does not begin again at the code of position 0.",
             always(given, (11, 3), lambda out, *size: torch.equal(out[8:], out[:3]))),
            ("Two of the first 16 positions have the same 4 bits.",
             always(given, (16, 4), lambda out, *size: len(torch.unique(out, dim=0)) == 16)),
        ),
    ),
    Exercise(
        lesson="09",
        asked="a table (n, d): in the row of pos, from 0 to n - 1, column $2i$ is $sin(pos / 10000^(2i / d))$ and "
        "column $2i + 1$ is the cosine of the same angle.",
        verified=positions.sinusoidal_positions,
        oracle=one_sine_at_a_time,
        examples=((3, 4), (4, 6)),
        sizes=((7, 10), (5, 8), (6, 6), (64, 16), (3, 12), (100, 32), (600, 4), (2, 512), (9, 2), (1, 4), (1, 2)),
        make=given,
        calls=asked_twice(5, 4),
        properties=(
            ("The row of position 0 is not 0, 1, 0, 1, …",
             always(given, (3, 6), lambda out, *size: torch.allclose(out[0], torch.tensor([0.0, 1.0] * 3), atol=1e-5))),
            ("The squares of columns 2i and 2i + 1 do not add up to 1.",
             always(given, (9, 6), lambda out, *size: (out[:, 0::2] ** 2 + out[:, 1::2] ** 2 - 1).abs().max() < 1e-4)),
            ("The first two columns are not sin(pos) and cos(pos).", first_pair_is_plain_sine_and_cosine),
            ("From position 0 to 1 a later sine column does not rise less than the ones before it.", waves_get_slower),
            ("A longer table has other numbers for the first positions.",
             equivariant(given, (9, 6), lambda n, d: (4, d), lambda out: out[:4], 1e-5)),
        ),
    ),
    Exercise(
        lesson="09",
        asked="the one matrix M (d, d) with `PE[pos + k] = M @ PE[pos]` for every `pos`, where `PE` is the table of "
        "exercise 2: for each pair of columns a 2 by 2 block on the diagonal, and zeros elsewhere; k may be negative.",
        verified=positions.shift_matrix,
        oracle=where_two_positions_go,
        examples=((2, 4), (-1, 4)),
        sizes=((5, 6), (-3, 8), (0, 6), (7, 2), (1, 10), (4, 4), (-40, 16), (60, 8), (3, 64), (2, 2), (1, 2), (0, 2)),
        make=given,
        calls=asked_twice(3, 4),
        properties=(
            ("For k = 3 and d = 16 the first 37 positions arrive where they should, and far ones do not.",
             far_positions_arrive_if_near_ones_do),
            ("For k = 0 it is not the identity.",
             always(given, (0, 6), lambda out, *size: torch.allclose(out, torch.eye(6), atol=1e-5))),
            ("Outside the 2 by 2 blocks on the diagonal not all is 0.", pairs_do_not_mix),
            ("It changes the length of a vector.",
             always(given, (3, 6), lambda out, *size: torch.allclose(out @ out.T, torch.eye(6), atol=1e-4))),
            ("2 steps and then 3 are not 5 steps.", steps_add_up),
            ("-4 steps do not undo 4 steps.", back_undoes_on),
            ("For k = 3 and d = 6 not every one of the first 37 positions arrives three positions on.",
             moves_every_position),
        ),
    ),
)
