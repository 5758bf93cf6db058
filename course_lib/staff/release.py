"""Make the hand-out of a lesson: what a class gets, without the answers that are still open.

    python -m course_lib.staff.release 06 -o DIR             one lesson
    python -m course_lib.staff.release 02-05 07 -o DIR       several
    python -m course_lib.staff.release 06 -o DIR --github    for GitHub Classroom: every push is checked
    python -m course_lib.staff.release 06 -o DIR --nbgrader  the source folder of an nbgrader course instead

It prints which answers are held back and which are not, and why. The same course makes the same bytes.
"""

import argparse
import json
import os
import re
import sys
import tempfile
from pathlib import Path

from course_lib.checks import EXERCISES
from course_lib.checks.engine.mistakes import in_code
from course_lib.staff.lesson_text import (
    LESSONS,
    PRIMER,
    ROOT,
    WAYS_ON,
    LessonError,
    lesson_stems,
    number_of,
    read_lesson,
)
from course_lib.staff.nbgrader_export import course_files
from course_lib.staff.notebooks import compose, digest, to_bytes
from course_lib.staff.withheld import (
    KEPT,
    PACKAGE,
    WITHHELD,
    checked_by,
    cut,
    fates,
    modules,
    spare,
    without_heirs,
    without_twins,
)

COPIED = ("LICENSE", "LICENSE-CONTENT.md", "pyproject.toml", "requirements.txt", "start.py")
LABEL = "handout.json"  # says which hand-out a folder is, and what was in it
KIND = "hand-out of Transformers from Version 0"
CARRIED = (".py", ".json", ".toml", ".tsv", ".js", ".css", ".mplstyle")  # of course_lib: code, and what it reads
OPENED = (".npz", ".bz2")  # of course_lib, where a lesson calls a function of the file's name


WORKFLOW = ".github/workflows/check.yml"
CHECKS = """# Runs the notebooks at every push. The cards of all checks stand in the summary of the job.
name: check
on: push
permissions:
  contents: read
jobs:
  check:
    runs-on: ubuntu-latest
    timeout-minutes: 60
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: python3 start.py python --version
      - run: python3 start.py python -m course_lib.upkeep.cards lessons >> "$GITHUB_STEP_SUMMARY"
"""


class ReleaseError(Exception):
    """A hand-out cannot be made: the message is one sentence."""


def main(arguments=None):
    """Make the hand-out; the exit status is 0 where it was made."""
    options = _options(arguments)
    try:
        numbers = _numbers(options.lessons, [number_of(stem) for stem in lesson_stems()])
        _refuse_to_overwrite(options.output)
        lessons = [read_lesson(stem) for stem in lesson_stems()]
        chosen = [lesson for lesson in lessons if lesson.number in numbers]
        decided = fates(lessons, numbers)
        package = package_files(chosen, decided)
        files = course_files(chosen, package) if options.nbgrader else handout_files(chosen, decided) | package
        files |= {WORKFLOW: CHECKS.encode()} if options.github else {}
        label = _label(files, chosen, decided)
        _put(options.output, files | {LABEL: _as_json(label)})
    except (ReleaseError, LessonError) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename or options.output} cannot be written: {error.strerror or error}", file=sys.stderr)
        return 1
    print(_summary(decided))
    print(f"\n{len(label['files']) + 1} files in {options.output}, fingerprint {label['fingerprint']}")
    return 0


def handout_files(chosen, decided):
    """What a class gets beside course_lib, as {path: bytes}.

    chosen:  the lessons that are handed out
    decided: the Fate of every exercise
    """
    files = {name: (ROOT / name).read_bytes() for name in COPIED}
    for lesson in chosen:
        notebook = _blank(lesson)
        files[f"lessons/{lesson.stem}.ipynb"] = to_bytes(notebook)
        for name in {name for cell in notebook.cells for name in re.findall(r"\]\(\.\./(docs/\w+\.md)", cell.source)}:
            files[name] = (ROOT / name).read_bytes()
        if any(f"]({PRIMER}.ipynb)" in cell.source for cell in notebook.cells):
            files[f"lessons/{PRIMER}.ipynb"] = to_bytes(_blank(read_lesson(PRIMER)))
    files["README.md"] = _page(chosen, decided).encode()
    return files


