"""Read a lesson as its author wrote it: one text, cell by cell, with the line each cell begins on.

What jupytext makes of a text is kept in `build/texts`, which git ignores, until the text, jupytext or this module is
another one. What is damaged or missing there is made again.
"""

import ast
import contextlib
import hashlib
import json
import os
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from course_lib.staff.first_cell import TAG, first_cell

ROOT = Path(__file__).parents[2]
SOLUTIONS, LESSONS = ROOT / "solutions", ROOT / "lessons"
KEPT = ROOT / "build" / "texts"
PROOF = "# The proof"  # what JupyterLab still shows of a folded cell is its first line
WAYS_ON = "ways-on"  # the tag of a notebook's last cell
YOURS = "yours"  # the tag of a cell that leaves a choice to the learner, and of the comment on its lines
LATER = "later"  # the tag of a question that no notebook shows: it comes back some time after its lesson
CHOICE = re.compile(r"^( *\w+ = )(.+?)(  # yours:.*)$", re.M)
MORE_OF_IT = re.compile(r"^.*  # yours\n", re.M)  # further lines of a choice, which only the solution has
TEXT_NAME = re.compile(r"\d\d[a-z]?_[a-z0-9_]+")
PRIMER = "primer"  # the text of the notebook before the lessons: it has no number, no exercise and no concept


class LessonError(Exception):
    """A mistake in a lesson: its message says where and what, in one line."""


@dataclass(frozen=True)
class Cell:
    """One cell of a lesson text. `answer` is the (module, name) an exercise cell imports, `given` that of a cell whose
    code is shown as it stands in course_lib."""

    kind: str  # "markdown" or "code"
    source: str
    metadata: dict
    line: int
    answer: tuple | None = None
    given: tuple | None = None

    @property
    def tags(self):
        return self.metadata.get("tags", [])


@dataclass(frozen=True)
class Lesson:
    """A lesson, or the primer: its stem, such as "04_scaling", the cells of its notebooks, and those in none."""

    stem: str
    cells: tuple
    later: tuple = ()

    @property
    def number(self):
        return number_of(self.stem)

    @property
    def exercises(self):
        return [cell.answer[1] for cell in self.cells if cell.answer]

    @property
    def title(self):
        return re.search(r"^# (.+)$", self.cells[0].source, re.M)[1]

    def where(self, cell):
        return f"solutions/{self.stem}.py:{cell.line}"


def number_of(stem):
    """What a lesson's text is called by: "04" of "04_scaling", "11b" of a second notebook; the primer has its name."""
    return stem.split("_")[0]


def lesson_stems(folder=SOLUTIONS):
    """The stems of all lesson texts, in order."""
    return sorted(p.stem for p in folder.glob("*.py") if TEXT_NAME.fullmatch(p.stem))


def notebook_stems(folder=SOLUTIONS):
    """The stems of all texts that notebooks are built from: the primer, and then the lessons."""
    return [PRIMER] * (folder / f"{PRIMER}.py").exists() + lesson_stems(folder)


def read_lesson(stem, folder=SOLUTIONS):
    """Parse one text; a text that is no lesson is a LessonError."""
    path = folder / f"{stem}.py"
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LessonError(f"solutions/{stem}.py: is not UTF-8 text ({error.reason})") from None
    starts = [i for i, line in enumerate(text.splitlines(), 1) if re.match(r"# %%(\s|$)", line)]
    found = _parsed(stem, text)
    if len(starts) != len(found) or not starts:
        raise LessonError(f"solutions/{stem}.py:1: text outside a cell: the file must begin with a `# %%` line")
    cells = tuple(_cell(stem, *cell, line) for cell, line in zip(found, starts, strict=True))
    if cells[0].kind != "markdown" or not re.search(r"^# .+$", cells[0].source, re.M):
        raise LessonError(f"solutions/{stem}.py:{starts[0]}: the first cell must be markdown with the lesson's title")
    shown, later = ([cell for cell in cells if (LATER in cell.tags) is hidden] for hidden in (False, True))
    ways_on = _last_cell(stem, folder, cells[-1].line)
    return Lesson(stem, (shown[0], _first_cell(cells[0].line), *shown[1:], ways_on), tuple(later))


