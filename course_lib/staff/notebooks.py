"""From a lesson to its two notebooks, byte for byte the same each time."""

import ast
import hashlib
import json
import re
import subprocess
from functools import cache
from pathlib import Path

from course_lib.staff import questions
from course_lib.staff.answers import parsed, source_and_stub
from course_lib.staff.first_cell import TAG
from course_lib.staff.lesson_text import CHOICE, MORE_OF_IT, ROOT, SOLUTIONS, YOURS, LessonError
from course_lib.staff.quick import nbformat

KERNEL = {"kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
          "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"}}
CELL_SECONDS = 300
FURTHER = re.compile(r"## Further\b")  # how an optional section begins
VERSIONS = ROOT / "course_lib" / "upkeep" / "versions.py"
RUN_AGAIN = {ROOT / "course_lib" / "checks", ROOT / "course_lib" / "predictions"}  # by every test run


def compose(lesson):
    """The two notebooks of a lesson without outputs: (solution, lesson)."""
    solution, blank = [], []
    for cell in lesson.cells:
        filled = stub = cell.source
        if cell.answer:
            filled, stub = source_and_stub(*cell.answer, lesson.where(cell))
        elif cell.given:
            filled = stub = source_and_stub(*cell.given, lesson.where(cell))[0]
        elif questions.TAG in cell.tags:
            stub = questions.blank(cell, lesson.where(cell))
        elif YOURS in cell.tags:
            stub = MORE_OF_IT.sub("", CHOICE.sub(r"\1...\3", cell.source))
        solution.append(_cell(cell, filled, _folding(cell, {"claim", questions.TAG})))
        blank.append(_cell(cell, stub, _folding(cell, {"claim", questions.TAG})))
    return _notebook(solution), _notebook(blank)


def execute(notebook, lesson):
    """Run a solution in place, in the folder `solutions`; a cell that fails is a LessonError with its line."""
    import nbclient  # prose needs neither it nor a kernel
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    client = nbclient.NotebookClient(
        notebook, timeout=CELL_SECONDS, kernel_name="python3", coalesce_streams=True, record_timing=False,
        extra_arguments=["--log-level=ERROR"], resources={"metadata": {"path": str(SOLUTIONS)}})
    started = []
    client.on_cell_start = lambda cell, cell_index: started.append(cell_index)
    try:
        client.execute(stderr=subprocess.DEVNULL)  # a kernel that ends may complain there of a closed socket
    except CellExecutionError as error:
        says = f"this cell raises {error.ename}: {error.evalue}".split("\n")[0]
    except CellTimeoutError:
        says = f"this cell runs longer than {CELL_SECONDS} s"
    except DeadKernelError:
        says = "this cell kills the kernel"
    else:
        says = ""
    if says:
        raise LessonError(f"{lesson.where(lesson.cells[started[-1]])}: {says}")
    notebook.metadata = nbformat.from_dict(KERNEL)
    return notebook


def to_bytes(notebook):
    """The file, with sorted keys and a newline at its end."""
    return (json.dumps(notebook, sort_keys=True, indent=1, ensure_ascii=False) + "\n").encode()


def digest(value):
    """A short fingerprint of bytes, or of anything JSON can hold."""
    data = value if isinstance(value, bytes) else json.dumps(value, sort_keys=True).encode()
    return hashlib.sha256(data).hexdigest()[:16]


def code_fingerprint(notebook, lesson):
    """A fingerprint of all code that decides the outputs: the notebook's own and what it imports of course_lib.

    Comments and layout of course_lib do not count, nor does its version. Nor do the checks and the predictions: of them
    a solution shows verdicts, and every test run executes it again.

    notebook: the solution of the lesson
    raises:   LessonError where a cell is no Python
    """
    pairs = [(made, written) for made, written in zip(notebook.cells, lesson.cells, strict=True)
             if made.cell_type == "code" and TAG not in made.metadata.get("tags", [])]
    files = imported_files(_tree_of_cell(*pair, lesson) for pair in pairs)
    return digest([[made.source for made, _ in pairs], {p.relative_to(ROOT).as_posix(): dumped(p) for p in files}])


def imported_files(trees):
    """The files of course_lib that these trees import, directly or not, in order; without checks and predictions."""
    waiting, seen = sorted(set().union(*map(_imported, trees))), set()
    while waiting:
        path = waiting.pop()
        if path not in seen and path != VERSIONS and not RUN_AGAIN & set(path.parents):
            seen.add(path)
            waiting += sorted(_imported_by(path) - seen)
    return sorted(seen)


def _tree_of_cell(made, written, lesson):
    """The syntax of a cell; `written` is the same one in its lesson's text."""
    try:
        return ast.parse(without_magics(made.source))
    except SyntaxError as error:
        line = written.line + (error.lineno or 0)
        raise LessonError(f"solutions/{lesson.stem}.py:{line}: this is no Python: {error.msg}") from None


@cache
def _tree(path):
    return parsed(path.read_text(encoding="utf-8"))


@cache
def dumped(path):
    """The syntax of a file, as text."""
    return ast.dump(_tree(path))


@cache
def _imported_by(path):
    return _imported(_tree(path))


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


def _folding(cell, folded):
    """The metadata that fold a cell: its code where one of its tags is in `folded`, or a whole optional section."""
    if cell.kind == "markdown":
        return {"jp-MarkdownHeadingCollapsed": True} if FURTHER.match(cell.source) else {}
    return {"jupyter": {"source_hidden": True}} if folded & set(cell.tags) else {}


def _cell(cell, source, folding):
    """A cell as nbformat makes one; the whole notebook is validated later, and not each of its cells as well."""
    of_kind = {} if cell.kind == "markdown" else {"execution_count": None, "outputs": []}
    return nbformat.from_dict({"cell_type": cell.kind, "id": "unset", "metadata": dict(cell.metadata) | folding,
                               "source": source} | of_kind)


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
