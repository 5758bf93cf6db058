"""Lesson 00, the big picture: `weighted_sum`, judged by a loop nobody can doubt."""

import torch

from course_lib import attention
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import equivariant, invariant


def by_loop(weights, x):
    """Add the rows one after another."""
    return sum(weight * row for weight, row in zip(weights, x, strict=True))


def example(weights, x):
    return torch.tensor(weights), torch.tensor(x)


def make(generator, N, D):
    return torch.randn(N, generator=generator), torch.randn(N, D, generator=generator)


EXERCISES = (
    Exercise(
        lesson="00",
        asked="weights[0] * x[0] + weights[1] * x[1] + …: one vector of shape (D,).",
        verified=attention.weighted_sum,
        oracle=by_loop,
        examples=(
            example([0.5, 2.0], [[1.0, 0.0, 3.0], [0.0, 1.0, 1.0]]),
            example([1.0, 0.0, -1.0], [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]),
        ),
        sizes=((5, 3), (3, 7), (4, 4), (1, 3), (3, 1), (1, 1)),
        square_size=(5, 3),
        make=make,
        properties=(
            ("Doubling the weights does not double the result.",
             equivariant(make, (4, 3), lambda weights, x: (2 * weights, x), lambda out: 2 * out)),
            ("Vectors and weights together in reverse order change the result.",
             invariant(make, (4, 3), lambda weights, x: (weights.flip(0), x.flip(0)))),
        ),
    ),
)
