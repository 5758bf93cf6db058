"""Lesson 04, softmax and versions 1 and 2: judged by torch's own, the attention with and without its scale."""

import torch
import torch.nn.functional as F

from course_lib import attention, black_box_tests
from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.laws import a_constant_stays, always, invariant, rows_are_apart, sensitive, stays_in_range
from course_lib.checks.engine.suspects import WITH_LETTERS, line_up

# --- softmax ----------------------------------------------------------------------------------------------------

INF = float("inf")


def torch_softmax(scores):
    return torch.softmax(scores, dim=-1)


def make_scores(generator, *size):
    return (2 * torch.randn(size, generator=generator),)


def some_minus_infinity(generator):
    """Gradients where a score is -inf, which must be zero there and not NaN."""
    scores, = make_scores(generator, 3, 5)
    scores[0, 1] = scores[2, 0] = scores[2, 3] = -INF
    return [Call((scores,), "gradients where some scores are -inf", gradients=True)]


SOFTMAX = Exercise(
    lesson="04",
    asked="$exp(scores)$ divided by its sum over the last axis, without overflow for large scores: shape (..., N), "
    "like scores.",
    verified=attention.softmax,
    oracle=torch_softmax,
    examples=(
        (torch.tensor([2.0, 1.0, 0.0]),),
        (torch.tensor([[2.0, 1.0, 0.0], [0.0, -1.0, 3.0]]),),
        (torch.tensor([2.0, -INF, 0.0]),),
    ),
    sizes=((2, 3, 5), (4, 7), (5,), (2, 5, 3, 4), (3, 3), (4, 4, 4), (1, 4), (3, 1), (1, 1), (1,)),
    square_size=(2, 3, 4),
    make=make_scores,
    extremes=(
        (torch.tensor([60.0, 59.0, 0.0]),),
        (torch.tensor([100.0, 99.0, 0.0]),),
        (torch.tensor([-10000.0, -10001.0, -9990.0]),),
        (torch.tensor([-300.0, 40.0, 39.0]),),
        (torch.tensor([[10000.0, 9999.0, 0.0], [-10000.0, -9999.0, -9999.0]]),),
        (torch.tensor([[10000.0, -10000.0, 9998.0], [-INF, -10000.0, -10001.0]]),),
    ),
    calls=some_minus_infinity,
    properties=(
        ("A row does not sum to one.",
         always(make_scores, (4, 5), lambda out, scores: (out.sum(-1) - 1).abs().max() < 1e-4)),
        ("A row of scores changes the weights of another row.", rows_are_apart(make_scores, (4, 5))),
        ("The same number added to all scores changes the weights.",
         invariant(make_scores, (4, 5), lambda scores: (scores + 3,))),
        ("A larger score does not get a larger weight.",
         always(make_scores, (4, 5), lambda out, scores: torch.equal(out.argsort(-1), scores.argsort(-1)))),
    ),
)

# --- versions 1 and 2 -------------------------------------------------------------------------------------------


def torch_attention(query, inputs, scale):
    """torch's attention with a single query and the inputs as keys and values."""
    return F.scaled_dot_product_attention(query[None, None], inputs[None], inputs[None], scale=scale)[0, 0]


def unscaled(query, inputs):
    return torch_attention(query, inputs, 1.0)


def by_root_d(query, inputs):
    return torch_attention(query, inputs, query.shape[0] ** -0.5)


def make(generator, N, D):
    return torch.randn(D, generator=generator), torch.randn(N, D, generator=generator)


def example(query, inputs):
    return torch.tensor(query), torch.tensor(inputs)


PROPERTIES = (
    ("A feature that is 1 in every input does not stay 1.", a_constant_stays(make, (5, 3), inputs=1)),
    ("The order of the inputs changes the result.",
     invariant(make, (5, 3), lambda query, inputs: (query, inputs.flip(0)))),
    ("The result lies outside the range of the inputs.", stays_in_range(make, (5, 3), inputs=1)),
    ("The result does not depend on the query.",
     sensitive(make, (5, 3), lambda query, inputs: (1 - 2 * query, inputs))),
)
SHARED = dict(
    lesson="04",
    examples=(
        example([2.0, 0.0, 0.0, 0.0], [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 2.0]]),
        example([1.0, 2.0, 0.0, -1.0], [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 3.0, 1.0], [2.0, 0.0, -1.0, 0.0]]),
    ),
    sizes=((5, 3), (3, 7), (4, 4), (1, 3), (3, 1), (1, 1)),
    square_size=(5, 4),
    make=make,
    extremes=(example([60.0, 0.0, 20.0, 0.0], [[0.0, 9.0, 30.0, 4.0], [40.0, 1.0, 0.0, 2.0], [40.0, 5.0, 0.0, 3.0]]),),
    properties=PROPERTIES,
)

