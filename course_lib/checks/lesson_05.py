"""Lesson 05, versions 3 to 5: queries, keys and values, judged by torch's own attention."""

import torch
import torch.nn.functional as F

from course_lib import attention
from course_lib.checks.engine.exercise import Exercise


def torch_attention(queries, keys, values):
    """torch's attention: (M, D), (N, D), (N, Dv) -> (M, Dv), scaled by √D."""
    return F.scaled_dot_product_attention(queries[None], keys[None], values[None])[0]


def from_two_sources(queries, inputs, W_k, W_v):
    """Version 4: queries (M, D_q), keys (N, D_q), values (N, D_v)."""
    return queries, inputs @ W_k, inputs @ W_v


def from_one_source(x, W_q, W_k, W_v):
    """Version 5: queries (N, D_k), keys (N, D_k), values (N, D_v)."""
    return x @ W_q, x @ W_k, x @ W_v


# What is asked


def make_3(generator, M, N, D):
    return torch.randn(M, D, generator=generator), torch.randn(N, D, generator=generator)


def make_4(generator, M, N, D_x, D_q, D_v):
    return (torch.randn(M, D_q, generator=generator), torch.randn(N, D_x, generator=generator),
            torch.randn(D_x, D_q, generator=generator) / D_x**0.5, torch.randn(D_x, D_v, generator=generator))


def make_5(generator, N, D_x, D_k, D_v):
    return (torch.randn(N, D_x, generator=generator), torch.randn(D_x, D_k, generator=generator) / D_x**0.5,
            torch.randn(D_x, D_k, generator=generator), torch.randn(D_x, D_v, generator=generator))


def example(*matrices):
    return tuple(torch.tensor(m, dtype=torch.float32) for m in matrices)


def properties_of(make, size, queries, inputs, values):
    """What holds for every right answer. The arguments say at which position of args things stand."""

    def with_a_constant_value(args):
        args = list(args)
        args[inputs] = torch.cat([args[inputs][:, :-1], torch.ones(len(args[inputs]), 1)], 1)
        if values != inputs:
            args[values] = torch.eye(*args[values].shape).flip(0)  # column 0 picks the constant
        return args

    def weights_sum_to_one(output, generator):
        out = output(*with_a_constant_value(make(generator, *size)))
        constant = out[:, -1] if values == inputs else out[:, 0]
        return torch.allclose(constant, torch.ones_like(constant), atol=1e-4)

    def permuting_inputs(output, generator):
        args = list(make(generator, *size))
        before, order = output(*args), torch.randperm(len(args[inputs]), generator=generator)
        args[inputs] = args[inputs][order]
        return torch.allclose(output(*args), before[order] if queries == inputs else before, atol=1e-4)

    def each_query_alone(output, generator):
        args = list(make(generator, *size))
        together = output(*args)
        args[queries] = args[queries][1:2]
        return torch.allclose(output(*args), together[1:2], atol=1e-4)

    alone = () if queries == inputs else (
        ("A query gets another result alone than beside other queries.", each_query_alone),)
    order = ("Permuting the tokens does not just permute the rows of the result." if queries == inputs
             else "The order of the inputs changes the result.")
    return (("A value that is 1 for every input does not come out as 1.", weights_sum_to_one),
            (order, permuting_inputs), *alone)


