"""What counts in the end: grades.csv, and the same for the import of Canvas, Moodle and Brightspace."""

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from course_lib.checks import EXERCISES
from course_lib.staff.grade.policy import ON_THE_ROSTER, PolicyError, everybody, manual_scores, under_their_names
from course_lib.staff.grade.tables import in_scope, rows, table

TOTAL = "total"


@dataclass(frozen=True)
class Graded:
    """One student: what the roster knows, and the points of each exercise and item, "" for what is not scored yet."""

    student: str
    known: dict  # the columns ON_THE_ROSTER; without a line on the roster, the student's name is the id
    points: dict

    def of(self, parts):
        """The points of some exercises and items together."""
        scored = [self.points[part] for part in parts if self.points[part] != ""]
        return sum(scored) if scored else ""


def grades_of(connection, settings, manual=None):
    """Everybody's points.

    manual:  path of a CSV with scores given by hand, or None
    returns: [Graded] sorted by student, and {exercise or item: what it is worth}
    raises:  PolicyError, for what is wrong with that CSV or with an override
    """
    students = everybody(connection, settings)
    overrides = under_their_names(connection, settings).overrides
    unknown = sorted({student for student, _ in overrides} - set(students))
    if unknown:
        raise PolicyError(f"overrides.csv: {unknown[0]!r} has handed nothing in and is not on the roster; is the name "
                          "misspelt?")
    scores, items = manual_scores(manual, students, settings)
    exercises = in_scope(connection)
    points = {student: dict.fromkeys(exercises, 0) for student in students}
    for student, of_student in groupby(rows(connection, settings), lambda row: row.student):
        points[student] = {row.exercise: row.points for row in of_student}
    found = []
    for student, known in students.items():
        given = scores.get(student, {})
        known = known or dict.fromkeys(ON_THE_ROSTER, "") | {"id": student}
        found.append(Graded(student, known, points[student] | {i: given[i][0] if i in given else "" for i in items}))
    return found, {e: settings.max_points(e) for e in exercises} | items


def columns(settings, worth):
    """What a platform gets: {title of a column: the exercises and items whose points it holds}.

    raises: PolicyError, where the settings name something that is not graded
    """
    if not settings.columns:
        return {part: [part] for part in worth}
    lessons = {}
    for exercise in worth:
        if exercise in EXERCISES:
            lessons.setdefault(EXERCISES[exercise].lesson, []).append(exercise)
    parts = {part: [part] for part in worth} | lessons | {TOTAL: list(worth)}
    for title, part in settings.columns.items():
        if part not in parts:
            raise PolicyError(f"[gradebook] columns: {title} is to hold {part!r}, which is not graded here; write one "
                              f"of {', '.join(parts)}.")
    return {title: parts[part] for title, part in settings.columns.items()}


def write_grades(graded, worth, settings, path):
    """Write grades.csv, a line for each student and a column for each exercise and each item scored by hand, and
    beside it a table for each platform; that of Brightspace only where the roster has a name for it.

    graded, worth: as grades_of gives them
    """
    path, titles = Path(path), columns(settings, worth)
    _write(path, _plain(graded, worth, settings))
    _write(path.with_name("canvas.csv"), _canvas(graded, worth, titles))
    _write(path.with_name("moodle.csv"), _moodle(graded, worth, titles, settings))
    if any(g.known["org_id"] or g.known["username"] for g in graded):
        _write(path.with_name("brightspace.csv"), _brightspace(graded, titles))
    else:
        path.with_name("brightspace.csv").unlink(missing_ok=True)


def _write(path, lines):
    with table(path) as write:
        for line in lines:
            write(line)


def _plain(graded, worth, settings):
    about = ["id", "name", "email"] if settings.roster else []
    yield ["student", *about, *worth, TOTAL]
    for g in graded:
        yield [g.student, *(g.known[key] for key in about), *g.points.values(), g.of(worth) or 0]


def _canvas(graded, worth, titles):
    yield ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *titles]
    yield ["    Points Possible", *[""] * 4, *(sum(worth[p] for p in parts) for parts in titles.values())]
    for g in graded:
        who = g.known
        # A line whose first cell has these two words is one of points that an assignment is worth.
        name = (who["name"] or g.student).replace("Points Possible", "Points possible")
        login = who["username"] or who["id"]
        yield [name, who["canvas_id"], who["sis_id"] or who["id"], login, who["section"],
               *(g.of(parts) for parts in titles.values())]


def _moodle(graded, worth, titles, settings):
    total = {} if settings.columns else {TOTAL: list(worth)}
    yield ["ID number", "Email address", *titles, *total]
    for g in graded:
        points = [g.of(parts) for parts in titles.values()]
        yield [g.known["id"], g.known["email"], *(None if p == "" else p for p in points),
               *(g.of(parts) or 0 for parts in total.values())]


def _brightspace(graded, titles):
    """Brightspace needs one of the two names, and ignores a column whose title ends otherwise."""
    yield ["OrgDefinedId", "Username", *(f"{title} Points Grade" for title in titles), "End-of-Line Indicator"]
    for g in graded:
        who = g.known
        yield [who["org_id"] or ("" if who["username"] else who["id"]), who["username"],
               *(g.of(parts) for parts in titles.values()), "#"]
