"""The engine of every check: ask an answer the exercise's questions and say what its replies show.

An exercise brings an oracle nobody here wrote (or a loop, or a theorem), arguments to ask with, its classic
mistakes as tiny wrong answers, and properties to fall back on. The first call whose reply differs from the
truth decides; the mistake whose replies are the same as the answer's, call after call, names the cause. Where none
is, the answer is asked whether chance is at work in it; then two mistakes made at once are tried, and the mistake that
most of its wrong replies are those of is told as the closest one.
"""

import contextlib
from dataclasses import dataclass, field, replace
from functools import partial

import torch

from course_lib.checks.engine.asking import Call, NoOutput, Reply, ask, undisturbed
from course_lib.checks.engine.comparing import Failure, alike, compare
from course_lib.checks.engine.diagnosing import is_trivial, what_is_seen
from course_lib.checks.engine.exercise import Exercise, truth
from course_lib.checks.engine.identities import LAYOUTS, attentions, is_of_attention, with_identities
from course_lib.checks.engine.locating import locate
from course_lib.checks.engine.mistakes import Mistake
from course_lib.checks.engine.naming import (
    Closest,
    besides,
    closest,
    elsewhere,
    fitting,
    fitting_like,
    likely_pairs,
    reply_of,
    together,
    with_a_constant,
    with_another,
)
from course_lib.checks.engine.questioning import questions
from course_lib.checks.engine.time_limit import Allowance

CHANCE = Mistake("changes_by_chance", "Asked the same question three times, it gave three answers: something random is "
                 "at work, or something is kept from call to call. Where your code has dropout, is it still on outside "
                 "training? `F.dropout` needs `training=self.training`, and `F.scaled_dot_product_attention` needs "
                 "`dropout_p=0.0`.", None, None)
OWN_WEIGHTS = "weights_of_its_own"  # another cause of three answers
SEARCH = 1.5  # seconds of work after the answer was asked, in which its mistakes and the place of them are looked for
PLACE = 0.5  # of these are left for the place
SYMPTOMS = ("wrong-dtype", "changes-arguments", "no-error")  # behind which there may be a mistake that has a name


@dataclass(frozen=True)
class Verdict:
    """What the engine found: `status` is "right", "wrong" or "unanswered"."""

    exercise: Exercise
    status: str
    calls: tuple = ()
    failure: Failure | None = None
    mistakes: tuple = field(default=())  # the classic mistakes it cannot be told from
    together: tuple = ()  # mistakes that it made at once, where none alone fits
    closest: Closest | None = None  # where these do not fit either
    besides: Failure | None = None  # how it fails where none of these does
    seen: tuple = ()  # sentences that describe what is wrong, where no mistake is known
    located: tuple = ()  # where in its source it goes wrong, Locateds, where that was asked for
    by_chance: bool = False  # asked the same once more, it gives another answer
    other_layout: bool = False  # right, with weights of other names or shapes than the course's

    @property
    def is_used(self):
        """Do later cells use this answer? Some look at weights by the course's names, which not every right one has."""
        has_another = getattr(self.exercise.verified, "stands_in", True)
        return self.status == "right" and not (self.other_layout and has_another)

    @property
    def named(self):
        """The Mistakes that were recognised, or the closest one; empty where there is none."""
        return self.mistakes or self.together or (self.closest.named if self.closest else ())

    @property
    def mistake(self):
        """The id of the classic mistake that was recognised, or that is the closest one, or None."""
        if self.named:
            return self.named[0].name
        return self.failure.cause if self.failure else None


def judge(exercise, candidate, seed=0, ask=ask, look_inside=False, waiting=lambda: None):
    """Ask all questions of an exercise, and say what the replies show.

    candidate:   whatever `ask` can put a Call to; by default a function or class of this process
    seed:        decides the random arguments
    look_inside: also look for the place in the source of a wrong answer, a function or class of this process
    waiting:     is called once where the search takes more than half a second
    """
    with torch.inference_mode(False), _on_the_cpu(), undisturbed():
        return _judge(exercise, candidate, seed, ask, look_inside, waiting)


