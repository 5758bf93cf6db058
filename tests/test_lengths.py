"""What is right for the first so many numbers of an axis only is wrong under every seed."""

import inspect

import pytest
import torch

from course_lib.checks import EXERCISES
from course_lib.checks.engine.asking import ask
from course_lib.checks.engine.comparing import compare
from course_lib.checks.engine.exercise import truth
from course_lib.checks.engine.judging import judge
from course_lib.checks.engine.lengths import LONG
from course_lib.checks.engine.questioning import questions

# (argument, axis) whose length the contract fixes, or which only a mask with a batch of its own has, or a fourth axis.
SHORT = {"attend_with_cache": {(0, -2), (1, -2), (2, -2)}, "EncoderLayer": {(1, -2)}, "DecoderLayer": {(2, -2)},
         "Block": {(1, -2)}, "rms_norm": {(0, -4)}}


def longest(exercise, seed=0):
    """The greatest length of each axis of each argument, counted from the last one."""
    found = {}
    for call in questions(exercise, seed):
        for i, a in enumerate(call.args):
            for axis in range(-1, -getattr(a, "ndim", 0) - 1, -1):
                found[i, axis] = max(found.get((i, axis), 0), a.shape[axis])
    return found


def has(args, i, axis, k):
    return i < len(args) and getattr(args[i], "ndim", 0) >= -axis and args[i].shape[axis] > k


def emptied(args, i, axis, k):
    """The arguments with nothing left of one axis of one of them behind its first k numbers."""
    if not has(args, i, axis, k):
        return args
    kept, rest = args[i].split([k, args[i].shape[axis] - k], axis)
    rest = ~rest if rest.dtype == torch.bool else rest * 0 + (0 if rest.is_floating_point() else args[i].min())
    return (*args[:i], torch.cat([kept, rest], axis), *args[i + 1:])


def right_up_to(k, exercise, i, axis):
    """The verified implementation, which does not look further than k."""
    if not inspect.isclass(exercise.verified):
        return lambda *args: exercise.verified(*emptied(args, i, axis, k))
    return type("Short", (exercise.verified,), {
        "forward": lambda self, *args: exercise.verified.forward(self, *emptied(args, i, axis, k))})


@pytest.mark.parametrize("name", EXERCISES)
def test_what_looks_no_further_than_k_is_wrong_under_every_seed(name):
    exercise = EXERCISES[name]
    axes = longest(exercise)
    assert {axis for axis, length in axes.items() if length <= LONG} == SHORT.get(name, set())
    for (i, axis), length in axes.items():
        for seed, k in ((0, 1), (0, 8), (0, LONG), (1, LONG)):
            if length > LONG:
                answer = right_up_to(k, exercise, i, axis)
                calls = [c for c in questions(exercise, seed) if has(c.args, i, axis, k) and not c.gradients]
                calls.sort(key=lambda call: -call.args[i].shape[axis])
                assert any(compare(truth(exercise, c), ask(answer, c), c) for c in calls), (i, axis, seed, k)


def softmax_of_the_first(k):
    def softmax(scores):
        powers = torch.exp(scores - scores.amax(-1, keepdim=True))
        return powers / powers[..., :k].sum(-1, keepdim=True)
    return softmax


def layer_norm_of_the_first(k):
    def layer_norm(x, gamma, beta, eps=1e-5):
        mean, var = x[..., :k].mean(-1, keepdim=True), x[..., :k].var(-1, keepdim=True, correction=0)
        return (x - mean) / (var + eps).sqrt() * gamma + beta
    return layer_norm


@pytest.mark.parametrize("name, first", [("softmax", softmax_of_the_first), ("layer_norm", layer_norm_of_the_first)])
@pytest.mark.parametrize("k", [7, 8, LONG])
def test_a_loop_over_a_fixed_number_of_columns_is_told_where_it_fails(name, first, k):
    """Where all but the long call is right, that call is the one that is shown."""
    verdict = judge(EXERCISES[name], first(k))
    assert verdict.status == "wrong"
    assert max(verdict.failure.call.args[0].shape) > k
