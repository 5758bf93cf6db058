"""What an experiment measures, point by point, and which points a second run has to repeat."""

from collections.abc import Callable
from typing import NamedTuple


class Plan(NamedTuple):
    """An experiment, as a list of points.

    about:   one line for the head of its file
    minutes: how long all points take on one thread
    points:  list of dicts, the arguments of measure, one dict a point, all with the same names
    measure: measure(**point) -> dict of numbers
    near:    what a second run has to repeat, {name of a number: resolution}: it may be off by as much as the number
             differs between seeds, or by its resolution where that is more; nothing looser agrees
    sides:   the points of the comparison that the results are made for, two of them, that are run again live; one
             where the comparison is of two of its numbers
    apart:   False where the verdict is that the two sides cannot be told apart
    """

    about: str
    minutes: float
    points: list
    measure: Callable
    near: dict
    sides: tuple
    apart: bool = True


def grid(**choices):
    """All combinations, the last name changing fastest: grid(a=[1, 2], b=[3]) -> [{a: 1, b: 3}, {a: 2, b: 3}]."""
    points = [{}]
    for name, values in choices.items():
        points = [point | {name: value} for point in points for value in values]
    return points
