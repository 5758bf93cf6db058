"""Lesson 14b: which of seven numbers is the middle one, learned from few sets by networks that know more or less."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.experiments.plan import Plan, grid
from course_lib.experiments.transfer import new_reader, sets, train


def with_seats(x):
    """Seven numbers, each with its seat: (n, 7) -> (n, 7, 8)."""
    return torch.cat([x[..., None], torch.eye(7).expand(len(x), 7, 7)], 2)


def dealt_seats(x):
    """The same, with the seats dealt anew, at random, at every call."""
    return torch.cat([x[..., None], torch.eye(7)[torch.randperm(7)].expand(len(x), 7, 7)], 2)


def comparisons(x):
    """Which of them is larger, for all pairs: (n, 7) -> (n, 49)."""
    return (x[:, :, None] > x[:, None]).float().flatten(1)


def of_vector(seed, d_in=7):
    """Two hidden layers of 64 that read one vector."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(d_in, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 7))


RIVALS = {"encoder": (lambda seed: new_reader(nn.Linear, seed, 1), lambda x: x[..., None], 120),
          "encoder with seats": (lambda seed: new_reader(nn.Linear, seed, 8), with_seats, 120),
          "fully connected": (of_vector, lambda x: x, 480),
          "seats dealt anew": (lambda seed: new_reader(nn.Linear, seed, 8), dealt_seats, 120),
          "fully connected, comparisons": (lambda seed: of_vector(seed, 49), comparisons, 480)}


def learned_from(model, sets_seen, times, seed, tokens=None):
    """Train on so many sets for so many times the usual steps: the share of 1,000 new sets whose middle is found.

    tokens: other tokens in training than the network's own, x (n, 7) -> (n, 7, …)
    """
    new_model, own, steps = RIVALS[model]
    tokens = tokens or own

    def answer(network, x):
        return network(tokens(x)).flatten(1)  # (B, 7)

    network = train(new_model(seed), lambda network, x, y: F.cross_entropy(answer(network, x), y),
                    sets(sets_seen, 1 + seed), times * steps, 3e-3, seed)
    x, middle = sets(1000, 99)
    return {"right": (answer(network, x).argmax(1) == middle).float().mean().item()}


PLANS = {"14b-medians": Plan(
    about="the share of new sets of seven numbers whose middle is found, by network, sets in training, times the usual "
          "steps, and seed",
    minutes=4, measure=learned_from, near={"right": 0.03},
    points=grid(model=list(RIVALS), sets_seen=[32, 128, 512], times=[1, 5], seed=range(3)),
    sides=tuple(grid(model=["encoder", "encoder with seats"], sets_seen=[32], times=[1], seed=[0])))}
