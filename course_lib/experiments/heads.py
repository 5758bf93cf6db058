"""Lesson 06: how many heads does a task with two answers need, and how wide must their keys be?"""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.experiments.plan import Plan, grid

STEPS = (200, 1000, 3000)


class Attention(nn.Module):
    """Multi-head attention whose heads may have keys and values of different widths."""

    def __init__(self, heads, d_k, d_v, d_model=32):
        super().__init__()
        self.heads = heads
        self.W_q, self.W_k = (nn.Linear(d_model, heads * d_k) for _ in range(2))
        self.W_v, self.W_o = nn.Linear(d_model, heads * d_v), nn.Linear(heads * d_v, d_model)

    def forward(self, x):
        q, k, v = (W(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for W in (self.W_q, self.W_k, self.W_v))
        return self.W_o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


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


def train(heads, d_k, d_v, seed):
    """Train with Adam; the mean error of the twenty batches before step 200, 1,000 and 3,000."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    layer = Attention(heads, d_k, d_v)
    adam = torch.optim.Adam(layer.parameters(), lr=0.03)
    errors = []
    for _ in range(max(STEPS)):
        x, wanted, *_ = lookups(generator)
        error = ((layer(x)[..., :16] - wanted) ** 2).mean()
        adam.zero_grad()
        error.backward()
        adam.step()
        errors.append(error.item())
    return {f"at_{steps}": sum(errors[steps - 20 : steps]) / 20 for steps in STEPS}


SHAPES = [dict(heads=h, d_k=32 // h, d_v=32 // h) for h in (1, 2, 4, 8, 16, 32)]
SHAPES += [dict(heads=2, d_k=1, d_v=16), dict(heads=2, d_k=2, d_v=16), dict(heads=16, d_k=1, d_v=2),
           dict(heads=16, d_k=2, d_v=1), dict(heads=32, d_k=1, d_v=8), dict(heads=32, d_k=1, d_v=2)]
PLANS = {"06-heads": Plan(
    about="error of two look-ups at once: six numbers of heads at one width, and heads with keys of width 1 or 2",
    minutes=6, points=[shape | seed for shape in SHAPES for seed in grid(seed=range(3))], measure=train,
    near={f"at_{steps}": 0.001 for steps in STEPS},
    sides=(dict(heads=1, d_k=32, d_v=32, seed=0), dict(heads=2, d_k=16, d_v=16, seed=0)))}
