"""Which mistakes reply as an answer did: one to every call, two made at once, or one to most of the calls."""

import math
import time
import warnings
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import torch

from course_lib.checks.engine.asking import ask
from course_lib.checks.engine.circumstances import TINY
from course_lib.checks.engine.comparing import alike, compare
from course_lib.checks.engine.exercise import argument_names, truth
from course_lib.checks.engine.lengths import BEYOND
from course_lib.checks.engine.mistakes import ByHand, Mistake
from course_lib.checks.engine.moulds import build_of
from course_lib.checks.engine.pairs import pairs
from course_lib.checks.engine.time_limit import UNBOUNDED

FEW = 3  # wrong replies: of fewer, nothing can be said to be the closest mistake
MOST = 0.7  # of the wrong replies have to be those of the closest mistake
NUMBERS = """0 1e-12 1e-10 1e-9 1e-8 1e-7 1e-6 1e-5 1e-4 1e-3 0.01 0.05 0.1 0.2 0.25 0.5 0.7 0.8 0.9 1 1.5 2 3 4 5 6 7 8
10 12 16 20 24 32 50 64 80 100 128 200 256 500 512 768 1000 1024 2048 5000 10000 20000 50000 100000 500000 1e6 1e9 1e12
""".split()  # that people write
STEPS, GOLDEN = 40, (math.sqrt(5) - 1) / 2
EVERYWHERE = {"", "large values", "gradients", "float64", "arguments not contiguous in memory", "train mode",
              "arguments as if on a GPU", "only what has no default", "the first call once more",
              "sizes up to seventy", BEYOND}  # calls on which a mistake in what is computed is wrong as well
PATIENCE = 0.5  # seconds; whoever waits longer is told why


@dataclass(frozen=True)
class Closest:
    """The mistake, or the Pair, that most wrong replies are those of: `same` of `wrong`."""

    mistake: Mistake
    same: int
    wrong: int

    @property
    def named(self):
        """The Mistake, or the two."""
        return getattr(self.mistake, "both", (self.mistake,))


def fitting(exercise, calls, replies, first):
    """The classic mistakes that reply to these calls as the answer did, and to the first that failed fail as it did.

    What is nearly right, such as a rounded e, is alike: its values fail, and not what somebody did to an argument. Of
    several, those that give wrong numbers in other calls than the answer are left out, if any others are there.
    """
    reply = next(r for c, r in zip(calls, replies, strict=True) if c is first)
    found = {m: ways for m in exercise.mistakes if (ways := [
        w for w in m.ways if _behaves_as(w, calls, replies, first) and _fails_as(exercise, w, first, reply)])}
    closer = [m for m, ways in found.items()
              if any(_fails_where_it_does(exercise, way, calls, replies) for way in ways)] if len(found) > 1 else ()
    return tuple(closer or found)


def _fails_where_it_does(exercise, mistake, calls, replies):
    """Does a mistake give wrong numbers in just those calls in which the answer did that gave these replies?"""
    def has_wrong_numbers(call, reply):
        failure = compare(truth(exercise, call), reply, call)
        return bool(failure) and failure.kind in ("values", "shape") and not failure.cause

    return all(has_wrong_numbers(call, reply_of(mistake, call)) == has_wrong_numbers(call, reply)
               for call, reply in zip(calls, replies, strict=True))


def fitting_like(exercise, first, calls, replies):
    """The same, of the calls with the same arguments as the first that failed: a mistake with a mask is another one.

    They are few. So one of them has to be a reply, since errors are easily alike.
    """
    same = [(c, r) for c, r in zip(calls, replies, strict=True) if _given(c) == _given(first)]
    plain = [reply for call, reply in same if call is first or not call.special]
    return fitting(exercise, *zip(*same, strict=True), first) if any(not r.error for r in plain) else ()


def with_a_constant(exercise, mistakes, calls, replies, first):
    """The first of some mistakes that fits with a number in it that need not be the one that it is kept with.

    Where several numbers fit, from the smallest to the largest that people write is told; the right one is none.
    """
    reply = next(r for c, r in zip(calls, replies, strict=True) if c is first)
    ways = (way for m in mistakes if not isinstance(m, ByHand) for way in m.ways if way.constant)
    for way in ways:
        if found := [m for m in _that_fit(way, first, reply) if _behaves_as(m, calls, replies, first)
                     and _fails_as(exercise, m, first, reply)]:
            found[0].told = f"{found[0].constant} to {found[-1].constant}" if len(found) > 1 else ""
            return (found[0],)
    return ()


