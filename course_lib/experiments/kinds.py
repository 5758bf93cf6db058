"""Lesson 14b: a set, a series and a graph, three tasks with nothing in common but the class that learns them."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.experiments.transfer import Reader, new_reader, of_sets, sets, train
from course_lib.positions import sinusoidal_positions


def waves(n, seed):
    """Waves of 0.3 to 2.5 radians per step: 16 values in four windows, each with its place, and the value that follows.

    returns: (n, 4, 4 + 8), (n,)
    """
    generator = torch.Generator().manual_seed(seed)
    step, phase = torch.rand(2, n, 1, generator=generator)
    values = torch.sin((0.3 + 2.2 * step) * torch.arange(17) + 2 * torch.pi * phase)  # (n, 17)
    places = sinusoidal_positions(4, 8).expand(n, -1, -1)  # (n, 4, 8)
    return torch.cat([values[:, :16].unfold(1, 4, 4), places], 2), values[:, 16]


def secrets(n, seed):
    """Who knows a secret (n, 10, 1), who hears whom (n, 10, 10), and who hears somebody that knows (n, 10)."""
    generator = torch.Generator().manual_seed(seed)
    hears, knows = (torch.rand(n, 10, k, generator=generator) < 0.3 for k in (10, 1))
    return knows.float(), hears, (hears & knows.mT).any(2).float()


def of_waves(model, x, y):
    return F.mse_loss(model(x)[:, -1, 0], y)


def of_secrets(model, x, mask, y):
    return F.binary_cross_entropy_with_logits(model(x, mask)[..., 0], y)


TASKS = {"a set": (1, sets, of_sets), "a series": (12, waves, of_waves), "a graph": (1, secrets, of_secrets)}


def learned(task, kind=Reader, steps=150):
    """Train on 4,800 examples: the share of new ones that come out right; of waves, of the variance that is explained.
    """
    width, make, loss = TASKS[task]
    model = train(new_reader(nn.Linear, 0, width, kind=kind), loss, make(4800, 0), steps, 3e-3, 0)
    *asked, answers = make(1000, 99)
    said = model(asked[0][..., None] if task == "a set" else asked[0], *asked[1:])[..., 0]
    if task == "a set":
        return (said.argmax(1) == answers).float().mean().item()
    if task == "a series":
        return 1 - (F.mse_loss(said[:, -1], answers) / answers.var()).item()
    return ((said > 0) == (answers > 0)).float().mean().item()