def _on_the_cpu():
    """New tensors go to the CPU. Where they do so anyway nothing is done, for this makes every operation slower."""
    return contextlib.nullcontext() if torch.empty(0).is_cpu else torch.device("cpu")


def _judge(exercise, candidate, seed, ask, look_inside, waiting):
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
            if failure.is_the_last:
                break
    if not failures:
        return _judge_draws(exercise, calls, candidate, seed, ask)
    asked, names, all_of_it = calls[: len(replies)], Allowance(SEARCH - PLACE), Allowance(SEARCH)
    verdict = _what_is_wrong(exercise, candidate, asked, replies, failures, seed, ask, names, waiting)
    looks = look_inside and verdict.status == "wrong" and not verdict.by_chance
    return replace(verdict, located=_place(exercise, candidate, failures, all_of_it)) if looks else verdict


def _place(exercise, candidate, failures, allowed):
    """Where it goes wrong; nothing where the search fails, for nobody loses a card over code it did not expect."""
    try:
        return locate(exercise, candidate, failures, allowed)
    except Exception:
        return ()


def _what_is_wrong(exercise, candidate, asked, replies, failures, seed, ask, allowed, waiting):
    """The Verdict on an answer that failed: which mistakes reply as it did, or what is seen of it."""
    calls, first = questions(exercise, seed), failures[0]
    shown = first if first.call in calls[: len(exercise.examples)] or first.kind == "gradients" else min(
        (f for f in failures if f.kind == first.kind), key=_how_hard_to_read)
    if any(f.cause == "missing-weight" for f in failures) and (
            _right_under_own_names(calls, exercise, candidate, ask)
            or _right_in_some_layout(calls, exercise, candidate, ask)):
        return Verdict(exercise, "right", calls, other_layout=True)
    if first.cause:
        behind = first.cause in SYMPTOMS and (fitting(exercise, asked, replies, first.call)
                                              or _but_for_the_dtype(exercise, asked, replies, first.call))
        if first.cause not in SYMPTOMS or behind or not any(_is_another(exercise, f) for f in failures):
            return Verdict(exercise, "wrong", calls, shown, behind or ())
        others = [f for f in failures if f.cause != first.cause]
        verdict = _what_is_wrong(exercise, candidate, asked, replies, others, seed, ask, allowed, waiting)
        told = verdict.besides or shown.says in verdict.failure.says
        return verdict if told else replace(verdict, besides=shown)
    broken = {} if failures[-1].is_the_last else _broken_statistics(exercise, candidate, seed, ask)
    draws_alike = partial(_draws_as_wrongly, exercise, broken, seed)
    mistakes = tuple(m for m in fitting(exercise, asked, replies, first.call) if any(map(draws_alike, m.ways)))
    if not mistakes and failures[-1].is_the_last:
        return Verdict(exercise, "wrong", calls, shown)
    if mistakes:
        mistakes = tuple(_with_its_number(exercise, m, asked, replies, first.call) for m in mistakes)
        more = besides(exercise, mistakes, failures)
        both = more and with_another(exercise, mistakes, asked, replies, first.call, failures)
        return Verdict(exercise, "wrong", calls, shown, together=both) if both else \
            Verdict(exercise, "wrong", calls, shown, mistakes, besides=more)
    if seen := is_trivial(exercise, asked, replies):
        return Verdict(exercise, "wrong", calls, shown, seen=seen)
    if by_chance := _by_chance(exercise, candidate, failures, ask):
        return Verdict(exercise, "wrong", calls, by_chance, (_what_is_drawn(by_chance),), by_chance=True)
    if mistakes := with_a_constant(exercise, exercise.mistakes, asked, replies, first.call):
        return Verdict(exercise, "wrong", calls, shown, mistakes)
    likely = likely_pairs(exercise, asked, replies, first.call, allowed, waiting)
    if both := together(likely, asked, replies, first.call, draws_alike):
        return Verdict(exercise, "wrong", calls, shown, together=both)
    if broken:
        drawn = [says for says, (_, ran) in broken.items() if ran and len(failures) < len(replies)]
        seen = what_is_seen(exercise, candidate, failures, asked, replies, seed, ask) or tuple(drawn[:1])
        return Verdict(exercise, "wrong", calls, shown, seen=seen)
    if behind := _but_for_the_dtype(exercise, asked, replies, first.call):
        return Verdict(exercise, "wrong", calls, shown, together=behind[:1])
    near = closest(exercise, asked, replies, first.call, likely)
    if near and len(near.named) > 1:
        return Verdict(exercise, "wrong", calls, shown, closest=near)
    if mistakes := fitting_like(exercise, first.call, asked, replies):
        more = besides(exercise, mistakes, failures) or elsewhere(exercise, mistakes, failures)
        return Verdict(exercise, "wrong", calls, shown, mistakes, besides=more)
    if near:
        return Verdict(exercise, "wrong", calls, shown, closest=near)
    seen = what_is_seen(exercise, candidate, failures, asked, replies, seed, ask)
    return Verdict(exercise, "wrong", calls, shown, seen=seen)


