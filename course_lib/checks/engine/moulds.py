"""Modules of wrong answers that need not be built: where a mistake leaves the constructor as it is, they share one."""

import re
from functools import cache, lru_cache, partial

import torch

from course_lib.checks.engine.asking import built
from course_lib.checks.engine.mistakes import ByHand, run_beside


def build_of(mistake, call):
    """What makes a module of a mistake's class for a call: `built`, or where it may what builds nothing.

    To build a module takes longer than to call it, and a model has a thousand pairs of mistakes.
    """
    parts = getattr(mistake, "both", (mistake,))
    is_plain = call.build is not None and not (call.on_gpu or call.before or call.must_raise)
    return partial(_from_a_mould, mistake.of, parts[0].right) \
        if is_plain and all(map(_leaves_the_constructor, parts)) else built


@cache
def _leaves_the_constructor(mistake):
    """Is each method that it changes one that the constructor does not name?"""
    if isinstance(mistake, ByHand):
        return False
    right, wrong = (source.split("\n    def ") for source in (mistake.right, mistake.source))
    names = [method.partition("(")[0] for method in right]
    constructor = "".join(m for m, name in zip(right, names, strict=True) if name == "__init__")
    used = {"__init__", names[0], *re.findall(r"self\.(\w+)", constructor)}
    return names == [method.partition("(")[0] for method in wrong] and all(
        r == w or name not in used for r, w, name in zip(right, wrong, names, strict=True))


def _from_a_mould(of, source, cls, call):
    """A module of a class with the parts of a right one, and with attributes of its own."""
    right, state = _mould(of, source, call)
    module = cls.__new__(cls)
    vars(module).update({k: v.copy() if isinstance(v, dict | set) else v for k, v in vars(right).items()})
    torch.set_rng_state(state)
    return module


@lru_cache(maxsize=64)
def _mould(of, source, call):
    """A right module with the weights of a call, and torch's random state after it was built."""
    return built(_edited(of, source), call), torch.get_rng_state()


@cache
def _edited(of, source):
    return run_beside(of, source, f"<{of.__name__}, as it is edited>")
