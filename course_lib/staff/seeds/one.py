"""Run one lesson once, with its seeds moved, and print what its claims said as one line of JSON.

    python -m course_lib.staff.seeds.one 11_transformer 3000

Each run is a process of its own: which instructions torch uses is settled when it is imported.
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from course_lib.experiments import tables
from course_lib.staff.seeds.moved import move_all


def main(stem, by, results=None):
    """Run every cell; a cell that raises is noted with its error, and the next one runs.

    results: the folder from which it reads what is stored; None for the course's own
    """
    move_all(int(by))
    if results:
        tables.FOLDER = Path(results).resolve()
    from course_lib.staff.lesson_text import read_lesson
    from course_lib.staff.notebooks import compose

    lesson = read_lesson(stem)
    solution, _ = compose(lesson)
    here, out, start = os.getcwd(), os.dup(1), time.process_time()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the lesson prints
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        book, raised = run(zip(lesson.cells, solution.cells, strict=True))
        os.chdir(here)
    os.write(out, json.dumps({"claims": book.claims, "compared": book.compared, "raised": raised,
                              "seconds": time.process_time() - start}).encode())


def run(cells):
    """(the Book, {line: error}) after all cells; cells are pairs (as written, as built)."""
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    from course_lib.staff.seeds.watching import Book, Watch

    book, raised = Book(), {}
    shell = InteractiveShell.instance(config=Config({"HistoryManager": {"enabled": False}}))
    shell.user_ns |= book.functions()
    shell.showtraceback = shell.showsyntaxerror = lambda *args, **kwargs: None
    for written, cell in cells:
        if cell.cell_type == "code":
            shell.ast_transformers = [Watch(written.line)]
            done = shell.run_cell(cell.source)
            if error := done.error_before_exec or done.error_in_exec:
                raised[written.line] = f"{type(error).__name__}: {error}".split("\n")[0]
    return book, raised


if __name__ == "__main__":
    main(*sys.argv[1:])
