"""Lesson 01, attention before networks: `soft_max_pool`, judged by torch's own attention, one channel at a time."""

import torch
import torch.nn.functional as F

from course_lib import attention
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import a_constant_stays, invariant, stays_in_range


def channel_by_channel(x, beta):
    """torch's attention once for each channel: the query is 1, keys and values are the channel, the scale is beta."""
    query = torch.ones_like(x[:1, :1])  # (1, 1)
    channels = [x[None, :, d : d + 1] for d in range(x.shape[1])]  # D times (1, N, 1)
    return torch.cat([F.scaled_dot_product_attention(query[None], c, c, scale=beta)[0, 0] for c in channels])


def make(generator, N, D):
    x = torch.randn(N, D, generator=generator)
    return x, torch.randint(3, 9, (), generator=generator).item() / 2  # 1.5, 2.0, ... 4.0


def example(x, beta):
    return torch.tensor(x), beta


def at_zero_it_is_the_mean(output, generator):
    x, _ = make(generator, 5, 3)
    return torch.allclose(output(x, 0.0), x.mean(0), atol=1e-4)


def in_the_end_it_is_the_maximum(output, generator):
    x, _ = make(generator, 5, 3)
    return torch.allclose(output(x.sort(0).values + torch.arange(5.0)[:, None], 60.0), x.amax(0) + 4, atol=1e-3)


def more_beta_gives_more(output, generator):
    x, _ = make(generator, 5, 3)
    return bool((output(x, 1.5) > output(x, 0.5)).all())


EXERCISES = (
    Exercise(
        lesson="01",
        asked="for every channel a softmax over the N inputs of beta times its numbers, and with these weights the "
        "weighted sum of the same numbers: one vector (D,).",
        verified=attention.soft_max_pool,
        oracle=channel_by_channel,
        examples=(
            example([[0.0, 3.0], [2.0, 1.0], [0.0, -1.0]], 0.5),
            example([[1.0, 0.0, -3.0], [2.0, 0.0, 1.0]], 2.0),
            example([[3.0, -1.0], [0.0, 1.0], [0.0, 3.0]], 0.0),
        ),
        sizes=((5, 3), (3, 7), (4, 4), (1, 3), (3, 1), (1, 1)),
        square_size=(5, 4),
        make=make,
        extremes=(
            example([[40.0, -60.0], [40.0, 8.0], [12.0, 24.0]], 8.0),
            example([[40.0, -40.0], [24.0, -60.0], [12.0, -60.0]], 4.0),
            example([[0.5, -0.25], [0.5078125, 0.75], [0.0, 0.7578125]], 128.0),  # a steep one that is no maximum
            example([[256.0, 0.0], [0.0, -64.0], [192.0, 128.0]], 1 / 64),  # a flat one of large numbers
        ),
        properties=(
            ("A channel that is 1 in every input does not stay 1.", a_constant_stays(make, (5, 3), inputs=0)),
            ("A result lies outside the range of its channel.", stays_in_range(make, (5, 3), inputs=0)),
            ("With beta = 0 the result is not the mean.", at_zero_it_is_the_mean),
            ("With beta = 60 the result is not close to the maximum.", in_the_end_it_is_the_maximum),
            ("A larger beta does not give a larger result.", more_beta_gives_more),
            ("A channel changes when only the other channels are changed.",
             invariant(make, (5, 3), lambda x, beta: (torch.cat([x[:, :1], 2 * x[:, 1:] + 1], 1), beta),
                       part=lambda out: out[0])),
            ("The order of the inputs changes the result.",
             invariant(make, (5, 3), lambda x, beta: (x.flip(0), beta))),
        ),
    ),
)
