"""The engine of every check: ask an answer the exercise's questions and say what its replies show.

An exercise brings an oracle nobody here wrote (or a loop, or a theorem), arguments to ask with, its classic
mistakes as tiny wrong answers, and properties to fall back on. The first call whose reply differs from the
truth decides; the mistake whose replies are the same as the answer's, call after call, names the cause.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch

from course_lib.checks.asking import Call, Reply, ask, undisturbed

ROUNDINGS = 200  # a value may be off by this many roundings of its dtype, relative to the largest value expected


@dataclass(frozen=True)
class Exercise:
    """What "right" means for one exercise.

    A function is judged by `oracle(*args)`. For a module, `build(*size)` makes constructor arguments and the truth
    is `oracle(weights, build, *args)`, with weights named as in `verified`.
    """

    name: str
    lesson: str
    asked: str
    verified: Callable  # the course's own implementation: it stands in for a missing answer and never judges one
    oracle: Callable  # NaN in what it returns stands for "any finite number is right"
    examples: tuple  # the smallest arguments at which something can be seen, easy to read; for a module, whole Calls
    sizes: tuple  # for `make`; unequal everywhere, then coinciding, then one
    make: Callable  # make(generator, *size) -> args in float32
    mistakes: tuple
    properties: tuple = ()  # pairs (sentence for when it fails, holds(output, generator))
    statistics: tuple = ()  # pairs (sentence, holds(draw, generator)) of random answers: each of them must hold
    extremes: tuple = ()  # large arguments whose scores are exact in float32
    square_size: tuple = ()  # a size whose square root is exact, for judging in float64
    build: Callable | None = None  # build(*size) -> constructor arguments
    calls: Callable | None = None  # calls(generator) -> more calls that only this exercise needs

    @property
    def mistake_names(self):
        return tuple(mistake_name(m) for m in self.mistakes)


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


@dataclass(frozen=True)
class Verdict:
    """What the engine found: `status` is "right", "wrong" or "unanswered"."""

    exercise: Exercise
    status: str
    calls: tuple = ()
    failure: Failure | None = None
    mistakes: tuple = field(default=())  # the classic mistakes it cannot be told from
    broken: tuple = ()  # sentences of properties that fail, where no mistake fits

    @property
    def mistake(self):
        """The id of the classic mistake that was recognised, or None."""
        if self.mistakes:
            return mistake_name(self.mistakes[0])
        return self.failure.cause if self.failure else None


def mistake_name(wrong):
    """The id of a classic mistake: the name of its tiny wrong implementation, with dashes."""
    return wrong.__name__.replace("_", "-")


def judge(exercise, candidate, seed=0, ask=ask):
    """Ask all questions of an exercise, and say what the replies show.

    candidate: whatever `ask` can put a Call to; by default a function or class of this process
    seed:      decides the random arguments
    """
    with torch.inference_mode(False), torch.device("cpu"), undisturbed():
        return _judge(exercise, candidate, seed, ask)


def _judge(exercise, candidate, seed, ask):
    calls = questions(exercise, seed)
    failures, replies = [], []
    for call in calls:
        reply = ask(candidate, call)
        replies.append(reply)
        if reply.error and reply.error[0] == "NotImplementedError":
            return Verdict(exercise, "unanswered", calls)
        failure = compare(truth(exercise, call), reply, call)
        if failure:
            failures.append(failure)
    if not failures:
        return _judge_draws(exercise, calls, candidate, seed, ask)
    first = failures[0]
    shown = first if first.call in calls[: len(exercise.examples)] else min(
        (f for f in failures if f.kind == first.kind), key=_size)
    if first.cause:
        return Verdict(exercise, "wrong", calls, shown)
    fitting = _fitting(exercise, calls, replies, first.call) or _fitting(exercise, *_like(first.call, calls, replies))
    broken = () if fitting else _broken_properties(exercise, candidate, replies, seed, ask)
    return Verdict(exercise, "wrong", calls, shown, fitting, broken)


def questions(exercise, seed=0):
    """All calls of an exercise, the smallest and plainest first; the random ones follow from the seed."""
    generator = torch.Generator().manual_seed(seed)

    def made(size, **circumstances):
        build = exercise.build(*size) if exercise.build else None
        weights = random_weights(exercise.verified(*build), generator) if exercise.build else None
        return Call(exercise.make(generator, *size), build=build, weights=weights, **circumstances)

    size, square = exercise.sizes[0], exercise.square_size or exercise.sizes[0]
    first = made(size)
    calls = [a if isinstance(a, Call) else Call(a) for a in exercise.examples]
    calls += [first, *(made(s) for s in exercise.sizes[1:])]
    calls += [Call(args, "large values") for args in exercise.extremes]
    tensors = [a for a in first.args if isinstance(a, torch.Tensor)]
    if exercise.build or any(t.is_floating_point() for t in tensors):
        calls += [made(size, special="gradients", gradients=True), made(square, special="float64").in_float64()]
    if tensors:
        calls += [made(size, special="arguments not contiguous in memory", strided=True),
                  made(size, special="arguments on a GPU", on_gpu=True)]
    calls += [made(size, special="train mode", train=True)] if exercise.build else []
    calls += exercise.calls(generator) if exercise.calls else []
    return (*calls, Call(**{**vars(first), "special": "the first question once more"}))


def random_weights(module, generator):
    """A value for every parameter of a module, far from its initial one: gains at 1 and biases at 0 hide mistakes."""
    return {name: torch.randn(p.shape, generator=generator) / p.shape[-1] ** 0.5 + 0.1
            for name, p in module.named_parameters()}


def truth(exercise, call):
    """The oracle's reply, computed in float64. NaN in it stands for "any finite number is right"."""
    if call.must_raise:
        return Reply()
    call = call.in_float64()
    if call.build is None:
        return ask(exercise.oracle, call)
    names, n = list(call.weights), len(call.args)
    reply = ask(lambda *args: exercise.oracle(dict(zip(names, args[n:], strict=True)), call.build, *args[:n]),
                Call((*call.args, *call.weights.values()), gradients=call.gradients))
    gradients = {which if which < n else names[which - n]: g for which, g in (reply.gradients or {}).items()}
    return replace(reply, gradients=gradients)


