"""How each exercise and question measures: how hard it is, and whether it tells strong students from weak ones."""

import json
from dataclasses import dataclass

import numpy as np

from course_lib.checks import EXERCISES
from course_lib.staff.grade.tables import in_scope, table
from course_lib.staff.questions import FILE

FEW = 20  # students; of fewer, a correlation says nothing
SAYS_LITTLE = 0.1  # a correlation below which an item is worth a look
ANSWERED = ("pass", "fail", "error", "timeout", "crash")


@dataclass(frozen=True)
class Item:
    """One exercise, or one question of a lesson, as a class has answered it.

    right:          share of those who answered it
    discrimination: correlation of being right here with the share of the other items of its kind that the same student
                    has right (Crocker and Algina 1986, chapter 14: the corrected item-total correlation); None where
                    fewer than twenty have answered, or all of them alike
    """

    lesson: str
    kind: str
    name: str
    answered: int
    right: float
    discrimination: float | None


def items(connection):
    """The Items of a report, exercises first, each in the order of the course; nobody answered, no Item."""
    verdicts = connection.execute("SELECT student, exercise, verdict FROM verdict")
    exercises = {(student, exercise): verdict == "pass" for student, exercise, verdict in verdicts
                 if verdict in ANSWERED}
    questions = {(student, question): bool(right) for student, question, right in
                 connection.execute("SELECT student, question, right FROM prediction")}
    lessons = {entry["question"]: entry["lesson"] for entry in json.loads(FILE.read_text(encoding="utf-8"))}
    return [*_measured(exercises, "exercise", {name: EXERCISES[name].lesson for name in in_scope(connection)
                                               if name in EXERCISES}),
            *_measured(questions, "question", lessons)]


def write_items(found, path):
    """Write items.csv, a line for each Item; none, no file."""
    if not found:
        path.unlink(missing_ok=True)
        return
    with table(path) as write:
        write(["lesson", "kind", "item", "answered", "right_percent", "discrimination"])
        for item in found:
            write([item.lesson, item.kind, item.name, item.answered, 100 * item.right,
                   "" if item.discrimination is None else item.discrimination])


def _measured(right, kind, lessons):
    """Items out of {(student, item): was it right?}, in the order of `lessons`, which are by item."""
    students = {student: row for row, student in enumerate(sorted({student for student, _ in right}))}
    scores = np.full((len(students), len(lessons)), np.nan)  # not answered
    for column, name in enumerate(lessons):
        for student, row in students.items():
            scores[row, column] = right.get((student, name), np.nan)
    for column, (name, lesson) in enumerate(lessons.items()):
        here = ~np.isnan(scores[:, column])
        if here.any():
            yield Item(lesson, kind, name, int(here.sum()), float(scores[here, column].mean()),
                       _discrimination(scores[here, column], np.delete(scores[here], column, axis=1)))


def _discrimination(here, others):
    """The correlation of one column of right and wrong with the share of right ones among the others."""
    answered = (~np.isnan(others)).any(1)
    here, others = here[answered], others[answered]
    if len(here) < FEW:
        return None
    rest = np.nanmean(others, 1)
    return float(np.corrcoef(here, rest)[0, 1]) if here.std() and rest.std() else None
