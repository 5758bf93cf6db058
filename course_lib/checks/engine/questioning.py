"""Every question that an answer to an exercise is asked, the smallest and plainest first."""

import inspect
from dataclasses import replace
from functools import lru_cache
from itertools import islice, zip_longest

import torch

from course_lib.checks.engine.asking import Call
from course_lib.checks.engine.exercise import random_tensors, shapes, truth
from course_lib.checks.engine.lengths import BEYOND, drawn_sizes, one_long_axis, with_usual_lengths, with_usual_scores


@lru_cache(maxsize=128)
def questions(exercise, seed=0):
    """All calls of an exercise, the smallest and plainest first; the random ones follow from the seed."""
    generator = torch.Generator().manual_seed(seed)

    def made(size, **circumstances):
        build = exercise.build(*size) if exercise.build else None
        weights = random_tensors(shapes(exercise.verified, build), generator) if exercise.build else None
        return Call(exercise.make(generator, *size), build=build, weights=weights, **circumstances)

    size, square = exercise.sizes[0], exercise.square_size or exercise.sizes[0]
    of_sizes = [made(s) for s in exercise.sizes]
    first, ways = of_sizes[0], _by_number_of_arguments(exercise, of_sizes)
    calls = [a if isinstance(a, Call) else Call(a) for a in exercise.examples] + of_sizes
    if seed and first.args and all(map(callable, first.args)):  # a test of code may only count how often it is asked
        calls = [calls[i] for i in torch.randperm(len(calls), generator=generator)]
    calls += [Call(args, "large values") for args in exercise.extremes]
    tensors = [a for a in first.args if isinstance(a, torch.Tensor)]
    if numbers := bool(exercise.build) or any(t.is_floating_point() for t in tensors):
        calls += [made(size, special="gradients", gradients=True)] * exercise.gradients
        calls += [made(square, special="float64").in_float64()]
    if tensors:
        calls += [made(size, special="arguments not contiguous in memory", strided=True)]
        calls += [made(s, special="arguments as if on a GPU", on_gpu=True) for s in ways]
    calls += _without_defaults(exercise, of_sizes)
    if exercise.build:
        calls += [made(size, special="train mode", train=True)]
        if not any(map(callable, first.args)):
            calls += [made(s, special="a module that was called before",
                           before=exercise.make(generator, *_other_size(exercise, s))) for s in ways]
    calls += exercise.calls(generator) if exercise.calls else []
    calls += [with_usual_scores(made(large, special=BEYOND), exercise.make(torch.Generator(), *small), factor)
              for small, large, factor in one_long_axis(exercise)]
    if seed:  # in grading
        large = (with_usual_lengths(made(size, special="sizes up to seventy"), factor)
                 for size, factor in drawn_sizes(exercise, generator))
        calls += islice((call for call in large if truth(exercise, call).error is None), 1)
    calls += _after_earlier_ones(exercise, of_sizes, ways, generator, numbers and exercise.gradients)
    return (*calls, Call(**{**vars(first), "special": "the first call once more"}))


def _by_number_of_arguments(exercise, of_sizes):
    """The first size for each number of arguments: each optional argument is a way of its own through an answer."""
    first = {len(call.args): size for call, size in zip(of_sizes[::-1], exercise.sizes[::-1], strict=True)}
    return list(first.values())[::-1]


def _without_defaults(exercise, of_sizes):
    """Calls with the arguments alone that have no default, where no other call leaves the others out."""
    of = exercise.verified.forward if inspect.isclass(exercise.verified) else exercise.verified
    parameters = [p for name, p in inspect.signature(of).parameters.items() if name != "self"]
    needed = sum(p.default is p.empty for p in parameters)
    if any(len(call.args) == needed for call in of_sizes):
        return []
    short = replace(of_sizes[0], args=of_sizes[0].args[:needed], special="only what has no default")
    return [short, replace(short, on_gpu=True, special="only what has no default, as if on a GPU")]


def _after_earlier_ones(exercise, of_sizes, ways, generator, gradients):
    """Calls after one with other arguments of the same shapes, and without an optional one after one with it."""
    if any(map(callable, of_sizes[0].args)) or not any(isinstance(a, torch.Tensor) for a in of_sizes[0].args):
        return []
    longest = max(ways, key=lambda size: len(exercise.make(torch.Generator(), *size)))
    call = of_sizes[exercise.sizes.index(longest)]
    other = exercise.make(generator, *longest)
    calls = [replace(call, earlier=(other,), gradients=gradients,
                     special="called before with other arguments of these shapes")]
    shorter = [len(c.args) for c in of_sizes if len(c.args) < len(call.args)]
    if shorter:
        calls += [replace(call, args=call.args[: min(shorter)], earlier=(other,),
                          special="called before with one argument more")]
    return calls


def _other_size(exercise, size):
    """A size as different from this one as can be with the same constructor arguments."""
    def mixed(other):
        free = [exercise.build(*size[:i], new, *size[i + 1:]) == exercise.build(*size) for i, new in enumerate(other)]
        both = zip_longest(size[: len(other)], other, free)
        return tuple(new if may else old for old, new, may in both if may or old is not None)

    found = [other for other in map(mixed, exercise.sizes) if exercise.build(*other) == exercise.build(*size)]
    return max(found, key=lambda other: sum(a != b for a, b in zip_longest(size, other)))