def tolerance(dtype):
    """The relative error allowed: ROUNDINGS times the rounding error of the dtype (2.4e-5 for float32)."""
    return ROUNDINGS * torch.finfo(dtype).eps


def compare(true, reply, call):
    """The first way in which a reply differs from the truth, or None."""

    def failure(kind, says, index=None, cause=None):
        return Failure(call, kind, says, true, reply, index, cause)

    if call.must_raise:
        if reply.error and reply.error[0] in call.must_raise:
            return None
        return failure("error", f"It has to raise {' or '.join(call.must_raise)} here.", cause="no-error")
    if reply.error:
        if reply.error[0] == "LostDevice":
            return failure("device", f"On a GPU this would fail: {reply.error[1]}.", cause="cpu-only")
        if reply.error[0] == "UnregisteredWeight":
            says = f"The check could not load its weights: {reply.error[1]}."
            return failure("weights", says, cause="missing-weight")
        return failure("error", f"It raised {reply.error[0]}: {reply.error[1]}")
    if reply.form != true.form:
        return _wrong_form(failure, true, reply)
    if len(reply.outputs) != len(true.outputs):
        return failure("form", f"It returned {len(reply.outputs)} tensors instead of {len(true.outputs)}.")
    for expected, got in zip(true.outputs, reply.outputs, strict=True):
        if got.shape != expected.shape:
            return failure("shape", f"Its shape is {tuple(got.shape)} instead of {tuple(expected.shape)}.")
        dtype = call.dtype if expected.is_floating_point() else expected.dtype
        if got.dtype != dtype:
            return failure("dtype", f"Its dtype is {_name(got.dtype)} instead of {_name(dtype)}.", cause="wrong-dtype")
        index = first_difference(expected, got)
        if index is not None:
            return failure("values", _how_values_differ(expected, got, index), index)
    return _changed_arguments(failure, reply, call) or _wrong_gradients(failure, true, reply, call)


