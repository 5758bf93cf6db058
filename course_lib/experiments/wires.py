"""Lesson 08: layers and blocks, wired in several ways, over scales, depths and rates; the width of a hidden layer."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.experiments.plan import Plan, grid
from course_lib.layers import FeedForward
from course_lib.training import fit

D, DEPTH = 32, 8
XAVIER = 3**0.5  # times what nn.Linear begins with, where a matrix is square


class Layer(nn.Module):
    """Attention on a wire; `scale` multiplies the weights that PyTorch draws for it."""

    def __init__(self, wire, scale):
        super().__init__()
        self.wire, self.attention, self.norm = wire, MultiHeadAttention(D, 2), nn.LayerNorm(D)
        with torch.no_grad():
            for weight in (p for p in self.attention.parameters() if p.dim() > 1):
                weight *= scale
            if wire == "skip, W_o / 4":
                self.attention.W_o.weight /= 4

    def forward(self, x):
        seen = self.norm(x) if self.wire == "pre-norm" else x
        out = self.attention(seen, seen, seen)
        out = out if self.wire == "plain" else x + out
        return self.norm(out) if self.wire == "post-norm" else out


def sentences(how_many, seed):
    """Sentences of five random words out of eight, and for each word whether it has a twin: (B, 5) each."""
    ids = torch.randint(8, (how_many, 5), generator=torch.Generator().manual_seed(seed))
    return ids, ((ids[:, :, None] == ids[:, None, :]).sum(-1) > 1).long()


def loss_of(model, ids, twin):
    """The cross-entropy over all words."""
    return F.cross_entropy(model(ids).flatten(0, 1), twin.flatten())


def train(wire, scale, rate, seed, steps):
    """Train a finder of twins with Adam; its share of right answers on 1,000 new sentences."""
    torch.manual_seed(seed)
    layers = [Layer(wire, scale) for _ in range(DEPTH)]
    last = nn.LayerNorm(D) if wire == "pre-norm" else nn.Identity()
    model = nn.Sequential(nn.Embedding(8, D), *layers, last, nn.Linear(D, 2))
    adam = torch.optim.Adam(model.parameters(), rate, fused=True)
    fit(model, loss_of, [sentences(32, 1000 * seed + step) for step in range(steps)], adam, seed=seed)
    ids, twin = sentences(1000, 99)
    with torch.no_grad():
        return {"right": (model(ids).argmax(-1) == twin).float().mean().item()}


class Block(nn.Module):
    """Attention, then feed-forward, each on a wire of the given kind: "post-norm", "pre-norm" or "just add"."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.attention, self.feed_forward = MultiHeadAttention(D, 2), FeedForward(D, 2 * D)
        self.norms = nn.ModuleList([nn.LayerNorm(D), nn.LayerNorm(D)])

    def forward(self, x):
        for norm, sublayer in zip(self.norms, (lambda x: self.attention(x, x, x), self.feed_forward), strict=True):
            out = x + sublayer(norm(x) if self.kind == "pre-norm" else x)
            x = norm(out) if self.kind == "post-norm" else out
        return x


class Scaled(nn.Module):
    """An embedding whose vectors are multiplied by a number."""

    def __init__(self, scale):
        super().__init__()
        self.table, self.scale = nn.Embedding(8, D), scale

    def forward(self, ids):
        return self.scale * self.table(ids)


def finder(kind, depth, scale=1.0):
    """A finder of twins: embeddings, blocks, and two logits per word; "one norm" has one above the embeddings only."""
    blocks = [Block("just add" if kind == "one norm" else kind) for _ in range(depth)]
    first = nn.LayerNorm(D) if kind == "one norm" else nn.Identity()
    last = nn.LayerNorm(D) if kind == "pre-norm" else nn.Identity()
    return nn.Sequential(Scaled(scale), first, *blocks, last, nn.Linear(D, 2))


def train_blocks(kind, depth, scale, rate, warm_up, steps, seed):
    """Train a finder with Adam, its rate rising over the first `warm_up` steps; its share of right answers."""
    torch.manual_seed(seed)
    model = finder(kind, depth, scale)
    adam = torch.optim.Adam(model.parameters(), rate, fused=True)
    rising = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: min(1, (step + 1) / warm_up))
    fit(model, loss_of, [sentences(32, 1000 * seed + step) for step in range(steps)], adam, rising, seed=seed)
    ids, twin = sentences(1000, 99)
    with torch.no_grad():
        return {"right": (model(ids).argmax(-1) == twin).float().mean().item()}