# --- is_version_2 -----------------------------------------------------------------------------------------------


def version_2(query, inputs):
    return torch.softmax(inputs @ query / len(query) ** 0.5, 0) @ inputs


def scales_both(query, inputs):
    scores = (inputs.double() / len(query) ** 0.25) @ (query.double() / len(query) ** 0.25)
    return (torch.softmax(scores, 0) @ inputs.double()).to(inputs.dtype)


def one_at_a_time(query, inputs):
    scores = [(x * query).sum() / len(query) ** 0.5 for x in inputs]
    e = [torch.exp(s - max(scores)) for s in scores]
    return sum(w * x for w, x in zip(e, inputs, strict=True)) / sum(e)


def of_unit_vectors(query, inputs):
    keys = F.normalize(inputs, dim=1)[None]
    return F.scaled_dot_product_attention(F.normalize(query, dim=0)[None, None], keys, inputs[None])[0, 0]


def a_little_less(query, inputs):
    """As if 0.03 were added to the sum of the exponentials, of which the largest is 1."""
    values = torch.eye(len(inputs), dtype=inputs.dtype)[None]
    weights = F.scaled_dot_product_attention(query[None, None], inputs[None], values)  # (1, 1, N)
    return by_root_d(query, inputs) / (1 + 0.03 * weights.max())


def with_scale(of_shape):
    return lambda query, inputs: torch_attention(query, inputs, of_shape(*inputs.shape))


NOT_VERSION_2 = {
    "no scale": unscaled,
    "by D": with_scale(lambda N, D: 1 / D),
    "by the root of N": with_scale(lambda N, D: N**-0.5),
    "always by 2": with_scale(lambda N, D: 1 / 2),
    "after the softmax": lambda query, inputs: unscaled(query, inputs) / len(query) ** 0.5,
    "no softmax": lambda query, inputs: inputs.T @ (inputs @ query) / len(query) ** 0.5,
    "all alike": lambda query, inputs: inputs.mean(0),
    "the best one": lambda query, inputs: inputs[(inputs @ query).argmax()],
    "a sum": lambda query, inputs: len(inputs) * by_root_d(query, inputs),
    "always by 8": with_scale(lambda N, D: 1 / 8),
    "cosine": of_unit_vectors,
    "a little less": a_little_less,
    "channels turned round": lambda query, inputs: by_root_d(query, inputs).roll(1),
    "one channel": lambda query, inputs: torch.where(torch.arange(len(query)) < 1, by_root_d(query, inputs),
                                                     2 * by_root_d(query, inputs) + 1),
    "always too small": lambda query, inputs: by_root_d(query, inputs) - 0.25,
    "not a number": lambda query, inputs: by_root_d(query, inputs) * float("nan"),
}
LINED_UP = line_up(one_at_a_time, NOT_VERSION_2["always by 2"], NOT_VERSION_2["no scale"], scales_both,
                   NOT_VERSION_2["by the root of N"], version_2, *list(NOT_VERSION_2.values())[:2],
                   *list(NOT_VERSION_2.values())[4:])
INNOCENT = {one_at_a_time, scales_both, version_2}


EXERCISES = (
    SOFTMAX,
    Exercise(
        asked="the dot product of every input with the query, softmax over the N scores, and with these weights the "
        "weighted sum of the inputs: one vector (D,).",
        verified=attention.dot_product_attention,
        oracle=unscaled,
        **SHARED,
    ),
    Exercise(
        asked="as version 1, but the scores are divided by $√D$ before the softmax: one vector (D,).",
        verified=attention.scaled_dot_product_attention_single,
        oracle=by_root_d,
        **SHARED,
    ),
    Exercise(
        lesson="04",
        asked="True for every function that computes version 2, whatever its style, and False for every other: five of "
        "them have letters, the check knows more.",
        verified=black_box_tests.is_version_2,
        oracle=lambda attend: attend.function in INNOCENT,
        examples=tuple((suspect,) for suspect in LINED_UP[:WITH_LETTERS]),
        sizes=tuple((i,) for i in range(WITH_LETTERS, len(LINED_UP))),
        make=lambda generator, i: (LINED_UP[i],),
    ),
)
