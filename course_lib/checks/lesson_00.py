"""Lesson 00, the big picture: `weighted_sum`, judged by a loop nobody can doubt."""

import torch

from course_lib import attention
from course_lib.checks.engine.exercise import Exercise


def by_loop(weights, x):
    """Add the rows one after another."""
    total = torch.zeros_like(x[0])
    for weight, row in zip(weights, x, strict=True):
        total = total + weight * row
    return total


def mean(weights, x):
    """The sum was divided by the number of vectors: that is an average, and the weights already say how much
    each vector counts."""
    return weights @ x / len(x)


def ignores_weights(weights, x):
    """Every vector counts the same here: the weights are not used."""
    return x.sum(0)


def normalises_weights(weights, x):
    """The weights were made to sum to one first. They are to be used as they are."""
    return weights / weights.sum() @ x


def softmaxes_weights(weights, x):
    """The weights went through a softmax first. They are weights already, not scores: use them as they are."""
    return torch.softmax(weights, 0) @ x


def no_sum(weights, x):
    """Each vector was multiplied by its weight, but they were not added up: N vectors are left instead of one."""
    return weights[:, None] * x


def sums_features(weights, x):
    """The sum ran along each vector instead of over the vectors: (N,) numbers are left, one a vector."""
    return (weights[:, None] * x).sum(1)


def sums_everything(weights, x):
    """The sum ran over the vectors and along them: a single number is left instead of a vector (D,)."""
    return (weights[:, None] * x).sum()


def squared_weights(weights, x):
    """Each weight was used twice: weights[n] ** 2 * x[n]."""
    return weights**2 @ x


def takes_the_largest(weights, x):
    """Only the vector with the largest weight was kept. All of them count, each with its weight."""
    return x[weights.argmax()]


def forgets_the_last(weights, x):
    """The last vector is missing from the sum: does the loop stop one too early?"""
    return weights[:-1] @ x[:-1]


def swaps_the_factors(weights, x):
    """The factors stand in the wrong order: in x @ weights the row length D meets the N weights. Which product has N
    meet N?"""
    return x @ weights


def misses_an_axis(weights, x):
    """Without an axis of their own the weights were lined up with the features. weights[:, None] lines them up with
    the rows of x."""
    return (weights * x).sum(0)


def plain_average(weights, x):
    """This is the plain average of the vectors: the weights are not used."""
    return x.mean(0)


def only_the_first(weights, x):
    """Only the first vector was counted: does the loop return too early?"""
    return weights[0] * x[0]


def keeps_a_row_axis(weights, x):
    """The result is a matrix with one row, (1, D). A vector (D,) is asked for."""
    return weights[None] @ x


def squeezes_everything(weights, x):
    """squeeze() without an axis takes away every axis of length 1: where the vectors hold one number, more goes than
    was meant. Which axis did you want to lose?"""
    return (weights[None] @ x).squeeze()


def example(weights, x):
    return torch.tensor(weights), torch.tensor(x)


def is_linear(output, generator):
    weights, x = make(generator, 4, 3)
    return torch.allclose(output(2 * weights, x), 2 * output(weights, x), atol=1e-4)


def order_is_free(output, generator):
    weights, x = make(generator, 4, 3)
    return torch.allclose(output(weights.flip(0), x.flip(0)), output(weights, x), atol=1e-4)


def make(generator, N, D):
    return torch.randn(N, generator=generator), torch.randn(N, D, generator=generator)


EXERCISES = (
    Exercise(
        name="weighted_sum",
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
        by_hand=(mean, ignores_weights, normalises_weights, softmaxes_weights, no_sum, sums_features,
                  sums_everything, squared_weights, takes_the_largest, forgets_the_last, swaps_the_factors,
                  misses_an_axis, plain_average, only_the_first, keeps_a_row_axis, squeezes_everything),
        properties=(
            ("Doubling the weights does not double the result.", is_linear),
            ("Swapping two vectors together with their weights changes the result.", order_is_free),
        ),
    ),
)
