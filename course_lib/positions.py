"""Positions: numbers that tell a Transformer where a token stands."""

import functools

import torch


def binary_positions(n, dims):
    """Write the positions 0 to n - 1 as binary numbers, one per row.

    n:       number of positions
    dims:    number of bits; a position beyond 2**dims - 1 keeps its lowest bits only
    returns: (n, dims) float32, zeros and ones, the least significant bit first:
             column 0 alternates fastest
    """
    position = torch.arange(n)[:, None]  # (n, 1)
    return (position // 2 ** torch.arange(dims) % 2).float()  # (n, dims)


def sinusoidal_positions(n, d):
    """Give the positions 0 to n - 1 a pattern of waves, from fast to slow.

    n:       number of positions
    d:       width, even
    returns: (n, d) float32 between -1 and 1; column 2i is sin(pos / 10000**(2i / d)),
             column 2i + 1 the cosine of it

    Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
    """
    # Radians per step, (d / 2,)
    frequency = 10000.0 ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = torch.arange(n)[:, None] * frequency  # (n, d / 2)
    # Sine and cosine in turn, (n, d)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


@functools.lru_cache(maxsize=16)
def cached_positions(n, d, dtype, device):
    """sinusoidal_positions(n, d) in a model's type and on its device, worked out once.

    returns: (n, d), the same tensor for the same arguments: never change it in place
    """
    return sinusoidal_positions(n, d).to(device, dtype)


def shift_matrix(k, d):
    """The one matrix that moves every sinusoidal position k steps on.

    k:       steps, of any sign
    d:       width, even
    returns: (d, d) float32, the M with PE[pos + k] = M @ PE[pos] for every pos: one
             rotation by k / 10000**(2i / d) for each pair of columns 2i and 2i + 1,
             and zeros elsewhere

    By the addition theorems of sine and cosine; claimed in Vaswani et al. 2017,
    arXiv:1706.03762, section 3.5.
    """
    # Radians, (d / 2,)
    angle = k * 10000.0 ** -(torch.arange(0, d, 2, dtype=torch.float64) / d)
    sin, cos = angle.sin(), angle.cos()
    # One rotation for each pair of columns, (d / 2, 2, 2)
    turns = torch.stack([cos, sin, -sin, cos], dim=-1).unflatten(-1, (2, 2))
    return torch.block_diag(*turns).float()  # (d, d)
