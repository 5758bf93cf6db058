"""What an instructor decides: points, deadlines and late days, the roster, scores given by hand."""

import csv
import math
import re
import tomllib
import unicodedata
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from io import StringIO
from pathlib import Path

from course_lib.checks import EXERCISES

EXAMPLE = "2026-03-01T23:59:00Z"
IDS = ("email", "canvas_id", "sis_id", "username", "org_id", "github")  # each of them is one student's
ON_THE_ROSTER = ("id", "name", "first_name", "last_name", "section", *IDS)
NUMBERED = re.compile(r"_[0-9]+$")
CANVAS_NUMBER = re.compile(r"_([0-9]{2,})(?:_[0-9]{3,}_.*)?$", re.DOTALL)


class PolicyError(Exception):
    """What is wrong with something an instructor handed in: one sentence a line, each with its place."""


@dataclass(frozen=True)
class Settings:
    """What one TOML says; without one, every exercise is worth a point and nothing is ever late."""

    points: dict = field(default_factory=dict)  # exercise, or "default": points
    deadlines: dict = field(default_factory=dict)  # lesson, or "all": time in UTC
    free_days: int = 0  # late days each student has for the whole course, spent in the order of the deadlines
    days: int = 0  # so many late days more are accepted for a lesson,
    percent_per_day: float = 0  # and each of these costs so much of the points
    roster: dict = field(default_factory=dict)  # student: what the columns ON_THE_ROSTER say
    reflection: dict = field(default_factory=dict)  # item scored by hand: its points
    partial: dict = field(default_factory=dict)  # exercise: {mistake: points of an answer that makes it}
    extensions: dict = field(default_factory=dict)  # student: {lesson, or "all": days that the deadline is later}
    times: dict = field(default_factory=dict)  # student: {lesson, or "all": when it was handed in}; else file times
    overrides: dict = field(default_factory=dict)  # (student, exercise): (points, reason) of a person
    gradebook: Path | None = None  # what a platform has exported, to be filled in
    columns: dict = field(default_factory=dict)  # title in a platform's gradebook: what its column holds

    def max_points(self, exercise):
        """What an exercise is worth."""
        return self.points.get(exercise, self.points.get("default", 1))

    def deadline(self, lesson, student=""):
        """When a lesson is due for a student, or None."""
        due, later = self.deadlines.get(lesson, self.deadlines.get("all")), self.extensions.get(student, {})
        return due and due + timedelta(days=later.get(lesson, later.get("all", 0)))

    def time(self, student, lesson):
        """When a student has handed in a lesson, where a table says so, else None."""
        of_student = self.times.get(student, {})
        return of_student.get(lesson, of_student.get("all"))


def settings(path=None):
    """Read the settings.

    path:    a TOML with any of the sections of READERS, or None
    returns: Settings
    raises:  PolicyError, with a sentence for each mistake in it
    """
    if path is None:
        return Settings()
    path, mistakes, found = Path(path), [], {}
    try:
        table = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{path} is no TOML: {error}.") from None
    for section, content in table.items():
        if section not in READERS:
            mistakes.append(f"{path}: {_unknown('section', section, READERS)}")
        elif not isinstance(content, dict):
            mistakes.append(f"{path}: {section} is to be a section of its own: write [{section}].")
        else:
            found |= READERS[section](content, path, lambda key, says, of=section: mistakes.append(
                f"{path}: [{of}] {key}: {says}"))
    if found.get("deadlines") and "late" not in table:
        mistakes.append(f"{path}: [deadlines] needs a section [late]: say how many late days you accept, "
                        "such as days = 0 for none.")
    if mistakes:
        raise PolicyError("\n".join(mistakes))
    return Settings(**found)


def manual_scores(path, students, settings):
    """Read scores given by hand, such as those of the reflection questions.

    path:     a CSV with the columns student, item, points and perhaps comment, or None
    students: as `everybody` gives them; a line may use the name in the book or the roster's id
    returns:  {student: {item: (points, comment)}} and {item: its points, or the most that anybody got}
    raises:   PolicyError, with a sentence for each line that cannot be taken as it is
    """
    scores, worth, mistakes, known = {}, dict(settings.reflection), [], _by_normal_form(students)
    known = by_id(students) | known
    for line, row in _csv(path, ("student", "item", "points")) if path else ():
        student, item = _find(row["student"], known), row["item"]
        wrong = _what_is_wrong(row, student, scores, settings)
        if wrong:
            mistakes.append(f"{path}, line {line}: {wrong}")
            continue
        scores.setdefault(student, {})[item] = (float(row["points"]), row.get("comment", ""))
        worth[item] = settings.reflection.get(item, max(float(row["points"]), worth.get(item, 0)))
    if mistakes:
        raise PolicyError("\n".join(mistakes))
    return scores, worth


