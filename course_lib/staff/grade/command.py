"""Grade a folder or zip of students' notebooks, one file or folder for each student.

    python -m course_lib.staff.grade SUBMISSIONS -o REPORT     grade, or go on where a run was stopped
    python -m course_lib.staff.grade regrade -o REPORT         grade again what is in the report, and show what changes
    python -m course_lib.staff.grade report -o REPORT          write the tables and pages anew, without grading
    python -m course_lib.staff.grade hand -o REPORT            decide by hand: all who answered alike together

REPORT/results.csv has one row per student and exercise; REPORT/pages/index.html shows the class.
"""

import argparse
import math
import os
import secrets
import shutil
import signal
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from tqdm import tqdm

if not hasattr(os, "fork"):
    sys.exit("grade: it needs Linux or macOS; on Windows run it in WSL 2.")

from course_lib.checks import EXERCISES
from course_lib.staff.grade import book, confine, gradebook, packages
from course_lib.staff.grade.decisions import OVERRIDES
from course_lib.staff.grade.desk import Desk, serve
from course_lib.staff.grade.feedback import CANVAS_ZIP, MOODLE_ZIP
from course_lib.staff.grade.grades import grades_of, write_grades
from course_lib.staff.grade.gradescope import write_results_json
from course_lib.staff.grade.items import items, write_items
from course_lib.staff.grade.lane import LaneError, write_root
from course_lib.staff.grade.lanes import cores, graded
from course_lib.staff.grade.marking import Limits
from course_lib.staff.grade.pages import write_pages
from course_lib.staff.grade.policy import by_id, everybody, notes, overrides
from course_lib.staff.grade.predicted import write_predictions
from course_lib.staff.grade.reading import ReadingError, how_many, submissions
from course_lib.staff.grade.similar import similar_to_anybody
from course_lib.staff.grade.tables import (
    PolicyError,
    difference,
    in_scope,
    rows,
    settings,
    write_results,
)
from course_lib.staff.grade.weeks import mistakes_by_week, write_weeks

REFUSED, STOPPED = 3, 130
BESIDE = ("grades.csv", "canvas.csv", "moodle.csv", "brightspace.csv", "predictions.csv", "items.csv",
          "weeks.csv", f"pages/{MOODLE_ZIP}", f"pages/{CANVAS_ZIP}")
A_MINUTE = 60
IN_A_REPORT = ("regrade", "report", "hand")


class UsageError(ValueError):
    """What was asked for cannot be done; one sentence says why."""


def main(arguments=None):
    """Grade and report; exit status 0 where everybody who handed something in has a row for every exercise."""
    options = _options(arguments)
    try:
        _in_the_report(options)
        policy = replace(settings(options.settings), overrides=overrides(options.report / OVERRIDES))
        if options.submissions == "report":
            return _report(options, policy)
        if options.submissions == "hand":
            return _by_hand(options, policy)
        level, stamp = _isolation(options)
        return _regrade(options, policy, level, stamp) if options.submissions == "regrade" else \
            _grade(options, policy, level, stamp)
    except NoIsolation as error:
        print(f"grade: {error}", file=sys.stderr)
        return REFUSED
    except (UsageError, book.BookError, packages.PackagesError, ReadingError, LaneError, PolicyError) as error:
        print(f"grade: {error}", file=sys.stderr)
        return 2
    except (KeyboardInterrupt, BrokenPipeError) as stop:
        if isinstance(stop, BrokenPipeError):  # nobody reads what is said here any more
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print("grade: stopped; the same command goes on from here.", file=sys.stderr)
        return STOPPED


def _in_the_report(options):
    """Work in the report's folder: what lies where the command was given may be a student's."""
    for name in ("report", "settings", "manual", "gradescope"):
        if path := getattr(options, name):
            setattr(options, name, path.resolve())
    options.earlier = [path.resolve() for path in options.earlier]
    if options.submissions not in IN_A_REPORT:
        options.submissions = Path(options.submissions).absolute()
    elif not (options.report / book.NAME).exists():
        raise UsageError(f"There is no report in {options.report}.")
    try:
        options.report.mkdir(parents=True, exist_ok=True)
        os.chdir(options.report)
    except OSError as error:
        raise UsageError(f"{options.report} cannot be written to: {error.strerror}.") from None


