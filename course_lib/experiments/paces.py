"""Lesson 12: how long a recurrence and an attention take for a training step, beside each other."""

import os
import time

import torch
from torch import nn

from course_lib.attention import MultiHeadAttention, scaled_dot_product_attention
from course_lib.masks import causal_mask

WIDTH = 64
# The processor's time, in which other programs are not; on Windows it ticks too slowly.
CLOCK = time.perf_counter if os.name == "nt" else time.thread_time


class Textbook(MultiHeadAttention):
    """Version 6 word for word: it keeps every score, (B, H, T, T)."""

    def forward(self, x):
        """(B, T, d_model) -> the same shape; each token looks back."""
        q, k, v = (W(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for W in (self.W_q, self.W_k, self.W_v))
        out = scaled_dot_product_attention(q, k, v, causal_mask(x.shape[1]))  # (B, H, T, d_head)
        return self.W_o(out.transpose(1, 2).flatten(2))


class Recurrent(nn.GRU):
    """A GRU of the same width."""

    def forward(self, x):
        """(B, T, d_model) -> the same shape."""
        return super().forward(x)[0]


def beside_each_other(lengths, texts=1, numbers=4096):
    """Seconds of a training step, forward and backward: {"recurrence": one per length, "attention": likewise}.

    Both run in turn, so that a busy moment hits both, about `numbers` tokens in all and at least three times; of each
    the shortest time is kept.
    """
    torch.manual_seed(0)
    layers = {"recurrence": Recurrent(WIDTH, WIDTH, batch_first=True), "attention": Textbook(WIDTH, 4)}
    taken = {name: [] for name in layers}
    for T in lengths:
        rounds = [[_seconds(layer, T, texts) for layer in layers.values()] for _ in range(max(numbers // T, 3))]
        for name, times in zip(layers, zip(*rounds, strict=True), strict=True):
            taken[name].append(min(times))
    return taken


def _seconds(layer, T, texts):
    x, start = torch.randn(texts, T, WIDTH), CLOCK()
    layer(x).sum().backward()
    return CLOCK() - start


def exponent(lengths, seconds):
    """The power of the length that the time grows with: the slope of a line through the logarithms."""
    x, y = (torch.tensor(values, dtype=torch.float64).log() for values in (lengths, seconds))
    x = x - x.mean()
    return ((x * y).sum() / x.square().sum()).item()