def products(x):
    """Each number times its neighbour."""
    return x * x.roll(1, dims=-1)


def distances(x):
    """|x| at mean 0 and variance 1, as the products have."""
    return (x.abs() - (2 / math.pi) ** 0.5) / (1 - 2 / math.pi) ** 0.5


TASKS = {"products": products, "|x|": distances}


def learn(task, times, steps, seed):
    """Train a network with a hidden layer times as wide, at a rate that falls to nothing; its error on new numbers."""
    torch.manual_seed(seed)
    model, wanted = FeedForward(8, 8 * times), TASKS[task]
    batches = [(x, wanted(x)) for x in torch.randn(steps, 128, 8, generator=torch.Generator().manual_seed(seed))]
    adam = torch.optim.Adam(model.parameters(), 1e-2, fused=True)
    falling = torch.optim.lr_scheduler.LambdaLR(adam, lambda step: 1 - step / steps)
    fit(model, lambda model, x, y: F.mse_loss(model(x), y), batches, adam, falling, seed=seed)
    new = torch.randn(10_000, 8, generator=torch.Generator().manual_seed(99))
    with torch.no_grad():
        return {"error": F.mse_loss(model(new), wanted(new)).item()}


BLOCKS = grid(kind=["post-norm", "pre-norm", "just add"], depth=[2, 10], scale=[1.0], rate=[0.001, 0.003],
              warm_up=[1, 50], steps=[100, 500], seed=range(3))
TEN = {"depth": [10], "scale": [1.0], "steps": [100, 500], "seed": range(3, 10)}
SEEDS = (grid(kind=["post-norm", "pre-norm", "just add"], rate=[0.003], warm_up=[1], **TEN)
         + grid(kind=["post-norm"], rate=[0.003], warm_up=[50], **TEN)
         + grid(kind=["post-norm"], rate=[0.001], warm_up=[1], **TEN))
LARGE = grid(kind=["post-norm", "pre-norm", "just add", "one norm"], depth=[2], scale=[D**0.5], rate=[0.003],
             warm_up=[1], steps=[100, 500], seed=range(3))
WIRES = ["plain", "skip", "skip, W_o / 4", "post-norm", "pre-norm"]
PLANS = {
    "08-scales": Plan(
        about="right answers of eight layers of attention: five wirings, five scales of the first weights, three rates",
        minutes=6, points=grid(wire=WIRES, scale=[0.25, 0.5, 1.0, XAVIER, 3.0], rate=[0.001, 0.002, 0.005],
                               seed=range(3), steps=[100])
        + grid(wire=["skip", "post-norm", "pre-norm"], scale=[XAVIER], rate=[0.001], seed=range(3), steps=[1000])
        + grid(wire=["plain"], scale=[1.0, XAVIER], rate=[0.001, 0.002], seed=range(3), steps=[1000])
        + grid(wire=["skip"], scale=[1.0], rate=[0.001], seed=range(3), steps=[1000]),
        measure=train, near={"right": 0.02},
        sides=tuple(grid(wire=["plain", "skip"], scale=[1.0], rate=[0.002], seed=[0], steps=[100]))),
    "08-blocks": Plan(
        about="right answers of blocks of attention and feed-forward: where the norm stands, over depths, rates, "
              "warm-ups and steps; and words that come in too large",
        minutes=21, points=BLOCKS + SEEDS + LARGE, measure=train_blocks, near={"right": 0.02},
        sides=tuple(grid(kind=["just add", "one norm"], depth=[2], scale=[D**0.5], rate=[0.003], warm_up=[1],
                         steps=[500], seed=[0]))),
    "08-width": Plan(
        about="errors of a feed-forward network over the width of its hidden layer, after few steps and after many",
        minutes=4, points=grid(task=list(TASKS), times=[2, 4, 8, 16], steps=[300, 3000], seed=range(10)),
        measure=learn,
        near={"error": 0.001}, sides=tuple(grid(task=["products"], times=[2, 4], steps=[300], seed=[0])))}
