"""Lesson 14b, two sentences of its audit: who carries position through layers, and is attention faster?"""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.experiments.costs import in_turn


def places_told(skip, attend, seed):
    """One word at six places, six random layers: the share of 200 new words whose places a linear map can tell.

    skip:   1 with skip connections, 0 without
    attend: 1 with attention, 0: each token goes through W_v alone; guessing is 1/6
    """
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(400, 1, 64, generator=generator) + torch.randn(6, 64, generator=generator)  # word + place
    for _ in range(6):
        W_q, W_k, W_v = torch.randn(3, 64, 64, generator=generator) / 8
        x = skip * x + (F.scaled_dot_product_attention(x @ W_q, x @ W_k, x @ W_v) if attend else x @ W_v)
    x = ((x - x.mean((0, 1))) / x.std((0, 1))).double()  # (400, 6, 64)
    places = torch.eye(6, dtype=torch.float64).repeat(200, 1)  # (1200, 6)
    probe = torch.linalg.lstsq(x[:200].flatten(0, 1), places).solution  # (64, 6)
    return ((x[200:].flatten(0, 1) @ probe).argmax(1) == places.argmax(1)).float().mean().item()


def lead_of_attention(texts, length):
    """How many times as fast one head of attention with its four matrices is as nn.RNN, both 64 wide."""
    recurrent = nn.RNN(64, 64, batch_first=True).requires_grad_(False)
    W_q, W_k, W_v, W_o = (nn.Linear(64, 64).requires_grad_(False) for _ in range(4))
    x = torch.randn(texts, length, 64)

    def attention():
        return W_o(torch.softmax(W_q(x) @ W_k(x).mT / 64**0.5, -1) @ W_v(x))  # with its (T, T) table

    taken = in_turn({"recurrence": lambda: recurrent(x), "attention": attention}, max(3, 2048 // length))
    return taken["recurrence"] / taken["attention"]
