"""Lesson 08: eight layers of attention, wired in four ways, with weights that begin smaller or larger."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.experiments.plan import Near, Plan, grid
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


def train(wire, scale, rate, seed, steps=100):
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


PLANS = {"08-scales": Plan(
    about="right answers of eight layers of attention: four wirings, five scales of the first weights, three rates",
    minutes=3, points=grid(wire=["plain", "skip", "post-norm", "pre-norm"], scale=[0.25, 0.5, 1.0, XAVIER, 3.0],
                           rate=[0.001, 0.002, 0.005], seed=range(3)), measure=train,
    near={"right": Near(0.1)}, quick=dict(wire="skip", scale=1.0, rate=0.002, seed=0))}