def overrides(path):
    """Read what a person has decided against the grader's verdicts.

    path:    a CSV with the columns student, exercise, points and reason; where there is none, nothing was decided
    returns: {(student, exercise): (points, reason)}
    raises:  PolicyError, with a sentence for each line that cannot be taken as it is
    """
    found, mistakes = {}, []
    for line, row in _csv(path, ("student", "exercise", "points", "reason")) if Path(path).exists() else ():
        key, points = (row["student"], row["exercise"]), _number(row["points"])
        if row["exercise"] not in EXERCISES:
            wrong = _unknown("exercise", row["exercise"], EXERCISES)
        elif key in found:
            wrong = f"{row['student']} has an override for {row['exercise']} already."
        else:
            wrong = f"{row['points']!r} is not a number from 0 on." if points is None else \
                "" if row["reason"] else "there is no reason: write one, the student will read it."
        mistakes += [f"{path}, line {line}: {wrong}"] if wrong else []
        found[key] = points, row["reason"]
    if mistakes:
        raise PolicyError("\n".join(mistakes))
    return found


def requests(path):
    """What students ask to have looked at again: [(student, exercise, request)]; where there is no such CSV, nothing.

    raises: PolicyError, for a table without the columns student, exercise and request
    """
    return [(row["student"], row["exercise"], row["request"]) for _, row in
            (_csv(path, ("student", "exercise", "request")) if Path(path).exists() else ())]


def roster(path):
    """Read who is in the class.

    path:    a CSV with the column id, and any others of ON_THE_ROSTER
    returns: {id: {column: what it says}}
    raises:  PolicyError, with a sentence for each line that cannot be taken as it is
    """
    found, seen, mistakes = {}, set(), []
    for line, row in _csv(path, ("id",)):
        about = {key: row.get(key, "") for key in ON_THE_ROSTER}
        twice = [about[key] for key in ("id", *IDS) if about[key] and (key, about[key]) in seen]
        if twice or not about["id"]:
            mistakes.append(f"{path.name}, line {line}: " + (f"{twice[0]} stands there twice." if twice
                                                             else "there is no id."))
        seen |= {(key, about[key]) for key in ("id", *IDS)}
        about["name"] = about["name"] or f"{about['first_name']} {about['last_name']}".strip()
        found[about["id"]] = about
    if mistakes:
        raise PolicyError("\n".join(mistakes))
    return found


def everybody(connection, settings):
    """All students, those who handed something in and those on the roster, as `on_the_roster` gives them."""
    students = [student for student, in connection.execute("SELECT student FROM submission")]
    return on_the_roster(students, settings.roster)


def on_the_roster(students, listed):
    """All students, sorted, each with what the roster says, {"id": …, "name": …}, or None where it does not.

    students: the names that submissions have
    listed:   as `roster` gives them

    Those on the roster are there, too, under a submission's spelling where there is one. A submission belongs to the
    line with its name as id; else to the one line that a platform may have named it after.
    """
    students = dict.fromkeys(students)
    known, left, theirs = _by_normal_form(students), {}, {}
    for own, about in listed.items():
        if student := _find(own, known):
            students[student] = about
        else:
            left[own] = about
    lines = _by_platform(listed)
    for student in [student for student, about in students.items() if about is None]:
        own = next((lines[name] for name in _named_by_a_platform(student) if name in lines), None)
        theirs.setdefault(own, []).append(student)
    for own, about in left.items():
        found = theirs.get(own, ())
        students[found[0] if len(found) == 1 else own] = about
    return dict(sorted(students.items()))


def under_their_names(connection, settings):
    """The Settings with what they say of a student under the name in the book, where they use the roster's id."""
    names = by_id(everybody(connection, settings))
    return replace(settings, extensions={names.get(s, s): days for s, days in settings.extensions.items()},
                   times={names.get(s, s): times for s, times in settings.times.items()},
                   overrides={(names.get(s, s), e): said for (s, e), said in settings.overrides.items()})


def notes(connection, settings):
    """Sentences about what the settings say of nobody: such a student may come later, or be misspelt."""
    strangers = sorted(set(under_their_names(connection, settings).extensions) - set(everybody(connection, settings)))
    return [f"[extensions] names {', '.join(strangers)}: nothing was handed in under that name, and it is not on the "
            "roster."] if strangers else []