def package_files(chosen, decided):
    """course_lib as the class gets it: no staff, nothing of lessons to come, no answers that are not kept.

    Mistakes are edits of answers: they come complete and coded. Of the trained things those come that a lesson opens.
    """
    last, files = max(lesson.number for lesson in chosen), {}
    come, spared = modules(chosen, decided), spare(chosen, decided)
    texts = "\n".join(cell.source for lesson in chosen for cell in lesson.cells)
    open_ = {fate.lesson for fate in decided if fate.what != KEPT}
    for number in {e.lesson for e in EXERCISES.values() if e.lesson <= last}:
        mistakes = in_code([e for e in EXERCISES.values() if e.lesson == number])
        files[f"course_lib/checks/mistakes/{number}.json"] = mistakes.encode()
    for path in sorted(PACKAGE.rglob("*")):
        inside = path.relative_to(ROOT).as_posix()
        module = inside.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        unwanted = "/staff/" in inside or "/checks/mistakes/" in inside
        if path.suffix in OPENED:
            used = re.search(rf"\b{path.stem.replace('-', '_')}\(", texts)
        else:
            used = path.suffix in CARRIED
        if not used or unwanted or path.suffix == ".py" and module not in come:
            continue
        files[inside] = path.read_bytes()
        if any(fate.module == module for fate in decided):
            files[inside] = cut(module, path.read_text(encoding="utf-8"), decided, spared).encode()
        elif checked_by(module) in open_:
            files[inside] = without_twins(module, path.read_text(encoding="utf-8")).encode()
        elif path.suffix == ".py":
            files[inside] = without_heirs(path.read_text(encoding="utf-8"), decided).encode()
    return files


def _blank(lesson):
    """The lesson's notebook, without the ways to what is not handed out; one that is not as it is built is refused."""
    notebook, path = compose(lesson)[1], LESSONS / f"{lesson.stem}.ipynb"
    if not path.exists() or path.read_bytes() != to_bytes(notebook):
        raise ReleaseError(f"lessons/{lesson.stem}.ipynb is missing, edited or older than its text: run python -m "
                           f"course_lib.staff.build {lesson.number}")
    return without_ways_on(notebook)


def without_ways_on(notebook):
    """A notebook without its last cell, which leads to solutions and other lessons."""
    notebook.cells = [cell for cell in notebook.cells if WAYS_ON not in cell.metadata.get("tags", [])]
    return notebook


# Words


def _page(chosen, decided):
    """The page for the class: what this is, how to begin, what to hand in."""
    first = f"lessons/{chosen[0].stem}.ipynb"
    rows = [f"| [{lesson.title}](lessons/{lesson.stem}.ipynb) | {', '.join(f'`{e}`' for e in lesson.exercises)} |"
            for lesson in chosen]
    numbers = {lesson.number for lesson in chosen}
    alone = [f"`{fate.name}`" for fate in decided if fate.what == WITHHELD and fate.lesson in numbers]
    without = [f"There is no stand-in for {', '.join(alone)}: cells that use it say so until your own answer is right.",
               ""] if alone else []
    return "\n".join([
        "# Transformers from Version 0: what to do", "",
        "You need Python 3.11 to 3.14 with pip, and 1.5 GB of disk (5 GB on Linux with an NVIDIA driver). In this",
        "folder:", "",
        "```", f"python3 start.py lab {first}", "```", "",
        "The first call makes an environment in `.venv`, which takes some minutes. On Windows, type `py` instead of",
        "`python3`. Work from the first cell to the last. Each exercise is a blank (`raise NotImplementedError`) with",
        "a check in the cell after it; the card under the check says what is wrong, as often as you like.", "",
        *without,
        "## Hand in", "",
        "Save the notebook and hand in its file, under the name it has. Keep each answer in one cell, with its imports",
        "and whatever else it needs.", "",
        "| file | exercises |", "|---|---|", *rows, "",
        f"Which hand-out this is stands in `{LABEL}`; leave that file as it is.", ""])


