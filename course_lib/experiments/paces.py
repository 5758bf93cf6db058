"""Lesson 12: how long a recurrence and an attention take for a training step, beside each other."""

import torch
from torch import nn

from course_lib.attention import MultiHeadAttention, scaled_dot_product_attention
from course_lib.experiments.costs import in_turn
from course_lib.masks import causal_mask

WIDTH = 64


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

    Both run about `numbers` tokens in all and at least three times; of each the shortest time is kept.
    """
    torch.manual_seed(0)
    layers = {"recurrence": Recurrent(WIDTH, WIDTH, batch_first=True), "attention": Textbook(WIDTH, 4)}
    taken = {name: [] for name in layers}
    for T in lengths:
        x = torch.randn(texts, T, WIDTH)
        steps = {name: lambda layer=layer, x=x: layer(x).sum().backward() for name, layer in layers.items()}
        for name, seconds in in_turn(steps, max(numbers // T, 3)).items():
            taken[name].append(seconds)
    return taken


def exponent(lengths, seconds):
    """The power of the length that the time grows with: the slope of a line through the logarithms."""
    x, y = (torch.tensor(values, dtype=torch.float64).log() for values in (lengths, seconds))
    x = x - x.mean()
    return ((x * y).sum() / x.square().sum()).item()