def _fails_as(exercise, mistake, call, reply):
    """Is a call answered wrongly with this mistake, in the way of this reply?

    What is nearly right is alike to what is right: to a base of 1e4, to two mistakes that cancel, to what only writes
    into an argument.
    """
    theirs, mine = (compare(truth(exercise, call), r, call) for r in (reply_of(mistake, call), reply))
    return bool(theirs and mine) and theirs.kind == mine.kind


def _that_fit(mistake, call, reply):
    """A mistake with each usual number with which it replies so to a call; else with the one that comes nearest."""
    def with_it(number):
        return reply_of.__wrapped__(mistake.with_constant(number), call)

    tried = {number: with_it(number) for number in NUMBERS}
    fit = [number for number, theirs in tried.items() if alike(theirs, reply)]
    if not fit:
        nearest = _nearest(lambda number: _far(with_it(repr(number)), reply), [_far(r, reply) for r in tried.values()])
        rounded = (f"{float(f'{nearest:.{digits}g}'):g}" for digits in (2, 3, 6) if nearest)
        fit = next(([number] for number in rounded if alike(with_it(number), reply)), [])
    return [mistake.with_constant(number) for number in fit]


def _nearest(distance, distances):
    """Where a distance is smallest, between the two usual numbers beside the one where it is; by the golden section."""
    best = min(range(len(distances)), key=distances.__getitem__)
    if not 0 < best < len(distances) - 1 or distances[best] == math.inf:
        return None
    low, high = float(NUMBERS[best - 1]), float(NUMBERS[best + 1])
    for _ in range(STEPS):
        one, other = high - (high - low) * GOLDEN, low + (high - low) * GOLDEN
        low, high = (low, other) if distance(one) < distance(other) else (one, high)
    return (low + high) / 2


def _far(theirs, reply):
    """How far the numbers of one reply are from those of another; infinitely where they cannot be compared."""
    if theirs.error or reply.error or [t.shape for t in theirs.outputs] != [t.shape for t in reply.outputs]:
        return math.inf
    far = sum((t.double() - r.double()).abs().sum().item() for t, r in zip(theirs.outputs, reply.outputs, strict=True))
    return far if math.isfinite(far) else math.inf


def besides(exercise, mistakes, failures):
    """How an answer fails beside the mistakes that it fits: the first Failure that none of them has; None where one of
    them has all.

    Other finite numbers tell nothing, for other words for one thought are rounded otherwise; but where the mistake is
    right, where they show whether and where dropout is on, on another device, in what an error says, or in what
    becomes of an argument, they do.
    """
    telling = [f for f in failures if f.kind not in ("values", "shape") or f.cause or f.call.special not in EVERYWHERE
               or f.call.train or not _all_finite(f.reply)]
    left = None
    for way in (way for m in mistakes for way in m.ways):
        left = next((f for f in telling if not _explains(exercise, way, f)), None)
        if left is None:
            return None
    return left


def elsewhere(exercise, mistakes, failures):
    """The first Failure with other arguments given than in the first call that failed, where none of these mistakes
    replies as the answer did; None where there is none.
    """
    names, known = argument_names(exercise), _given(failures[0].call)
    for failure in (f for f in failures if f.call.special in ("", "large values")):
        more = [f"`{names[i]}`" for i in _given(failure.call) if i not in known]
        if more and not any(alike(reply_of(way, failure.call), failure.reply) for m in mistakes for way in m.ways):
            return replace(failure, says=f"With {' and '.join(more)}, something else may be wrong as well: mend this "
                                         "first, then look there.")
    return None


