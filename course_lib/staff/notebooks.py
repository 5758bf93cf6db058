"""From a lesson to its two notebooks, byte for byte the same each time."""

import ast
import hashlib
import json
import re
from functools import cache
from pathlib import Path

import nbclient
import nbformat
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

from course_lib.staff.answers import source_and_stub
from course_lib.staff.first_cell import TAG
from course_lib.staff.lesson_text import ROOT, SOLUTIONS, LessonError

KERNEL = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
          "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"}}
CELL_SECONDS = 300
VERSIONS, CHECKS = ROOT / "course_lib" / "versions.py", ROOT / "course_lib" / "checks"


def compose(lesson):
    """The two notebooks of a lesson without outputs: (solution, lesson)."""
    solution, blank = [], []
    for cell in lesson.cells:
        filled = stub = cell.source
        if cell.answer:
            filled, stub = source_and_stub(*cell.answer, lesson.where(cell))
        solution.append(_cell(cell, filled))
        blank.append(_cell(cell, stub))
    return _notebook(solution), _notebook(blank)


def execute(notebook, lesson):
    """Run a solution in place, in the folder `solutions`; a cell that fails is a LessonError with its line."""
    client = nbclient.NotebookClient(
        notebook, timeout=CELL_SECONDS, kernel_name="python3", coalesce_streams=True, record_timing=False,
        extra_arguments=["--log-level=ERROR"], resources={"metadata": {"path": str(SOLUTIONS)}})
    started = []
    client.on_cell_start = lambda cell, cell_index: started.append(cell_index)
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        raise LessonError(f"{lesson.where(lesson.cells[started[-1]])}: {_what_went_wrong(error)}") from None
    notebook.metadata = nbformat.from_dict(KERNEL)
    return notebook


def _what_went_wrong(error):
    if isinstance(error, CellExecutionError):
        return f"this cell raises {error.ename}: {error.evalue}".split("\n")[0]
    return f"this cell runs longer than {CELL_SECONDS} s" if isinstance(error, CellTimeoutError) \
        else "this cell kills the kernel"


def to_bytes(notebook):
    """The file, with sorted keys and a newline at its end."""
    return (json.dumps(notebook, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()


def digest(value):
    """A short fingerprint of bytes, or of anything JSON can hold."""
    data = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def code_fingerprint(notebook):
    """A fingerprint of all code that decides the outputs: the notebook's own and what it imports of course_lib.

    Comments and layout of course_lib do not count, nor does its version. Nor do the checks: of them a solution shows
    that an answer is right, and every test run executes it again.
    """
    cells = [c.source for c in notebook.cells if c.cell_type == "code" and TAG not in c.metadata.get("tags", [])]
    waiting, seen = sorted(_imported(ast.parse("\n".join(without_magics(c) for c in cells)))), set()
    while waiting:
        path = waiting.pop()
        if path not in seen and path != VERSIONS and CHECKS not in path.parents:
            seen.add(path)
            waiting += sorted(_imported(_tree(path)) - seen)
    return digest([cells, {str(p.relative_to(ROOT).as_posix()): ast.dump(_tree(p)) for p in sorted(seen)}])


@cache
def _tree(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def _imported(tree):
    """The files of course_lib that a piece of code imports by name."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {path for name in names if name.split(".")[0] == "course_lib" for path in _files(name)}


def _files(name):
    stem = ROOT / name.replace(".", "/")
    return [path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.exists()]


def without_magics(source):
    """The source of a cell as plain Python."""
    return re.sub(r"^([ \t]*)[%!].*", r"\1pass", source, flags=re.M)


def _cell(cell, source):
    make = nbformat.v4.new_markdown_cell if cell.kind == "markdown" else nbformat.v4.new_code_cell
    return make(source, metadata=dict(cell.metadata), id="unset")


def _notebook(cells):
    """A notebook whose cell ids follow from the content of its cells."""
    times = {}
    for cell in cells:
        key = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:8]
        times[key] = times.get(key, 0) + 1
        cell.id = key if times[key] == 1 else f"{key}-{times[key]}"
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=nbformat.from_dict(KERNEL))
    nbformat.validate(notebook)
    return notebook


def read(path: Path):
    """A notebook from disk, or None where the file is missing or is no notebook."""
    try:
        return nbformat.from_dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None
