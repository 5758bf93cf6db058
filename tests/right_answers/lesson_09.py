"""Right answers of lesson 09 in other people's styles."""

import math

import numpy as np
import torch


def bits_by_loop(n, dims):
    table = torch.zeros(n, dims)
    for p in range(n):
        rest = p
        for j in range(dims):
            table[p, j] = rest % 2
            rest //= 2
    return table


def bits_by_halving(n, dims):
    rest, columns = torch.arange(n), []
    for _ in range(dims):
        columns.append(rest % 2)
        rest = rest.div(2, rounding_mode="floor")
    return torch.stack(columns, dim=-1).to(torch.float32)


def bits_by_repetition(n, dims):
    return torch.stack([torch.tensor([0.0, 1.0]).repeat_interleave(2**j).repeat(n // 2 ** (j + 1) + 1)[:n]
                        for j in range(dims)], 1)


def bits_by_numpy(n, dims):
    bits = np.unpackbits(np.arange(n, dtype="<u8").view(np.uint8).reshape(n, 8), axis=1, bitorder="little")
    return torch.from_numpy(bits[:, :dims].astype(np.float32))


def waves_by_loop(n, d):
    table = torch.empty(n, d)
    for pos in range(n):
        for column in range(d):
            angle = pos / 10000 ** ((column - column % 2) / d)
            table[pos, column] = math.cos(angle) if column % 2 else math.sin(angle)
    return table


def waves_as_annotated(n, d):
    """In float32 throughout, through exp and log."""
    table = torch.zeros(n, d)
    position = torch.arange(0, n).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d, 2) * -(math.log(10000.0) / d))
    table[:, 0::2] = torch.sin(position * div_term)
    table[:, 1::2] = torch.cos(position * div_term)
    return table


