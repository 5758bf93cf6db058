"""Feedback as Moodle and Canvas take it back: zips whose files have the names of their own downloads."""

import io
import json
import re
import zipfile
from html import escape

from course_lib.staff.grade.markup import MARKS
from course_lib.staff.grade.names import NOTEBOOK, ZIP
from course_lib.staff.grade.tables import number, one_line, whole_file

MOODLE_ZIP, CANVAS_ZIP = "moodle_feedback.zip", "canvas_feedback.zip"
# What Canvas reads out of a name when a file comes back: the student's number, and that of the file.
CANVAS = re.compile(r"[^\\]+?_[0-9]{2,}_([0-9]{3,})_[^\\]+$")


def write_feedback(connection, folder, pages, judged):
    """Write the zips that have something in them; one that an older run has left is removed.

    pages:  {student: path of the page}
    judged: {student: ([Row], {item scored by hand: (points or None, comment, the most points)})}
    """
    moodle, canvas = {}, {}
    for student, notebooks, problems in connection.execute("SELECT student, notebooks, problems FROM submission"):
        tops = [n["path"].split("/")[0] for n in json.loads(notebooks or "[]")]
        if any(name.startswith(f"{student}_assignsubmission_") for name in (*tops, *json.loads(problems or "[]"))):
            moodle[f"{student}_assignsubmission_file_/feedback.html"] = student
        elif original := next((top for top in tops if CANVAS.match(top) and (NOTEBOOK.search(top) or ZIP.search(top))),
                              None):
            canvas[original] = student
    if len({CANVAS.match(name)[1] for name in canvas}) < len(canvas):
        canvas = {}  # Canvas gives every file a number of its own: these are names that only look like its
    _write(folder / MOODLE_ZIP, {name: pages[student].read_bytes() for name, student in moodle.items()})
    _write(folder / CANVAS_ZIP, {name: _in_the_form_of(name, student, *judged[student], pages[student])
                                 for name, student in canvas.items()})


def _in_the_form_of(name, student, rows, by_hand, page):
    """Canvas gives feedback the name of the student's own file, so it has to be of the same kind: notebook or zip."""
    if not ZIP.search(name):
        return _notebook(student, rows, by_hand)
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(_entry("feedback.html"), page.read_bytes(), zipfile.ZIP_DEFLATED)
        return file.getvalue()


def _notebook(student, rows, by_hand):
    """What the page says of each answer, as the bytes of a notebook."""
    right = f"{sum(r.verdict == 'pass' for r in rows)} of {len(rows)} exercises right"
    points = sum(r.points for r in rows) + sum(points or 0 for points, _, _ in by_hand.values())
    most = sum(r.max_points for r in rows) + sum(most for _, _, most in by_hand.values())
    texts = [f"# Feedback: {_plain(student)}\n\n{right} · {number(points)} of {number(most)} points"]
    texts += [f"## `{r.exercise}`: {MARKS[r.verdict][1]} · {number(r.points)} / {number(r.max_points)}\n\n"
              f"{_plain(r.reason)}".strip() for r in rows]
    texts += [f"## {_plain(item)}: {'not scored' if points is None else f'{number(points)} / {number(most)}'}\n\n"
              f"{_plain(comment)}".strip() for item, (points, comment, most) in by_hand.items()]
    cells = [{"cell_type": "markdown", "id": f"feedback{i}", "metadata": {}, "source": text}
             for i, text in enumerate(texts)]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}, indent=1).encode()


def _plain(text):
    """Somebody's text in Markdown, without a sign that means something there."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|~$])", r"\\\1", escape(one_line(text, 1000), quote=False))


def _write(path, members):
    if not members:
        path.unlink(missing_ok=True)
        return
    with whole_file(path, binary=True) as file, zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            archive.writestr(_entry(name), data, zipfile.ZIP_DEFLATED)


def _entry(name):
    return zipfile.ZipInfo(name)  # of 1980: the same for the same
