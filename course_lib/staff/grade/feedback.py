"""Feedback as Moodle and Canvas take it back: zips whose files have the names of their own downloads."""

import io
import json
import re
import zipfile
from html import escape

from course_lib.staff.grade.markup import MARKS
from course_lib.staff.grade.names import CANVAS, NOTEBOOK, ZIP
from course_lib.staff.grade.policy import NUMBERED
from course_lib.staff.grade.tables import number, one_line, whole_file

MOODLE_ZIP, CANVAS_ZIP = "moodle_feedback.zip", "canvas_feedback.zip"


def write_feedback(folder, pages, originals, rows_of):
    """Write the zips that have something in them; one that an older run has left is removed.

    pages:     {student: path of the page}
    originals: {student: the file that Canvas knows, or ""}
    rows_of:   {student: Rows}, for those whose file Canvas knows
    """
    canvas = {name: _in_the_form_of(name, student, rows_of[student], pages[student])
              for student, name in originals.items() if name}
    moodle = {} if canvas else {f"{student}_assignsubmission_file_/feedback.html": path.read_bytes()
                                for student, path in pages.items() if NUMBERED.search(student) and "/" not in student}
    _write(folder / CANVAS_ZIP, canvas)
    _write(folder / MOODLE_ZIP, moodle)


def canvas_file(notebooks):
    """The name under which Canvas has handed out a student's file, or "".

    notebooks: what the book has, as dicts with a path
    """
    tops = [notebook["path"].split("/")[0] for notebook in notebooks]
    return next((top for top in tops if CANVAS.match(top) and "\\" not in top
                 and (NOTEBOOK.search(top) or ZIP.search(top))), "")


def _in_the_form_of(name, student, rows, page):
    """Canvas gives feedback the name of the student's own file, so it has to be of the same kind: notebook or zip."""
    if ZIP.search(name):
        with io.BytesIO() as file:
            with zipfile.ZipFile(file, "w") as archive:
                archive.writestr(_entry("feedback.html"), page.read_bytes(), zipfile.ZIP_DEFLATED)
            return file.getvalue()
    right, points, most = (sum(r.verdict == "pass" for r in rows), sum(r.points for r in rows),
                           sum(r.max_points for r in rows))
    texts = [f"# Feedback: {_plain(student)}\n\n{right} of {len(rows)} exercises right · "
             f"{number(points)} of {number(most)} points"]
    texts += [f"## `{row.exercise}`: {MARKS[row.verdict][1]} · {number(row.points)} / {number(row.max_points)}\n\n"
              f"{_plain(row.reason)}".strip() for row in rows]
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