def first_difference(expected, got, roundings=ROUNDINGS):
    """The index of the first entry outside the tolerance, or None. Where NaN is expected, any finite number will do."""
    if not expected.is_floating_point():
        wrong = expected != got
    else:
        allowed = roundings * torch.finfo(got.dtype).eps * max(1.0, _largest(expected))
        near = (expected - got.to(expected.dtype)).abs() <= allowed
        wrong = ~torch.where(expected.isnan(), torch.isfinite(got), near)
    where = wrong.nonzero()
    return tuple(where[0].tolist()) if len(where) else None


def _wrong_form(failure, true, reply):
    wanted = {"tensor": "one tensor", "tuple": f"a tuple of {len(true.outputs)} tensors"}.get(true.form, true.form)
    got = {"tensor": "one tensor", "tuple": f"a tuple of {len(reply.outputs)} tensors"}.get(reply.form, reply.form)
    causes = {"None": "returns-nothing", "a numpy array": "leaves-torch", "a list": "leaves-torch",
              "a Python number": "leaves-torch"}
    cause = causes.get(reply.form)
    hints = {"returns-nothing": " Is the `return` missing?", "leaves-torch": " Stay with torch from beginning to end."}
    return failure("form", f"It returned {got} instead of {wanted}.{hints.get(cause, '')}", cause=cause)


def _how_values_differ(expected, got, index):
    if got.is_floating_point() and not torch.isfinite(got[index]):
        return f"It is {'NaN' if got[index].isnan() else 'infinite'} at index {list(index)}."
    wanted, found = number(expected[index]), number(got[index])
    return f"The first difference is at index {list(index)}: expected {wanted}, got {found}."


def _changed_arguments(failure, reply, call):
    for i, (before, after) in enumerate(zip(call.args, reply.args_after, strict=True)):
        if isinstance(before, torch.Tensor) and not _same(before, after):
            return failure("arguments", f"It changed its argument {{{i}}}: work on a new tensor.",
                           cause="changes-arguments")
    return None


def _wrong_gradients(failure, true, reply, call):
    for which, expected in (true.gradients or {}).items():
        got = reply.gradients.get(which)
        if expected is None or got is None and _is_nothing(expected, call.dtype):
            continue
        if got is None:
            return failure("gradients", f"No gradient reaches {{{which}}}: something cuts it on the way "
                           "(.detach(), .data, .item(), numpy, torch.no_grad).", cause="cuts-gradient")
        index = first_difference(expected, got)
        if index is not None and not torch.isfinite(got[index]):
            return failure("gradients", f"The values are right, but the gradient for {{{which}}} is NaN or infinite.",
                           index)
        if index is not None:
            return failure("gradients", f"The values are right, but the gradient for {{{which}}} is not: part of "
                           "the computation is cut off from it.", index, cause="cuts-gradient")
    return None


def _fitting(exercise, calls, replies, first):
    """The classic mistakes that reply to these calls as the answer did."""
    return tuple(m for m in exercise.mistakes if _behaves_as(m, calls, replies, first))


def _like(first, calls, replies):
    """The calls with as many arguments as the first that failed: one mistake here and one with a mask are two."""
    alike = [(c, r) for c, r in zip(calls, replies, strict=True) if len(c.args) == len(first.args)]
    return (*zip(*alike, strict=True), first)


def _is_nothing(gradient, dtype):
    """Is a gradient zero, up to rounding, wherever it is known? Then it does not matter that none arrives."""
    return bool(gradient.nan_to_num().abs().max() <= tolerance(dtype))


def _behaves_as(mistake, calls, replies, first):
    """Does this wrong implementation reply as the answer did, to every plain call and to the first that failed?"""
    return all(_alike(ask(mistake, call), reply) for call, reply in zip(calls, replies, strict=True)
               if call is first or not (call.special and call.special != "large values"))


def _alike(one, other):
    if one.error or other.error:
        return bool(one.error and other.error) and one.error[0] == other.error[0]
    if one.form != other.form or len(one.outputs) != len(other.outputs):
        return False
    return all(a.shape == b.shape and a.dtype == b.dtype and _values_alike(a, b)
               for a, b in zip(one.outputs, other.outputs, strict=True))