def _explains(exercise, mistake, failure):
    """Does an answer with this mistake fail so, too?"""
    reply = reply_of(mistake, failure.call)
    theirs = compare(truth(exercise, failure.call), reply, failure.call)
    if failure.kind in ("values", "shape") and not failure.cause:
        if _shows_dropout(failure.call) and not reply.error and not mistake.tells_a_number:  # which is fitted roughly
            return theirs is not None and (alike(reply, failure.reply) or _far(reply, failure.reply) < TINY / 10)
        fine = _all_finite(failure.reply) or reply.error or not _all_finite(reply)
        return theirs is not None and bool(fine)
    return theirs is not None and (theirs.kind, theirs.cause) == (failure.kind, failure.cause)


def _shows_dropout(call):
    """Do the numbers show where dropout stands: in train mode, or out of it where there should be none?"""
    return call.train or "dropout" in call.special


def _all_finite(reply):
    """Is each number of its results and gradients one?"""
    return all(t.isfinite().all() for t in (*reply.outputs, *(reply.gradients or {}).values()) if t is not None)


def with_another(exercise, mistakes, calls, replies, first, failures):
    """The pair of one of these mistakes and another one that has all that the answer has; empty where there is none."""
    for m in (m for m in mistakes if not isinstance(m, ByHand)):
        for other in (o for o in exercise.mistakes if o is not m and not isinstance(o, ByHand)):
            for two in pairs(exercise.verified, m, other):
                if _behaves_as(two, calls, replies, first) and not besides(exercise, [two], failures):
                    return two.both
    return ()


def together(likely, calls, replies, first, also=lambda pair: True):
    """The mistakes that all those Pairs have in common that reply as the answer did: both, or one of them.

    likely: Pairs, of `likely_pairs`
    also:   what else has to be true of a pair
    """
    found = [two for two in likely if _behaves_as(two, calls, replies, first) and also(two)]
    named = [{m.name for m in two.both} for two in found]
    return tuple(m for m in found[0].both if all(m.name in names for names in named)) if found else ()


def likely_pairs(exercise, calls, replies, first, allowed=UNBOUNDED, waiting=lambda: None):
    """The Pairs of mistakes that reply as the answer did to the example, and to the first call that failed.

    Of a test, which says yes or no, there are none: too many pairs would say the same. When `allowed`, an Allowance, is
    over, no more are asked, and once one fits, no more than may be as likely. `waiting` is called where it takes long.
    """
    began, told, found, enough = time.monotonic(), False, [], math.inf
    if truth(exercise, calls[0]).form == "True or False":
        return found
    edits = [way for m in exercise.mistakes if not isinstance(m, ByHand) for way in m.ways]
    telling = [(call, r) for call, r in zip(calls, replies, strict=True) if call in (calls[0], first)]
    reply = next(r for call, r in telling if call is first)
    likely = (two for i, j in _most_likely_first(exercise, edits, telling)
              for two in pairs(exercise.verified, edits[i], edits[j]))
    for asked, two in enumerate(likely, 1):
        if all(alike(reply_of(two, call), r) for call, r in telling) and _fails_as(exercise, two, first, reply):
            found.append(two)
            enough = 4 * asked + 100 if _behaves_as(two, calls, replies, first) else enough
        if not told and time.monotonic() - began > PATIENCE:
            waiting()
            told = True
        if asked > enough or allowed.is_over():
            break
    return found


def _most_likely_first(exercise, edits, telling):
    """Numbers of two mistakes that may have been made at once, to judge by the effect of each alone on some calls."""
    two = combinations(range(len(edits)), 2)
    possible = sorted((p for p in two if edits[p[0]].name != edits[p[1]].name), key=sum)
    unlikely, along = set(), Counter()
    for call, reply in telling:
        true, says = truth(exercise, call), [reply_of(m, call) for m in edits]
        alone = [_Effect(compare(true, r, call) is None, alike(r, reply), _form(r)) for r in says]
        known = {_form(true), *(effect.form for effect in alone)}
        asked = _form(reply), _form(true), known
        possible = [p for p in possible if _have_its_form(*(alone[i].form for i in p), *asked)]
        unlikely |= {p for p in possible if any(alone[i].nothing for i in p) and not any(alone[i].all for i in p)}
        if possible and _form(reply) == _form(true) != "error":
            along.update(_along(possible, true, reply, says))
    return sorted(possible, key=lambda p: (p in unlikely, -along[p]))


