"""Lesson 04: does a network that learns to find an input need the division by √d?"""

import torch

from course_lib.experiments.plan import Near, Plan, grid

VERSIONS = ("version 1", "version 1, W √d times smaller", "version 2")
OPTIMIZERS = {"gradient descent": torch.optim.SGD, "Adam": torch.optim.Adam}


def train(version, optimizer, width, rate, seed, steps=100):
    """Learn W, which turns a query back to the one of eight inputs it was made from.

    returns: the error on 4,000 fresh queries,
             and the mean error of the last ten batches
    """
    draw = torch.Generator().manual_seed(seed)
    rotation = torch.linalg.qr(torch.randn(width, width, generator=draw))[0]
    W = torch.randn(width, width, generator=draw) / width**0.5
    if version == "version 1, W √d times smaller":
        W = W / width**0.5
    scale = width**0.5 if version == "version 2" else 1.0
    step = OPTIMIZERS[optimizer]([W.requires_grad_()], lr=rate)

    def error(batch):
        x = torch.randn(batch, 8, width, generator=draw)  # (B, N, D)
        chosen = torch.randint(8, (batch,), generator=draw)  # (B,)
        target = x[torch.arange(batch), chosen]  # (B, D)
        query = target @ rotation.T  # (B, D), what the network gets to see
        scores = x @ (query @ W)[..., None] / scale  # (B, N, 1)
        found = (torch.softmax(scores, 1) * x).sum(1)  # (B, D)
        return ((found - target) ** 2).mean()

    errors = []
    for _ in range(steps):
        loss = error(32)
        step.zero_grad()
        loss.backward()
        step.step()
        errors.append(loss.item())
    with torch.no_grad():
        return {"error": error(4000).item(), "last_ten": sum(errors[-10:]) / 10}


RATES = {"gradient descent": [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000],
         "Adam": [0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1]}
MIDDLE = {"gradient descent": [0.3, 1, 3, 10, 30, 100], "Adam": [0.003, 0.01, 0.03]}


def _points():
    """All at 100 and 400 steps; versions 1 and 2 at the largest width with 1,600."""
    for optimizer in OPTIMIZERS:
        yield from grid(
            steps=[100, 400],
            optimizer=[optimizer],
            width=[16, 64, 256],
            version=VERSIONS,
            rate=RATES[optimizer],
            seed=range(5),
        )
        yield from grid(
            steps=[1600],
            optimizer=[optimizer],
            width=[256],
            version=VERSIONS[::2],
            rate=MIDDLE[optimizer],
            seed=range(5),
        )


QUICK = {
    "steps": 100,
    "optimizer": "gradient descent",
    "width": 64,
    "version": "version 2",
    "rate": 10,
    "seed": 0,
}
PLANS = {
    "04-scaling": Plan(
        about="error of a learned search among eight inputs: versions 1 and 2, "
        "two optimizers, three widths, many rates",
        minutes=15,
        points=list(_points()),
        measure=train,
        near={"error": Near(2e-3, 3)},
        quick=QUICK,
    )
}