class NoIsolation(Exception):
    """This machine cannot confine students' code as it was asked to."""


def _isolation(options):
    """The level this machine enforces, and how it is written into every row."""
    level = confine.probe()
    if (level, options.isolation) == ("A", "B"):
        level = "B"  # what A enforces holds there, too
    print(f"Isolation {level}: {confine.LEVELS[level]}", flush=True)
    if level == "C" and not options.unsandboxed:
        raise NoIsolation(f"students' code cannot be confined here, so nothing was run. {confine.missing(level)} "
                          "With --unsandboxed it is run all the same, and every row says so.")
    if options.isolation not in (None, level):
        raise NoIsolation(f"isolation {options.isolation} was asked for, and this machine has {level}. "
                          f"{confine.missing(level)}")
    return level, level if level != "C" else "C unsandboxed"


def _grade(options, policy, level, stamp):
    chosen = _chosen(options.exercises)
    students = how_many(options.submissions)
    with closing(book.opened(options.report)) as connection:
        seed = None if options.seed is None else str(options.seed)
        known = book.settle(connection, seed=seed, isolation=stamp,
                            library=packages.installed(options.packages) or None)
        _say_what_is_missing(known)
        if "seed" not in known:
            known = book.settle(connection, seed=str(secrets.randbelow(2**31)))
        before = [name for name in known.get("chosen", "").split(", ") if name in EXERCISES]
        added = [name for name in chosen if name not in before] if before and set(before) < set(chosen) else []
        if added:
            _run(options, connection, book.handed_in(connection), len(book.all_but(connection, ())), level, stamp,
                 int(known["seed"]), added, book.add)
        book.settle(connection, forget="chosen" if added else "", chosen=", ".join(chosen) or None)
        there = set()
        waiting = _not_finished(connection, submissions(options.submissions), there)
        _run(options, connection, waiting, students, level, stamp, int(known["seed"]), chosen)
        if gone := book.all_but(connection, there):
            _say_who_is_gone(gone, options.replace)
            if options.replace:
                book.forget(connection, gone)
        _write_all(connection, options, policy, chosen)
    return 0


def _say_what_is_missing(known):
    """Refuse to go on without a package that answers in this report were graded with."""
    if missing := packages.missing(known.get("library", "")):
        raise UsageError(f"This report was begun with {', '.join(missing)}, which is not installed here: say --with.")


def _say_who_is_gone(students, replace):
    """Students of the report who are not in what was handed in this time."""
    some = ", ".join(students[:3]) + (f" and {len(students) - 3} more" if len(students) > 3 else "")
    print(f"{some}: not handed in this time, and " + ("taken out of the report." if replace else
                                                      "still in the report (--replace takes them out)."))


def _not_finished(connection, handed_in, there):
    """The submissions that are not in the book as they are now; all names are added to `there`."""
    for submission in handed_in:
        there.add(submission.student)
        if book.finished(connection, submission.student) != submission.digest:
            yield submission


def _run(options, connection, waiting, total, level, stamp, seed, chosen, write=book.write):
    """Grade what is waiting, and write each into the book as soon as it is done."""
    limits = Limits(options.cell_seconds, options.call_seconds, options.submission_seconds)
    with _worker_files(options.report) as root, \
            tqdm(total=total, unit=" students", disable=not sys.stderr.isatty()) as bar:
        recipe = (str(root), level, tuple(chosen or EXERCISES), seed, stamp, limits)
        how = _by_dask(options.dask) if options.dask else graded
        count, said = 0, time.monotonic()
        for submission, marks, seconds in how(waiting, recipe, min(options.lanes, max(1, total))):
            write(connection, submission, marks, seconds)
            count += 1
            bar.update()
            if bar.disable and time.monotonic() - said > A_MINUTE:  # in a log, or on a server
                said = time.monotonic()
                print(f"{count} graded now, of {total} in all.", flush=True)
    print(f"{count} graded now, {total - count} before." if total > count else f"{count} graded.")


