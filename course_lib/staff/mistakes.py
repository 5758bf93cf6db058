"""What the mistakes of an exercise are edits of, and whether each of them has its place.

    python -m course_lib.staff.mistakes                is every mistake of every exercise sound? exit status 1 if not
    python -m course_lib.staff.mistakes FeedForward    the source that its mistakes edit, and what each makes of it
"""

import argparse
import difflib
import sys

from course_lib.checks import EXERCISES
from course_lib.checks.engine.mistakes import FOLDER, ByHand, MistakesError, parts, plain_source


def main(arguments=None):
    """Print; the exit status is 0 where all is sound."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.mistakes", description=__doc__.splitlines()[0])
    parser.add_argument("exercise", nargs="?", metavar="EXERCISE", help="all are looked at without one")
    name = parser.parse_args(arguments).exercise
    if name is not None and name not in EXERCISES:
        near = difflib.get_close_matches(name, EXERCISES, n=1)
        print(f"there is no exercise {name}" + (f"; did you mean {near[0]}?" if near else ""), file=sys.stderr)
        return 2
    if name is not None:
        _show(EXERCISES[name])
        return 0
    found = problems()
    print(*found, sep="\n", end="\n" * bool(found), file=sys.stderr)
    if not found:
        every = [m for e in EXERCISES.values() for m in e.mistakes]
        print(f"{len(every)} mistakes of {len(EXERCISES)} exercises. {sum(isinstance(m, ByHand) for m in every)} are "
              "implementations of their own; every edit has its place.")
    return int(bool(found))


def problems():
    """One line for everything that is wrong with the files of mistakes."""
    lines = [f"course_lib/checks/mistakes/{path.name}: there is no exercise {path.stem} that this could spell out"
             for path in sorted(FOLDER.glob("*.py")) if path.stem not in EXERCISES]
    lessons = sorted({e.lesson for e in EXERCISES.values()})
    lines += [f"course_lib/checks/mistakes/{path.name}: there is no lesson {path.stem}"
              for path in sorted(FOLDER.glob("*.diff")) if path.stem not in lessons]
    for lesson in lessons:
        of_lesson = {e.name: e for e in EXERCISES.values() if e.lesson == lesson}
        try:
            lines += [f"course_lib/checks/mistakes/{lesson}.diff: lesson {lesson} has no exercise {name}"
                      for name in parts(lesson) if name not in of_lesson]
            every = [way for e in of_lesson.values() for m in e.mistakes for way in m.ways]
        except MistakesError as error:
            lines.append(str(error))
            continue
        lines += filter(None, map(_problem, every))
    return lines


def _problem(mistake):
    """What is wrong with a mistake, in one line, or nothing."""
    try:
        mistake.answer  # noqa: B018  edits and compiles it
        return ""
    except MistakesError as error:
        return str(error)
    except Exception as error:  # whatever the edited source does when it is run
        return f"{mistake.name}: running the edited source raises {type(error).__name__}: {error}"


def _show(exercise):
    """The source, and for every mistake its sentences and what it changes."""
    source = plain_source(exercise.verified)
    print(source)
    for mistake in exercise.mistakes:
        print(f"\n{mistake.name}: {mistake.says}")
        if isinstance(mistake, ByHand):
            print(f"    {mistake.answer.__module__}.{mistake.answer.__qualname__}")
            continue
        for i, way in enumerate(mistake.ways):
            print("  or\n" * bool(i), end="")
            changed = difflib.ndiff(source.splitlines(), way.source.splitlines())
            print(*(f"  {line}" for line in changed if line[0] in "+-"), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