def _along(possible, true, reply, says):
    """{two mistakes: how far what each of the two alone makes wrong, added up, points to what is wrong in a reply}."""
    right = _numbers(true)
    alone = torch.stack([_numbers(r if _form(r) == _form(true) else true) - right for r in says])
    asked, both = _numbers(reply) - right, alone @ alone.T
    one, other = torch.tensor(possible).T
    length = (both[one, one] + both[other, other] + 2 * both[one, other]).clamp(min=1e-300).sqrt()
    along = (alone @ asked)[one] + (alone @ asked)[other]
    return dict(zip(possible, (along / length / asked.norm().clamp(min=1e-300)).tolist(), strict=True))  # cosines


def _numbers(reply):
    """All numbers of a reply in one row, what is not finite as 0."""
    return torch.cat([t.double().flatten().nan_to_num(0, 0, 0) for t in reply.outputs] or [torch.zeros(0)])


class _Effect(NamedTuple):
    """What a mistake alone does to a call: nothing, all that the answer did; and the form of what it says.

    Where one does nothing, the other mostly does it all; but to leave out the maximum tells only in a wrong sum.
    """

    nothing: bool
    all: bool
    form: object


def _have_its_form(one, other, form, right_form, known):
    """Can a reply of this form come from two mistakes of which each alone gives one of these?

    `known` are the forms that one mistake makes: a length that none of them makes may be the work of two.
    """
    if form == right_form:
        return one == other == form
    if form in known:
        return form in (one, other)
    return "error" not in (one, other) and (one, other) != (right_form, right_form)


def _form(reply):
    """What a reply is, whatever its numbers."""
    return "error" if reply.error else (reply.form, *(t.shape for t in reply.outputs))


def _given(call):
    """Which arguments a call has: those that are None might as well be left out."""
    return tuple(i for i, argument in enumerate(call.args) if argument is not None)


def _behaves_as(mistake, calls, replies, first):
    """Does this wrong implementation reply as the answer did, to the first call that failed and to every plain one?"""
    telling = [pair for pair in zip(calls, replies, strict=True)
               if pair[0] is first or pair[0].special in ("", "large values")]
    telling.sort(key=lambda pair: pair[0] not in (calls[0], first))  # these two tell most mistakes apart
    return all(alike(reply_of(mistake, call), reply) for call, reply in telling)


def closest(exercise, calls, replies, first, likely=()):
    """The one mistake, or likely Pair of two, that most wrong replies to plain calls are those of, that to the first
    among them; None where there is none.

    What is wrong as often where the answer is right is not close. Of a test, which says yes or no, none is.
    """
    wrong, right = [], []
    for c, r in zip(calls, replies, strict=True):
        if c.special in ("", "large values") and not r.error:
            (wrong if compare(truth(exercise, c), r, c) else right).append((c, r))
    if len(wrong) < FEW or wrong[0][1].form == "True or False":
        return None
    wrong.sort(key=lambda pair: (pair[0] is not first, len(pair[0].weights or ())))  # most are asked no other
    for candidates in (exercise.mistakes, likely):
        candidates = [m for m in candidates if _fails_as(exercise, m, *wrong[0])]
        same = {m: _how_many_alike(m, wrong, MOST * len(wrong)) for m in candidates}
        best = max(same.values(), default=0)
        found = [m for m, n in same.items() if n == best]
        if best and len(found) == 1 and best > len(right) - _how_many_alike(found[0], right):
            return Closest(found[0], best, len(wrong))
    return None


def _how_many_alike(mistake, pairs, needed=0):
    """Of how many (call, reply) the reply is the mistake's; 0 as soon as it cannot be as many as are needed.

    And where any are needed, 0 if the first is not: nearly all mistakes are then asked no more.
    """
    same = 0
    for asked, (call, reply) in enumerate(pairs, 1):
        same += alike(reply_of(mistake, call), reply)
        if same + len(pairs) - asked < needed or needed and not same:
            return 0
    return same


@lru_cache(maxsize=16384)
def reply_of(mistake, call):
    """What a classic mistake replies to a call; nobody is to read torch's warnings of what somebody else wrote."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ask(mistake.answer, call, build=build_of(mistake, call))
