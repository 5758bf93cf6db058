"""What "right" means for one exercise, and every question that an answer to it is asked."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice, zip_longest

import torch

from course_lib.checks.engine.asking import Call, Reply, ask
from course_lib.checks.engine.mistakes import ByHand, mistakes_of

LARGE = 5_000  # numbers in the arguments of a call that many an honest loop goes through


@dataclass(frozen=True, eq=False)
class Exercise:
    """What "right" means for one exercise.

    A function is judged by `oracle(*args)`. For a module, `build(*size)` makes constructor arguments and the truth
    is `oracle(weights, build, *args)`, with weights named as in `verified`.
    """

    lesson: str
    asked: str  # a sentence with `code` and $formulas$
    verified: Callable  # the course's own implementation: it stands in for a missing answer and never judges one
    oracle: Callable  # NaN in what it returns stands for "any finite number is right"
    examples: tuple  # the smallest arguments at which something can be seen, easy to read; for a module, whole Calls
    sizes: tuple  # for `make`; unequal everywhere, then coinciding, then one
    make: Callable  # make(generator, *size) -> args in float32
    by_hand: tuple = ()  # wrong answers that are no edit of the right one; all others stand in checks/mistakes
    properties: tuple = ()  # (what is seen when it fails, holds(output, generator)), and an optional argument's name
    statistics: tuple = ()  # pairs (sentence, holds(draw, generator)) of random answers: each of them must hold
    extremes: tuple = ()  # large arguments whose scores are exact in float32
    square_size: tuple = ()  # a size whose square root is exact, for judging in float64
    build: Callable | None = None  # build(*size) -> constructor arguments
    calls: Callable | None = None  # calls(generator) -> more calls that only this exercise needs
    grows: tuple = ()  # the places in a size that may grow to seventy in grading, where not all of them
    gradients: bool = True  # False where right answers may differ in their gradients
    any_layout: bool = False  # four square matrices, which an answer may call and pack as it likes

    @property
    def name(self):
        return self.verified.__name__

    @cached_property
    def mistakes(self):
        """The classic mistakes, as Mistakes."""
        return (*mistakes_of(self.lesson, self.verified), *map(ByHand, self.by_hand))


def argument_names(exercise):
    """The names of the arguments, as the exercise's contract has them."""
    of = exercise.verified.forward if inspect.isclass(exercise.verified) else exercise.verified
    return [name for name in inspect.signature(of).parameters if name != "self"]


@lru_cache(maxsize=128)
def questions(exercise, seed=0):
    """All calls of an exercise, the smallest and plainest first; the random ones follow from the seed."""
    generator = torch.Generator().manual_seed(seed)

    def made(size, **circumstances):
        build = exercise.build(*size) if exercise.build else None
        weights = _random(_shapes(exercise.verified, build), generator) if exercise.build else None
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
    if seed:  # in grading
        large = (_of_usual_lengths(made(size, special="sizes up to seventy"), factor)
                 for size, factor in _large_sizes(exercise, generator))
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


def _large_sizes(exercise, generator):
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


def _of_usual_lengths(call, factor):
    """The call with vectors as long as in the small ones: dot products that grow make any softmax pick one vector."""
    shorter = [a / factor**0.5 if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in call.args]
    return replace(call, args=tuple(shorter))


def _shuffled(things, generator):
    return [things[i] for i in torch.randperm(len(things), generator=generator).tolist()]


def _other_size(exercise, size):
    """A size as different from this one as can be with the same constructor arguments."""
    def mixed(other):
        free = [exercise.build(*size[:i], new, *size[i + 1:]) == exercise.build(*size) for i, new in enumerate(other)]
        both = zip_longest(size[: len(other)], other, free)
        return tuple(new if may else old for old, new, may in both if may or old is not None)

    found = [other for other in map(mixed, exercise.sizes) if exercise.build(*other) == exercise.build(*size)]
    return max(found, key=lambda other: sum(a != b for a, b in zip_longest(size, other)))


def random_weights(module, generator):
    """A value for every parameter of a module, far from its initial one: gains at 1 and biases at 0 hide mistakes."""
    return _random({name: p.shape for name, p in module.named_parameters()}, generator)


def _random(shapes, generator):
    return {name: torch.randn(shape, generator=generator) / shape[-1] ** 0.5 + 0.1 for name, shape in shapes.items()}


@lru_cache(maxsize=1024)
def _shapes(cls, build):
    """The shape of every parameter of a module, by name; most questions are asked of modules of few sizes."""
    return {name: p.shape for name, p in cls(*build).named_parameters()}


@lru_cache(maxsize=4096)  # a class is graded with the same questions
def truth(exercise, call):
    """The oracle's reply, computed in float64. NaN in it stands for "any finite number is right"."""
    if call.must_raise:
        return Reply()
    call = call.in_float64()
    if call.build is None:
        return ask(exercise.oracle, replace(call, at_most=0))  # it may hold what it likes
    names, n = list(call.weights), len(call.args)
    reply = ask(lambda *args: exercise.oracle(dict(zip(names, args[n:], strict=True)), call.build, *args[:n]),
                Call((*call.args, *call.weights.values()), gradients=call.gradients))
    gradients = {which if which < n else names[which - n]: g for which, g in (reply.gradients or {}).items()}
    return replace(reply, gradients=gradients)
