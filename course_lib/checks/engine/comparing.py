"""How one reply differs from the truth, and whether two replies are alike; with a stated tolerance."""

import math
import re
from dataclasses import dataclass

import torch

from course_lib.checks.engine.asking import ENDS, Call, Reply, raised

ROUNDINGS = 200  # a value may be off by this many roundings of its dtype, relative to the largest value expected


@dataclass(frozen=True)
class Failure:
    """How one reply differs from the truth. `cause` is set where the difference itself says what is wrong."""

    call: Call
    kind: str
    says: str
    truth: Reply
    reply: Reply
    index: tuple | None = None
    cause: str | None = None

    @property
    def is_the_last(self):
        """Is it one after which nobody waits for more?"""
        return bool(self.reply.error) and self.reply.error[0] in ENDS


def tolerance(call):
    """The relative error allowed: ROUNDINGS times the rounding error of the dtype (2.4e-5 for float32).

    Ten times as much for large values: a score of 2,400 is itself rounded by 1e-4, and softmax makes that a factor.
    """
    return _roundings(call) * torch.finfo(call.dtype).eps


def compare(true, reply, call):
    """The first way in which a reply differs from the truth, or None."""

    def failure(kind, says, index=None, cause=None):
        if call.before and kind not in ("weights", "device", "time"):
            says += " The module was called before, with other arguments and other weights: what did it keep?"
            cause = "keeps-state"
        if call.earlier and kind not in ("weights", "device", "time"):
            says += " It was called before, with other arguments: what did it keep of them?"
            cause = "keeps-state"
        return Failure(call, kind, says, true, reply, index, cause)

    if call.must_raise:
        if reply.error and reply.error[0] in call.must_raise:
            return None
        other = reply.error and reply.error[0]
        wanted = " or ".join(filter(None, (", ".join(call.must_raise[:-1]), call.must_raise[-1])))
        instead = ", and it did not end" if other == "TookTooLong" else f", and it {raised(other)}" if other else ""
        return failure("error", f"It has to raise {wanted} here{instead}.", cause="no-error")
    if reply.error:
        if reply.error[0] == "LostDevice":
            return failure("device", f"On a GPU this would fail: {reply.error[1]}.", cause="cpu-only")
        if reply.error[0] == "UnregisteredWeight":
            says = f"The check could not load its weights: {reply.error[1]}."
            return failure("weights", says, cause="missing-weight")
        if reply.error[0] == "HoldsTooMuch":
            return failure("memory", f"What it gives may be right, but {reply.error[1]}.", cause="holds-too-much")
        if reply.error[0] == "TookTooLong":
            says = f"It was stopped: {reply.error[1]}. Is there a loop that never ends?"
            return failure("time", says, cause="endless")
        where = f" (in {reply.where})" if reply.where else ""
        if "modified by an inplace operation" in reply.error[1]:
            return failure("error", "No gradient can be worked out: a tensor was written over (`-=`, `/=`, `x[i] = …`) "
                           "that the backward pass still needs.")
        return failure("error", f"It {raised(*reply.error)}{where}{_help(*reply.error)}")
    if reply.form != true.form:
        return _wrong_form(failure, true, reply)
    if len(reply.outputs) != len(true.outputs):
        return failure("form", f"It returned {len(reply.outputs)} tensors instead of {len(true.outputs)}.")
    for i, (expected, got) in enumerate(zip(true.outputs, reply.outputs, strict=True)):
        kind, says, more = _how_tensors_differ(expected, got, call) or (None, "", {})
        if kind and len(true.outputs) > 1:
            says = f"In result {i + 1} of {len(true.outputs)}, {says[0].lower()}{says[1:]}"
        if kind:
            changed = _changed_arguments(failure, reply, call)
            return failure(kind, says + (f" {changed.says}" if changed else ""), **more)
    return _changed_arguments(failure, reply, call) or _wrong_weights(failure, true, reply, call) \
        or _wrong_gradients(failure, true, reply, call)


def _help(kind, message):
    """What an error's own words do not say."""
    if kind != "torch's NotImplementedError":
        return ""
    if "ModuleList" in message:
        return " A ModuleList is a list: go through it with a `for` loop."
    if '"forward"' in message:
        return " The class has no method `forward`: is it spelt so, and indented like `__init__`?"
    of_integers = re.search(r"not implemented for '(Long|Int|Short|Char|Byte|Bool)'", message)
    return " Were whole numbers or True and False meant to be there?" if of_integers else ""