def _is_another(exercise, failure):
    """Is something else wrong: a result of an ordinary call, also for what has become of the arguments?"""
    if failure.kind not in ("values", "shape") or failure.cause or failure.call.special:
        return False
    call = replace(failure.call, args=failure.reply.args_after)
    return compare(truth(exercise, call), failure.reply, call) is not None


def _with_its_number(exercise, mistake, calls, replies, first):
    """A mistake that fits, with the number of the answer in its sentence: others may fit as well as the one it has."""
    found = with_a_constant(exercise, (mistake,), calls, replies, first) if mistake.tells_a_number else ()
    return (*found, mistake)[0]


def _but_for_the_dtype(exercise, calls, replies, first):
    """The classic mistakes that would reply so if every number of the replies had the right dtype."""
    meant = [_in_the_dtype(truth(exercise, c), r) for c, r in zip(calls, replies, strict=True)]
    changed = any(m is not r for m, r in zip(meant, replies, strict=True))
    return fitting(exercise, calls, meant, first) if changed else ()


def _in_the_dtype(true, reply):
    """A reply of real numbers in the dtype that was asked for, if it has as many results; all floats are one."""
    pairs = list(zip(true.outputs, reply.outputs, strict=False))
    fine = all(t.dtype == r.dtype or t.is_floating_point() and r.is_floating_point() for t, r in pairs)
    if fine or len(true.outputs) != len(reply.outputs) or any(r.is_complex() for r in reply.outputs):
        return reply
    return replace(reply, outputs=tuple(r.to(torch.float32 if t.dtype == torch.float64 else t.dtype)
                                        for t, r in pairs))


def _right_under_own_names(calls, exercise, candidate, ask):
    """Is it right as soon as its weights are known by the names that it has for them?

    They are told apart by their shapes, where no two sizes are the same: in the call that asks for gradients.
    """
    telling, tried = next(call for call in calls if call.gradients), [{}]
    for squares_turned in (None, False, True):
        under = partial(replace, squares_turned=squares_turned)
        names = dict(zip(telling.weights, ask(candidate, under(telling, own_names={})).parameters, strict=False))
        if names not in tried and not any(
                compare(truth(exercise, call), ask(candidate, under(call, own_names=names)), call) for call in calls):
            return True
        tried.append(names)
    return False


def _right_in_some_layout(calls, exercise, candidate, ask):
    """Is it right with identities for the weights of attention, does each of them count, and are there no more?"""
    asked = [replace(call, heads=call.build[exercise.heads]) for call in calls if exercise.heads]
    asked = [call for call in asked if call.must_raise or _width(call) > call.heads > 1]
    return bool(asked) and any(all(_right_with_identities(call, layout, exercise, candidate, ask) for call in asked)
                               for layout in LAYOUTS)


def _width(call):
    """Of attention; 0 where the call brings no weights."""
    return max((w.shape[-1] for name, w in (call.weights or {}).items() if is_of_attention(name)), default=0)


def _right_with_identities(call, layout, exercise, candidate, ask):
    call = replace(call, layout=layout, weights=with_identities(call.weights))
    true, reply = truth(exercise, call), ask(candidate, call)
    named = {n: g for n, g in (true.gradients or {}).items() if not isinstance(n, str) or not is_of_attention(n)}
    complete = call.special != "gradients" or all(
        _each_counts(reply.gradients or {}, whose, _width(call)) for whose in attentions(call.weights))
    return complete and compare(replace(true, gradients=named or None), reply, call) is None


