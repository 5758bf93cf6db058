"""Lesson 06: how many heads does a task with two answers need, for how many steps, and how wide must their keys be?"""

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.experiments.plan import Plan, grid
from course_lib.training import fit


class Attention(nn.Module):
    """Multi-head attention whose heads may have keys and values of different widths."""

    def __init__(self, heads, d_k, d_v, d_model=32):
        super().__init__()
        self.heads = heads
        self.W_q, self.W_k = (nn.Linear(d_model, heads * d_k) for _ in range(2))
        self.W_v, self.W_o = nn.Linear(d_model, heads * d_v), nn.Linear(heads * d_v, d_model)

    def forward(self, query, key, value):
        q, k, v = (W(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for W, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value)))
        return self.W_o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Then(nn.Module):
    """An attention and what may come after it: a small network, or a second attention, each added to what went in."""

    def __init__(self, shape, then):
        super().__init__()
        self.first = Attention(*shape)
        self.second = Attention(*shape) if then == "attention" else None
        self.network = None
        if then == "network":
            self.network = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 32))

    def forward(self, query, key, value):
        out = self.first(query, key, value)
        if self.network is not None:
            return out + self.network(out)
        if self.second is not None:
            x = query + out
            return x + self.second(x, x, x)
        return out


def lookups(generator, B=32, N=8):
    """Draw sentences in which every word asks two others for their contents.

    returns: x (B, N, 32), for each word its name, two addresses and a content;
             what it has to report (B, N, 16), the contents at both addresses;
             the two addresses, (B, N) each
    """
    names, rows = torch.eye(N), torch.arange(B)[:, None]
    content = torch.randn(B, N, 8, generator=generator)
    first, second = torch.randint(N, (2, B, N), generator=generator)
    x = [names.expand(B, N, N), names[first], names[second], content]
    found = [content[rows, first], content[rows, second]]  # (B, N, 8) each
    return torch.cat(x, dim=-1), torch.cat(found, dim=-1), first, second


def error(layer, x, wanted, *addresses):
    """The share of the contents' variance that is missed: 0 for all reported, 1 for nothing."""
    return ((layer(x, x, x)[..., :16] - wanted) ** 2).mean()


def train(make, seed, steps=300, rate=0.03, falls=True):
    """Train what `make()` makes with Adam, the rate falling to zero or fixed.

    returns: the layer, and the mean error of the last twenty batches
    """
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    layer = make()
    batches = (lookups(generator) for _ in range(steps))
    adam = torch.optim.Adam(layer.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: 1 - step / steps if falls else 1)
    return layer, fit(layer, error, batches, adam, schedule)[-20:].mean().item()


def measure(heads, d_k, d_v, then, rate, falls, steps, seed):
    """Train; the error, and how many digits it has behind the point before the first that counts."""
    missed = train(lambda: Then((heads, d_k, d_v), then), seed, steps, rate, bool(falls))[1]
    return {"error": missed, "digits": -math.log10(missed)}


def points(shapes, then=("matrix",), rate=(0.03,), falls=(1,), steps=(3000,), seed=range(3)):
    return [dict(heads=h, d_k=d_k, d_v=d_v) | rest for h, d_k, d_v in shapes
            for rest in grid(then=then, rate=rate, falls=falls, steps=steps, seed=seed)]


ONE_WIDTH = [(h, 32 // h, 32 // h) for h in (1, 2, 4, 8, 16, 32)]
NARROW = [(2, 1, 16), (2, 2, 16), (16, 1, 2), (16, 2, 1), (32, 1, 8), (32, 1, 2)]
PLANS = {"06-heads": Plan(
    about="error of two look-ups at once: numbers of heads at one width, over steps and rates; what follows one head; "
          "heads with keys of width 1 or 2",
    minutes=60, measure=measure,
    points=[*points(ONE_WIDTH, steps=(200, 1000, 3000, 15000)), *points(ONE_WIDTH, rate=(0.01,)),
            *points([(2, 16, 16)], falls=(0,), steps=(200, 1000, 3000, 15000)),
            *points([(1, 32, 32)], then=("network", "attention"), steps=(300, 3000, 15000)),
            *points([(1, 32, 32)], then=("network",), rate=(0.003,), steps=(3000, 15000)),
            *points(NARROW, steps=(3000, 15000))],
    near={"error": 0.01, "digits": 0.15},
    sides=(dict(heads=1, d_k=32, d_v=32, then="matrix", rate=0.03, falls=1, steps=200, seed=0),
           dict(heads=2, d_k=16, d_v=16, then="matrix", rate=0.03, falls=1, steps=200, seed=0)))}
