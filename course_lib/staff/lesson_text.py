"""Read a lesson as its author wrote it: one text, cell by cell, with the line each cell begins on."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from course_lib.staff.first_cell import TAG, first_cell

ROOT = Path(__file__).parents[2]
SOLUTIONS, LESSONS = ROOT / "solutions", ROOT / "lessons"
TEXT_NAME = re.compile(r"(\d\d)_[a-z0-9_]+")


class LessonError(Exception):
    """A mistake in a lesson: its message says where and what, in one line."""


@dataclass(frozen=True)
class Cell:
    """One cell of a lesson text. `answer` is the (module, name) an exercise cell imports."""

    kind: str  # "markdown" or "code"
    source: str
    metadata: dict
    line: int
    answer: tuple | None = None


@dataclass(frozen=True)
class Lesson:
    """A lesson: its stem, such as "04_scaling", and its cells."""

    stem: str
    cells: tuple

    @property
    def number(self):
        return self.stem[:2]

    @property
    def exercises(self):
        return [cell.answer[1] for cell in self.cells if cell.answer]

    @property
    def title(self):
        return re.search(r"^# (.+)$", self.cells[0].source, re.M)[1]

    def where(self, cell):
        return f"solutions/{self.stem}.py:{cell.line}"


def lesson_stems(folder=SOLUTIONS):
    """The stems of all lesson texts, in order."""
    return sorted(p.stem for p in folder.glob("*.py") if TEXT_NAME.fullmatch(p.stem))


def read_lesson(stem, folder=SOLUTIONS):
    """Parse one text; a text that is no lesson is a LessonError."""
    import jupytext  # it takes seconds to import, and only this needs it

    path = folder / f"{stem}.py"
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise LessonError(f"solutions/{stem}.py: is not UTF-8 text ({error.reason})") from None
    starts = [i for i, line in enumerate(text.splitlines(), 1) if re.match(r"# %%(\s|$)", line)]
    notebook = jupytext.reads(text, fmt="py:percent")
    if len(starts) != len(notebook.cells) or not starts:
        raise LessonError(f"solutions/{stem}.py:1: text outside a cell: the file must begin with a `# %%` line")
    cells = tuple(_cell(stem, cell, line) for cell, line in zip(notebook.cells, starts, strict=True))
    if cells[0].kind != "markdown" or not re.search(r"^# .+$", cells[0].source, re.M):
        raise LessonError(f"solutions/{stem}.py:{starts[0]}: the first cell must be markdown with the lesson's title")
    return Lesson(stem, (cells[0], _first_cell(cells[0].line), *cells[1:]))


def _first_cell(line):
    source = first_cell((ROOT / "requirements.txt").read_text(encoding="utf-8"))
    return Cell("code", source, {"tags": [TAG], "jupyter": {"source_hidden": True}, "cellView": "form"}, line)


def _cell(stem, cell, line):
    metadata = {k: v for k, v in cell.metadata.items() if k in ("name", "tags")}
    answer = None
    if "exercise" in metadata.get("tags", []):
        answer = _answer_named_by(cell.source)
        if answer is None:
            raise LessonError(f"solutions/{stem}.py:{line}: an exercise cell holds one line: "
                              "from course_lib.MODULE import NAME")
    return Cell(cell.cell_type, cell.source, metadata, line, answer)


def _answer_named_by(source):
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return None
    if len(body) != 1 or not isinstance(body[0], ast.ImportFrom) or len(body[0].names) != 1:
        return None
    module = body[0].module or ""
    return (module, body[0].names[0].name) if module.startswith("course_lib.") else None
