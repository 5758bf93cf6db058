"""Lesson 09: "name the symbol just before", learned on 24 places and asked on 96, and what decides how far it holds."""

import functools

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.experiments.plan import Plan, grid
from course_lib.experiments.reader import Reader, trained_parameters
from course_lib.masks import causal_mask
from course_lib.positions import binary_positions, sinusoidal_positions
from course_lib.training import fit

SYMBOLS, WIDTH, SHORT, LONG = 8, 32, 24, 96
STEPS = {1: 300, 2: 1200}  # of training, by the number of layers
BINS = {f"to {first + 7}": slice(max(first - 1, 0), first + 7) for first in range(0, LONG, 8)}  # of places 1 to 95


def echo(table, seed, farthest=0, steps=300, network=None):
    """Train on texts of 24 symbols whose first one is at a random place from 0 to
    `farthest`; the task at each place is to name the symbol just before.

    table:   positions (96, 32) to add to the symbols; None: learned ones
    returns: the trained network
    """
    torch.manual_seed(seed)
    reader = Reader(SYMBOLS, SYMBOLS, 1, table) if network is None else network(table)
    causal = causal_mask(SHORT)  # (24, 24)

    def loss(model, symbols, start):
        out = model(symbols, causal, start.item())[:, 1:]  # (B, T - 1, 8)
        return F.cross_entropy(out.flatten(0, 1), symbols[:, :-1].flatten())

    batches = [(torch.randint(SYMBOLS, (32, SHORT)), torch.randint(farthest + 1, ()))
               for _ in range(steps)]
    fit(reader, loss, batches, torch.optim.Adam(trained_parameters(reader), lr=5e-3))
    return reader


@torch.no_grad()
def share_right(reader, window=LONG):
    """For places 1 to 95 of 200 new texts, how often the answer is right: (95,).

    window: each symbol sees so many symbols, itself and those just before it
    """
    texts = torch.randint(SYMBOLS, (200, LONG), generator=torch.Generator().manual_seed(5))
    mask = causal_mask(LONG).triu(1 - window)  # (96, 96)
    return (reader(texts, mask).argmax(-1)[:, 1:] == texts[:, :-1]).float().mean(0)


class TwoLayers(nn.Module):
    """Two layers, with norms and a feed-forward network between them; a start vector comes before the first symbol."""

    def __init__(self, table):
        super().__init__()
        self.embed, self.positions = nn.Embedding(SYMBOLS, WIDTH), nn.Embedding.from_pretrained(table)
        self.first, self.second = MultiHeadAttention(WIDTH, 2), MultiHeadAttention(WIDTH, 2)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.between = nn.Sequential(nn.Linear(WIDTH, 64), nn.ReLU(), nn.Linear(64, WIDTH))
        self.begin, self.answer = nn.Parameter(torch.randn(WIDTH)), nn.Linear(WIDTH, SYMBOLS)

    def forward(self, ids, mask, start=0):
        """(B, T) ids, (T, T) mask -> (B, T, symbols)."""
        x = self.embed(ids) + self.positions(start + torch.arange(ids.shape[1]))
        x = torch.cat([self.begin.expand(len(x), 1, -1), x], dim=1)  # (B, 1 + T, d)
        mask = F.pad(mask, (1, 0, 1, 0), value=True)  # all see the start vector
        mask[0, 1:] = False
        h = self.norms[0](x)
        x = x + self.first(h, h, h, mask)
        x = x + self.between(self.norms[1](x))
        h = self.norms[2](x)
        return self.answer((x + self.second(h, h, h, mask))[:, 1:])


class ByDistance(nn.Module):
    """One layer and one head as in Reader, but nothing is added to the symbols: each score gets a number that depends
    on the distance alone. ALiBi takes the distance off; else the numbers are learned, 0 at first."""

    def __init__(self, alibi):
        super().__init__()
        self.embed, self.answer = nn.Embedding(SYMBOLS, WIDTH), nn.Linear(WIDTH, SYMBOLS)
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.by_distance = nn.Parameter(-torch.arange(LONG).float() if alibi else torch.zeros(LONG), not alibi)

    def forward(self, ids, mask, start=0):
        """(B, T) ids, (T, T) mask -> (B, T, symbols). Where a text begins makes no difference."""
        x, place = self.embed(ids), torch.arange(ids.shape[1])
        distance = (place[:, None] - place).clamp(min=0)  # (T, T)
        scores = self.W_q(x) @ self.W_k(x).mT / WIDTH**0.5 + self.by_distance[distance]  # (B, T, T)
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        return self.answer(x + self.W_o(weights @ self.W_v(x)))