def by_id(students):
    """{another name for a student: the name in the book}, of what `everybody` gives.

    These are the roster's id, and what a table has for a name that a spreadsheet would take for a formula.
    """
    return {f"'{student}": student for student in students} | {
        about["id"]: student for student, about in students.items() if about}


def _by_platform(roster):
    """{a name that a platform may give: the id of the only student it can be}."""
    names = {own: {_plain(name) for name in (
        about["name"], *(about[key] for key in IDS), f"canvas {about['canvas_id']}", f"github {about['github']}")}
        for own, about in roster.items()}
    count = Counter(name for of_one in names.values() for name in of_one)
    return {name: own for own, of_one in names.items() for name in of_one
            if count[name] == 1 and name not in ("", "canvas ", "github ")}


def _named_by_a_platform(student):
    """The names that may stand behind a submission's, the surest first.

    Moodle puts a number of its own behind a student's name, Canvas the student's number behind theirs, and GitHub
    Classroom the user name behind the assignment's.
    """
    yield _plain(student)
    yield _plain(NUMBERED.sub("", student))
    if canvas := CANVAS_NUMBER.search(student):
        yield f"canvas {canvas[1]}"
    parts = _plain(student).split("-")
    yield from (f"github {'-'.join(parts[i:])}" for i in range(1, len(parts)))


def _plain(name):
    return unicodedata.normalize("NFC", name).casefold()


def _what_is_wrong(row, student, scores, settings):
    """Why a line of scores given by hand cannot be taken as it is, or None."""
    item, points, most = row["item"], row["points"], settings.reflection.get(row["item"], math.inf)
    if student is None:
        return f"{row['student']!r} has handed nothing in and is not on the roster; is the name misspelt?"
    if not item or item == "total" or item in EXERCISES:
        return f"{item!r} cannot be the name of something scored by hand."
    if settings.reflection and item not in settings.reflection:
        return f"[reflection] in the settings has no item {item!r}; it has {', '.join(settings.reflection)}."
    if item in scores.get(student, {}):
        return f"{student} has a score for {item} already."
    try:
        return None if 0 <= float(points) <= min(most, 1e9) else f"{points} is not from 0 to {most:g}."
    except ValueError:
        return f"{points!r} is no number."


def _points(table, path, complain):
    for key in set(table) - {"default", *EXERCISES}:
        complain(key, _unknown("exercise", key, EXERCISES))
    return {"points": _numbers(table, complain)}


def _reflection(table, path, complain):
    for key in set(table) & {"total", *EXERCISES}:
        complain(key, "this is the name of another column; call the item something else.")
    return {"reflection": _numbers(table, complain)}


def _partial(table, path, complain):
    found = {}
    for exercise, content in table.items():
        if exercise not in EXERCISES:
            complain(exercise, _unknown("exercise", exercise, EXERCISES))
        elif not isinstance(content, dict):
            complain(exercise, f"is to be a section of its own: write [partial.{exercise}], and below it mistakes.")
        else:
            known = [mistake.name for mistake in EXERCISES[exercise].mistakes]
            for name in set(content) - set(known):
                complain(f"{exercise}.{name}", _unknown("mistake", name, known))
            found[exercise] = _numbers(content, complain)
    return {"partial": found}


def _extensions(table, path, complain):
    found = {}
    for student, days in table.items():
        days = days if isinstance(days, dict) else {"all": days}
        for lesson, value in days.items():
            if not _is_lesson(lesson, lambda says, of=student: complain(of, says)):
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1000:
                complain(student, f"{value!r} is not a number of days.")
            else:
                found.setdefault(student, {})[lesson] = value
    return {"extensions": found}


def _is_lesson(key, complain):
    lessons = sorted({e.lesson for e in EXERCISES.values()})
    if key != "all" and key not in lessons:
        complain(f"there is no lesson {key!r}; write all, or one of {', '.join(lessons)} in quotes.")
    return key == "all" or key in lessons


def _times(path, complain):
    """When work was handed in, from a table of a learning platform's."""
    found = {}
    for line, row in _csv(path, ("student", "time")):
        lesson = row.get("lesson") or "all"
        try:
            time = datetime.fromisoformat(row["time"])
        except ValueError:
            time = None
        if time is None or time.tzinfo is None:
            complain("times", f"{path.name}, line {line}: {row['time']!r} is no time with its zone; write it such as "
                              f"{EXAMPLE}.")
        elif _is_lesson(lesson, lambda says, at=line: complain("times", f"{path.name}, line {at}: {says}")):
            found.setdefault(row["student"], {})[lesson] = time.astimezone(UTC)
    return found


