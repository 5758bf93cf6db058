"""Lesson 04: does a network that learns to find an input need the division by √d, and what for?"""

import torch

from course_lib.experiments.plan import Plan, grid

VERSIONS = ("version 1", "version 1, W √d times smaller", "version 1, W begins at 0", "version 2", "divided by d")


def train(version, optimizer, width, rate, seed, loss="squared error", steps=100):
    """Learn W, which leads a query back to the one of eight inputs it was made from.

    loss:    "squared error" of what attention returns, the mean over its features, or
             "cross-entropy" of the scores, whose gradient never saturates
    returns: on 10,000 fresh queries, the squared error and the share of wrong arg-maxes
    """
    draw = torch.Generator().manual_seed(seed)
    mix = torch.linalg.qr(torch.randn(width, width, generator=draw))[0]  # orthogonal
    W = torch.randn(width, width, generator=draw) / width**0.5
    small, zero = "version 1, W √d times smaller", "version 1, W begins at 0"
    W = W * {small: width**-0.5, zero: 0}.get(version, 1)
    scale = {"version 2": width**0.5, "divided by d": width}.get(version, 1)
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


# A factor s in front of W is a start s times as large and a rate s² times as large (Adam: s times): each version is
# tried at the same rates, in steps of 4, but where it is divided by d they are as much larger as the identity says.
RATES = {"gradient descent": [4.0**k for k in range(-4, 4)], "Adam": [4.0**k for k in range(-6, 0)]}
TUNING, SEEDS = [100, 101, 102], [0, 1, 2, 3, 4]
FEW, MANY = 100, 1000  # steps


def _points():
    """Every version with either loss and optimizer; the seeds from 100 on choose the rate, the others measure."""
    for steps, loss, widths in ((FEW, "squared error", [16, 64, 256]), (FEW, "cross-entropy", [16, 256]),
                                (MANY, "squared error", [16, 256]), (MANY, "cross-entropy", [256])):
        for optimizer, rates in RATES.items():
            tried = rates if loss == "squared error" and steps == FEW else rates[1:]
            for version in VERSIONS:
                for width in widths:
                    more = {"gradient descent": width, "Adam": width**0.5}[optimizer]
                    yield from grid(steps=[steps], loss=[loss], optimizer=[optimizer], width=[width],
                                    version=[version], seed=TUNING + SEEDS,
                                    rate=[rate * (more if version == "divided by d" else 1) for rate in tried])


def _side(version, rate):
    return dict(steps=FEW, loss="squared error", optimizer="gradient descent", width=256, version=version, rate=rate,
                seed=0)


PLANS = {
    "04-scaling": Plan(
        about="a learned search among eight inputs, with two losses, optimizers and numbers of steps, and a "
        "rate chosen on seeds 100 to 102 alone",
        minutes=25,
        points=list(_points()),
        measure=train,
        near={"error": 0, "wrong": 0},
        sides=(_side("version 1", 1.0), _side("version 2", 16.0)),
    )
}
