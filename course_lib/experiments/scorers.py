"""Lesson 04: which way of scoring learns to look things up best, at which width?"""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.experiments.plan import Plan, grid

SCORES = {
    "additive": lambda q, k, v: torch.tanh(q[:, None] + k) @ v,
    "dot": lambda q, k, v: (k @ q[..., None])[..., 0],
    "dot, queries √d times smaller": lambda q, k, v: (k @ q[..., None])[..., 0],
    "scaled dot": lambda q, k, v: (k @ q[..., None])[..., 0] / q.shape[-1] ** 0.5,
}


class Lookup(nn.Module):
    """A dictionary of eight pairs and one question: which value belongs to this key?

    Each of 64 symbols has three vectors to learn: as a question, as a key and as a value.
    """

    def __init__(self, score, width):
        super().__init__()
        self.score = SCORES[score]
        self.query, self.key, self.value = (nn.Embedding(64, d) for d in (width, width, 32))
        self.v = nn.Parameter(torch.randn(width) / width**0.5)  # only the additive score has a use for it
        self.answer = nn.Linear(32, 64)
        if score == "dot, queries √d times smaller":
            self.query.weight.data /= width**0.5

    def forward(self, keys, values, asked):
        scores = self.score(self.query(asked), self.key(keys), self.v)  # (B, N)
        mixture = torch.softmax(scores, -1)[:, None] @ self.value(values)  # (B, 1, 32)
        return self.answer(mixture[:, 0])  # (B, 64)


def dictionaries(how_many, draw):
    """Keys (B, 8), all different, values (B, 8), one key of each to ask for (B,), and the right answers (B,)."""
    keys = torch.rand(how_many, 64, generator=draw).argsort(1)[:, :8]
    values = torch.randint(64, (how_many, 8), generator=draw)
    rows, at = torch.arange(how_many), torch.randint(8, (how_many,), generator=draw)
    return (keys, values, keys[rows, at]), values[rows, at]


def train(score, width, rate, seed, steps=300):
    """Train with Adam; the share of right answers to 2,000 fresh questions."""
    torch.manual_seed(seed)
    draw = torch.Generator().manual_seed(seed)
    model = Lookup(score, width)
    adam = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(steps):
        questions, answers = dictionaries(64, draw)
        loss = F.cross_entropy(model(*questions), answers)
        adam.zero_grad()
        loss.backward()
        adam.step()
    with torch.no_grad():
        questions, answers = dictionaries(2000, draw)
        return {"right": (model(*questions).argmax(-1) == answers).float().mean().item()}


RATES, TUNING, SEEDS = [0.001, 0.003, 0.01, 0.03, 0.1], [100, 101, 102], [0, 1, 2, 3, 4]
PLANS = {"04-scorers": Plan(
    about="share of right look-ups by four ways of scoring: a rate for each is chosen on seeds 100 to 102 alone",
    minutes=15, measure=train, near={"right": 0.02},
    points=grid(steps=[300], score=SCORES, width=[16, 64, 256], rate=RATES, seed=TUNING + SEEDS)
    + grid(steps=[3000], score=SCORES, width=[256], rate=RATES[1:4], seed=SEEDS[:3]),
    sides=tuple(grid(steps=[300], score=["dot", "scaled dot"], width=[256], rate=[0.03], seed=[0]))),
    "04-scorers-early": Plan(
    about="share of right look-ups after 100 steps, where those that will be right are not yet",
    minutes=3, measure=train, near={"right": 0.02},
    points=grid(steps=[100], score=SCORES, width=[16, 64, 256], rate=RATES, seed=TUNING + SEEDS),
    sides=tuple(grid(steps=[100], score=["dot", "scaled dot"], width=[256], rate=[0.03], seed=[0])))}