EXERCISES = (
    Exercise(
        lesson="05",
        asked="for each of the M queries what version 2 gives: scaled dot products with all N inputs, softmax over the "
        "inputs, weighted sum of the inputs. One row a query: (M, D).",
        verified=attention.attention_query_matrix,
        oracle=lambda queries, inputs: torch_attention(queries, inputs, inputs),
        examples=(
            example([[2, 0, 0, 0], [0, 2, 0, 2]], [[1, 0, 0, 0], [0, 1, 0, 2], [0, 0, 3, 1]]),
            example([[1, 2, 0, -1], [0, 0, 4, 0], [2, 0, 0, 2]], [[1, 1, 0, 0], [2, 0, -1, 0]]),
        ),
        sizes=((2, 5, 3), (3, 2, 7), (4, 4, 4), (5, 5, 2), (1, 3, 6), (3, 1, 2), (1, 1, 1)),
        square_size=(2, 5, 4),
        make=make_3,
        extremes=(example([[60, 0, 20, 0], [0, 40, 0, 0]], [[40, 1, 0, 2], [40, 5, 0, 3], [0, 9, 30, 4]]),),
        properties=properties_of(make_3, (4, 5, 3), 0, 1, 1),
    ),
    Exercise(
        lesson="05",
        asked="keys and values from the inputs, each by its own matrix; scaled dot products of queries and keys, "
        "softmax over the inputs, weighted sum of the values. One row a query: `(M, D_v)`.",
        verified=attention.cross_attention,
        oracle=lambda *args: torch_attention(*from_two_sources(*args)),
        examples=(
            example([[2, 0, 0, 1], [0, 2, 0, 0]], [[1, 0], [0, 2], [1, -1]], [[1, 0, 2, 0], [0, 2, 0, -1]],
                    [[1, 0, 3], [0, 2, 1]]),
            example([[1, 0, 0, 2], [0, 3, 0, 0], [0, 0, 1, -1]], [[1, 0, 2, 0, 1], [0, 1, 0, 2, 0]],
                    [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [1, -1, 0, 0]],
                    [[1, 0], [2, 0], [0, 3], [0, 1], [1, 1]]),
        ),
        sizes=((2, 5, 3, 7, 4), (3, 2, 6, 4, 5), (3, 5, 4, 4, 4), (4, 4, 4, 4, 4), (5, 3, 4, 2, 2), (2, 5, 3, 3, 6),
               (1, 3, 2, 4, 5), (3, 1, 2, 5, 4), (1, 1, 1, 1, 1)),
        square_size=(2, 5, 3, 4, 6),
        make=make_4,
        extremes=(example([[60, 0, 20, 0], [0, 40, 0, 0]], [[40, 1, 0], [40, 5, 3], [0, 9, 30]],
                          [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], [[1, 0], [0, 2], [1, 1]]),),
        properties=properties_of(make_4, (4, 5, 3, 6, 2), 0, 1, 3),
    ),
    Exercise(
        lesson="05",
        asked="queries, keys and values all from x, each by its own matrix; scaled dot products of queries and keys, "
        "softmax over the keys, weighted sum of the values. One row a token: `(N, D_v)`.",
        verified=attention.self_attention,
        oracle=lambda *args: torch_attention(*from_one_source(*args)),
        examples=(
            example([[1, 0], [0, 2], [1, -1]], [[2, 0, 0, 1], [0, 1, 0, 1]], [[1, 0, 2, 0], [0, 2, 0, -1]],
                    [[1, 0, 3], [0, 2, 1]]),
            example([[1, 0, 2], [0, 1, 1]], [[1, 0, 0, 2], [0, 2, 0, 0], [0, 0, 1, 0]],
                    [[0, 1, 0, 0], [1, 0, 0, 1], [1, 0, 2, 0]], [[2, 0, 0, 0, 1], [0, 1, 0, 3, 0], [0, 0, 1, 0, 0]]),
        ),
        sizes=((5, 3, 7, 4), (2, 6, 4, 5), (5, 4, 4, 4), (4, 4, 4, 4), (3, 4, 2, 2), (3, 2, 5, 2), (5, 3, 3, 6),
               (1, 3, 2, 4), (3, 1, 2, 5), (1, 1, 1, 1)),
        square_size=(5, 3, 4, 6),
        make=make_5,
        extremes=(example([[40, 1, 0], [40, 5, 3], [0, 9, 30]], [[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]],
                          [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]], [[1, 0], [0, 2], [1, 1]]),),
        properties=properties_of(make_5, (5, 3, 4, 2), 0, 0, 3),
    ),
)
