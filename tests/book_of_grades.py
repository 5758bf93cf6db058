"""A book as the grader leaves it, filled by hand: for the tests of what is written out of it."""

import json
import sqlite3

SCHEMA = """
CREATE TABLE run(key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE submission(student TEXT PRIMARY KEY, digest TEXT, notebooks TEXT, problems TEXT, seconds REAL);
CREATE TABLE verdict(student TEXT, exercise TEXT, lesson TEXT, verdict TEXT, mistake TEXT, reason TEXT, flags TEXT,
    isolation TEXT, seconds REAL, code TEXT, card TEXT, PRIMARY KEY(student, exercise));
CREATE TABLE prediction(student TEXT, question TEXT, guess TEXT, right INTEGER, PRIMARY KEY(student, question));
"""
SCOPE = ("reweight", "MultiHeadAttention", "causal_mask")  # of lessons 02, 06 and 07


def book(students, exercises=SCOPE, isolation="B"):
    """An open connection to a book.

    students: {student: {"modified": ISO time, "problems": [sentence], "cells": [source], exercise: verdict or dict}}
    """
    from course_lib.checks import EXERCISES

    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    run = {"seed": "7", "isolation": isolation, "exercises": json.dumps(list(exercises)), "version": "1",
           "started": "2026-03-01T10:00:00Z"}
    connection.executemany("INSERT INTO run VALUES (?, ?)", run.items())
    for student, said in students.items():
        answers = {name: ({"verdict": v} if isinstance(v, str) else v) for name, v in said.items() if name in EXERCISES}
        codes = {name: v.get("code", f"def {name}():\n    pass") for name, v in answers.items()}
        cells = [*codes.values(), *said.get("cells", [])]
        notebooks = [{"path": "all.ipynb", "modified": said.get("modified"), "cells": cells}] if cells else []
        connection.execute("INSERT INTO submission VALUES (?, 'd', ?, ?, 0.5)", (
            student, json.dumps(said.get("notebooks", notebooks)), json.dumps(said.get("problems", []))))
        for name, v in answers.items():
            card = v.get("card", [["", f"… {name}"], ["Asked", "what it is"]])
            connection.execute("INSERT INTO verdict VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (
                student, name, EXERCISES[name].lesson, v["verdict"], v.get("mistake", ""), v.get("reason", ""),
                v.get("flags", ""), isolation, v.get("seconds", 0.25), codes[name], json.dumps(card)))
    return connection
