"""What candidates do: those that reply alike to an exercise's own questions are one behaviour, with one verdict."""

import contextlib
import warnings
from dataclasses import dataclass, replace

import torch

from course_lib.checks.engine import asking
from course_lib.checks.engine.asking import Reply, ask
from course_lib.checks.engine.comparing import agree, alike, compare
from course_lib.checks.engine.exercise import truth
from course_lib.checks.engine.judging import Verdict, judge
from course_lib.checks.engine.mistakes import plain_source, run_beside
from course_lib.checks.engine.questioning import questions
from course_lib.staff.mutants.candidates import Candidate, candidates

SECONDS = 0.5  # for one call: none of the course's own takes a tenth of it
RAISES = 3  # calls in a row: that it raises is then all there is to see
MEMORY = 2 * 2**30  # bytes more than there are before


@dataclass
class Behaviour:
    """Candidates that cannot be told apart, the plainest first, and what the check says to that one."""

    candidates: list
    verdict: Verdict

    @property
    def is_accepted(self):
        return self.verdict.status == "right"

    @property
    def is_named(self):
        return bool(self.verdict.mistakes)

    @property
    def told(self):
        """What the engine says without a mistake; "an error" where the card shows one; empty where it says no more."""
        failure = self.verdict.failure
        if self.is_named or failure is None or failure.kind == "dtype" and not _is_right_but_for_its_dtype(failure):
            return ""
        return failure.cause or "an error" * (failure.kind == "error")

    @property
    def is_uncovered(self):
        return not (self.is_accepted or self.is_named or self.told)


def _is_right_but_for_its_dtype(failure):
    pairs = zip(failure.truth.outputs, failure.reply.outputs, strict=True)
    return all(t.shape == r.shape and agree(t, r.to(t.dtype)) for t, r in pairs)


class Recorded:
    """An answer's replies. Each question is asked once; what it is not asked once it is `done` counts as right."""

    def __init__(self, exercise, answer):
        self.exercise, self.answer, self.replies, self.done = exercise, answer, {}, False

    def __call__(self, _, call):
        if call not in self.replies:
            needed = not self.done or call.seed or call.layout
            self.replies[call] = _asked(self.answer, call) if needed else self._not_asked(call)
        return self.replies[call]

    def _not_asked(self, call):
        """A right reply to one of the exercise's questions; none to what a property asks, which names no mistake."""
        return _right(self.exercise, call) if call in _questions(self.exercise) else Reply(form="not asked")


def behaviours(exercise):
    """All that single edits of an exercise's verified source do: a list of Behaviour, in the order of the edits."""
    found = {}
    with _limits():
        for candidate in candidates(plain_source(exercise.verified)):
            recorded = Recorded(exercise, _answer(exercise, candidate))
            kinds, replies = _replies(exercise, recorded)
            groups = found.setdefault(kinds, [])
            same = next((group for group in groups if all(map(alike, group[0], replies))), None)
            if same and not _is_drawn(exercise, kinds):
                same[2].append(candidate)
            else:
                groups.append((replies, recorded, [candidate]))
        return [_behaviour(exercise, kinds, *group) for kinds, groups in found.items() for group in groups]


def _behaviour(exercise, kinds, _, recorded, of):
    recorded.done = any(kinds)  # where all is right, a verdict may ask for frequencies
    return Behaviour(sorted(of, key=_plainness), judge(exercise, recorded.answer, ask=recorded))


def _replies(exercise, recorded):
    """What is wrong with each reply, and the replies: to the plain calls, and to all where these are right.

    A card names a mistake by its replies to plain calls, and by one other call only where these are right.
    """
    calls = _questions(exercise)
    kinds, replies = [], []
    for special in (False, True):
        for call in (c for c in calls if (c.special not in ("", "large values")) is special):
            reply = recorded(None, call)
            failure = compare(truth(exercise, call), reply, call)
            kinds.append(failure and (failure.kind, failure.cause))
            replies.append(reply)
            if failure and failure.kind == "time" or len(kinds) == RAISES and all(r.error for r in replies):
                return tuple(kinds), replies
        if any(kinds):
            break
    return tuple(kinds), replies


def _questions(exercise):
    """The very calls that `judge` asks: they are kept by the words they are asked for with."""
    return questions(exercise, 0)


def _is_drawn(exercise, kinds):
    """Is all right that has a true value, so that only frequencies can tell candidates apart?"""
    return bool(exercise.statistics) and not any(kinds)


def _plainness(candidate: Candidate):
    """Short edits first."""
    return len(candidate.edit), sum(map(len, candidate.edit))


def _answer(exercise, candidate):
    """What a candidate's source defines; an answer that raises where it cannot be defined."""
    try:
        return run_beside(exercise.verified, candidate.source, f"<a candidate of {exercise.name}>")
    except Exception as error:
        def undefined(*_, error=error):
            raise error
        return undefined


def _asked(answer, call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reply = ask(answer, call)
        busy = reply.error and reply.error[0] == "TookTooLong"  # it, or the machine: that is not so twice
        return ask(answer, call) if busy else reply


def _right(exercise, call):
    """The reply of a right answer."""
    if call.must_raise:
        return Reply(error=(call.must_raise[0], ""))
    true = truth(exercise, call)
    outputs = (t.nan_to_num().to(call.dtype) if t.is_floating_point() else t for t in true.outputs)
    after = (now if isinstance(was, torch.nn.Module) else was  # which a right answer may train
             for was, now in zip(call.args, true.args_after, strict=False))
    return replace(true, outputs=tuple(outputs), args_after=tuple(after))


@contextlib.contextmanager
def _limits():
    """Less time for a call than learners have, and an end to memory where the system can set one."""
    seconds, asking.SECONDS = asking.SECONDS, SECONDS
    try:
        with _memory_limit():
            yield
    finally:
        asking.SECONDS = seconds


@contextlib.contextmanager
def _memory_limit():
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):  # no Linux
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    allowed = [used + MEMORY, *(limit for limit in before if limit != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_AS, (min(allowed), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