def _each_counts(gradients, whose, width):
    """Are the weights of this attention as many as four matrices need, and does each row of them have a gradient?"""
    own = [g for n, g in gradients.items() if isinstance(n, str) and n.startswith(whose)]
    numbers = sum(0 if g is None else g.numel() for g in own)
    return 0 <= numbers - 4 * width**2 <= 4 * width and all(
        g is not None and (g.dim() == 1 or g.any(-1).all()) for g in own)


def _by_chance(exercise, candidate, failures, ask):
    """The largest failing call, where it is answered in three ways under three seeds; a Failure, or None."""
    told = [f for f in failures if f.kind == "values" and not f.call.train and f.reply.outputs]
    if not told or exercise.statistics:
        return None
    largest = max(told, key=lambda f: sum(t.numel() for t in f.reply.outputs))
    replies = [largest.reply, *(ask(candidate, replace(largest.call, seed=seed)) for seed in (1, 2))]
    differ = not any(r.error for r in replies) and not any(
        alike(one, other) for one, other in zip(replies, replies[1:] + replies[:1], strict=True))
    return largest if differ else None


def _what_is_drawn(failure):
    """Why one question has three answers: a weight that nobody sets begins at random; else it is within the answer."""
    known = failure.call.weights or failure.reply.parameters
    own = [name for name in failure.reply.parameters if name not in known]
    return Mistake(OWN_WEIGHTS, f"`{own[0]}` is a weight that the docstring does not name. It begins at random: made "
                   "three times, with the same numbers in all other weights, your module gave three answers. What is "
                   "it there for?", None, None) if own else CHANCE


def _judge_draws(exercise, calls, candidate, seed, ask):
    """What is drawn has no true value, but it has frequencies. The mistake that breaks the same statistics is named."""
    broken = _broken_statistics(exercise, candidate, seed, ask)
    if not broken:
        return Verdict(exercise, "right", calls)
    true = [truth(exercise, call) for call in calls]
    fitting = tuple(m for m in exercise.mistakes
                    if any(_breaks_the_same(way, exercise, calls, true, broken, seed) for way in m.ways))
    (says, (call, _)), *others = broken.items()
    failure = Failure(call, "statistics", says, Reply(), Reply())
    return Verdict(exercise, "wrong", calls, failure, fitting, seen=() if fitting else tuple(s for s, _ in others[:1]))


def _breaks_the_same(mistake, exercise, calls, true, broken, seed):
    """Does this wrong implementation answer every call rightly, and draw as wrongly?"""
    return (not any(compare(t, reply_of(mistake, call), call) for t, call in zip(true, calls, strict=True))
            and _draws_as_wrongly(exercise, broken, seed, mistake))


def _draws_as_wrongly(exercise, broken, seed, mistake):
    return not broken or _broken_statistics(exercise, mistake.answer, seed, ask).keys() == broken.keys()


def _broken_statistics(exercise, candidate, seed, ask):
    """The sentences of the statistics that do not hold, each with the last Call and whether it came to an end.

    Each is called with draw(*args, seed=0), which gives what the answer returns under that random seed.
    """
    broken = {}
    for says, holds in exercise.statistics:
        asked = []

        def draw(*args, seed=0, asked=asked):
            asked.append(Call(args, seed=seed))
            reply = ask(candidate, asked[-1])
            if reply.error:
                raise NoOutput
            return reply.outputs if reply.form == "tuple" else reply.outputs[0]

        try:
            held, ran = bool(holds(draw, torch.Generator().manual_seed(seed))), True
        except Exception:  # NoOutput, or whatever a statistic does with a reply of another form
            held = ran = False
        if not held:
            broken[says] = asked[-1], ran
    return broken


def _how_hard_to_read(failure):
    """Which axis is which, where two of a tensor have one size? Then, how many numbers are there?"""
    tensors = [a for a in failure.call.args if isinstance(a, torch.Tensor)]
    return any(len(set(t.shape)) < t.dim() for t in tensors), sum(t.numel() for t in tensors)
