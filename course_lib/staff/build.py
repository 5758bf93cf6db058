"""Build every notebook from the lesson texts.

    python -m course_lib.staff.build              all lessons whose text or code has changed
    python -m course_lib.staff.build 04 primer    these lessons, or the primer
    python -m course_lib.staff.build --check      say what is stale, write nothing, exit 1 if anything is
    python -m course_lib.staff.build --watch 04   build these lessons, or any, each time that its text is saved
"""

import argparse
import os
import sys
import time

from course_lib.staff import formulas, questions, syllabus, watching
from course_lib.staff.answers import as_written, marks_outside, source_and_stub
from course_lib.staff.first_cell import TAG
from course_lib.staff.lesson_text import (
    LESSONS,
    PRIMER,
    ROOT,
    SOLUTIONS,
    LessonError,
    notebook_stems,
    number_of,
    read_lesson,
)
from course_lib.staff.notebooks import code_fingerprint, compose, digest, execute, read, to_bytes

REBUILD = "run python -m course_lib.staff.build {}"


def main(arguments=None):
    """Build or check; the exit status is 0 where everything is as it should be."""
    options = _options(arguments)
    unknown = set(options.lessons) - set(map(number_of, notebook_stems()))
    if unknown:
        return _report([f"there is no lesson {n} in solutions/" for n in sorted(unknown)])
    if options.watch:
        return watching.watch(options.lessons, ["--overwrite"] * options.overwrite)
    lessons, problems = _read_all()
    chosen = [lesson for lesson in lessons if not options.lessons or lesson.number in options.lessons]
    if problems:
        return _report(problems)
    if options.check:
        from course_lib.staff import mistakes

        stale = [line for lesson in chosen for line in what_is_stale(lesson)]
        return _report(stale + _strays(lessons) + syllabus.what_is_stale(_numbered(lessons))
                       + questions.what_is_stale(lessons) + mistakes.problems())
    for lesson in chosen:
        try:
            print(f"{lesson.stem}: {build(lesson, options.overwrite)}", flush=True)
        except LessonError as error:
            problems.append(str(error))
    if not problems:
        syllabus.write(_numbered(lessons))
        questions.write(lessons)
    return _report(problems)


def build(lesson, overwrite=False):
    """Write the two notebooks of a lesson, both or neither; say in a few words what was done."""
    if not overwrite and (edited := edited_by_hand(lesson)):
        raise LessonError(edited[0])
    began = time.monotonic()
    solution, blank = compose(lesson)
    code = code_fingerprint(solution, lesson)
    old = read(_solution_path(lesson))
    done = "outputs kept"
    if old is None or old.metadata.get("course", {}).get("code") != code or not _take_outputs(solution, old):
        execute(solution, lesson)
        done = f"executed in {time.monotonic() - began:.0f} s"
    lesson_bytes = to_bytes(blank)
    solution.metadata["course"] = {"code": code, "cells": digest(solution.cells), "lesson": digest(lesson_bytes)}
    _write({_solution_path(lesson): to_bytes(solution), _lesson_path(lesson): lesson_bytes})
    return done


def what_is_stale(lesson):
    """One line for each notebook of a lesson that is not what the build would write."""
    hand = edited_by_hand(lesson)
    if hand:
        return hand
    again = REBUILD.format(lesson.number)
    solution, blank = compose(lesson)
    old = read(_solution_path(lesson))
    if old is None:
        return [f"solutions/{lesson.stem}.ipynb is missing or is no notebook: {again}"]
    lines = []
    code = code_fingerprint(solution, lesson)
    if not _take_outputs(solution, old) or solution.cells != old.cells:
        lines.append(f"solutions/{lesson.stem}.ipynb is older than its text: {again}")
    elif old.metadata["course"]["code"] != code:
        lines.append(f"solutions/{lesson.stem}.ipynb has outputs of older code: {again}")
    if not _lesson_path(lesson).exists() or _lesson_path(lesson).read_bytes() != to_bytes(blank):
        lines.append(f"lessons/{lesson.stem}.ipynb is missing or older than its text: {again}")
    return lines


def edited_by_hand(lesson):
    """One line for each notebook that is not what the last build wrote."""
    built = read(_solution_path(lesson))
    if built is None:
        return []
    record = built.metadata.get("course", {})
    edited = []
    if record.get("cells") != digest(built.cells):
        edited.append("solutions")
    if _lesson_path(lesson).exists() and record.get("lesson") != digest(_lesson_path(lesson).read_bytes()):
        edited.append("lessons")
    return [f"{folder}/{lesson.stem}.ipynb was edited by hand: move the edit to solutions/{lesson.stem}.py, then "
            f"{REBUILD.format('--overwrite ' + lesson.number)}" for folder in edited]


