"""Lesson 04: does a network that learns to find an input need the division by √d, and what for?"""

import torch

from course_lib.experiments.plan import Near, Plan, grid

VERSIONS = ("version 1", "version 1, W √d times smaller", "version 2")


def train(version, optimizer, width, rate, seed, loss="squared error", steps=100):
    """Learn W, which leads a query back to the one of eight inputs it was made from.

    loss:    "squared error" of what attention returns, the mean over its features, or
             "cross-entropy" of the scores, whose gradient never saturates
    returns: on 10,000 fresh queries, the squared error and the share of wrong arg-maxes
    """
    draw = torch.Generator().manual_seed(seed)
    mix = torch.linalg.qr(torch.randn(width, width, generator=draw))[0]  # orthogonal
    W = torch.randn(width, width, generator=draw) / width**0.5
    if version == "version 1, W √d times smaller":
        W = W / width**0.5
    scale = width**0.5 if version == "version 2" else 1.0
    optimizers = {"gradient descent": torch.optim.SGD, "Adam": torch.optim.Adam}
    step = optimizers[optimizer]([W.requires_grad_()], lr=rate)

    def losses(batch):
        x = torch.randn(batch, 8, width, generator=draw)  # (B, N, D)
        chosen = torch.randint(8, (batch,), generator=draw)  # (B,)
        target = x[torch.arange(batch), chosen]  # (B, D)
        query = target @ mix.T  # (B, D), what the network gets to see
        scores = (x @ (query @ W)[..., None])[..., 0] / scale  # (B, N)
        found = (torch.softmax(scores, 1)[:, None] @ x)[:, 0]  # (B, D)
        wrong = (scores.argmax(1) != chosen).float().mean()
        entropy = torch.nn.functional.cross_entropy(scores, chosen)
        return {
            "squared error": ((found - target) ** 2).mean(),
            "cross-entropy": entropy,
            "wrong": wrong,
        }

    for _ in range(steps):
        step.zero_grad()
        losses(32)[loss].backward()
        step.step()
    with torch.no_grad():
        tests = [losses(2000) for _ in range(5)]
        return {
            "error": sum(test["squared error"].item() for test in tests) / 5,
            "wrong": sum(test["wrong"].item() for test in tests) / 5,
        }


# A small W does with rate/d (Adam: rate/√d) what the division does with rate: so the rates are powers of 4
RATES = {"gradient descent": [4.0**k for k in range(-4, 4)], "Adam": [4.0**k for k in range(-6, 0)]}
TUNING, SEEDS = [100, 101, 102], [0, 1, 2, 3, 4]


def _points():
    """Every version with either loss and optimizer; the seeds from 100 on choose the rate, the others measure."""
    for optimizer, rates in RATES.items():
        for loss, widths, tried in (
            ("squared error", [16, 64, 256], rates),
            ("cross-entropy", [16, 256], rates[1:-1] if len(rates) > 6 else rates),
        ):
            yield from grid(
                loss=[loss],
                optimizer=[optimizer],
                width=widths,
                version=VERSIONS,
                rate=tried,
                seed=TUNING + SEEDS,
            )


QUICK = {
    "loss": "squared error",
    "optimizer": "gradient descent",
    "width": 64,
    "version": "version 2",
    "rate": 16.0,
    "seed": 0,
}
PLANS = {
    "04-scaling": Plan(
        about="a learned search among eight inputs, with two losses, optimizers and a "
        "rate chosen on seeds 100 to 102 alone",
        minutes=7,
        points=list(_points()),
        measure=train,
        near={"error": Near(2e-3, 3), "wrong": Near(3e-3, 3)},
        quick=QUICK,
    )
}
