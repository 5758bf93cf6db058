"""What a person decides against a verdict: kept in overrides.csv, with a diary of who decided what and when."""

import csv
from dataclasses import replace
from datetime import UTC, datetime

from course_lib.staff.grade.policy import overrides, under_their_names
from course_lib.staff.grade.tables import rows, table

OVERRIDES, DIARY, REQUESTS = "overrides.csv", "decisions.csv", "requests.csv"  # in the report
COLUMNS = ("time", "by", "student", "exercise", "points_before", "points", "reason")


def as_decided(report, connection, settings):
    """The Settings with all that a person has decided so far, under the names in the book."""
    return under_their_names(connection, replace(settings, overrides=overrides(report / OVERRIDES)))


def decide(report, connection, settings, exercise, students, points, reason, by):
    """Give points for one exercise to some students; None takes back what was decided of them.

    report:   the folder
    students: names as in the book
    reason:   the students read it
    by:       who decides
    returns:  how many students it changes something for
    raises:   PolicyError, where a table cannot be read or written
    """
    settings = as_decided(report, connection, settings)
    kept = dict(settings.overrides)
    now = {row.student: row.points for row in rows(connection, settings) if row.exercise == exercise}
    changed = [s for s in students if s in now and kept.get((s, exercise)) != (None if points is None else
                                                                               (points, reason))]
    for student in changed:
        kept.pop((student, exercise), None)
        if points is not None:
            kept[student, exercise] = points, reason
    with table(report / OVERRIDES) as write:
        write(["student", "exercise", "points", "reason"])
        for (student, of), (given, why) in sorted(kept.items()):
            write([student, of, given, why])
    _note(report / DIARY, [(by, student, exercise, now[student], "" if points is None else points, reason)
                           for student in changed])
    return len(changed)


def _note(path, lines):
    """Add lines to the diary; nothing that stands in it is ever changed."""
    before = []
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            before = list(csv.reader(file))[1:]
    when = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    with table(path) as write:
        write(COLUMNS)
        for line in [*before, *((when, *line) for line in lines)]:
            write(line)