def _parsed(stem, text):
    """What jupytext makes of a text: [kind, source, metadata] of each cell."""
    path = KEPT / f"{stem}.json"
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["sum"] == _sum(text, kept["cells"]):
            return kept["cells"]
    import jupytext  # only a text that has changed needs it

    try:
        notebook = jupytext.reads(text, fmt="py:percent")
    except Exception as error:  # whatever it finds in a header
        says = str(error).split("\n")[0]
        raise LessonError(f"solutions/{stem}.py:1: jupytext cannot read it: {type(error).__name__}: {says}") from None
    cells = [[c.cell_type, c.source, {k: v for k, v in c.metadata.items() if k in ("name", "tags")}]
             for c in notebook.cells]
    _keep(path, json.dumps({"sum": _sum(text, cells), "cells": cells}))
    return cells


def _keep(path, text):
    """Write a file whole, or not at all: without it the next build takes longer, and nothing else."""
    partial = path.with_suffix(f".{os.getpid()}.partial")
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, path)
    with contextlib.suppress(OSError):
        partial.unlink(missing_ok=True)


def _sum(text, cells):
    """A checksum of cells and of all that they come from."""
    return hashlib.sha256(json.dumps([_reader(), text, cells]).encode()).hexdigest()


@cache
def _reader():
    try:
        return [version("jupytext"), Path(__file__).read_text(encoding="utf-8")]
    except PackageNotFoundError:
        raise LessonError("jupytext is not installed, which reads the lessons' texts: "
                          "run python3 start.py install build") from None


def _first_cell(line):
    source = first_cell((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    return Cell("code", source, {"tags": [TAG], "jupyter": {"source_hidden": True}, "cellView": "form"}, line)


def _last_cell(stem, folder, line):
    """Where to go on from here."""
    stems = notebook_stems(folder)
    at = stems.index(stem)
    near = {"Next": stems[at + 1 : at + 2], "Previous": stems[max(at - 1, 0) : at]}
    ways = [f"**{which} lesson:** [{_title(folder / f'{name}.py')}]({name}.ipynb)"
            for which, names in near.items() for name in names]
    ways += [f"this one [blank](../lessons/{stem}.ipynb) and [solved](../solutions/{stem}.ipynb)",
             "[glossary](../docs/glossary.md)", "[contents](../README.md)"]
    return Cell("markdown", "---\n\n" + " · ".join(ways), {"tags": [WAYS_ON]}, line)


def _title(path):
    return re.search(r"^# # (.+)$", path.read_text(encoding="utf-8"), re.M)[1]


def _cell(stem, kind, source, metadata, line):
    """A Cell; one whose tag asks for a form that it does not have is a LessonError."""
    tags, where = metadata.get("tags", []), f"solutions/{stem}.py:{line}"
    named = _named_by(source) if {"exercise", "given"} & set(tags) else None
    if {"exercise", "given"} & set(tags) and named is None:
        kind_of = "exercise" if "exercise" in tags else "given"
        raise LessonError(f"{where}: an {kind_of} cell holds one line: from course_lib.MODULE import NAME"
                          .replace("an given", "a given"))
    claims = kind == "code" and re.search(r"^\s*claim\(", source, re.M)
    if claims and "claim" not in tags:
        raise LessonError(f"{where}: a claim that is not folded: give its cell the tag claim")
    if re.search(r"""^\s*claim\(\s*[^\s"']""", source, re.M):
        raise LessonError(f"{where}: a claim begins with its sentence, a plain text")
    if "claim" in tags and not (claims and source.startswith(PROOF + "\n")):
        raise LessonError(f"{where}: a cell tagged claim begins with the line `{PROOF}`, and calls claim(…)")
    intervenes = kind == "code" and re.search(r"^(\w+ = )?intervene\(", source, re.M)
    if bool(intervenes) != (YOURS in tags) or (intervenes and not CHOICE.search(source)):
        raise LessonError(f"{where}: a cell tagged yours calls intervene(…), and has a line `name = value  # yours: …`")
    return Cell(kind, source, metadata, line, *((named, None) if "exercise" in tags else (None, named)))


def _named_by(source):
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return None
    if len(body) != 1 or not isinstance(body[0], ast.ImportFrom) or len(body[0].names) != 1:
        return None
    module = body[0].module or ""
    return (module, body[0].names[0].name) if module.startswith("course_lib.") else None
