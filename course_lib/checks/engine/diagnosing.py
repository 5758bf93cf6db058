"""What can be said of a wrong answer that is no classic mistake: which property fails, and how the numbers are off."""

from dataclasses import replace
from itertools import islice

import torch

from course_lib.checks.engine.asking import Call, NoOutput
from course_lib.checks.engine.comparing import agree, number
from course_lib.checks.engine.exercise import argument_names, truth
from course_lib.checks.engine.questioning import questions
from course_lib.checks.engine.separating import where_it_is_right

NEARLY = 0.005  # of the largest number, or of 1: by what sizes such errors are seen says nothing
MOST = 2  # properties that are told: of more, nobody reads the first


def what_is_seen(exercise, candidate, failures, calls, replies, seed, ask):
    """Sentences, the most telling ones only: a property that fails, or how the wrong numbers look beside the right.

    failures: every Failure, in the order of the calls
    """
    plain = [reply for call, reply in zip(calls, replies, strict=True) if not call.special]
    outputs = [reply.outputs[0] for reply in plain if reply.outputs]
    same = all(o.shape == outputs[0].shape and not (o != outputs[0]).any() for o in outputs)
    if 1 < len(outputs) == len(plain) and same:
        return ("It returns the same whatever it is called with: does it use a variable of the notebook?",)
    first = failures[0]
    if first.kind == "shape" or any(not t.isfinite().all() for t in first.reply.outputs):
        return (where_it_is_right(exercise, failures, calls),)  # a property is about numbers in their places
    names = argument_names(exercise)
    given = {names[i] for f in failures for i, argument in enumerate(f.call.args) if argument is not None}
    told = (says for says, holds, *about in exercise.properties
            if given.issuperset(about) and not property_holds(holds, exercise, candidate, seed, ask))
    broken = tuple(islice(told, MOST))
    if broken or first.kind != "values":
        return broken
    if replies[0].form == "True or False":
        return _of_a_test(exercise, failures, calls)
    return _how_far_off(failures) or (where_it_is_right(exercise, failures, calls),)


def is_trivial(exercise, calls, replies):
    """A sentence where every result is an argument as it came, or one number: no mistake in what was computed."""
    plain = [(call, reply) for call, reply in zip(calls, replies, strict=True) if not call.special]
    for i, name in enumerate(argument_names(exercise)):
        if all(len(reply.outputs) == 1 and i < len(call.args) and isinstance(call.args[i], torch.Tensor)
               and call.args[i].shape == reply.outputs[0].shape and call.args[i].equal(reply.outputs[0])
               for call, reply in plain):
            return (f"It gives back `{name}` as it was.",)
    results = [t for _, reply in plain for t in reply.outputs if t.numel() > 1]
    numbers = {number(t.flatten()[0]) for t in results}
    if len(numbers) == 1 and not any(reply.error for _, reply in plain) and all(
            (t == t.flatten()[0]).all() for t in results):
        return (f"Every number that it gives is {numbers.pop()}, whatever it is called with.",)
    return ()


def _of_a_test(exercise, failures, calls):
    """What a test of other implementations lets through, and whom it accuses."""
    plain = [c for c in calls if not c.special]
    right = sum(truth(exercise, c).outputs[0].item() for c in plain)
    accused = sum(f.truth.outputs[0].item() for f in failures if not f.call.special)
    missed = sum(not f.truth.outputs[0].item() for f in failures if not f.call.special)
    wrong = len(plain) - right
    return (f"It finds {wrong - missed} of {wrong} wrong implementations and accuses {accused} of {right} right ones.",)


def _how_far_off(failures):
    """Are the numbers the right ones in another order, all off by one factor, or all nearly right?"""
    pairs = [_first_that_differ(f) for f in failures if f.kind == "values"]
    pairs = [(t, r) for t, r in pairs if t.isfinite().all() and r.isfinite().all() and t.numel() > 2]
    if not pairs or not pairs[0][0].is_floating_point():
        return ()
    if all(agree(t.flatten().sort().values, r.flatten().sort().values) for t, r in pairs):
        return ("All the numbers are right, but they stand in other places.",)
    factors = [(r.double() * t).sum() / t.square().sum() for t, r in pairs]
    if all(abs(f - 1) > 1e-3 and agree(f * t, r) for f, (t, r) in zip(factors, pairs, strict=True)):
        return (f"Every number is {number(factors[0])} times what it should be.",)
    off = max(((t - r).abs().max() / t.abs().max().clamp(min=1)).item() for t, r in pairs)
    if off < NEARLY and any(not f.call.special for f in failures):
        return (f"Nearly right: no number is off by more than {max(100 * off, 0.01):.1g} %. Is a constant another one, "
                "such as an eps, or are digits lost on the way?",)
    return ()


def _first_that_differ(failure):
    """Of several results, the first that is not what it should be, with what it should be."""
    pairs = list(zip(failure.truth.outputs, failure.reply.outputs, strict=True))
    return next((pair for pair in pairs if not agree(*pair)), pairs[0])


def property_holds(property_, exercise, candidate, seed, ask):
    """Does a property hold? Where the answer fails altogether, or is NaN or infinite, the property says nothing.

    It is called with output(*args), which for a module is one module of the first size, and a generator.
    """
    asked = questions(exercise, seed)
    model = next((c for c in asked[len(exercise.examples):] if c.build), Call(()))
    form = truth(exercise, asked[0]).form

    def output(*args):
        reply = ask(candidate, replace(model, args=args, special="", gradients=False))
        if reply.error or reply.form != form or not all(t.isfinite().all() for t in reply.outputs):
            raise NoOutput
        return reply.outputs[0] if len(reply.outputs) == 1 else reply.outputs

    try:
        return bool(property_(output, torch.Generator().manual_seed(seed)))
    except Exception:  # NoOutput, or whatever a property does with a reply of another shape
        return True
