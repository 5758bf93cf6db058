"""Whatever an answer returns or raises, `check` gives a card with words in it, and soon: right answers, bent."""

import contextlib
import inspect
import io
import sys

import numpy as np
import pytest
import torch
from torch import nn

from course_lib import check
from course_lib.checks import EXERCISES
from course_lib.checks.engine.judging import judge
from course_lib.checks.notebook.card import as_html


class Wordless(Exception):
    """An exception whose message cannot be made."""

    def __str__(self):
        return 1 / 0


class Nothing:
    """An object that can be neither shown nor compared."""

    def __repr__(self):
        raise Wordless

    __eq__ = __bool__ = __len__ = __str__ = __repr__
    __hash__ = None


class Special(torch.Tensor):
    """A tensor with a class of its own."""


def throws(error):
    """A bend that raises instead of returning."""

    def bend(result):
        raise error

    return bend


def prints_and_closes(result):
    print("\ud800")
    sys.stdout.close()


def doubled(axis):
    return lambda t: torch.cat([t, t], axis) if t.dim() else torch.stack([t, t])


def none_left(t):
    return t[..., :0] if t.dim() else t[None][:0]


# What becomes of each tensor (a number, True and a list of tokens are tensors for this) ...
OF_TENSORS = {
    "flattened": torch.flatten,
    "an axis in front": lambda t: t[None],
    "an axis behind": lambda t: t[..., None],
    "doubled along the first axis": doubled(0),
    "doubled along the last axis": doubled(-1),
    "transposed": lambda t: t.mT if t.dim() > 1 else t,
    "its first axis last": lambda t: t.transpose(0, -1) if t.dim() else t,
    "float64": torch.Tensor.double,
    "float16": torch.Tensor.half,
    "float8": lambda t: t.detach().to(torch.float8_e4m3fn),
    "int64": torch.Tensor.long,
    "uint16": lambda t: t.detach().to(torch.uint16),
    "bool": torch.Tensor.bool,
    "complex": lambda t: t.to(torch.complex64),
    "a numpy array": lambda t: t.detach().numpy(),
    "emptied": none_left,
    "one number": lambda t: t.flatten()[0].item(),
    "one tensor without axes": lambda t: t.flatten()[0],
    "NaN": lambda t: t * float("nan"),
    "infinite": lambda t: torch.full(t.shape, float("inf")),
    "nearly too large": lambda t: t * 1e37 if t.is_floating_point() else t * 10**15,
    "on the meta device": lambda t: t.to("meta"),
    "sparse": torch.Tensor.to_sparse,
    "nested": lambda t: torch.nested.nested_tensor([t, t]) if t.dim() else t,
    "detached": torch.Tensor.detach,
    "of a class of its own": lambda t: t.as_subclass(Special),
}
# ... and of all that is returned.
OF_RESULTS = {
    "in a tuple": lambda result: (result,),
    "in a list": lambda result: list(result) if isinstance(result, tuple) else [result],
    "in a dict": lambda result: {"result": result},
    "in a numpy array": lambda result: np.array([result, None], dtype=object)[:1],
    "twice": lambda result: (result, result),
    "three times": lambda result: (*result, *result, *result) if isinstance(result, tuple) else (result,) * 3,
    "without its last part": lambda result: result[:-1] if isinstance(result, tuple) else (),
    "with a None beside it": lambda result: (result, None),
    "None": lambda result: None,
    "a string": lambda result: "result",
    "True": lambda result: True,
    "a list of tokens and NaN": lambda result: ([1], float("nan")),
    "a list of tokens too large for a tensor": lambda result: ([2**70], 0.5),
    "a class": lambda result: torch.Tensor,
    "a generator": lambda result: (part for part in range(3)),
    "an object that does nothing": lambda result: Nothing(),
    "an exception": lambda result: Wordless(),
    "raises what has no words": throws(Wordless()),
    "raises half a character": throws(ValueError("\ud800 {0} {x}")),
    "raises a million letters": throws(ValueError("x" * 10**6)),
    "raises what is no Exception": throws(BaseException()),
    "closes what it prints to": prints_and_closes,
}


def of_tensors(bend):
    """The bend of a whole result that bends each tensor of it."""

    def bend_all(result):
        if isinstance(result, tuple):
            return tuple(None if part is None else bend(torch.as_tensor(part)) for part in result)
        return bend(torch.as_tensor(result))

    return bend_all


