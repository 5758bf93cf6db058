"""Which mistakes were made in which week: does a misconception go, or does it come back?"""

from collections import Counter, defaultdict
from datetime import timedelta

from course_lib.staff.grade.tables import rows, table, times


def mistakes_by_week(connection, settings):
    """{(lesson, exercise, mistake): {Monday of the week: students}} of all wrong answers whose time is known.

    A mistake without a name is "". The time is that of `times.csv`, or else of the file that holds the answer.
    """
    when, found = times(connection, settings), defaultdict(Counter)
    for row in rows(connection, settings):
        if row.verdict == "fail" and (time := when.get((row.student, row.exercise))):
            found[row.lesson, row.exercise, row.mistake][(time - timedelta(days=time.weekday())).date()] += 1
    return dict(found)


def write_weeks(found, path):
    """Write weeks.csv, a line for each mistake and week; none known, no file."""
    if not found:
        path.unlink(missing_ok=True)
        return
    with table(path) as write:
        write(["week_from", "lesson", "exercise", "mistake", "students"])
        for week, of, students in sorted((week, of, n) for of, weeks in found.items() for week, n in weeks.items()):
            write([week.isoformat(), *of, students])
