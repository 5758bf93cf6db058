"""What "right" means for one exercise: the data it brings, and the true reply to any call."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import torch

from course_lib.checks.engine.asking import Call, Reply, ask
from course_lib.checks.engine.mistakes import ByHand, mistakes_of


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
    heads: int | None = None  # which argument of the constructor; attention's matrices may be called and packed anyhow

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


def random_weights(module, generator):
    """A value for every parameter of a module, far from its initial one: gains at 1 and biases at 0 hide mistakes."""
    return random_tensors({name: p.shape for name, p in module.named_parameters()}, generator)


def random_tensors(shapes, generator):
    return {name: torch.randn(shape, generator=generator) / shape[-1] ** 0.5 + 0.1 for name, shape in shapes.items()}


@lru_cache(maxsize=1024)
def shapes(cls, build):
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
