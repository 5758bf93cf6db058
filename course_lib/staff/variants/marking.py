"""What answers to a student's own questions are worth, the thought behind a wrong one, and whose numbers they fit."""

from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from course_lib.staff.variants.families import variant

SELDOM = 0.05  # a fit is told where chance would make fewer such pairs than that in the whole class
STRANGERS = [f"a stranger, number {n}" for n in range(300)]  # their numbers say how often an answer fits by chance


class Mark(NamedTuple):
    """One student's answer to one question."""

    student: str
    item: str
    points: int
    comment: str  # for the student


class Fit(NamedTuple):
    """A student whose wrong answers would be right for another one."""

    student: str
    other: str
    keys: tuple  # of the questions
    by_chance: float  # how many such pairs are to be expected in a class where nobody has copied


def marks(student, given, families, term=""):
    """A Mark for each question, in their order; given: {question: number, or None}."""
    return [_mark(student, family, given.get(family.key), term) for family in families]


def _mark(student, family, number, term):
    item = f"question {family.key}"
    if number is None:
        return Mark(student, item, 0, "It is not answered.")
    right, says = variant(family, student, term).reply(number)
    return Mark(student, item, int(right), says.removesuffix(" Run on, and compare."))


def fits(given, families, term="") -> Iterable[Fit]:
    """Whose wrong answers are, together, right for somebody else more often than chance would have it.

    given: {student: {question: number, or None}} of the whole class
    """
    pairs = len(given) * (len(given) - 1)
    right_for = cache(lambda family, number: {s for s in given if variant(family, s, term).reply(number)[0]})
    for student, numbers in given.items():
        wrong = [(family, number) for family in families if (number := numbers.get(family.key)) is not None
                 and student not in right_for(family, number)]
        chances = _at_least([_by_chance(family, number, term) for family, number in wrong])
        for other in given:
            keys = tuple(family.key for family, number in wrong if other in right_for(family, number))
            if other != student and keys and pairs * chances[len(keys)] < SELDOM:
                yield Fit(student, other, keys, pairs * chances[len(keys)])


@cache
def _by_chance(family, number, term):
    """How probable it is that a number is right for somebody, never quite 0."""
    right = sum(variant(family, stranger, term).reply(number)[0] for stranger in STRANGERS)
    return (right + 1) / (len(STRANGERS) + 1)


def _at_least(chances):
    """[how probable it is that at least k of these independent things happen], for k from 0 on."""
    exactly = [1.0]
    for p in chances:
        exactly = [yes * p + no * (1 - p) for yes, no in zip([0.0, *exactly], [*exactly, 0.0], strict=True)]
    return [sum(exactly[k:]) for k in range(len(exactly))]