def _how_tensors_differ(expected, got, call):
    """The kind of the difference, a sentence, and what else a Failure should know; or None."""
    if got.shape != expected.shape:
        return "shape", f"Its shape is {tuple(got.shape)} instead of {tuple(expected.shape)}.", {}
    dtype = call.dtype if expected.is_floating_point() else expected.dtype
    if got.dtype != dtype:
        return "dtype", f"Its dtype is {_name(got.dtype)} instead of {_name(dtype)}.", {"cause": "wrong-dtype"}
    wrong = differences(expected, got, _roundings(call))
    if not wrong.any():
        return None
    index = most_telling(expected, got, wrong)
    imprecise = dtype == torch.float64 and not call.train and agree(expected.float(), got.float())
    says = _how_imprecise(expected, got) if imprecise else _how_values_differ(expected, got, index)
    return "values", says, {"index": index}


def _roundings(call):
    return ROUNDINGS * 10 if call.special == "large values" else ROUNDINGS


def agree(expected, got):
    """Are all entries within the tolerance? Both have one shape."""
    return not differences(expected, got).any()


def most_telling(expected, got, wrong):
    """The index of an entry that is wrong: the first that is not finite, else of the largest error the first."""
    if expected.is_floating_point() and got.is_floating_point():
        error = (expected - got).abs().masked_fill(~torch.isfinite(got), torch.inf).nan_to_num(0, torch.inf)
        wrong = wrong & (error >= error[wrong].max() * (1 - 1e-6))  # errors alike but for rounding: the first
    return tuple(wrong.nonzero()[0].tolist())


def differences(expected, got, roundings=ROUNDINGS):
    """Which entries of two tensors of one shape are too far apart; where NaN is expected, any finite number will do."""
    if not expected.is_floating_point() or not got.is_floating_point():
        return expected != got
    allowed = roundings * torch.finfo(got.dtype).eps * max(1.0, _largest(expected))
    near = (expected - got.to(expected.dtype)).abs() <= allowed
    return ~torch.where(expected.isnan(), torch.isfinite(got), near)


def _wrong_form(failure, true, reply):
    wanted = {"tensor": "one tensor", "tuple": f"a tuple of {len(true.outputs)} tensors"}.get(true.form, true.form)
    got = {"tensor": "one tensor", "tuple": f"a tuple of {len(reply.outputs)} tensors"}.get(reply.form, reply.form)
    causes = {"None": "returns-nothing", "a numpy array": "leaves-torch", "a list": "leaves-torch",
              "a Python number": "leaves-torch"}
    cause = causes.get(reply.form)
    if true.form == "True or False" and reply.form in ("tensor", "a Python number"):
        return failure("form", f"It returned {got} instead of {wanted}: `bool(...)` makes that of a single number.")
    if true.form == "tuple" and reply.form == "a list":
        return failure("form", f"It returned {got} instead of {wanted}: `return one, other`, without brackets.")
    if len(true.outputs) > len(reply.outputs) == 1:
        return failure("form", f"It returned {got} instead of {wanted}: return them together.")
    hints = {"returns-nothing": " Is the `return` missing?", "leaves-torch": " Stay with torch from beginning to end."}
    return failure("form", f"It returned {got} instead of {wanted}.{hints.get(cause, '')}", cause=cause)


def _how_values_differ(expected, got, index):
    if got.is_floating_point() and not torch.isfinite(got[index]):
        return f"It is {'NaN' if got[index].isnan() else 'infinite'} at index {list(index)}."
    wanted, found = apart(expected[index], got[index])
    which = "largest" if got.is_floating_point() else "first"
    where = f"The {which} difference is at index {list(index)}: " if index else ""
    return f"{where}expected {wanted}, got {found}."


def _how_imprecise(expected, got):
    """Of numbers that would do for float32."""
    error = (expected - got).nan_to_num().abs().max().item() / max(1.0, _largest(expected))
    return (f"Only the first {round(-math.log10(error))} digits are right, and float64 keeps 16: a `.float()` or a "
            "tensor of float32 is on the way, or a small number was added, to a denominator say.")


def _changed_arguments(failure, reply, call):
    for i, (before, after) in enumerate(zip(call.args, reply.args_after, strict=True)):
        pairs = [(before, after)]
        if isinstance(before, tuple):
            pairs = zip(before, after, strict=True) if after is not None else ()
        if any(isinstance(old, torch.Tensor) and not _same(old, new) for old, new in pairs):
            return failure("arguments", f"It changed its argument {{{i}}}: work on a new tensor.",
                           cause="changes-arguments")
    return None


