"""Move every seed that a lesson sets, in this process, by one number."""

import random

import numpy as np
import torch


def move_all(by):
    """From now on, every number or text that seeds torch, random or numpy counts as another one; None stays None.

    Call it before the lesson imports anything of the course.
    """
    if not by:
        return

    class Generator(torch.Generator):
        def manual_seed(self, seed):
            return super().manual_seed(seed + by)

    class Random(random.Random):
        def __new__(cls, seed=None):
            return super().__new__(cls, _moved(seed, by))

        def __init__(self, seed=None):
            super().__init__(_moved(seed, by))

    class RandomState(np.random.RandomState):
        def __init__(self, seed=None):
            super().__init__(_moved(seed, by))

    torch.Generator, random.Random, np.random.RandomState = Generator, Random, RandomState
    for module, name in ((torch, "manual_seed"), (torch.random, "manual_seed"), (random, "seed"),
                         (np.random, "seed"), (np.random, "default_rng")):
        setattr(module, name, _moving(getattr(module, name), by))


def _moving(seeded, by):
    def with_another_seed(seed=None, *args, **kwargs):
        return seeded(_moved(seed, by), *args, **kwargs)

    return with_another_seed


def _moved(seed, by):
    return seed + by if isinstance(seed, int) else f"{seed}, moved by {by}" if isinstance(seed, str) else seed
