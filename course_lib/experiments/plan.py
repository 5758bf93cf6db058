"""What an experiment measures, point by point, and how nearly a second run has to agree."""

from collections.abc import Callable
from typing import NamedTuple


class Near(NamedTuple):
    """Two numbers agree where they differ by `absolute` at most, or where the larger is `factor` times the smaller."""

    absolute: float = 0.0
    factor: float = 1.0

    def agree(self, a, b):
        return abs(a - b) <= self.absolute or (a * b > 0 and max(a / b, b / a) <= self.factor)

    def __str__(self):
        words = [f"{self.absolute:g}"] * (self.absolute > 0) + [f"a factor of {self.factor:g}"] * (self.factor > 1)
        return " or ".join(words) or "nothing at all"


class Plan(NamedTuple):
    """An experiment, as a list of points.

    about:   one line for the head of its file
    minutes: how long all points take on one thread
    points:  list of dicts, the arguments of measure, one dict a point, all with the same names
    measure: measure(**point) -> dict of numbers
    near:    how nearly a second run has to agree, {name of a number: Near}; a name that is not there is not compared
    quick:   the point that is run again where one has to do: cheap, and far from any edge
    """

    about: str
    minutes: float
    points: list
    measure: Callable
    near: dict
    quick: dict


def grid(**choices):
    """All combinations, the last name changing fastest: grid(a=[1, 2], b=[3]) -> [{a: 1, b: 3}, {a: 2, b: 3}]."""
    points = [{}]
    for name, values in choices.items():
        points = [point | {name: value} for point in points for value in values]
    return points
