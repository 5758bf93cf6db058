"""Lesson 14b: a network that is told nearly the truth, and one that is told nothing, over the number of examples."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.experiments.plan import Plan, grid
from course_lib.training import fit
from course_lib.transformer import EncoderLayer

T, NEAR, EXCEPTIONS = 24, 5, 0.2  # values of a series, those that are near its end, the share with a mark far away


def series(n, seed):
    """Series (n, T, 2), a value and a mark at each place, and their answers (n,).

    Whether the last two values sum to more than 0; in one of five series a mark, far from the end, turns that round.
    """
    generator = torch.Generator().manual_seed(seed)
    values = torch.randn(n, T, generator=generator)
    turned = torch.rand(n, generator=generator) < EXCEPTIONS
    marks = torch.zeros(n, T)
    marks[torch.arange(n), torch.randint(T - NEAR - 1, (n,), generator=generator)] = turned.float()
    return torch.stack([values, marks], -1), ((values[:, -1] + values[:, -2] > 0) ^ turned).long()


class Near(nn.Module):
    """Told that only the last five places count: one matrix for them."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(2 * NEAR, 2)

    def forward(self, x):
        return self.out(x[:, -NEAR:].flatten(1))


class General(nn.Module):
    """Told nothing: two encoder layers over all places, which have learned positions; the last place answers."""

    def __init__(self, d_model=32):
        super().__init__()
        self.into = nn.Linear(2, d_model)
        self.pos = nn.Parameter(0.5 * torch.randn(T, d_model))
        self.layers = nn.ModuleList(EncoderLayer(d_model, 4, 2 * d_model) for _ in range(2))
        self.out = nn.Linear(d_model, 2)

    def forward(self, x):
        x = self.into(x) + self.pos
        for layer in self.layers:
            x = layer(x)
        return self.out(x[:, -1])


NETWORKS = {"told what is near": Near, "told nothing": General}


def learned(network, examples, steps, seed):
    """Train on so many series: the share of 2,000 new ones that are answered rightly."""
    torch.manual_seed(seed)
    model = NETWORKS[network]()
    x, y = series(examples, seed)
    generator = torch.Generator().manual_seed(seed)
    chosen = (torch.randint(examples, (min(64, examples),), generator=generator) for _ in range(steps))
    optimizer = torch.optim.Adam(model.parameters(), 2e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps, pct_start=0.1,
                                                   cycle_momentum=False)
    fit(model, lambda model, x, y: F.cross_entropy(model(x), y), ((x[i], y[i]) for i in chosen), optimizer, schedule)
    asked, answers = series(2000, 999)
    with torch.no_grad():
        return {"right": (model.eval()(asked).argmax(1) == answers).float().mean().item()}


SIZES = [32, 64, 128, 256, 512, 1024, 4096]
PLANS = {"14b-foresight": Plan(
    about="the share of new series answered rightly, by what the network was told, examples, steps, and seed",
    minutes=9, measure=learned, near={"right": 0.03},
    points=grid(network=list(NETWORKS), examples=SIZES, steps=[400], seed=range(5))
    + grid(network=list(NETWORKS), examples=SIZES, steps=[2000], seed=range(3)),
    sides=tuple(grid(network=list(NETWORKS), examples=[4096], steps=[400], seed=[0])))}
