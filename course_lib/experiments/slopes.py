"""Lesson 03: how much of a gradient is left in a recurrent network, step by step back in time."""

import torch
from torch import nn


def over_time(kind, seed, steps=50, width=32, kept=0.993):
    """A recurrent network reads noise: the most that is left of a gradient 1, 2, 3, ... steps back.

    kind:    "tanh", "tanh, orthogonal", "tanh, a fixed share kept", "gates, as torch starts them" or
             "gates, held open"
    kept:    of the old state, by the third of them, whatever comes: no gate decides
    returns: list, the largest factor by which the product of the slopes stretches any gradient
    """
    torch.manual_seed(seed)
    cell = (nn.GRUCell if "gates" in kind else nn.RNNCell)(8, width)
    if kind == "tanh, orthogonal":
        nn.init.orthogonal_(cell.weight_hh)  # turns a state, and neither stretches nor shrinks it
    if kind == "gates, held open":
        cell.bias_hh.data[width : 2 * width] += 5  # z near 1: the new state is nearly the old one
    kept = kept if "share" in kind else 0
    state, product, factors = torch.zeros(width), torch.eye(width), []
    for x in torch.randn(steps, 8):
        slopes = torch.autograd.functional.jacobian(lambda old: cell(x, old), state)  # noqa: B023 - asked at once
        slopes = (1 - kept) * slopes + kept * torch.eye(width)
        state, product = ((1 - kept) * cell(x, state) + kept * state).detach(), slopes @ product
        factors.append(torch.linalg.matrix_norm(product, 2).item())
    return factors
