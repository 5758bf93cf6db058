"""Questions with numbers of each student's own.

    python -m course_lib.staff.variants sheets ROSTER -o DIR     a notebook for each student, DIR/ID.ipynb
    python -m course_lib.staff.variants marks ROSTER HANDED_IN -o MARKS.csv     what came back, in a folder or zip
    python -m course_lib.staff.variants list     the questions, and the lessons they are about

ROSTER is the grader's, a CSV with a column id. MARKS.csv is what `grade --manual` takes. MARKS.flags.csv beside it
names students whose wrong answers are right for another one, more of them than chance would have it.
"""

import argparse
import csv
import sys
from pathlib import Path

from course_lib.staff.grade.platforms import own_name
from course_lib.staff.grade.policy import PolicyError, on_the_roster, roster
from course_lib.staff.grade.reading import ReadingError, submissions
from course_lib.staff.variants.families import FAMILIES
from course_lib.staff.variants.marking import fits, marks
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
            families, listed = _families(options.lessons), _roster(options.roster)
            says = _sheets if options.command == "sheets" else _marks
            print(says(options, families, listed))
    except (VariantsError, PolicyError, ReadingError) as error:
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


def _roster(path):
    found = roster(path)
    if not found:
        raise VariantsError(f"{path} names nobody: it needs a line for each student")
    if wrong := next((student for student in found if Path(student).name != student), None):
        raise VariantsError(f"{path}: {wrong!r} can be no file's name")
    return found


def _sheets(options, families, listed):
    options.out.mkdir(parents=True, exist_ok=True)
    for student in listed:
        (options.out / f"{student}.ipynb").write_text(sheet(student, families, options.term), encoding="utf-8")
    return f"{len(listed)} sheets of {len(families)} questions in {options.out}"


def _marks(options, families, listed):
    theirs, strangers = _whose(options.folder, listed)
    given, unread = {}, 0
    for student in listed:
        try:
            given[student] = _given(theirs.get(student, ()))
        except ValueError as error:
            given[student], unread = {}, unread + 1
            print(f"{student}: {error}; it counts as not answered", file=sys.stderr)
    rows = [mark for student in listed for mark in marks(student, given[student], families, options.term)]
    _write(options.out, ("student", "item", "points", "comment"), rows)
    found = [(fit.student, fit.other, "; ".join(fit.keys), f"{fit.by_chance:.1g}")
             for fit in fits(given, families, options.term)]
    _write(options.out.with_suffix(".flags.csv"), ("student", "right for", "questions", "pairs by chance"), found)
    nobodys = ", ".join(strangers)
    copied = len({fit[0] for fit in found})
    return (f"{sum(mark.points for mark in rows)} of {len(rows)} answers are right, "
            f"{copied} {'student has' if copied == 1 else 'students have'} answers that are right for another one"
            f"{f', {unread} sheet' + 's' * (unread > 1) + ' cannot be read' if unread else ''}"
            f"{f'; of nobody on the roster: {nobodys}' if strangers else ''}")


def _whose(path, listed):
    """{id: submissions} by what a platform says, else by the name that a sheet was given, and who is not listed."""
    handed_in, theirs, strangers = list(submissions(path)), {}, []
    known = on_the_roster([submission.student for submission in handed_in], listed)
    for submission in handed_in:
        about = known[submission.student]
        names = [Path(own_name(notebook.path.rpartition("/")[2])).stem for notebook in submission.notebooks]
        own = about["id"] if about else next((name for name in names if name in listed), None)
        if own is None:
            strangers.append(submission.student)
        else:
            theirs.setdefault(own, []).append(submission)
    return theirs, strangers


def _given(handed_in):
    notebooks = [notebook for submission in handed_in for notebook in submission.notebooks]
    if len(notebooks) > 1:
        raise ValueError(f"there are several sheets, {', '.join(n.path for n in notebooks)}: take all but one away")
    if notebooks:
        return answers(notebooks[0].cells)
    if handed_in:
        raise ValueError(" ".join(handed_in[0].problems).removesuffix("."))
    return {}


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
