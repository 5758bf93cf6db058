"""Lesson 02, self-attention with nothing trained: `reweight`, judged by torch's own attention."""

import torch
import torch.nn.functional as F

from course_lib import attention
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import a_constant_stays, equivariant, stays_in_range


def torch_attention(x):
    """torch's attention of x to itself, unscaled."""
    return F.scaled_dot_product_attention(x[None], x[None], x[None], scale=1.0)[0]


def make(generator, T, D):
    return (torch.randn(T, D, generator=generator),)


EXERCISES = (
    Exercise(
        lesson="02",
        asked="dot products of every row of x with every row, softmax over each row of scores, and with these "
        "weights the weighted sum of the rows of x: shape (T, D).",
        verified=attention.reweight,
        oracle=torch_attention,
        examples=(
            (torch.tensor([[1.0, 0.0], [0.0, 2.0]]),),
            (torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, -1.0]]),),
        ),
        sizes=((5, 3), (3, 7), (4, 4), (1, 3), (3, 1), (1, 1)),
        square_size=(5, 4),
        make=make,
        extremes=(
            (torch.tensor([[16.0, 0.0, 3.0], [0.0, 20.0, 3.0], [-12.0, 4.0, 2.0]]),),
            (torch.tensor([[1.0, 0.0], [100.0, 0.0], [0.0, 2.0]]),),  # a short vector beside a long one
        ),
        properties=(
            ("A feature that is 1 in every token does not stay 1.", a_constant_stays(make, (5, 3), inputs=0)),
            ("Permuting the tokens does not just permute the outputs.",
             equivariant(make, (5, 3), lambda x: (x[[2, 0, 4, 1, 3]],), lambda out: out[[2, 0, 4, 1, 3]])),
            ("An output lies outside the range of the inputs.", stays_in_range(make, (5, 3), inputs=0)),
        ),
    ),
)