def _values_alike(a, b):
    """Equal within twice the tolerance; NaN and infinity must stand in the same places."""
    finite = torch.isfinite(a) & torch.isfinite(b)
    same_holes = torch.equal(torch.isfinite(a), torch.isfinite(b))
    filler = torch.zeros((), dtype=a.dtype)
    return same_holes and first_difference(torch.where(finite, a, filler), torch.where(finite, b, filler),
                                           2 * ROUNDINGS) is None


def _broken_properties(exercise, candidate, replies, seed, ask):
    """What can be said of a wrong answer that is no classic mistake."""
    outputs = [reply.outputs[0] for reply in replies if reply.outputs]
    if len(outputs) > 1 and all(torch.equal(outputs[0].double(), o.double()) for o in outputs[1:]):
        return ("It returns the same whatever it is called with: does it use a variable of the notebook?",)
    return tuple(says for says, holds in exercise.properties
                 if not property_holds(holds, exercise, candidate, seed, ask))


def property_holds(property_, exercise, candidate, seed, ask):
    """Does a property hold? Where the answer fails altogether, the property says nothing.

    It is called with output(*args), which for a module is one module of the first size, and a generator.
    """
    model = next((c for c in questions(exercise, seed)[len(exercise.examples):] if c.build), Call(()))

    def output(*args):
        reply = ask(candidate, replace(model, args=args, special="", gradients=False))
        if reply.error or reply.form != "tensor":
            raise _NoOutput
        return reply.outputs[0]

    try:
        return bool(property_(output, torch.Generator().manual_seed(seed)))
    except (_NoOutput, RuntimeError, IndexError):
        return True


def _judge_draws(exercise, calls, candidate, seed, ask):
    """What is drawn has no true value, but it has frequencies. The mistake that breaks the same statistics is named."""
    broken = _broken_statistics(exercise, candidate, seed, ask)
    if not broken:
        return Verdict(exercise, "right", calls)
    fitting = tuple(m for m in exercise.mistakes if _breaks_the_same(m, exercise, calls, broken, seed))
    (says, call), *others = broken.items()
    failure = Failure(call, "statistics", says, Reply(), Reply())
    return Verdict(exercise, "wrong", calls, failure, fitting, () if fitting else tuple(other for other, _ in others))


def _breaks_the_same(mistake, exercise, calls, broken, seed):
    """Does this wrong implementation answer every call rightly, and draw as wrongly?"""
    return (not any(compare(truth(exercise, call), ask(mistake, call), call) for call in calls)
            and _broken_statistics(exercise, mistake, seed, ask).keys() == broken.keys())


def _broken_statistics(exercise, candidate, seed, ask):
    """The sentences of the statistics that do not hold, each with the last Call that showed it.

    Each is called with draw(*args, seed=0), which gives what the answer returns under that random seed.
    """
    broken = {}
    for says, holds in exercise.statistics:
        asked = []

        def draw(*args, seed=0, asked=asked):
            asked.append(Call(args, seed=seed))
            reply = ask(candidate, asked[-1])
            if reply.error:
                raise _NoOutput
            return reply.outputs if reply.form == "tuple" else reply.outputs[0]

        try:
            held = bool(holds(draw, torch.Generator().manual_seed(seed)))
        except (_NoOutput, RuntimeError, IndexError):
            held = False
        if not held:
            broken[says] = asked[-1]
    return broken


class _NoOutput(Exception):
    """The answer gave no tensor to look at."""


def argument_names(exercise):
    """The names of the arguments, as the exercise's contract has them."""
    of = exercise.verified.forward if inspect.isclass(exercise.verified) else exercise.verified
    return [name for name in inspect.signature(of).parameters if name != "self"]


def number(value):
    """A number as a learner would write it: four significant digits."""
    value = value.item()
    return f"{value + 0.0:.4g}" if isinstance(value, float) else str(value)  # + 0.0: no "-0"


def _size(failure):
    return sum(a.numel() for a in failure.call.args if isinstance(a, torch.Tensor))


def _largest(tensor):
    return tensor[torch.isfinite(tensor)].abs().max().item() if torch.isfinite(tensor).any() else 0.0


def _same(before, after):
    return before.shape == after.shape and before.dtype == after.dtype and torch.equal(before, after)


def _name(dtype):
    return str(dtype).removeprefix("torch.")