def _by_dask(address):
    from course_lib.staff.grade import on_dask

    return lambda waiting, recipe, lanes: on_dask.graded(waiting, recipe, address)


def _regrade(options, policy, level, stamp):
    """Grade all that is in the book anew, with its own seed, beside it; it takes the old one's place on demand."""
    aside = options.report / ".regrade"
    with closing(book.opened(options.report)) as old:
        known = book.settle(old, library=packages.installed(options.packages) or None)
        _say_what_is_missing(known)
        chosen = [name for name in known.get("chosen", "").split(", ") if name in EXERCISES]
        shutil.rmtree(aside, ignore_errors=True)
        with closing(book.opened(aside)) as new:
            book.settle(new, **(known | {"isolation": stamp}))
            ids = by_id(everybody(old, policy))
            students = {ids.get(s, s) for s in options.student} or set(book.all_but(old, ()))
            if unknown := sorted(s for s in students if book.finished(old, s) is None):
                near = get_close_matches(unknown[0], book.all_but(old, ()), n=1)
                raise UsageError(f"{unknown[0]} is not in the report." + (f" Did you mean {near[0]}?" if near else ""))
            waiting = (s for s in book.handed_in(old) if s.student in students)
            _run(options, new, waiting, len(students), level, stamp, int(known["seed"]), chosen)
            book.set_scope(new, in_scope(old))
            before = (row for row in rows(old, policy) if row.student in students)
            print(difference(before, rows(new, policy)))
            if not (options.yes or _agrees()):
                print("Nothing was changed; --yes takes the new verdicts.")
                return 0
            book.take_over(old, new, students)
        _write_all(old, options, policy, chosen)
    shutil.rmtree(aside, ignore_errors=True)
    return 0


def _agrees():
    return sys.stdin.isatty() and input("Take the new verdicts? [y/N] ").strip().lower() in ("y", "yes")


def _report(options, policy):
    with closing(book.opened(options.report)) as connection:
        known = book.settle(connection)
        _write_all(connection, options, policy, [n for n in known.get("chosen", "").split(", ") if n])
    return 0


def _by_hand(options, policy):
    """Serve the page on which a person decides until they end it, and write what follows from it."""
    with closing(book.opened(options.report)) as connection:
        server, address = serve(Desk(options.report, connection, policy))
        for word in (signal.SIGINT, signal.SIGTERM):  # who starts it in the background would have Ctrl-C ignored
            signal.signal(word, signal.default_int_handler)
        print(f"Decide at {address} and end with Ctrl-C; what you decide is kept at once.", flush=True)
        try:
            with server:
                server.serve_forever()
        except KeyboardInterrupt:
            print()
    return _report(options, replace(policy, overrides=overrides(options.report / OVERRIDES)))


def _write_all(connection, options, policy, chosen):
    """All tables and pages, out of the book."""
    _settle_scope(connection, chosen)
    write_results(connection, policy, options.report / "results.csv")
    write_predictions(connection, options.report / "predictions.csv")
    write_items(items(connection), options.report / "items.csv")
    write_weeks(mistakes_by_week(connection, policy), options.report / "weeks.csv")
    if options.gradescope:
        write_results_json(rows(connection, policy), options.gradescope)
    everyone, worth = grades_of(connection, policy, options.manual)
    write_grades(everyone, worth, policy, options.report / "grades.csv")
    said = [*gradebook.fill(everyone, worth, policy, options.report), *notes(connection, policy)]
    left = book.no_longer_given(connection, settings=options.settings, manual=options.manual)
    said += [f"The run before was given --{name} {path}, and this one was not: all that is written goes without it."
             for name, path in left.items()]
    answers = connection.execute("SELECT student, exercise, code FROM verdict WHERE code != '' ORDER BY exercise")
    alike = similar_to_anybody(answers, _of_earlier_years(options.earlier))
    write_pages(connection, policy, options.report / "pages", options.manual, alike)
    beside = [name for name in BESIDE if (options.report / name).exists()]
    print(f"Written: {options.report / 'results.csv'}, {', '.join(beside)}, and the pages, which begin with "
          f"{options.report / 'pages' / 'index.html'}.", *said, sep="\n")


