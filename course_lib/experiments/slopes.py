"""Lesson 04: how much slope is left in a softmax over widths, and in a product of slopes over layers and over time."""

import torch
from torch import nn


def jacobian(p):
    """All slopes of a softmax whose output is p: (..., N) -> (..., N, N)."""
    return torch.diag_embed(p) - p[..., :, None] * p[..., None, :]


def over_width(width, scaled, seed, draws=2000):
    """For many random queries among eight random inputs: the norm of the Jacobian, and the lead of the best score.

    returns: (draws,) Frobenius norms, (draws,) differences between the largest score and the next
    """
    draw = torch.Generator().manual_seed(seed)
    query, x = torch.randn(draws, width, 1, generator=draw), torch.randn(draws, 8, width, generator=draw)
    scores = (x @ query)[..., 0] / (width**0.5 if scaled else 1)  # (draws, N)
    first, second = scores.topk(2).values.T
    return jacobian(torch.softmax(scores, -1)).flatten(1).norm(dim=1), first - second


def over_layers(std, skip, seed, layers=8):
    """Ten scores go through softmax after softmax: the most that is left of a gradient after 1, 2, 3, ... layers.

    std:     standard deviation of the scores that every softmax gets
    skip:    True adds the input to what each layer gives, so that 1 is added to the slopes
    returns: list, the largest factor by which the product of the Jacobians stretches any gradient
    """
    draw = torch.Generator().manual_seed(seed)
    product, factors = torch.eye(10), []
    for _ in range(layers):
        slopes = jacobian(torch.softmax(std * torch.randn(10, generator=draw), 0))  # (N, N)
        product = (slopes + skip * torch.eye(10)) @ product
        factors.append(torch.linalg.matrix_norm(product, 2).item())
    return factors


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
