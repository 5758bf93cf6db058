"""What is looked for in pictures is found, and nothing else."""

import matplotlib.pyplot as plt
import pytest

from tests.covered import covered


def a_line(axis):
    axis.plot([0, 1], [0, 1], label="up")


def dots(axis):
    axis.scatter([0, 1], [0, 1], label="up")


def joined_far_apart(axis):
    """No corner of it lies below the legend."""
    axis.plot([0, 2], [0, 2], label="up")
    axis.set(xlim=(0, 1), ylim=(0, 1))


def bars(axis):
    axis.bar([0, 1], [0, 1], label="up")


@pytest.mark.parametrize("drawn", [a_line, dots, joined_far_apart, bars])
def test_a_legend_on_what_is_drawn_is_found(drawn):
    figure, axis = plt.subplots()
    drawn(axis)
    axis.legend(loc="upper right")
    assert len(covered(figure)) == 1 and "a legend lies on" in covered(figure)[0]
    axis.legend(loc="upper left")
    assert not covered(figure)


def test_dots_are_not_joined():
    """A legend between two dots is on nothing."""
    figure, axis = plt.subplots()
    axis.plot([0, 1], [0, 1], "o", label="up")
    axis.legend(loc="center")
    assert not covered(figure)


def test_a_legend_of_the_figure_counts():
    figure, axis = plt.subplots()
    a_line(axis)
    figure.legend(loc="center")
    assert covered(figure)


def test_labels_that_touch_are_found():
    """“blockblock” below two bars; those that are turned have room, and those beyond the axis are not seen."""
    figure, axis = plt.subplots(figsize=(2, 2))
    axis.bar(["block one", "block two", "block three"], [1, 2, 3])
    assert covered(figure) == [f"the labels “block {one}” and “block {other}” touch"
                               for one, other in (("one", "two"), ("two", "three"))]
    axis.tick_params(axis="x", rotation=45)
    assert not covered(figure)
    axis.tick_params(axis="x", rotation=0)
    axis.set_xlim(-0.5, 0.5)
    assert not covered(figure)