def _wrong_weights(failure, true, reply, call):
    for i, (before, after) in enumerate(zip(call.args, reply.args_after, strict=True)):
        if isinstance(before, torch.nn.Module) and not _same_weights(true.args_after[i], after):
            return failure("arguments", f"What it returned is right, but the {{{i}}} that was handed to it does not "
                           "end with the weights it should have.")
    return None


def _same_weights(one, other):
    """Have two modules the same parameters?"""
    one, other = dict(one.named_parameters()), dict(other.named_parameters())
    return one.keys() == other.keys() and all(torch.equal(weight, other[name]) for name, weight in one.items())


def _wrong_gradients(failure, true, reply, call):
    if call.gradients and call.weights and not call.layout:
        for name in reply.gradients.keys() - true.gradients.keys():
            if reply.gradients[name] is not None and reply.gradients[name].any():
                return failure("gradients", f"It also trains {{{name}}}, a parameter that nobody asked for.",
                               cause="trains-more")
    wanted = {which: expected for which, expected in (true.gradients or {}).items() if expected is not None}
    for which, expected in wanted.items():
        if reply.gradients.get(which) is None and not _is_nothing(expected, call.dtype):
            return failure("gradients", f"No gradient reaches {{{which}}}: something cuts it on the way (.detach(), "
                           ".data, .item(), numpy, torch.no_grad, requires_grad=False).", cause="cuts-gradient")
    for which, expected in wanted.items():
        got = reply.gradients.get(which)
        if got is None:
            continue
        wrong = differences(expected, got)
        if not wrong.any():
            continue
        index = most_telling(expected, got, wrong)
        if not torch.isfinite(got[index]):
            return failure("gradients", f"The values are right, but the gradient for {{{which}}} is NaN or infinite.",
                           index)
        return failure("gradients", f"The values are right, but the gradient for {{{which}}} is not: part of the "
                       "computation is cut off from it.", index, cause="cuts-gradient")
    return None


def _is_nothing(gradient, dtype):
    """Is a gradient zero, up to rounding, wherever it is known? Then it does not matter that none arrives."""
    return bool(gradient.nan_to_num().abs().max() <= ROUNDINGS * torch.finfo(dtype).eps)


def alike(one, other):
    if one.error or other.error:
        return bool(one.error and other.error) and _about(*one.error) == _about(*other.error)
    if one.form != other.form or len(one.outputs) != len(other.outputs):
        return False
    return all(a.shape == b.shape and a.dtype == b.dtype and alike_values(a, b)
               for a, b in zip(one.outputs, other.outputs, strict=True)) \
        and all(_same_weights(a, b) for a, b in zip(one.args_after, other.args_after, strict=False)
                if isinstance(a, torch.nn.Module))


def _about(kind, message):
    """What an error is about: shapes that do not fit and a None have many words, others begin with what they are."""
    if "None" in message and kind in ("TypeError", "AttributeError"):
        return "None"
    if kind == "AssertionError":
        return kind
    of_torch = kind in ("RuntimeError", "ValueError", "IndexError")  # an AttributeError names attributes: `reshape`
    shapes = of_torch and re.search("size|shape|dimension|broadcast|view", message, re.I)
    return kind, "shapes" if shapes else message[:20]


def alike_values(a, b):
    """Equal within twice the tolerance; NaN and infinity must stand in the same places."""
    if torch.equal(a, b):
        return True
    finite = torch.isfinite(a) & torch.isfinite(b)
    if not finite.all():
        holes = [t.masked_fill(finite, 0).nan_to_num(0) for t in (a, b)]
        if not torch.equal(a.isnan(), b.isnan()) or not torch.equal(*holes):
            return False
        a, b = (t.masked_fill(~finite, 0) for t in (a, b))
    return not differences(a, b, 2 * ROUNDINGS).any()


def number(value, digits=4):
    """A number as a learner would write it: four significant digits."""
    value = value.item()
    return f"{value + 0.0:.{digits}g}" if isinstance(value, float) else str(value)  # + 0.0: no "-0"


def apart(one, other):
    """Two different numbers, with as many digits as it takes to see that they differ."""
    for digits in (4, 6, 9, 17):
        words = number(one, digits), number(other, digits)
        if words[0] != words[1]:
            break
    return words


def _largest(tensor):
    """The largest finite size of a number, 0 where there is none."""
    return tensor.nan_to_num(0.0, 0.0, 0.0).abs().max().item() if tensor.numel() else 0.0


def _same(before, after):
    return before.shape == after.shape and before.dtype == after.dtype and torch.equal(before, after)


def _name(dtype):
    return str(dtype).removeprefix("torch.")
