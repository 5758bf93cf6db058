"""Is every lesson quick enough? Prints a table; exit status 1 where a budget is overdrawn.

Of seconds on the clock the shortest of several counts: what else a machine does can only make them longer.

    python -m course_lib.staff.bench.budgets                     all lessons: 17 minutes on 2 cores
    python -m course_lib.staff.bench.budgets --lessons 03 05     these lessons
"""

import argparse
import os
import subprocess
import sys
import time

import nbclient
import nbformat

from course_lib.staff.lesson_text import LESSONS, ROOT, SOLUTIONS, LessonError, lesson_stems, number_of

# Seconds of processor time that a solved lesson may take from its first cell to its last; a quarter of an hour in all.
SECONDS = {"00": 10, "01": 10, "02": 10, "03": 55, "04": 20, "05": 20, "06": 25, "07": 15, "08": 60, "09": 20,
           "10": 60, "11": 95, "11b": 70, "12": 85, "12b": 80, "13": 60, "13b": 20, "14": 10, "14b": 25, "15": 40,
           "15b": 20, "16": 45, "17": 45}
IMPORT_SECONDS = 0.2  # import course_lib, beyond torch and numpy
OPEN_SECONDS = 5  # from the start of a kernel to the result of a lesson's first code cell
CHECK_SECONDS = 0.3  # one check of a right answer
SPENT = "import time; print(time.process_time())"
IMPORT = "import time, torch, numpy; t = time.perf_counter(); import course_lib; print(time.perf_counter() - t)"


def main(arguments=None):
    """Measure and print; the exit status is 1 where something takes longer than it may."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.bench.budgets",
                                     description=__doc__.splitlines()[0])
    parser.add_argument("--lessons", nargs="+", default=sorted(SECONDS), metavar="NN", help="such as 03 05")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.lessons) - set(SECONDS))
    if unknown:
        print(f"there is no lesson {', '.join(unknown)}: the lessons are 00 to {max(SECONDS)}", file=sys.stderr)
        return 1
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # a learner's Python does not compile everything anew each time
    print("| what | may take s | takes s | |\n|---|---|---|---|")
    try:
        over = [not within(*row) for row in rows(options.lessons)]
    except LessonError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"\n{sum(over)} of {len(over)} take too long." if any(over) else "\nNothing takes too long.")
    return int(any(over))


def within(what, budget, seconds):
    """Is it? Prints the row of the table."""
    print(f"| {what} | {budget:g} | {seconds:.2f} | {'' if seconds <= budget else '✗ too long'} |", flush=True)
    return seconds <= budget


def rows(numbers):
    """(what, budget, seconds) of everything that has a budget."""
    yield "`import course_lib` beyond torch and numpy", IMPORT_SECONDS, import_seconds()
    for stem in lesson_stems():
        if number_of(stem) in numbers:
            yield f"{stem}: processor time of the solution", SECONDS[number_of(stem)], processor_seconds(stem)
            yield f"{stem}: opened, to the first result", OPEN_SECONDS, min(opening_seconds(stem) for _ in range(3))
            for name, seconds in check_seconds(number_of(stem)):
                yield f"{stem}: check of `{name}`", CHECK_SECONDS, seconds


def import_seconds(times=7):
    """The shortest of several fresh processes, not counting the first one, which compiles what it reads."""
    def once():
        done = subprocess.run([sys.executable, "-c", IMPORT], cwd=ROOT, text=True, capture_output=True, check=True)
        return float(done.stdout)

    once()
    return min(once() for _ in range(times))


def processor_seconds(stem):
    """What a kernel has spent, on all cores, when it has run the solution to its end."""
    notebook = _read(SOLUTIONS / f"{stem}.ipynb")
    notebook.cells.append(nbformat.v4.new_code_cell(SPENT))
    _run(notebook, SOLUTIONS, stem)
    return float(notebook.cells[-1].outputs[0].text)


def opening_seconds(stem):
    """Seconds on the clock until a lesson that was just opened shows the result of its first code cell."""
    notebook = _read(LESSONS / f"{stem}.ipynb")
    first = next(i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code")
    notebook.cells = notebook.cells[: first + 1]
    start = time.perf_counter()
    _run(notebook, LESSONS, stem)
    return time.perf_counter() - start


def check_seconds(number):
    """(exercise, seconds) of each check of a lesson, with the course's own answer; the shortest of three."""
    import torch

    from course_lib.checks import EXERCISES
    from course_lib.checks.engine.judging import judge

    torch.set_num_threads(1)
    for name, exercise in EXERCISES.items():
        if exercise.lesson == number:
            taken = []
            for _ in range(3):
                start = time.perf_counter()
                judge(exercise, exercise.verified)
                taken.append(time.perf_counter() - start)
            yield name, min(taken)


def _read(path):
    try:
        return nbformat.read(path, as_version=4)
    except (OSError, ValueError) as error:
        raise LessonError(f"{path.relative_to(ROOT).as_posix()} cannot be read: {error}") from None


def _run(notebook, folder, stem):
    try:
        nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", extra_arguments=["--log-level=ERROR"],
                                resources={"metadata": {"path": str(folder)}}).execute()
    except nbclient.exceptions.CellControlSignal as error:
        raise LessonError(f"{folder.name}/{stem}.ipynb does not run to its end: {type(error).__name__}") from None


if __name__ == "__main__":
    sys.exit(main())