def waves_in_float32(n, d):
    p, i = torch.arange(n, dtype=torch.float32), torch.arange(d // 2, dtype=torch.float32)
    angle = p[:, None] / torch.pow(10000.0, 2 * i / d)
    return torch.stack((torch.sin(angle), torch.cos(angle)), dim=2).reshape(n, d)


def waves_by_phase(n, d):
    """A cosine is a sine a quarter of a turn on."""
    column = torch.arange(d)
    angle = torch.arange(n)[:, None] * 10000.0 ** -(column // 2 * 2 / d)
    return torch.sin(angle + math.pi / 2 * (column % 2))


def waves_as_complex_numbers(n, d):
    turns = torch.polar(torch.ones(n, d // 2, dtype=torch.float64),
                        torch.einsum("n,i->ni", torch.arange(n).double(), 1e4 ** -(torch.arange(0, d, 2).double() / d)))
    return torch.view_as_real(turns).flip(-1).reshape(n, d).float()


def waves_step_by_step(n, d):
    """Each position is the one before it, turned."""
    hand = torch.polar(torch.ones(d // 2, dtype=torch.float64), 10000.0 ** -(torch.arange(0, d, 2).double() / d))
    rows, now = [], torch.ones(d // 2, dtype=torch.complex128)
    for _ in range(n):
        rows.append(torch.stack([now.imag, now.real], 1).flatten())
        now = now * hand
    return torch.stack(rows).to(torch.float32)


def waves_by_numpy(n, d):
    angle = np.arange(n)[:, None] / np.power(10000, 2 * (np.arange(d) // 2) / d)
    angle[:, 0::2], angle[:, 1::2] = np.sin(angle[:, 0::2]), np.cos(angle[:, 1::2])
    return torch.from_numpy(angle).float()


def waves_by_log_spaces(n, d):
    frequency = torch.logspace(0, -4 * (d - 2) / d, d // 2)
    angle = torch.outer(torch.arange(n, dtype=torch.float), frequency)
    return torch.cat([angle.sin()[..., None], angle.cos()[..., None]], -1).view(n, d)


def shift_by_loop(k, d):
    M = torch.zeros(d, d)
    for i in range(0, d, 2):
        w = k / 10000 ** (i / d)
        M[i, i], M[i, i + 1] = math.cos(w), math.sin(w)
        M[i + 1, i], M[i + 1, i + 1] = -math.sin(w), math.cos(w)
    return M


def shift_by_diagonals(k, d):
    """In float32 throughout."""
    angle = k * torch.exp(-math.log(10000.0) * torch.arange(0, d, 2) / d)
    sin = torch.stack([angle.sin(), torch.zeros_like(angle)], 1).flatten()[:-1]
    return torch.diag(angle.cos().repeat_interleave(2)) + torch.diag(sin, 1) - torch.diag(sin, -1)


def shift_by_matrix_exponential(k, d):
    """A turn is the exponential of a small turn."""
    M = torch.zeros(d, d, dtype=torch.float64)
    even = torch.arange(0, d, 2)
    M[even, even + 1] = 10000.0 ** -(even.double() / d)
    return torch.matrix_exp(k * (M - M.T)).float()


def shift_by_powers_of_one_step(k, d):
    return torch.linalg.matrix_power(shift_by_loop(1, d), k)


def shift_by_slices(k, d):
    w = k * 10000 ** (-2 * torch.arange(d // 2) / d)
    M = torch.zeros(d // 2, 2, d // 2, 2)
    i = torch.arange(d // 2)
    M[i, 0, i, 0] = M[i, 1, i, 1] = w.cos()
    M[i, 0, i, 1], M[i, 1, i, 0] = w.sin(), -w.sin()
    return M.reshape(d, d)


def shift_by_transposed_rotation(k, d):
    """The rotation of the textbooks, turned round since sine stands above cosine here."""
    R = [torch.tensor([[math.cos(a), -math.sin(a)], [math.sin(a), math.cos(a)]])
         for a in (k / 10000 ** (2 * i / d) for i in range(d // 2))]
    return torch.block_diag(*R).T


def shift_by_kronecker(k, d):
    frequency = torch.diag(10000.0 ** -(torch.arange(0, d, 2, dtype=torch.float64) / d))
    angle = k * frequency.diagonal()
    quarter = torch.tensor([[0.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
    return (torch.kron(torch.diag(angle.cos()), torch.eye(2, dtype=torch.float64))
            + torch.kron(torch.diag(angle.sin()), quarter)).float()


RIGHT_ANSWERS = {
    "binary_positions": {
        "loop": bits_by_loop,
        "halving": bits_by_halving,
        "shift and mask": lambda n, dims: ((torch.arange(n)[:, None] >> torch.arange(dims)) & 1).float(),
        "bitwise and": lambda n, dims: torch.arange(n).unsqueeze(1).bitwise_and(2 ** torch.arange(dims)).ne(0).float(),
        "Python's format": lambda n, dims: torch.tensor([[float(b) for b in f"{p % 2**dims:0{dims}b}"[::-1]]
                                                         for p in range(n)]),
        "floor of floats": lambda n, dims: torch.floor(torch.arange(n)[:, None] / 2.0 ** torch.arange(dims)) % 2,
        "repetition": bits_by_repetition,
        "numpy": bits_by_numpy,
        "remainder at least half": lambda n, dims: torch.stack(
            [(torch.arange(n) % 2 ** (j + 1) >= 2**j).float() for j in range(dims)], -1),
    },
    "sinusoidal_positions": {
        "loop": waves_by_loop,
        "annotated": waves_as_annotated,
        "float32 throughout": waves_in_float32,
        "phase": waves_by_phase,
        "complex numbers": waves_as_complex_numbers,
        "step by step": waves_step_by_step,
        "numpy": waves_by_numpy,
        "logspace": waves_by_log_spaces,
    },
    "shift_matrix": {
        "loop": shift_by_loop,
        "diagonals": shift_by_diagonals,
        "matrix exponential": shift_by_matrix_exponential,
        "powers of one step": shift_by_powers_of_one_step,
        "slices": shift_by_slices,
        "transposed rotation": shift_by_transposed_rotation,
        "kronecker": shift_by_kronecker,
    },
}