def _of_earlier_years(reports):
    """(student, exercise, code) of all that stands in other reports, under the name of the report and the student's."""
    for report in reports:
        if not (report / book.NAME).exists():
            raise UsageError(f"There is no report in {report}: --earlier names one.")
        with closing(book.opened(report)) as connection:
            for student, exercise, code in connection.execute(
                    "SELECT student, exercise, code FROM verdict WHERE code != ''"):
                yield f"{report.name}: {student}", exercise, code


def _settle_scope(connection, chosen):
    """Everybody has a row for the chosen exercises, or for all of every lesson that somebody handed in."""
    lessons = book.attempted(connection)
    book.set_scope(connection, chosen or [n for n, e in EXERCISES.items() if e.lesson in lessons] or list(EXERCISES))


@contextmanager
def _worker_files(report):
    """A folder with what a worker sees; one that a killed run has left is replaced."""
    root = report / ".worker"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    try:
        write_root(root)
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _chosen(text):
    """The exercises of --exercises, in the course's order; none of them means all."""
    names = _names(text or "")
    for name in names:
        if name not in EXERCISES:
            near = get_close_matches(name, EXERCISES, n=1)
            raise UsageError(f"There is no exercise named {name}." + (f" Did you mean {near[0]}?" if near else ""))
    if text is not None and not names:
        raise UsageError("--exercises names none: write them with commas between, as in reweight,causal_mask.")
    return [name for name in EXERCISES if name in names]


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.grade", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("submissions", metavar="SUBMISSIONS", help="a folder or a zip; or regrade, report or hand")
    parser.add_argument("-o", dest="report", metavar="REPORT", type=Path, required=True, help="the folder to write to")
    parser.add_argument("--exercises", metavar="A,B,C", help="grade just these")
    parser.add_argument("--seed", type=int, help="of the inputs; by default it is drawn, and written into the report")
    parser.add_argument("--settings", metavar="TOML", type=Path, help="points, deadlines, late days, roster")
    parser.add_argument("--manual", metavar="CSV", type=Path, help="scores given by hand: student,item,points")
    parser.add_argument("--earlier", metavar="REPORT", type=Path, action="append", default=[],
                        help="a report of another year, whose answers are compared as well; again for more")
    parser.add_argument("--gradescope", metavar="JSON", type=Path, help="in Gradescope's autograder: results.json")
    parser.add_argument("--isolation", choices=["A", "B", "M"], help="this level and no other; by default the best")
    parser.add_argument("--unsandboxed", action="store_true", help="go on where students' code cannot be confined")
    parser.add_argument("--lanes", type=_positive, default=cores(), help="judges side by side; by default one per core")
    parser.add_argument("--cell-seconds", type=_seconds, default=Limits.cell, help="for one cell")
    parser.add_argument("--call-seconds", type=_seconds, default=Limits.call, help="for one call of an answer")
    parser.add_argument("--submission-seconds", type=_seconds, default=Limits.submission, help="for all of a student's")
    parser.add_argument("--with", dest="packages", type=_names, default=[], metavar="A,B",
                        help="packages that students may use beside the course's; they are installed once")
    parser.add_argument("--dask", metavar="ADDRESS", help="spread over a Dask cluster, as in tcp://host:8786")
    parser.add_argument("--replace", action="store_true", help="take students out of the report who are not handed in")
    parser.add_argument("--student", action="append", default=[], metavar="NAME", help="regrade: this one alone; again "
                        "for more")
    parser.add_argument("--yes", action="store_true", help="regrade: take the new verdicts without asking")
    return parser.parse_args(arguments)


def _names(text):
    return [name.strip() for name in text.split(",") if name.strip()]


def _positive(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is to be 1 or more")
    return int(text)


def _seconds(text):
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is to be a number of seconds")
    return seconds
