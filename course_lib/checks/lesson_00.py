"""Lesson 00, the big picture: `embed_tokens` and `weighted_sum`, judged by loops nobody can doubt."""

import torch

from course_lib import attention, layers
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import equivariant, invariant

# --- embed_tokens -------------------------------------------------------------------------------------------------


def row_by_row(ids, table):
    """The row of each token, one after another."""
    return torch.stack([torch.stack([table[token] for token in sentence]) for sentence in ids.tolist()])


def sentences(generator, B, T, V, D):
    """Token numbers in no order, among them the first, the last and one twice; a table without a zero in it."""
    ids = torch.randint(0, V, (B, T), generator=generator)
    ids[0, 0], ids[-1, -1] = V - 1, 0
    if T > 2:
        ids[0, 1] = V - 1
    return ids, torch.randn(V, D, generator=generator)


def in_32_bits(generator):
    ids, table = sentences(generator, 3, 4, 7, 5)
    return [Call((ids.int(), table), "token numbers in int32")]


# --- weighted_sum -------------------------------------------------------------------------------------------------


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
        asked="row `ids[b, t]` of the table for each token: shape (B, T, D).",
        verified=layers.embed_tokens,
        oracle=row_by_row,
        examples=(
            (torch.tensor([[2, 0, 2]]), torch.tensor([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]])),
            (torch.tensor([[0, 1, 3], [3, 2, 0]]), torch.tensor([[1.0, -1.0], [2.0, -2.0], [3.0, -3.0], [4.0, -4.0]])),
        ),
        sizes=((3, 4, 7, 5), (2, 5, 6, 3), (4, 4, 4, 4), (1, 3, 5, 2), (2, 1, 3, 1), (1, 1, 1, 1)),
        square_size=(2, 3, 5, 4),
        make=sentences,
        properties=(
            ("Doubling the table does not double the result.",
             equivariant(sentences, (3, 4, 7, 5), lambda ids, table: (ids, 2 * table), lambda out: 2 * out)),
            ("Words in another order do not give their vectors in that order.",
             equivariant(sentences, (3, 4, 7, 5), lambda ids, table: (ids.flip(1), table), lambda out: out.flip(1))),
        ),
        calls=in_32_bits,
    ),
    Exercise(
        lesson="00",
        asked="`weights[0] * x[0] + weights[1] * x[1] + …`: one vector of shape (D,).",
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
