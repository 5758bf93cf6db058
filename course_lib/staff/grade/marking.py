"""From a submission to its verdicts: run the student's cells in a child, and put every exercise's questions to it."""

import inspect
import re
import sys
import time
from dataclasses import dataclass, field, replace
from itertools import islice

from course_lib.checks import EXERCISES
from course_lib.checks.engine.asking import raised
from course_lib.checks.engine.judging import judge
from course_lib.checks.engine.questioning import questions
from course_lib.checks.engine.time_limit import HAD
from course_lib.checks.notebook.card import card_rows
from course_lib.display import markup
from course_lib.staff.grade import frames
from course_lib.staff.grade.book import Mark
from course_lib.staff.grade.failed_cells import what_failed
from course_lib.staff.grade.flags import ABOVE_ATTENTION, TESTS_OF_CODE, ranked, scan
from course_lib.staff.grade.lane import LaneError, Lost, sources_with_what_they_need
from course_lib.staff.grade.own_code import (
    answer_of,
    code_of,
    early_imports,
    imported_exercises,
    imports_of_a_lesson,
    is_imported,
    left_blank,
    needed_for,
    other_exercises,
    pieces,
    until_checked,
    until_defined,
)

PUBLIC_SEED = 0  # what `check` asks in a learner's notebook
HANDED = -1  # stands for a notebook where an answer is what was handed to `check`
OVERWRITTEN = "the last one was wrong"
UNWATCHED = "too slow to be watched while it ran"
NO_MODULE = re.compile(r"No module named '([^']+)'")
PLACE = re.compile(r" \(<[^>]*>, line \d+\)$")  # where it says so, Python says it in its own words
STAR_OF_TORCH = re.compile(r"from\s+torch[\w.]*\s+import\s*\*")
KNOWN = 10_000  # verdicts that are kept for other students who say the same
MOST_CHECKED = 5  # answers of one notebook that were checked, and written anew, that are judged until one is right
MOST_PLACES = 50  # notebooks whose answers to one exercise are judged, until one is right
STARVED = 3  # times the usual limits for what never had the processor for half of them
ENOUGH = 2  # answers without an end, until another one is not tried alone
LOSSES = 20  # children one submission may cost before the rest of its cells stay unrun
# Which functions of torch's give an exercise away when they run, whatever name they were found by.
DERIVES = r"^(grad|backward)$"  # softmax is the gradient of logsumexp
ABOVE = DERIVES + r"|multi_?head_attention|transformer_encoder_layer"
ATTENTION = ABOVE + r"|scaled_dot_product|(flash|efficient|flex)_attention"
NORMS = DERIVES + r"|(layer|group|batch|instance|rms)_?norm"
SOFTMAX = ATTENTION + r"|softm(ax|in)|cross_entropy"
GIVES_AWAY = {"softmax": SOFTMAX, "layer_norm": NORMS, "rms_norm": NORMS} \
    | dict.fromkeys(ABOVE_ATTENTION, ABOVE) | dict.fromkeys(TESTS_OF_CODE, r"(?!)")


@dataclass(frozen=True)
class Limits:
    """Seconds on the wall clock. When a submission has used up its own, each further exercise still has a share."""

    cell: float = 20
    call: float = 10
    submission: float = 300
    share: float = 20
    look: float = 10  # through the text, before anything is run


@dataclass
class Marker:
    """Grades one submission after the other in one lane."""

    lane: object
    exercises: tuple  # names in scope, in the course's order
    seed: int
    stamp: str  # the isolation, as it stands in every row
    limits: Limits = field(default_factory=Limits)
    known: dict = field(default_factory=dict, repr=False)  # Verdicts, by exercise, seed and what an answer says

    def mark(self, submission):
        """The Marks of a submission, for each exercise in scope that it has an answer, an attempt or a stub of."""
        try:
            return self._mark(submission)
        except LaneError:
            raise
        except Exception as error:  # a mistake of the grader's own costs one submission, not the run
            return [Mark(name, EXERCISES[name].lesson, "error", isolation=self.stamp, reason=_own_failure(error))
                    for name in self.exercises]

    def _mark(self, submission):
        run = list(pieces(submission))
        own = [p for p in run if p.is_own]
        found = {m.exercise: m for m in _Student(self, run, own).marks()} if own else {}
        for name, why in left_blank(submission).items():
            if name in self.exercises and name not in found:
                found[name] = Mark(name, EXERCISES[name].lesson, "missing", isolation=self.stamp, reason=why)
        return [found[name] for name in self.exercises if name in found]


