"""The primer: its tasks know right from wrong, and lesson 00 asks for nothing that it does not tell."""

import ast
import re

import pytest
import torch

from course_lib import primer
from course_lib.staff.lesson_text import PRIMER, read_lesson
from course_lib.staff.notebooks import compose, without_magics

X = primer.X


def judged(task, choice):
    result = task["run"](choice)
    return bool(task["holds"](result)), task["otherwise"](choice, result)


def train(rate):
    """As the primer trains: from 0, twenty steps down (w − 5)²."""
    w = 0.0
    for _ in range(20):
        w -= rate * 2 * (w - 5)
    return w


@pytest.mark.parametrize(("task", "choice"), [
    (primer.COLUMN, X[:, 2]), (primer.COLUMN, X.T[-1]), (primer.COLUMN, [3.0, 6.0]), (primer.MEANS, X.sum(1) / 3),
    (primer.MEANS, X.mean(-1)), (primer.mixture(X), [0.25, 0.75]), (primer.lowest(X), torch.tensor([[1], [4]])),
    (primer.lowest(X), X.amin(1, keepdim=True)), (primer.FLAT, -1), (primer.rate(train), 0.2),
    (primer.rate(train), 0.5)])
def test_a_right_choice_is_right_however_it_is_written(task, choice):
    """A task that knows one spelling only."""
    assert judged(task, choice)[0]


@pytest.mark.parametrize(("task", "choice", "says"), [
    (primer.COLUMN, X[1], "last row"), (primer.COLUMN, X[:, 2:], "takes the axis away"),
    (primer.COLUMN, X[:, :2], "all but the last"), (primer.COLUMN, X[:, 0], "first column"),
    (primer.COLUMN, X[0], "(3,), and (2,) is asked"), (primer.COLUMN, X[:, 1], "numbers are others"),
    (primer.MEANS, X.mean(0), "each column"), (primer.MEANS, X.mean(), "all six"), (primer.MEANS, X.sum(-1), "the sum"),
    (primer.MEANS, X.mean(-1, keepdim=True), "keepdim"), (primer.mixture(X), [0.75, 0.25], "other way round"),
    (primer.mixture(X), [0.5, 0.5], "the mean"), (primer.mixture(X), [1, 0], "numbers are others"),
    (primer.lowest(X), torch.tensor([[-1.0], [-4]]), "That adds"),
    (primer.lowest(X), torch.tensor([[4.0], [1]]), "first row"),
    (primer.FLAT, 0, "the sum is 0"), (primer.FLAT, 3, "to the left"), (primer.FLAT, -5, "to the right"),
    (primer.rate(train), 0.05, "creeps"), (primer.rate(train), 0.95, "to and fro"),
    (primer.rate(train), 1.2, "lands farther")])
def test_a_wrong_choice_is_told_which_slip_it_is(task, choice, says):
    """“Try another one.”"""
    right, told = judged(task, choice)
    assert not right and says in told and "\n" not in told


def test_it_asks_five_questions_and_sets_six_tasks():
    """A primer that is only read."""
    solution, blank = compose(read_lesson(PRIMER))
    tags = [tag for cell in blank.cells for tag in cell.metadata.get("tags", [])]
    assert tags.count("predict") == 5 and tags.count("yours") == 6
    assert not any("[0.25, 0.75]" in cell.source or "x.mean(dim=1)" in cell.source for cell in blank.cells)


def test_it_covers_what_lesson_00_takes_for_granted():
    """“All that lesson 00 needs”, and a lesson that begins with names that nobody has explained."""
    lesson = read_lesson("00_big_picture")
    told = "".join(c.source for c in read_lesson(PRIMER).cells)
    told += "".join(c.source for c in lesson.cells if c.kind == "markdown")
    further, used = False, set()
    for cell in lesson.cells:
        if cell.kind == "markdown" and cell.source.startswith("## "):
            further = cell.source.startswith("## Further")
        elif cell.kind == "code" and not further and not {"claim", "predict", "installs"} & set(cell.tags):
            used |= {node.attr for node in ast.walk(ast.parse(without_magics(cell.source)))
                     if isinstance(node, ast.Attribute)}
    of_torch = {name for name in used if hasattr(torch, name) or hasattr(torch.Tensor, name)}
    of_python = {*dir(str), *dir(list), *dir(type), "repeat", "matmul"}  # timeit's; and what @ is
    untold = {name for name in of_torch - of_python
              if not re.search(rf"\b{name.replace('_', '[_ ]')}\b", told, re.I)}
    assert untold == set()