def _read_all():
    """All lessons, and a line for every mistake in a text: nothing is written before all texts are sound."""
    from course_lib.checks import EXERCISES

    lessons, problems, owner = [], [], {}
    answers = {(e.verified.__module__, e.name) for e in EXERCISES.values()}
    for stem in notebook_stems():
        try:
            lesson = read_lesson(stem)
            made = [(lesson.where(cell), cell.answer, *source_and_stub(*cell.answer, lesson.where(cell)))
                    for cell in lesson.cells if cell.answer]
        except LessonError as error:
            problems.append(str(error))
            continue
        lessons.append(lesson)
        for where, answer, source, stub in made:
            name = answer[1]
            if name in owner:
                problems.append(f"{where}: the exercise {name} stands already at {owner[name]}")
            elif name not in EXERCISES or EXERCISES[name].lesson != lesson.number:
                problems.append(f"{where}: {name} has no check in course_lib/checks/lesson_{lesson.number}.py")
            elif source != as_written(*answer, where) and not _is_unanswered(EXERCISES[name], stub):
                problems.append(f"{where}: the stub of {name} is not found to be unanswered: does every way through "
                                "it come to a blank, and does nothing catch what it raises?")
            owner.setdefault(name, where)
            answers.add(answer)
    if problems:  # what a bad text asks for is not among the answers
        return lessons, problems
    return lessons, questions.problems(lessons) + formulas.problems(lessons) + marks_outside(answers)


def _is_unanswered(exercise, stub):
    """Does the check find that a stub is no answer, although something is left in it?"""
    from course_lib.checks.engine.asking import ask
    from course_lib.checks.engine.mistakes import run_beside
    from course_lib.checks.engine.questioning import questions

    answer = run_beside(exercise.verified, stub, f"<the stub of {exercise.name}>")
    errors = (ask(answer, call).error for call in questions(exercise))
    return any(error and error[0] == "NotImplementedError" for error in errors)


def _take_outputs(solution, old):
    """Copy the outputs of the built notebook into the new one; False where their code differs."""
    new, built = _code_cells(solution), _code_cells(old)
    same = [_deciding(c) for c in new] == [_deciding(c) for c in built]
    if same:
        for to, made in zip(new, built, strict=True):
            to.outputs, to.execution_count = made.outputs, made.execution_count
    return same


def _deciding(cell):
    """The source; a new version of the course alone makes no output old."""
    return TAG if TAG in cell.metadata.get("tags", []) else cell.source


def _code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _numbered(lessons):
    """Without the primer, which no map of lessons names."""
    return [lesson for lesson in lessons if lesson.stem != PRIMER]


def _strays(lessons):
    known = {f"{lesson.stem}.ipynb" for lesson in lessons}
    return [f"{path.relative_to(ROOT).as_posix()} has no text solutions/{path.stem}.py"
            for folder in (SOLUTIONS, LESSONS) for path in sorted(folder.glob("*.ipynb")) if path.name not in known]


def _write(files):
    """Write all files or, where one cannot be written, none."""
    partial = {}
    try:
        for path, data in files.items():
            path.parent.mkdir(exist_ok=True)
            partial[path] = path.with_suffix(f".{os.getpid()}.partial")
            partial[path].write_bytes(data)
        for path, new in partial.items():
            os.replace(new, path)
    except OSError as error:
        for new in partial.values():
            new.unlink(missing_ok=True)
        raise LessonError(f"cannot write {error.filename}: {error.strerror}") from None


def _solution_path(lesson):
    return SOLUTIONS / f"{lesson.stem}.ipynb"


def _lesson_path(lesson):
    return LESSONS / f"{lesson.stem}.ipynb"


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.build", description="Build the notebooks.")
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="a number, such as 04, or primer; all without one")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("--check", action="store_true", help="say what is stale and write nothing")
    instead.add_argument("--watch", action="store_true", help="build a lesson each time that its text is saved")
    parser.add_argument("--overwrite", action="store_true", help="also replace notebooks that were edited by hand")
    return parser.parse_args(arguments)


def _report(lines):
    print("\n".join(dict.fromkeys(lines)), end="\n" if lines else "", file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