class _Student:
    """One submission while it is graded."""

    patience = 1  # times the usual limits that a cell and a call have
    watched = True  # whether it is noted what an answer calls of torch's own

    def __init__(self, marker, run, own):
        self.marker, self.run, self.own = marker, run, own
        self.end_of_all = self.deadline = time.monotonic() + marker.limits.submission
        self.child, self.found, self.given, self.imports = None, {}, {}, early_imports(run)
        self.needed = self.only = self.for_all_answers()  # the pieces to run, None for all of them
        self.after_a_mistake = False  # has its child been asked for an answer that made a classic mistake?
        self.endless = 0  # answers that did not end when they were run alone either
        self.skipped, self.failed, self.losses = {}, {}, 0  # Piece -> Lost, Piece -> (type, message, line)

    def marks(self):
        """In the course's order; what was too slow, or stood on another answer that is wrong, is tried once more."""
        until = min(self.end_of_all, time.monotonic() + self.marker.limits.look)
        flags = scan([p.source for p in self.own], self.marker.exercises, until)
        passed = {}
        try:
            for name in self.marker.exercises:
                self.deadline = max(self.end_of_all, time.monotonic() + self.marker.limits.share)
                mark = self.mark(name, flags.get(name, ()))
                if self.needed is not None and self.may_need_all(name, mark):
                    mark = self.with_all_cells(name, mark, flags.get(name, ()))
                if mark and mark.verdict != "pass":
                    alone = self.alone(name, mark, flags.get(name, ()))
                    mark = alone if alone and alone.verdict == "pass" else self.another_chance(
                        name, mark, passed, flags.get(name, ()), alone)
                    if mark.verdict != "pass":
                        mark = self.as_checked(name, flags.get(name, ())) or mark
                    if mark.mistake:
                        self.after_a_mistake = True
                    else:
                        self.end()  # what a wrong answer has left behind must not fail the next one
                if mark:
                    passed[name] = mark.verdict == "pass"
                    yield mark
        finally:
            self.end()

    def for_all_answers(self):
        """The pieces that some answer needs, so that experiments cost nobody a verdict; None where that is all."""
        named = {name for p in self.own for name in p.defines if name in self.marker.exercises}
        needed = set().union(*(needed_for(name, self.run) for name in named))
        return None if len(needed) == len(self.run) else needed

    def may_need_all(self, name, mark):
        """Could a cell that no answer seems to need turn this verdict?"""
        if mark is None:
            word = re.compile(rf"\b{name}\b")
            return any(word.search(p.source) for p in self.own if p not in self.needed)
        return mark.verdict in ("error", "missing") or mark.verdict == "fail" and not mark.mistake

    def with_all_cells(self, name, mark, flags):
        """What a verdict comes to in a fresh child that runs every cell, where that is more."""
        again = self.afresh(name, flags, dict(self.skipped), None)
        return again if again and (mark is None or again.verdict == "pass") else mark

    def afresh(self, name, flags, skipped, only):
        """What a verdict comes to in a child of its own, with other pieces left out or run than in the usual one."""
        self.end()
        usual, self.skipped, self.only = self.skipped, skipped, only
        again = self.mark(name, flags)
        self.end()
        self.skipped, self.only = usual, self.needed
        return again

    def another_chance(self, name, mark, passed, flags, alone):
        """What a first verdict comes to in a fresh child, where it was slow or may be another answer's fault.

        What did many operations may have been slow because each was watched.

        alone: what came of it alone, if that was tried
        """
        before = list(EXERCISES)[: list(EXERCISES).index(name)]  # a later one may give this one away
        imported = imported_exercises(name, self.run)  # by the student, or by the lesson's own cells
        others = {o for o in other_exercises(name, self.run) | imported
                  if o in before and (o in imported or not passed.get(o)) or o in imports_of_a_lesson(name)}
        given = sources_with_what_they_need(others, name)
        # it had its time, was not watched, and did not end
        in_vain = alone and alone.verdict == "timeout" and not any(why in alone.reason for why in (HAD, frames.BUSY))
        slow = mark.verdict == "timeout" and HAD in mark.reason and not in_vain
        busy = mark.verdict == "timeout" and frames.BUSY in mark.reason and self.endless < ENOUGH
        if not slow and not busy and not given or time.monotonic() > self.deadline:
            return mark
        self.end()
        self.patience, self.watched = STARVED if slow else 1, not busy
        again = self.mark(name, flags, given)
        self.patience, self.watched = 1, True
        self.end()
        if busy and again and again.verdict == "timeout":
            self.endless += 1
        if again and self.endless < ENOUGH and frames.BUSY in again.reason:  # it had its time, and was watched
            return self.another_chance(name, again, passed, flags, alone)
        better = again and (again.verdict == "pass" or mark.verdict in ("timeout", "missing"))
        return again if better else mark

    def alone(self, name, mark, flags):
        """What a verdict comes to where only what the answer needs is run, so that no other cell's trick costs it.

        Where that does no good, what stands behind the answer is left out, too: it may have given another meaning to a
        name that the answer uses, after it was checked. None where there is nothing to leave out that would matter.
        """
        if mark.verdict in ("pass", "missing") or mark.verdict == "timeout" and self.endless >= ENOUGH:
            return None
        needed = needed_for(name, self.run)
        ran = self.run if self.needed is None else self.needed
        sure = mark.mistake or len(needed) == len(ran) and not self.after_a_mistake
        found = None
        for only in [*[needed] * (not sure), until_defined(name, self.run, needed)]:
            if only and time.monotonic() <= self.deadline and not (found and found.verdict == "pass"):
                found = self.afresh(name, flags, {}, only) or found
        self.endless += bool(found and found.verdict == mark.verdict == "timeout" and frames.BUSY not in found.reason)
        return found

    def as_checked(self, name, flags):
        """The Mark of a right answer that was checked, and then overwritten by a wrong one; None where that is not so.
        """
        for only in islice(until_checked(name, self.run, needed_for(name, self.run)), MOST_CHECKED):
            again = self.afresh(name, flags, {}, only) if time.monotonic() <= self.deadline else None
            if again and again.verdict == "pass":
                return replace(again, flags=", ".join(filter(None, [again.flags, OVERWRITTEN])))
        return None

    def mark(self, name, flags, given=None):
        """The Mark for one exercise, or None where there is no trace of it."""
        began, used = time.monotonic(), set()
        exercise = EXERCISES[name]
        blank = Mark(name, exercise.lesson, "missing", isolation=self.marker.stamp, code=code_of(name, self.own))
        try:
            places = self.places(name, given or {})
            if not places:
                return self.not_found(blank)
            if not blank.code and any(STAR_OF_TORCH.search(p.source) for p in self.own):
                return replace(blank, reason="No cell defines it: the name came from torch by a star import.")
            best = self.first_right(blank, places[-MOST_PLACES:][::-1], used)
        except Lost as lost:
            self.end()
            best = replace(blank, verdict=lost.verdict, reason=f"When it was called, {lost}.",
                           card=_card(exercise, f"When it was called, {lost}."))
        except LaneError:
            raise
        except Exception as error:  # a mistake of the grader's own costs one verdict, not the run
            self.end()
            says = _own_failure(error)
            best = replace(blank, verdict="error", reason=says, card=_card(exercise, says))
        gives_away = re.compile(GIVES_AWAY.get(name, ATTENTION), re.IGNORECASE)
        telling = set() if given else _telling(used, gives_away)
        words = [*flags, *filter(None, best.flags.split(", ")), *(f"calls {u}" for u in sorted(telling))]
        if best.verdict == "pass":
            words += self.hidden_or_several(name) + [UNWATCHED] * (not self.watched)
        return replace(best, seconds=round(time.monotonic() - began, 3), flags=", ".join(ranked(words)))

    def first_right(self, blank, places, used):
        """The Mark of the first place that has a right answer; where there is none, of the first one."""
        first = None
        for where, kind in places:
            mark = self.judged(blank, where, kind, used)
            first = first or mark
            if mark.verdict == "pass":
                last_was_wrong = where == HANDED and first.verdict not in ("pass", "missing")  # or is a stub
                return replace(mark, flags=OVERWRITTEN) if last_was_wrong else mark
            if time.monotonic() > self.deadline:
                return first
        return first

    def hidden_or_several(self, name):
        """What a person should know of a pass: that no cell shows the answer, or that there is more than one."""
        modules = {p.module_name for p in self.own if p.module and name in p.defines}
        shown = [p for p in self.own if name in p.defines and not is_imported(name, p, modules)]
        if not shown:
            return ["no cell defines it in plain sight"]
        callable_in = {where for where, kind in self.found.get(name, ()) if kind in ("class", "function")}
        several = [p for p in shown if p.notebook in callable_in]
        if len({p.notebook for p in several}) < 2:
            return []
        answers = {p.notebook: answer for p in several if (answer := answer_of(name, p))}
        return [f"different answers in {len(answers)} notebooks"] if len(set(answers.values())) > 1 else []

    def places(self, name, given):
        """Where an exercise is defined, as (notebook, kind), its own lesson's notebook last; a child runs for it."""
        if self.child is None or self.given != given:
            self.end()
            self.begin(given)
        places = self.found.get(name, [])
        homes = {p.notebook for p in self.run if not p.is_own}  # a notebook with cells of a lesson
        return sorted(places, key=lambda place: (place[0] in homes, place[0]))

    def begin(self, given):
        """Run the cells in a fresh child; one that hangs or dies is left out, and the others are run again."""
        self.given, self.after_a_mistake = given, False
        while True:
            self.child, here = self.marker.lane.child(self.imports), None
            try:
                for name, source in given.items():
                    self.child.give(name, source)
                for here in self.run:
                    if here not in self.skipped and self.losses <= LOSSES and (
                            self.only is None or here in self.only):
                        error = self.child.run(here.notebook, here.name, here.source,
                                               self.patience * self.marker.limits.cell, self.deadline, here.module)
                        if error:
                            self.failed[here] = error
                here = None
                self.found = self.child.find(self.deadline)
                return
            except Lost as lost:
                self.end()
                self.losses += 1
                if here is None or time.monotonic() > self.deadline:
                    raise
                self.skipped[here] = lost

    def end(self):
        """End the child, if there is one."""
        if self.child:
            self.child.end()
            self.child = None

    def not_found(self, blank):
        """Say why a name that a cell should define is not there."""
        for piece in reversed(self.own):
            if blank.exercise not in piece.defines:
                continue
            if piece in self.skipped:
                lost, where = self.skipped[piece], f"Code cell {piece.number}, which defines it, was left out"
                return replace(blank, verdict=lost.verdict, reason=f"{where}: {lost}.",
                               card=_card(EXERCISES[blank.exercise], f"{where}: {lost}."))
            if piece in self.failed:
                kind, message, line = self.failed[piece]
                if kind == "TookTooLong":
                    says = f"The cell that defines it was stopped: {message} (code cell {piece.number})."
                    return replace(blank, verdict="timeout", reason=says, card=_card(EXERCISES[blank.exercise], says))
                where = f"code cell {piece.number}" + (f", line {line}" if line else "")
                says = _why_a_cell_failed(kind, message, where) + self.missing_libraries() * (kind == "NameError")
                return replace(blank, verdict="error", reason=says, card=_card(EXERCISES[blank.exercise], says))
            says = f"Code cell {piece.number} names it, and there is nothing of one's own behind the name."
            return replace(blank, reason=says, card=_card(EXERCISES[blank.exercise], says))
        return None

    def missing_libraries(self):
        """What may be behind an error in an answer: libraries that a cell wanted and that are not there."""
        found = {m[1] for kind, message, _ in self.failed.values() if (m := NO_MODULE.match(message))}
        return f" A cell could not import what is not installed here: {', '.join(sorted(found))}." if found else ""

    def judged(self, blank, where, kind, used):
        """Judge what one notebook has under a name."""
        exercise = EXERCISES[blank.exercise]
        wanted = "class" if inspect.isclass(exercise.verified) else "function"
        if kind != wanted:
            what = kind if kind in ("class", "function") else f"value ({kind})"
            says = f"{exercise.name} is to be a {wanted}, and this is a {what}."
            return replace(blank, verdict="fail", reason=says, card=_card(exercise, says))
        verdict = self.verdict(exercise, where, self.marker.seed, used)
        if verdict.status == "right":
            beside = what_failed(self.failed, self.skipped)
            return replace(blank, verdict="pass", card=(*card_rows(verdict)[:-1], *beside))
        if verdict.status == "unanswered":
            written = any(answer_of(blank.exercise, p) for p in self.own if blank.exercise in p.defines)
            says = "It is not answered: it raises NotImplementedError." if not written else \
                "It raises NotImplementedError: it is not finished, or it calls a function of the course, which is " \
                "blank where answers are graded."
            return replace(blank, reason=says, card=tuple(card_rows(verdict)[:-1]))
        return self.explained(blank, exercise, verdict, lambda: self.verdict(exercise, where, PUBLIC_SEED, used))

    def verdict(self, exercise, where, seed, used):
        """The engine's verdict; what it will ask anyway is asked at once, where no function of the judge's is lent.

        A verdict follows from what an answer says and from nothing else, and many of a class say the same.
        """
        def ask(_, *calls):
            return self.child.ask(where, exercise.name, calls, self.patience * self.marker.limits.call, self.deadline,
                                  used if self.watched else None)

        def reply(_, call):
            if id(call) in said:
                return said[id(call)]
            more.append(call)
            return ask(None, call)[0]

        calls, more = questions(exercise, seed), []
        if any(callable(a) for call in calls for a in call.args):
            return judge(exercise, None, seed, lambda _, call: ask(None, call)[0])
        said = dict(zip(map(id, calls), ask(None, *calls), strict=False))
        key, known = (exercise.name, seed, self.child.said), self.marker.known
        verdict = known.get(key) or judge(exercise, None, seed, reply)
        if not more and len(known) < KNOWN:
            known[key] = verdict
        return verdict

    def explained(self, blank, exercise, verdict, public):
        """A wrong answer in the words its author saw: no input of the grading seed is told.

        public: gives the verdict for the inputs of `check`
        """
        timeout = verdict.failure.kind == "time"
        is_error = verdict.failure.kind == "error" and not verdict.mistake
        kind = "timeout" if timeout else "error" if is_error else "fail"
        blank = replace(blank, verdict=kind, mistake="" if timeout else verdict.mistake or "")
        if timeout:
            return replace(blank, reason=verdict.failure.says, card=_card(exercise, verdict.failure.says))
        examples = verdict.calls[: len(exercise.examples)]  # the same for every seed
        shows_nothing_hidden = verdict.mistakes and verdict.failure.call in examples
        public = verdict if shows_nothing_hidden else public()
        if public.status != "wrong":
            says = "It is right for the inputs of `check`, and not for others of the same kind."
            return replace(blank, reason=says, card=_card(exercise, says), flags="right for the public inputs only")
        card = tuple(card_rows(public)[:-1])
        said = [m.says for m in public.named] or list(public.seen) or [
            dict(card).get("What failed", public.failure.says) + self.missing_libraries()]
        return replace(blank, reason=said[0], card=card)


