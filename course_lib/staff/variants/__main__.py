"""Questions with numbers of each student's own.

    python -m course_lib.staff.variants sheets ROSTER -o DIR     a notebook for each student, DIR/ID.ipynb
    python -m course_lib.staff.variants marks ROSTER HANDED_IN -o MARKS.csv     what came back in a folder
    python -m course_lib.staff.variants list     the questions, and the lessons they are about

ROSTER is a CSV with a column id. MARKS.csv is what `grade --manual` takes; MARKS.flags.csv beside it names answers that
would be right for others.
"""

import argparse
import csv
import sys
from pathlib import Path

from course_lib.staff.variants.families import FAMILIES
from course_lib.staff.variants.marking import marks
from course_lib.staff.variants.sheets import answers, sheet


class VariantsError(Exception):
    """What an instructor handed in cannot be used: one sentence, with its place."""


def main(arguments=None):
    """Write sheets or marks, or list the questions; the exit status is 0 where that could be done."""
    options = _options(arguments)
    try:
        if options.command == "list":
            print(*(f"{f.key:12} lesson {f.lesson:4} {f.concept}" for f in FAMILIES.values()), sep="\n")
        else:
            families, students = _families(options.lessons), _students(options.roster)
            says = _sheets if options.command == "sheets" else _marks
            print(says(options, families, students))
    except VariantsError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error.filename} cannot be used: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _families(lessons):
    chosen = [f for f in FAMILIES.values() if not lessons or f.lesson in lessons.split(",")]
    if not chosen:
        raise VariantsError(f"no question is about the lessons {lessons}: `list` shows which there are")
    return chosen


def _students(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    found = [row["id"].strip() for row in rows if (row.get("id") or "").strip()]
    if not found:
        raise VariantsError(f"{path} names nobody: it needs a column id, with a line for each student")
    if wrong := next((name for name in found if found.count(name) > 1 or Path(name).name != name), None):
        raise VariantsError(f"{path}: {wrong!r} stands there twice, or can be no file's name")
    return found


def _sheets(options, families, students):
    options.out.mkdir(parents=True, exist_ok=True)
    for student in students:
        (options.out / f"{student}.ipynb").write_text(sheet(student, families, options.term), encoding="utf-8")
    return f"{len(students)} sheets of {len(families)} questions in {options.out}"


def _marks(options, families, students):
    if not options.folder.is_dir():
        raise VariantsError(f"{options.folder} is no folder: give the one that the sheets came back in")
    files, rows, unreadable = sorted(options.folder.rglob("*.ipynb")), [], 0
    theirs = {student: [path for path in files if _is_of(path, student)] for student in students}
    for student, paths in theirs.items():
        given = {}
        try:
            given = _given(paths)
        except ValueError as error:
            unreadable += 1
            print(f"{', '.join(map(str, paths))}: {error}; it counts as not answered", file=sys.stderr)
        rows += marks(student, given, families, students, options.term)
    flags = [(m.student, m.item, "; ".join(m.fits)) for m in rows if m.fits]
    _write(options.out, ("student", "item", "points", "comment"), [m[:4] for m in rows])
    _write(options.out.with_suffix(".flags.csv"), ("student", "item", "right for"), flags)
    strangers = [path.name for path in files if path not in sum(theirs.values(), [])]
    more = f"; of nobody on the roster: {', '.join(strangers)}" if strangers else ""
    return (f"{sum(m.points for m in rows)} of {len(rows)} answers are right, {len(flags)} would be right for others"
            f"{f', {unreadable} sheets cannot be read' if unreadable else ''}{more}")


def _is_of(path, student):
    """Is it this student's sheet, also where a platform has put words before its name?"""
    return path.stem == student or path.stem.endswith(f"_{student}")


def _given(paths):
    if len(paths) > 1:
        raise ValueError("there are several of one student: take all but one away")
    return answers(paths[0].read_text(encoding="utf-8", errors="replace")) if paths else {}


def _write(path, titles, rows):
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([titles, *rows])


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.variants", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("list")
    for name in ("sheets", "marks"):
        command = commands.add_parser(name)
        command.add_argument("roster", type=Path, metavar="ROSTER")
        if name == "marks":
            command.add_argument("folder", type=Path, metavar="HANDED_IN")
        command.add_argument("-o", "--out", type=Path, required=True)
        command.add_argument("--lessons", metavar="NN,NN", help="questions about these alone")
        command.add_argument("--term", default="", help="any word: other numbers for another year")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
