"""A wrong answer whose module shares the parts of a right one replies as one that was built."""

import inspect

import pytest
import torch

from course_lib.checks import EXERCISES
from course_lib.checks.engine.asking import ask, built, undisturbed
from course_lib.checks.engine.moulds import build_of
from course_lib.checks.engine.questioning import questions

MODELS = [name for name, exercise in EXERCISES.items() if inspect.isclass(exercise.verified)]
TOLD = "error", "form", "parameters", "printed"


def some(calls):
    """A call of each kind."""
    return list({call.special: call for call in calls}.values())


def tensors(reply):
    """All that a reply holds of numbers, each as bytes, so that what is no number is like itself."""
    found = [*reply.outputs, *(reply.gradients or {}).values()]
    return [t if t is None else (t.dtype, t.shape, t.numpy().tobytes()) for t in found]


@pytest.mark.parametrize("name", MODELS)
def test_it_replies_as_if_it_had_been_built(name):
    """A mistake writes into the weights, or keeps something, and the next one is asked with what it has left."""
    with undisturbed():
        calls, shared = some(questions(EXERCISES[name], seed=0)), 0
        for way in (way for m in EXERCISES[name].mistakes for way in m.ways):
            for call in (c for c in calls if build_of(way, c) is not built):
                one, other = ask(way.answer, call), ask(way.answer, call, build=build_of(way, call))
                assert [getattr(one, what) for what in TOLD] == [getattr(other, what) for what in TOLD], way
                assert tensors(one) == tensors(other), (way, call.special)
                shared += 1
    assert shared, "none is asked so"


def test_what_a_module_keeps_is_its_own():
    """What one call leaves behind is there in the next one, which has another class."""
    exercise = EXERCISES["EncoderLayer"]
    with undisturbed():
        call, way = questions(exercise, seed=0)[0], exercise.mistakes[0]
        first, second = (build_of(way, call)(way.answer, call) for _ in range(2))
        first.kept, first.norm1, first.weight = 1, torch.nn.Identity(), torch.nn.Parameter(torch.ones(1))
    assert not hasattr(second, "kept") and isinstance(second.norm1, torch.nn.LayerNorm)
    assert "weight" not in dict(second.named_parameters())


def test_an_edit_of_the_constructor_is_built():
    """No layer is wrong, for each of them comes from the right answer."""
    ways = [way for way in EXERCISES["EncoderLayer"].mistakes if "eps" in way.name]
    with undisturbed():
        call = questions(EXERCISES["EncoderLayer"], seed=0)[0]
    assert ways and {build_of(way, call) for way in ways} == {built}