def _why_a_cell_failed(kind, message, where):
    """The cause in words: a library that is not there, syntax that this Python cannot read, or what was raised."""
    if kind == "ModuleNotFoundError" and (missing := NO_MODULE.match(message)):
        return f"The cell that defines it needs {missing[1]}, which is not installed here ({where})."
    if kind in ("SyntaxError", "IndentationError", "TabError"):
        version, message = ".".join(map(str, sys.version_info[:2])), PLACE.sub("", message)
        return (f"The cell that defines it cannot be read by Python {version}, which graded it: {message} ({where}). "
                "If it ran for its author, their Python is newer.")
    return f"The cell that defines it {raised(kind, message)} ({where})."


def _telling(used, gives_away):
    """What was used of torch's own that gives an answer away; operators only where no function is known by its name."""
    found = set(filter(gives_away.search, used))
    hides = {name for name in used if name.endswith((frames.ITS_OWN, frames.UNSEEN))}
    return hides | ({name for name in found if "::" not in name} or found)


def _own_failure(error):
    """What stands in a row where the grader has a mistake of its own."""
    return f"The grader itself failed here, and a person has to look: {type(error).__name__}: {error}"[:300]


def _card(exercise, says):
    return (("", f"✗ {exercise.name}: not right yet"), ("Asked", markup.typeset(exercise.asked)), ("What failed", says))
