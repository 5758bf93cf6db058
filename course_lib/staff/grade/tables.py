"""What was found, as rows: results.csv, what a second grading changes, and how any table is written."""

import csv
import json
import os
import re
from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from itertools import groupby
from math import ceil
from pathlib import Path

from course_lib.checks import EXERCISES
from course_lib.staff.grade.notebook_cells import IN_TEXT
from course_lib.staff.grade.platforms import OLDER
from course_lib.staff.grade.policy import PolicyError, Settings, settings, under_their_names

__all__ = ["PolicyError", "Row", "Settings", "difference", "rows", "settings", "write_results"]
LONGEST = 1000  # characters of a text in a table
NO_GRADE = "-"  # Moodle's word for it: an empty cell in a column that is new stops its import


@dataclass(frozen=True)
class Row:
    """What is said of one student's answer to one exercise; its fields are the columns of results.csv."""

    student: str
    lesson: str
    exercise: str
    verdict: str
    points: float
    max_points: float
    mistake: str = ""
    reason: str = ""
    flags: str = ""
    isolation: str = ""
    seconds: float = 0.0


def rows(connection, settings):
    """One Row for each student who handed something in and each exercise in scope.

    connection: an open sqlite3.Connection to the book
    returns:    iterator, sorted by student and, within one, in the order of the course
    """
    settings = under_their_names(connection, settings)
    run = dict(connection.execute("SELECT key, value FROM run"))
    exercises, isolation = json.loads(run.get("exercises", "[]")), run.get("isolation", "")
    found = groupby(connection.execute(
        "SELECT student, exercise, lesson, verdict, mistake, reason, flags, isolation, seconds, code FROM verdict "
        "WHERE student IN (SELECT student FROM submission) ORDER BY student"), lambda verdict: verdict[0])
    student_found, verdicts = next(found, (None, ()))
    for student, notebooks, problems in connection.execute(
            "SELECT student, notebooks, problems FROM submission ORDER BY student"):
        answered, codes = {}, {}
        if student == student_found:
            for _, exercise, lesson, *others, code in verdicts:
                answered[exercise] = _row(settings, student, lesson, exercise, *others)
                codes[exercise] = code or ""
            student_found, verdicts = next(found, (None, ()))
        handed_in = _HandedIn(notebooks, problems)
        late = _late(student, answered, codes, handed_in, settings)
        for exercise in exercises:
            row = answered.get(exercise) or _unanswered(student, exercise, handed_in, isolation, settings)
            row = _with_lateness(row, *late[exercise]) if exercise in late else row
            yield _as_decided(row, settings.overrides.get((student, exercise)))


def times(connection, settings):
    """{(student, exercise): when the answer was there} of all answers of which somebody knows."""
    settings, found = under_their_names(connection, settings), {}
    for student, notebooks, problems in connection.execute("SELECT student, notebooks, problems FROM submission"):
        handed_in = _HandedIn(notebooks, problems)
        for exercise, lesson, code in connection.execute(
                "SELECT exercise, lesson, code FROM verdict WHERE student = ? AND code != ''", (student,)):
            if time := settings.time(student, lesson) or handed_in.when(exercise, code):
                found[student, exercise] = time
    return found


def write_results(connection, settings, path):
    """Write results.csv: one line for each Row."""
    with table(path) as write:
        write([field.name for field in fields(Row)])
        for row in rows(connection, settings):
            write(astuple(row))


def difference(old_rows, new_rows):
    """What a second grading changes, as text: a line for each verdict that changes, and a summary.

    old_rows, new_rows: iterables of Row
    """
    old, new = ({(row.exercise, row.student): row for row in rows} for rows in (old_rows, new_rows))
    order = {exercise: i for i, exercise in enumerate(EXERCISES)}
    lines, kinds, others = [], Counter(), 0
    for key in sorted({*old, *new}, key=lambda key: (order.get(key[0], len(order)), key)):
        before, after = old.get(key), new.get(key)
        verdicts = tuple(row.verdict if row else "not there" for row in (before, after))
        if verdicts[0] != verdicts[1]:
            kinds[verdicts] += 1
            lines.append(f"{one_line(key[0])}  {one_line(key[1])}: {_in_brief(before)} → {_in_brief(after)}")
        elif (before.points, before.mistake) != (after.points, after.mistake):
            others += 1
    summary = f"{len(lines)} of {len({*old, *new})} verdicts change"
    summary += ": " + ", ".join(f"{n} × {a} → {b}" for (a, b), n in kinds.most_common()) if kinds else ""
    again = f" {others} more: the same verdict with other points or another mistake." if others else ""
    return "\n".join([*lines, f"{summary}.{again}"])


def in_scope(connection):
    """The names of the exercises that were graded, in the course's order."""
    found = connection.execute("SELECT value FROM run WHERE key = 'exercises'").fetchone()
    return json.loads(found[0]) if found else []


def one_line(text, longest=None):
    """Somebody's text as one printable line: what cannot be seen is written out, so that different stays different."""
    text = "".join(c if c.isprintable() else _written_out(c) for c in str(text))
    return text if longest is None or len(text) <= longest else f"{text[:longest]}… ({len(text) - longest:,} more)"


