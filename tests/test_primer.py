"""The primer: every line of it is run, and gives what stands below it."""

import ast
import doctest
import re
from pathlib import Path

import torch

from course_lib.staff.lesson_text import read_lesson
from course_lib.staff.notebooks import without_magics

PRIMER = Path(__file__).resolve().parents[1] / "docs" / "primer.md"


def test_every_snippet_gives_what_the_page_says():
    """A first page of code that fails, or whose output is of an older PyTorch."""
    failed, tried = doctest.testfile(str(PRIMER), module_relative=False, encoding="utf-8")
    assert failed == 0 and tried > 20


def test_it_is_short_and_no_code_of_it_is_left_out():
    """A primer of an evening; or a block that is shown and not run."""
    text = PRIMER.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    blocks = re.findall(r"```(\w*)\n(.*?)```", text, re.S)
    assert all(language == "python" and code.startswith(">>> ") for language, code in blocks)


def test_it_covers_what_lesson_00_takes_for_granted():
    """“All that lesson 00 needs”, and a lesson that begins with names that nobody has explained."""
    lesson = read_lesson("00_big_picture")
    told = PRIMER.read_text(encoding="utf-8") + "".join(c.source for c in lesson.cells if c.kind == "markdown")
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