def in_bins(share):
    """Shares of right answers at places 1 to 95, (95,), as means over bins of eight places: (12,)."""
    return torch.stack([share[places].mean() for places in BINS.values()])


def shares(rows, positions, window=LONG, farthest=0, layers=1, steps=None):
    """Of the rows of 09-beyond those of one network: (seeds, 12) shares of right answers, in bins of eight places."""
    wanted = dict(positions=positions, window=window, farthest=farthest, layers=layers, steps=steps or STEPS[layers])
    return torch.tensor([[row[name] for name in BINS] for row in rows
                         if all(row[what] == value for what, value in wanted.items())])


def table_of(positions):
    """The table (96, 32) of a name; None where the rows are learned."""
    place = torch.arange(LONG)
    if positions == "learned":
        return None
    if positions == "sinusoids":
        return sinusoidal_positions(LONG, WIDTH)
    if positions == "base 4":  # the slowest hand comes round in 23.05 steps
        angles = place[:, None] * 4.0 ** -(torch.arange(0, WIDTH, 2) / WIDTH)  # (96, 16)
        return torch.cat([angles.sin(), angles.cos()], dim=1)
    if positions == "binary":
        return binary_positions(LONG, WIDTH)
    if positions == "Gray code":  # from one position to the next a single bit flips
        return binary_positions(2 * LONG, WIDTH)[place ^ (place >> 1)]
    return torch.zeros(LONG, WIDTH)  # none


@functools.lru_cache(maxsize=1)
def trained(positions, layers, farthest, steps, seed):
    """A network, kept until another one is asked for: the windows come one after another."""
    network = TwoLayers if layers == 2 else None
    if positions in ("ALiBi", "learned bias"):
        network = lambda _: ByDistance(positions == "ALiBi")  # noqa: E731 - it has no table
    return echo(table_of(positions), seed, farthest, steps, network)


def measure(positions, layers, farthest, steps, seed, window):
    """Train, and measure the share of right answers in bins of eight places."""
    share = share_right(trained(positions, layers, farthest, steps, seed), window)
    return dict(zip(BINS, in_bins(share).tolist(), strict=True))


def points():
    """Every network sees whole texts; of three kinds, also the last 24 and the last 6 symbols only. What a verdict
    stands on is trained for five times the steps, too."""
    seeds, everything, once = range(5), [LONG], [STEPS[1]]
    both = [STEPS[1], 5 * STEPS[1]]
    return [*grid(positions=["sinusoids", "learned", "base 4"], layers=[1], farthest=[0], steps=both, seed=seeds,
                  window=[LONG, 24, 6]),
            *grid(positions=["binary", "Gray code", "none", "ALiBi", "learned bias"], layers=[1], farthest=[0],
                  steps=both, seed=seeds, window=everything),
            *grid(positions=["sinusoids", "base 4"], layers=[1], farthest=[72], steps=both, seed=seeds,
                  window=everything),
            *grid(positions=["sinusoids"], layers=[1], farthest=[36], steps=once, seed=seeds, window=everything),
            *grid(positions=["sinusoids", "none"], layers=[2], farthest=[0], steps=[STEPS[2]], seed=seeds,
                  window=everything)]


PLANS = {"09-beyond": Plan(
    about="naming the symbol before, learned on 24 places, asked on 96: what decides how far it holds", minutes=12,
    points=points(), measure=measure, near={"to 23": 0.02, "to 31": 0.02, "to 39": 0.02},
    sides=tuple(grid(positions=["sinusoids", "ALiBi"], layers=[1], farthest=[0], steps=[STEPS[1]], seed=[0],
                     window=[LONG])))}
