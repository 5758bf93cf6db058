"""What answers to a student's own questions are worth, the thought behind a wrong one, and whose numbers it fits."""

from typing import NamedTuple

from course_lib.staff.variants.families import variant


class Mark(NamedTuple):
    """One student's answer to one question."""

    student: str
    item: str
    points: int
    comment: str  # for the student
    fits: tuple = ()  # others, whose numbers it would be right for; for the instructor


def marks(student, given, families, everybody, term=""):
    """A Mark for each question, in their order.

    given:     {question: number, or None}
    everybody: all students, for whose numbers a wrong answer may be right
    """
    return [_mark(student, family, given.get(family.key), everybody, term) for family in families]


def _mark(student, family, number, everybody, term):
    item = f"question {family.key}"
    if number is None:
        return Mark(student, item, 0, "It is not answered.")
    right, says = variant(family, student, term).reply(number)
    if right:
        return Mark(student, item, 1, says)
    others = [other for other in everybody if other != student]
    fits = tuple(other for other in others if variant(family, other, term).reply(number)[0])
    return Mark(student, item, 0, says.removesuffix(" Run on, and compare."), fits)