BENDS = {name: of_tensors(bend) for name, bend in OF_TENSORS.items()} | OF_RESULTS
SLOW = ("EncoderLayer", "DecoderLayer", "Transformer", "ViT")
MODULES = {name: e for name, e in EXERCISES.items() if inspect.isclass(e.verified)}


def same(one, other):
    """Is it the very same result, as far as anybody could tell?"""
    if isinstance(one, tuple | list):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return type(one) is type(other) and one == other
    return (one.shape, one.dtype, one.layout, one.device, one.requires_grad) == (
        other.shape, other.dtype, other.layout, other.device, other.requires_grad) and torch.equal(one, other)


def bent(exercise, bend):
    """The right answer with its results bent, and a list that is not empty once one of them was changed by that."""
    changed = []

    def bend_and_note(result):
        changed.append(1)
        new = bend(result)
        if same(result, new):
            changed.pop()
        return new

    if not inspect.isclass(exercise.verified):
        return lambda *args, **named: bend_and_note(exercise.verified(*args, **named)), changed

    class Bent(exercise.verified):
        def forward(self, *args, **named):
            return bend_and_note(super().forward(*args, **named))

    return Bent, changed


def card(answer, name):
    """The Result of a check, which shows words in every row."""
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")):  # as strict as a terminal
        result = check(answer, name)
    assert all(str(text).strip() for _, text in result.rows)
    as_html(result.rows, result.status).encode()
    assert len(result.message) < 20_000
    return result


@pytest.mark.filterwarnings("ignore:.*nested tensors")
@pytest.mark.parametrize("name", EXERCISES)
def test_whatever_an_answer_returns_there_is_a_card_and_no_error(name):
    """`check` raised TypeError for 37 right answers whose result was cast to whole numbers or to True and False; and
    for what torch cannot compare, such as float8, and for an exception that is no Exception.

    Each exercise gets every other bend, or every fifth where it takes long, and its neighbours the others. What a bend
    leaves as it is stays right.
    """
    turn, every = list(EXERCISES).index(name), 5 if name in SLOW else 2
    judge(EXERCISES[name], lambda *args: None)  # the truth is made once for all of them
    for bend in list(BENDS)[turn % every :: every]:
        answer, changed = bent(EXERCISES[name], BENDS[bend])
        result = card(answer, name)
        assert result.status == ("wrong" if changed else "right"), (bend, result.message)


def of_a_module(verified):
    """Modules that are bent in what they are."""

    class ReturnsItself(verified):
        def forward(self, *args):
            return self

    class HasMore(verified):
        def __init__(self, *build):
            super().__init__(*build)
            self.more = nn.Parameter(torch.ones(3))

    class TrainsMore(verified):
        def __init__(self, *build):
            super().__init__(*build)
            self.more = nn.Parameter(torch.ones(()))

        def forward(self, *args):
            result = super().forward(*args)
            first = result[0] if isinstance(result, tuple) else result
            return (first * self.more, *result[1:]) if isinstance(result, tuple) else first * self.more

    class OnMeta(verified):
        def __init__(self, *build):
            super().__init__(*build)
            self.to("meta")

    class Frozen(verified):
        def __init__(self, *build):
            super().__init__(*build)
            self.requires_grad_(False)

    class Uninitialised(verified):
        def __init__(self, *build):
            pass

    class Unfinished(verified):
        def __init__(self, *build):
            super().__init__(*build)
            self.more = nn.LazyLinear(3)

    class OfWholeNumbers(verified):
        def __init__(self, *build):
            super().__init__(*build)
            for module in self.modules():
                for name, parameter in module.named_parameters(recurse=False):
                    setattr(module, name, nn.Parameter(parameter.long(), requires_grad=False))

    class NoParameters(verified):
        def named_parameters(self, *args, **named):
            raise Wordless

    class NoModule:
        def __init__(self, *build):
            pass

        def __call__(self, *args):
            return torch.ones(1)

    class RaisesAtOnce(verified):
        def __init__(self, *build):
            raise Wordless

    return {HasMore: "right"} | dict.fromkeys((ReturnsItself, TrainsMore, OnMeta, Frozen, Uninitialised, Unfinished,
                                               OfWholeNumbers, NoParameters, NoModule, RaisesAtOnce), "wrong")


@pytest.mark.parametrize("name", MODULES)
def test_whatever_a_module_is_there_is_a_card_and_no_error(name):
    """A table of logits on the meta device went through, and the comparison raised."""
    judge(EXERCISES[name], lambda *args: None)
    for answer, status in of_a_module(EXERCISES[name].verified).items():
        result = card(answer, name)
        assert result.status == status, (answer.__name__, result.message)
