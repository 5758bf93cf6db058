"""Sizes beyond those that anybody reads: what is right for the first few numbers of a row only is right below them."""

from dataclasses import replace
from functools import lru_cache

import torch

from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import random_tensors, shapes, truth

BEYOND = "one size above sixty-four"
LONG, PRIME = 64, 67
LARGE = 5_000  # numbers in the arguments of a call that many an honest loop goes through
HEAVY = 250_000  # numbers in the weights of a module


@lru_cache(maxsize=1024)
def one_long_axis(exercise):
    """For each size that may grow, sizes in which it alone is longer than sixty-four, and how many times as long.

    What is right for the first so many numbers of a row only is right in every small call.
    """
    if all(map(callable, exercise.make(torch.Generator(), *exercise.sizes[0]))):
        return []
    found = {}  # by what grows, and in arguments of how many axes
    for size in exercise.sizes:
        axes = tuple(getattr(a, "ndim", 0) for a in exercise.make(torch.Generator(), *size))
        for i in exercise.grows or range(len(size)):
            if i < len(size) and type(size[i]) is int and (i, axes) not in found:
                if large := next(_grown(exercise, size, i), None):
                    found[i, axes] = size, *large
    return list(found.values())


def _grown(exercise, size, i):
    """Ways to make one size alone long: a prime, or else an odd number of times what it was."""
    times = next(f for f in range(1, 2 * LONG + 2, 2) if f * size[i] > LONG)
    for longer in (PRIME, size[i] * times) if size[i] % 2 else (size[i] * times,):
        large = tuple(longer if place == i else _with_this_length(part, size[i], longer)
                      for place, part in enumerate(size))
        if _can_be_asked(exercise, size, large):
            yield large, longer / size[i]


def _with_this_length(part, old, new):
    """A part of a size; where it is the shape of a mask, it grows along."""
    return tuple(new if n == old else n for n in part) if isinstance(part, tuple) else part


def _can_be_asked(exercise, size, large):
    """Is there a true answer at this size, from a module with no more layers than before, and in little time?"""
    try:
        args = exercise.make(torch.Generator().manual_seed(0), *large)
        build = exercise.build(*large) if exercise.build else None
        weights = random_tensors(shapes(exercise.verified, build), torch.Generator()) if build else None
    except Exception:  # sizes that do not go together
        return False
    if build and (weights.keys() != shapes(exercise.verified, exercise.build(*size)).keys()
                  or sum(w.numel() for w in weights.values()) > HEAVY):
        return False
    return _numbers(args) < LARGE and truth(exercise, Call(args, build=build, weights=weights)).error is None


def _numbers(args):
    return sum(a.numel() if isinstance(a, torch.Tensor) else _numbers(a) if isinstance(a, tuple) else 0 for a in args)


def drawn_sizes(exercise, generator):
    """Sizes up to seventy with their factors, the best first, where the constructor leaves them free.

    No table holds all results. One odd factor for all keeps what they have to do with each other; where that is too
    much, one of them grows alone.
    """
    size = next(s for s in exercise.sizes if not any(isinstance(part, tuple) for part in s))
    if any(map(callable, exercise.make(torch.Generator(), *size))):
        return
    free = [i for i in exercise.grows or range(len(size)) if type(part := size[i]) is int and part > 1 and (
        exercise.build is None or exercise.build(*size[:i], 3 * part, *size[i + 1:]) == exercise.build(*size))]
    for growing in (free, *([i] for i in _shuffled(free, generator))):
        largest, sizes = max(size[i] for i in growing), {}
        for factor in (f for f in range(1, 70, 2) if 30 <= f * largest <= 70):
            large = tuple(part * factor if i in growing else part for i, part in enumerate(size))
            args = exercise.make(torch.Generator(), *large)
            if sum(a.numel() for a in args if isinstance(a, torch.Tensor)) >= LARGE:
                break
            sizes[factor] = large
        for factor in _shuffled(list(sizes), generator):
            yield sizes[factor], factor


def with_usual_lengths(call, factor):
    """The call with vectors as long as in the small ones: dot products that grow make any softmax pick one vector."""
    shorter = [a / factor**0.5 if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in call.args]
    return replace(call, args=tuple(shorter))


def with_usual_scores(call, small, factor):
    """The call with dot products along its long axis about as large as in the small ones; shares stay what they are."""
    def shorter(a, of):
        numbers = isinstance(a, torch.Tensor) and a.is_floating_point()
        return a / factor**0.25 if numbers and a.shape != of.shape and not _sum_to_one(a) else a

    return replace(call, args=tuple(map(shorter, call.args, small)))


def _sum_to_one(a):
    return a.min() >= 0 and (a.sum(-1) - 1).abs().max() < 1e-4


def _shuffled(things, generator):
    return [things[i] for i in torch.randperm(len(things), generator=generator).tolist()]