def number(value):
    """A number as people write it: at most two digits after the point, none where they are zeros."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


@contextmanager
def table(path):
    """A CSV that is there whole or not at all; the value is a function that writes one line of it."""
    with whole_file(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        yield lambda cells: writer.writerow([_cell(cell) for cell in cells])


@contextmanager
def whole_file(path, binary=False):
    """A text file, or one of bytes, that takes its place only when it is finished.

    raises: PolicyError, where it cannot be written
    """
    path = Path(path)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with new.open("wb") if binary else new.open("w", encoding="utf-8", errors="backslashreplace",
                                                    newline="") as file:
            yield file
        os.replace(new, path)
    except OSError as error:
        raise PolicyError(f"{path} cannot be written: {error.strerror}; is it open elsewhere?") from None
    finally:
        with suppress(OSError):
            new.unlink()


class _HandedIn:
    """What a student handed in, read from the book only where somebody asks."""

    def __init__(self, notebooks, problems):
        self._notebooks, self.problems = notebooks or "[]", json.loads(problems or "[]")

    @cached_property
    def notebooks(self):
        return json.loads(self._notebooks)

    def defining(self, exercise):
        """The notebooks with a cell that seems to define an answer."""
        name = re.escape(exercise)
        pattern = re.compile(rf"^[ \t]*(?:async +)?(?:def|class)[ \t]+{name}\b|^[ \t]*{name}[ \t]*=[^=]", re.M)
        return [n for n in self.notebooks if any(pattern.search(cell) for cell in n["cells"])]

    def when(self, exercise, code):
        """When an answer was there: of the oldest file with just this code in it, or else of the newest with any."""
        defining = self.defining(exercise)
        exact = [n for n in defining if any(cell.strip() and cell.strip() in code for cell in n["cells"])]
        times = [_time(n.get("modified")) for n in exact or defining or self.notebooks]
        times = [time for time in times if time]
        return (min if exact else max)(times) if times else None


def _row(settings, student, lesson, exercise, verdict, mistake, reason, flags, isolation, seconds):
    worth = settings.max_points(exercise)
    points = worth if verdict == "pass" else min(worth, settings.partial.get(exercise, {}).get(mistake, 0))
    return Row(student, lesson or "", exercise, verdict, points, worth, mistake or "",
               " ".join((reason or "").split()), flags or "", isolation or "", seconds or 0.0)


def _unanswered(student, exercise, handed_in, isolation, settings):
    """The Row of an exercise for which there was nothing to judge."""
    lesson = EXERCISES[exercise].lesson if exercise in EXERCISES else ""
    unread = [problem for problem in handed_in.problems if OLDER not in problem and IN_TEXT not in problem]
    in_text = [problem for problem in handed_in.problems if re.search(rf"\b{exercise}\b.*{IN_TEXT}", problem)]
    if unread and not handed_in.defining(exercise):
        verdict, reason = "unreadable", " ".join(unread)
    else:
        verdict, reason = "missing", " ".join([f"No cell that was handed in defines {exercise}.", *in_text])
    return _row(settings, student, lesson, exercise, verdict, "", reason, "", isolation, 0.0)


def _late(student, answered, codes, handed_in, settings):
    """How late the answers with points of a student are: {exercise: (days, percent of the points that remains)}.

    Free days that are spent on a deadline hold for all lessons that have it.
    """
    due, free, late = {}, settings.free_days, {}
    for row in answered.values():
        if row.points and (deadline := settings.deadline(row.lesson, student)):
            due.setdefault(deadline, []).append(row)
    for deadline, of_deadline in sorted(due.items()):
        days = {row.exercise: _days(settings.time(student, row.lesson) or handed_in.when(row.exercise,
                                                                                         codes[row.exercise]), deadline)
                for row in of_deadline}
        spent = min(free, max((d for d in days.values() if d <= free + settings.days), default=0))
        for exercise, late_by in days.items():
            paid = max(0, late_by - spent)
            left = 0 if paid > settings.days else max(0, 100 - paid * settings.percent_per_day)
            late[exercise] = (late_by, left)
        free -= spent
    return late


def _with_lateness(row, days, left):
    if not days:
        return row
    says = f"{days} day{'s' * (days > 1)} late: {number(left)} % of the points."
    return replace(row, points=round(row.points * left / 100, 2), reason=f"{row.reason} {says}".strip())


def _as_decided(row, decided):
    """The Row with a person's points and reason, where there are such."""
    if not decided:
        return row
    points, why = decided
    return replace(row, points=points, reason=f"{row.reason} Decided by hand: {number(points)} points. {why}".strip())


def _days(when, deadline):
    return max(0, ceil((when - deadline).total_seconds() / 86400)) if when else 0


def _time(text):
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _cell(value):
    """A cell: our numbers as they are, a text as one line that no spreadsheet takes for a formula."""
    if value is None:
        return NO_GRADE
    if isinstance(value, int | float):
        return number(value)
    first = value.lstrip(" ")[:1]
    text = one_line(value, LONGEST)
    return f"'{text}" if first and first in "=+-@\t\r＝＋－＠" else text


def _written_out(character):
    return character.encode("unicode_escape").decode()


def _in_brief(row):
    if row is None:
        return "not there"
    return f"{row.verdict} ({one_line(row.mistake)})" if row.mistake else row.verdict
