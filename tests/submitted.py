"""Answers that stand in a module, as the notebook of somebody who wrote them there."""

import ast
import functools
import importlib
import inspect

from course_lib.checks import EXERCISES
from course_lib.checks.engine.mistakes import ByHand
from course_lib.staff.grade.reading import Notebook, Submission

DEFINES = ("def ", "class ", "@", "import ", "from ")
KNOWN = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn"
WITHHELD = ("course_lib.checks", "tests")  # where a notebook can import nothing from while it is graded


def submission(exercise, module, wrote):
    """A Submission whose last cell gives an exercise's name to what was written, or defines it.

    module: where `wrote`, an expression or a definition, can be run; what it needs of there comes first, a cell a
            statement
    """
    last = wrote if wrote.startswith(DEFINES) else f"{exercise} = {wrote}"
    known = [KNOWN] if wrote.startswith(DEFINES) else []  # what an edit may use beside its module's own names
    verified, cells = EXERCISES[exercise].verified.__module__, [*known, *cells_for(module, wrote), last]
    the_course_s = f"{verified.split('.')[-1]}.{exercise}"  # here it is finished; a notebook would get a stub
    if any(the_course_s in cell for cell in cells):
        cells = [*cells_for(verified, exercise), f"Finished = {exercise}",
                 *(cell.replace(the_course_s, "Finished") for cell in cells)]
    return Submission("somebody", (Notebook("answer.ipynb", tuple(cells), None),), (), "")


def right_answers(exercise, of):
    """The right answers to an exercise as {style: (module, expression)}; `of` is tests.right_answers' own dict."""
    found = {}
    for style, answer in of[exercise].items():
        module = answer.__module__
        found[style] = module, _in_a_dict(module, exercise, style) or answer.__name__
    return found


def mistakes(exercise):
    """The classic mistakes of an Exercise as {id: (module, expression or definition)}."""
    found = {}
    for mistake in exercise.mistakes:
        if not isinstance(mistake, ByHand):
            found[mistake.name] = exercise.verified.__module__, mistake.source
            continue
        wrong = mistake.answer
        maker, _, made = wrong.__qualname__.partition(".<locals>.")
        expression = wrong.__qualname__
        if made:
            several = _call_of(maker, wrong.__module__, exercise.name)
            expression = f"next(m for m in {several} if m.__name__ == {made!r})"
        found[mistake.name] = wrong.__module__, expression
    return found


def cells_for(module, expression):
    """The statements of a module that an expression needs, in order; what it imports of WITHHELD comes along."""
    body, needed, waiting = _body(module), set(), _names(ast.parse(expression))
    while waiting:
        name = waiting.pop()
        for number, statement in enumerate(body):
            if name in _binds(statement) and number not in needed:
                needed.add(number)
                waiting |= _names(statement)
    cells = []
    for number in sorted(needed):
        cells += _brought_along(body[number]) or [ast.unparse(body[number])]
    return cells


def _brought_along(statement):
    """What a cell cannot import, as cells."""
    if not isinstance(statement, ast.ImportFrom) or not statement.module.startswith(WITHHELD):
        return []
    cells = []
    for alias in statement.names:
        cells += [c for c in cells_for(statement.module, alias.name) if c not in cells]
        cells += [f"{alias.asname} = {alias.name}"] if alias.asname else []
    return cells


@functools.cache
def _body(module):
    return ast.parse(inspect.getsource(importlib.import_module(module))).body


def _binds(statement):
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {a.asname or a.name.split(".")[0] for a in statement.names}
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _names(tree):
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _call_of(maker, module, exercise):
    """How an exercise's description calls the function that makes some of its mistakes."""
    for description in (n for s in _body(module) for n in ast.walk(s) if _calls(n, "Exercise")):
        given = {k.arg: k.value for k in description.keywords}
        if given["name"].value == exercise:
            return ast.unparse(next(n for n in ast.walk(given["by_hand"]) if _calls(n, maker)))


def _calls(node, name):
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == name


def _in_a_dict(module, exercise, style):
    """The expression that stands under an exercise and a style in RIGHT_ANSWERS, or None."""
    for statement in _body(module):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Dict):
            for key, styles in zip(statement.value.keys, statement.value.values, strict=True):
                if getattr(key, "value", "") == exercise and isinstance(styles, ast.Dict):
                    for name, value in zip(styles.keys, styles.values, strict=True):
                        if getattr(name, "value", "") == style:
                            return ast.unparse(value)
    return None