def _deadlines(table, path, complain):
    for key, value in table.items():
        if not _is_lesson(key, lambda says, of=key: complain(of, says)):
            continue
        if not isinstance(value, datetime):
            complain(key, f"{value!s} is no date with a time; write it without quotes, such as {EXAMPLE}.")
        elif value.tzinfo is None:
            complain(key, f"{value.isoformat()} does not say in which time zone; write it such as {EXAMPLE}.")
    return {"deadlines": {key: value.astimezone(UTC) for key, value in table.items()
                          if isinstance(value, datetime) and value.tzinfo}}


def _late(table, path, complain):
    known, times = ("days", "percent_per_day", "free_days"), {}
    for key in set(table) - {*known, "times"}:
        complain(key, _unknown("key", key, (*known, "times")))
    if isinstance(name := table.get("times", ""), str):
        try:
            times = _times(path.parent / name, complain) if name else {}
        except PolicyError as error:
            complain("times", str(error))
    else:
        complain("times", "give the name of a CSV with the columns student and time, in quotes.")
    for key, value in _numbers({key: table[key] for key in known if key in table}, complain).items():
        if key != "percent_per_day" and not isinstance(value, int):
            complain(key, f"{value} is not a whole number of days.")
        if key == "percent_per_day" and value > 100:
            complain(key, f"{value} is more than 100 %.")
    return {"times": times} | {key: table[key] for key in known if key in table}


def _students(table, path, complain):
    for key in set(table) - {"file"}:
        complain(key, _unknown("key", key, ("file",)))
    name = table.get("file")
    if not isinstance(name, str):
        complain("file", "give the name of a CSV with the columns id, name and email, in quotes.")
        return {}
    try:
        return {"roster": roster(path.parent / name)}
    except PolicyError as error:
        for mistake in str(error).splitlines():
            complain("file", mistake)
    return {}


def _gradebook(table, path, complain):
    for key in set(table) - {"file", "columns"}:
        complain(key, _unknown("key", key, ("file", "columns")))
    name, columns = table.get("file", ""), table.get("columns", {})
    if not isinstance(name, str):
        complain("file", "give the name of the table that your platform has exported, in quotes.")
        name = ""
    if not isinstance(columns, dict) or not all(isinstance(part, str) for part in columns.values()):
        complain("columns", 'write the titles of your columns with what they are to hold, such as { "Homework 2" = '
                            '"02", "All" = "total" }.')
        columns = {}
    return {"gradebook": path.parent / name if name else None, "columns": columns}


READERS = {"points": _points, "partial": _partial, "deadlines": _deadlines, "late": _late, "extensions": _extensions,
           "students": _students, "reflection": _reflection, "gradebook": _gradebook}


def _numbers(table, complain):
    """The entries that are numbers from 0 on; a complaint for each of the others."""
    numbers = {}
    for key, value in table.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            complain(key, f"{value!r} is not a number from 0 on.")
        else:
            numbers[key] = value
    return numbers


def _number(text):
    """A number from 0 on, or None."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < math.inf else None


def _csv(path, needed):
    """The lines of a CSV that an instructor made, as (line number, {column: text}); empty lines are left out."""
    text = _text(path)
    first = text.partition("\n")[0]
    delimiter = ";" if ";" in first and "," not in first else ","
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        for name in needed:
            if header.count(name) != 1:
                raise PolicyError(f"{path}, line 1: there is to be one column named {name}; it has "
                                  f"{', '.join(header)}.")
        for cells in reader:
            if len(cells) > len(header):
                raise PolicyError(f"{path}, line {reader.line_num}: it has {len(cells)} cells under {len(header)} "
                                  "columns.")
            if any(cell.strip() for cell in cells):
                texts = [cell.strip() for cell in cells] + [""] * (len(header) - len(cells))
                yield reader.line_num, dict(zip(header, texts, strict=True))
    except csv.Error as error:
        raise PolicyError(f"{path}, line {reader.line_num}: this is no CSV: {error}.") from None


def _text(path):
    try:
        return Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise PolicyError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{path} is not in UTF-8: save it as “CSV UTF-8” or plain text in UTF-8.") from None


def _unknown(kind, name, known):
    near = get_close_matches(name, known, n=1)
    return f"there is no {kind} {name!r}" + (f"; did you mean {near[0]}?" if near else ".")


def _by_normal_form(students):
    """Names under their normal form: one computer writes é as one character, another as two."""
    return {unicodedata.normalize("NFC", s): s for s in students} | {s: s for s in students}


def _find(student, known):
    return known.get(student) or known.get(unicodedata.normalize("NFC", student))
