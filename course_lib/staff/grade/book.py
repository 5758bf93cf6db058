"""The book of a grading run: one SQLite file, from which everything an instructor gets can be made again."""

import fcntl
import json
import sqlite3
from dataclasses import dataclass

from course_lib.staff.grade.predicted import guesses
from course_lib.staff.grade.reading import Notebook, Submission

NAME = "grades.sqlite"
TABLES = """
CREATE TABLE IF NOT EXISTS run(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE IF NOT EXISTS submission(student TEXT PRIMARY KEY, digest TEXT, notebooks TEXT, problems TEXT,
    seconds REAL);
CREATE TABLE IF NOT EXISTS verdict(student TEXT, exercise TEXT, lesson TEXT, verdict TEXT, mistake TEXT, reason TEXT,
    flags TEXT, isolation TEXT, seconds REAL, code TEXT, card TEXT, PRIMARY KEY(student, exercise));
CREATE TABLE IF NOT EXISTS prediction(student TEXT, question TEXT, guess TEXT, right INTEGER,
    PRIMARY KEY(student, question));
"""
INSERT = "INSERT OR REPLACE INTO verdict VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class BookError(ValueError):
    """This run cannot go on with this book; one sentence says why."""


@dataclass(frozen=True)
class Mark:
    """What was found for one exercise of one student."""

    exercise: str
    lesson: str
    verdict: str  # pass, fail, error, timeout or crash; who has none handed in no answer
    mistake: str = ""
    reason: str = ""
    flags: str = ""
    isolation: str = ""
    seconds: float = 0.0
    code: str = ""
    card: tuple = ()  # (label, text) pairs, without inputs that are hidden


def opened(folder):
    """The open connection to the book of a report, made where there is none.

    One run at a time: BookError where another one is at work in this folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / ".lock").open("a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BookError(f"Another run is at work in {folder}: wait for it, or choose another folder with -o.") from None
    connection = sqlite3.connect(folder / NAME, factory=_Book)
    connection.lock = lock
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(TABLES)
    except sqlite3.DatabaseError:
        raise BookError(f"{folder / 'grades.sqlite'} is no book of this grader: move it away or choose another "
                        "folder with -o.") from None
    return connection


class _Book(sqlite3.Connection):
    lock = None  # held as long as the book is open

    def close(self):
        super().close()
        self.lock.close()


def settle(connection, forget="", **wanted):
    """Write down how this run grades, or see that it goes on as the run before it; BookError where it does not.

    forget:  what the run before it did is no matter any more
    wanted:  texts; None takes what the book has
    returns: what holds, as a dict of texts
    """
    known = dict(connection.execute("SELECT key, value FROM run WHERE key != ?", (forget,)))
    for key, value in wanted.items():
        if value is not None and known.setdefault(key, value) != value:
            raise BookError(f"This report was begun with another {key} ({_short(known[key])}, not {_short(value)}): "
                            "choose another folder with -o.")
    with connection:
        connection.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)", list(known.items()))
    return known


def no_longer_given(connection, **options):
    """Write down the files that a run was given, and return those that the run before it had and this one has not.

    options: path, or None
    returns: {option: path as text}
    """
    before = json.loads(dict(connection.execute("SELECT key, value FROM run")).get("given", "{}"))
    given = {option: str(path) for option, path in options.items() if path}
    if given != before:
        with connection:
            connection.execute("INSERT OR REPLACE INTO run VALUES ('given', ?)", (json.dumps(given),))
    return {option: path for option, path in before.items() if option not in given}


def set_scope(connection, exercises):
    """Write down which exercises everybody has a row for, as a list of names in the course's order."""
    with connection:
        connection.execute("INSERT OR REPLACE INTO run VALUES ('exercises', ?)", (json.dumps(exercises),))


def attempted(connection):
    """The lessons of which somebody has handed in an exercise, answered or not."""
    return {lesson for lesson, in connection.execute("SELECT DISTINCT lesson FROM verdict")}


def handed_in(connection):
    """Every Submission in the book, one after the other."""
    for student, digest, notebooks, problems in connection.execute(
            "SELECT student, digest, notebooks, problems FROM submission ORDER BY student"):
        yield Submission(student, tuple(Notebook(n["path"], tuple(n["cells"]), n["modified"])
                                        for n in json.loads(notebooks)), tuple(json.loads(problems)), digest)


def _short(text):
    return text if len(text) < 60 else text[:57] + "..."


def finished(connection, student):
    """The digest of what was graded of a student, or None."""
    row = connection.execute("SELECT digest FROM submission WHERE student = ?", (student,)).fetchone()
    return row and row[0]


def write(connection, submission, marks, seconds):
    """All that was found of one student, or nothing of it: one transaction."""
    notebooks = json.dumps([{"path": n.path, "modified": n.modified, "cells": n.cells} for n in submission.notebooks])
    with connection:
        connection.execute("INSERT OR REPLACE INTO submission VALUES (?, ?, ?, ?, ?)",
                           (submission.student, submission.digest, notebooks, json.dumps(submission.problems), seconds))
        for table in ("verdict", "prediction"):
            connection.execute(f"DELETE FROM {table} WHERE student = ?", (submission.student,))
        connection.executemany(INSERT, [_as_row(submission, mark) for mark in marks])
        connection.executemany("INSERT INTO prediction VALUES (?, ?, ?, ?)", [
            (submission.student, question, *said) for question, said in guesses(submission.predictions).items()])


def _as_row(submission, m):
    return (submission.student, m.exercise, m.lesson, m.verdict, m.mistake, m.reason, m.flags, m.isolation, m.seconds,
            m.code, json.dumps(m.card))


def add(connection, submission, marks, _):
    """More verdicts for a student who is in the book."""
    with connection:
        connection.executemany(INSERT, [_as_row(submission, mark) for mark in marks])


def take_over(old, new, students):
    """Put all verdicts of some students from one book into another, or none."""
    rows = new.execute("SELECT * FROM verdict").fetchall()
    with old:
        old.executemany("DELETE FROM verdict WHERE student = ?", [(s,) for s in students])
        old.executemany(INSERT, rows)


def all_but(connection, students):
    """The other students of the book, sorted."""
    return sorted(s for s, in connection.execute("SELECT student FROM submission") if s not in students)


def forget(connection, students):
    """Drop these students."""
    with connection:
        for table in ("submission", "verdict", "prediction"):
            connection.executemany(f"DELETE FROM {table} WHERE student = ?", [(s,) for s in students])
