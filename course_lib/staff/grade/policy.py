"""What an instructor decides: points, deadlines and late days, the roster, scores given by hand."""

import csv
import math
import tomllib
import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from io import StringIO
from pathlib import Path

from course_lib.checks import EXERCISES

EXAMPLE = "2026-03-01T23:59:00Z"


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
    roster: dict = field(default_factory=dict)  # student: {"name": …, "email": …}
    reflection: dict = field(default_factory=dict)  # item scored by hand: its points

    def max_points(self, exercise):
        """What an exercise is worth."""
        return self.points.get(exercise, self.points.get("default", 1))

    def deadline(self, lesson):
        """When a lesson is due, or None."""
        return self.deadlines.get(lesson, self.deadlines.get("all"))


def settings(path=None):
    """Read the settings.

    path:    a TOML with any of [points], [deadlines], [late], [students] and [reflection], or None
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
    students: everybody known
    returns:  {student: {item: (points, comment)}} and {item: its points, or the most that anybody got}
    raises:   PolicyError, with a sentence for each line that cannot be taken as it is
    """
    scores, worth, mistakes, known = {}, dict(settings.reflection), [], _by_normal_form(students)
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


def everybody(connection, settings):
    """All students, sorted, each with what the roster says, {"name": …, "email": …}, or None where it does not.

    These are those who handed something in, and those on the roster, under the book's spelling where it has one.
    """
    students = dict.fromkeys(student for student, in connection.execute("SELECT student FROM submission"))
    known = _by_normal_form(students)
    for student, about in settings.roster.items():
        students[_find(student, known) or student] = about
    return dict(sorted(students.items()))


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


def _deadlines(table, path, complain):
    lessons = sorted({e.lesson for e in EXERCISES.values()})
    for key, value in table.items():
        if key != "all" and key not in lessons:
            complain(key, f"there is no lesson {key!r}; write all, or one of {', '.join(lessons)} in quotes.")
        elif not isinstance(value, datetime):
            complain(key, f"{value!s} is no date with a time; write it without quotes, such as {EXAMPLE}.")
        elif value.tzinfo is None:
            complain(key, f"{value.isoformat()} does not say in which time zone; write it such as {EXAMPLE}.")
    return {"deadlines": {key: value.astimezone(UTC) for key, value in table.items()
                          if isinstance(value, datetime) and value.tzinfo}}


def _late(table, path, complain):
    known = ("days", "percent_per_day", "free_days")
    for key in set(table) - set(known):
        complain(key, _unknown("key", key, known))
    for key, value in _numbers(table, complain).items():
        if key != "percent_per_day" and not isinstance(value, int):
            complain(key, f"{value} is not a whole number of days.")
        if key == "percent_per_day" and value > 100:
            complain(key, f"{value} is more than 100 %.")
    return {key: table[key] for key in known if key in table}


def _students(table, path, complain):
    for key in set(table) - {"file"}:
        complain(key, _unknown("key", key, ("file",)))
    name = table.get("file")
    if not isinstance(name, str):
        complain("file", "give the name of a CSV with the columns id, name and email, in quotes.")
        return {}
    roster = {}
    try:
        for line, row in _csv(path.parent / name, ("id",)):
            if not row["id"] or row["id"] in roster:
                complain("file", f"{name}, line {line}: " + (f"{row['id']} stands there twice." if row["id"]
                                                             else "there is no id."))
            roster[row["id"]] = {"name": row.get("name", ""), "email": row.get("email", "")}
    except PolicyError as error:
        complain("file", str(error))
    return {"roster": roster}


READERS = {"points": _points, "deadlines": _deadlines, "late": _late, "students": _students,
           "reflection": _reflection}


def _numbers(table, complain):
    """The entries that are numbers from 0 on; a complaint for each of the others."""
    numbers = {}
    for key, value in table.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            complain(key, f"{value!r} is not a number from 0 on.")
        else:
            numbers[key] = value
    return numbers


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