def _summary(decided):
    """One line for each answer that is not kept, and one for those that are."""
    lines = [f"{fate.what:8}  {fate.lesson} {fate.name}: {fate.why}" for fate in decided if fate.what != KEPT]
    over = [fate.name for fate in decided if fate.what == KEPT]
    return "\n".join([*lines, f"{KEPT:8}  {len(over)} answers of lessons before the first one handed out"])


def _label(files, chosen, decided):
    """What tells one hand-out from another, and its files from files that came later."""
    by_file = {path: digest(data) for path, data in sorted(files.items())}
    return {"kind": KIND, "fingerprint": digest(by_file), "lessons": [lesson.number for lesson in chosen],
            "exercises": {f.name: f.what for f in decided if f.what != KEPT}, "files": by_file}


def _as_json(value):
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


# Files


def _put(folder, files):
    """Write a folder whole or not at all."""
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as scratch:
        new, old = Path(scratch) / "new", Path(scratch) / "old"
        for path, data in files.items():
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            (new / path).write_bytes(data)
        if folder.exists():
            os.replace(folder, old)
        try:
            os.replace(new, folder)
        except OSError:
            if old.exists():
                os.replace(old, folder)
            raise


def _refuse_to_overwrite(folder):
    """Only an empty folder, or a hand-out that nobody has touched, may be replaced."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise ReleaseError(f"{folder} is no folder: choose a folder that does not exist yet")
    if not folder.exists() or not any(folder.iterdir()):
        return
    try:
        label = json.loads((folder / LABEL).read_text(encoding="utf-8"))
        known = dict(label["files"]) if label["kind"] == KIND else None
    except (OSError, ValueError, KeyError, TypeError):
        known = None
    if known is None:
        raise ReleaseError(f"{folder} holds something that is no hand-out: choose a folder that is empty or does not "
                           "exist yet")
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).as_posix()
        if path.is_symlink() or (path.is_file() and inside != LABEL and known.get(inside) != digest(path.read_bytes())):
            raise ReleaseError(f"{folder} holds {inside}, which is not as the hand-out was written: move it away, or "
                               "choose another folder")


# Which lessons


def _numbers(words, known):
    """The numbers of the lessons that numbers and ranges name."""
    numbers = set()
    for word in words:
        parts = re.fullmatch(r"(\d{1,2}[a-z]?)(?:-(\d{1,2}[a-z]?))?", word)
        if not parts:
            raise ReleaseError(f"{word!r} is no lesson: give a number such as 06, or a range such as 02-05")
        first, last = (part.zfill(2 + part[-1].isalpha()) for part in (parts[1], parts[2] or parts[1]))
        if last < first:
            raise ReleaseError(f"{word!r} is an empty range: its first lesson comes after its last")
        numbers |= {first, last, *(f"{number:02}" for number in range(int(first[:2]) + 1, int(last[:2])))}
        if parts[2]:  # a range has every notebook of its lessons, such as 11 and 11b
            numbers |= {number for number in known if first <= number and number[: len(last)] <= last}
    if unknown := sorted(numbers - set(known)):
        raise ReleaseError(f"there is no lesson {', '.join(unknown)}: the lessons are {known[0]} to {known[-1]}")
    return numbers


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.release", description="Make a hand-out.")
    parser.add_argument("lessons", nargs="+", metavar="LESSON", help="a number, such as 06, or a range, such as 02-05")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="DIR", help="the folder to write")
    parser.add_argument("--github", action="store_true", help="add a workflow that checks every push")
    parser.add_argument("--nbgrader", action="store_true", help="write the source folder of an nbgrader course")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
