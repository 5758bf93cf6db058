"""Lesson 09: "name the symbol just before" beyond the trained length: sinusoids added, and rotary positions."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.experiments.echo import LONG, SHORT, SYMBOLS, WIDTH
from course_lib.experiments.plan import Plan, grid
from course_lib.llama import apply_rope
from course_lib.masks import causal_mask
from course_lib.positions import sinusoidal_positions
from course_lib.training import fit


class Echo(nn.Module):
    """One layer of causal attention with one head, and a logit for each symbol
    at every place."""

    def __init__(self, rotary):
        super().__init__()
        self.rotary, self.embed = rotary, nn.Embedding(SYMBOLS, WIDTH)
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.W_o, self.answer = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, SYMBOLS)

    def forward(self, ids):
        T = ids.shape[1]
        x = self.embed(ids)  # (B, T, d)
        if not self.rotary:
            x = x + sinusoidal_positions(T, WIDTH)
        q, k, v = self.qkv(x).chunk(3, dim=-1)  # (B, T, d) each
        if self.rotary:
            q, k = apply_rope(q), apply_rope(k)  # the only change
        scores = (q @ k.transpose(-2, -1) / WIDTH**0.5).masked_fill(~causal_mask(T), -torch.inf)
        return self.answer(x + self.W_o(scores.softmax(-1) @ v))  # (B, T, symbols)


def loss_of(model, ids):
    """The cross-entropy of naming, at every place but the first, the symbol just before it."""
    return F.cross_entropy(model(ids)[:, 1:].flatten(0, 1), ids[:, :-1].flatten())


@torch.no_grad()
def right(model, seed):
    """For each place of 200 new texts of 96 symbols, how often the answer is right: (95,)."""
    texts = torch.randint(SYMBOLS, (200, LONG), generator=torch.Generator().manual_seed(1000 + seed))
    return (model(texts).argmax(-1)[:, 1:] == texts[:, :-1]).float().mean(0)


def measure(positions, steps, seed):
    """Train on texts of 24 symbols; the share of right answers at places 1 to 23, and at 24 to 95."""
    torch.manual_seed(seed)
    model = Echo(rotary=positions == "rotary")
    batches = [(torch.randint(SYMBOLS, (32, SHORT)),) for _ in range(steps)]
    fit(model, loss_of, batches, torch.optim.Adam(model.parameters(), lr=5e-3))
    share = right(model, seed)
    parts = {"trained": share[: SHORT - 1], "to 47": share[SHORT - 1 : 47], "to 95": share[47:]}
    return {name: places.mean().item() for name, places in parts.items()}


PLANS = {"09-rotary": Plan(
    about="naming the symbol before, learned on 24 places, asked on 96: sinusoids and rotary positions",
    minutes=12, points=grid(positions=["sinusoids", "rotary"], steps=[300, 3000], seed=range(30)), measure=measure,
    near={"trained": 0.02, "to 47": 0.02}, sides=tuple(grid(positions=["sinusoids", "rotary"], steps=[300], seed=[0])))}
