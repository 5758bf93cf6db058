"""Lesson 07: somebody's decoder, one part of which lets the future through."""

import torch
from torch import nn


def standardized(x):
    """Numbers whose mean is 0 and whose variance is 1, each feature over the words of the sentence: (T, D)."""
    return (x - x.mean(0)) / (x.std(0, correction=0) + 1e-5)


def projected(x):
    """A layer of its own for each width: the same numbers in every word."""
    torch.manual_seed(x.shape[1])
    return nn.Linear(x.shape[1], x.shape[1])(x).detach()


def feed_forward(x):
    """A small network, applied to each word by itself."""
    return x + projected(torch.relu(projected(x)))


def parts(attend, causal):
    """The parts in their order, {name: function (T, D) -> (T, D)}.

    attend: attend(query, key, value, mask), and causal(T), the learner's own
    """
    return {"project": projected, "attend": lambda x: attend(x[None], x[None], x[None], causal(len(x)))[0],
            "standardize": standardized, "feed forward": feed_forward}


def run(x, parts):
    """One part after the other."""
    for part in parts.values():
        x = part(x)
    return x
