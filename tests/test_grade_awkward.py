"""Two hundred awkward, honest files in one batch: each answer in them gets the verdict it deserves, and no flag."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.staff.grade import confine
from course_lib.staff.grade.flags import TELLING
from tests.awkward import BESIDE, CLASS_HANDS, HANDS, POOL, TOOLS, batch

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(confine.probe() == "C", reason="this machine cannot confine anything")
COUNT = 200


def grade(folder, report, *more):
    command = [sys.executable, "-m", "course_lib.staff.grade", str(folder), "-o", str(report), "--seed", "3",
               "--exercises", ",".join(POOL), *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, cwd=ROOT)


def hand_in(folder, files):
    for file in files:
        (folder / file.name).write_bytes(file.data)


def rows_of(report):
    with (report / "results.csv").open(encoding="utf-8", newline="") as file:
        return {(r["student"], r["exercise"]): r for r in csv.DictReader(file)}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """(files, rows of results.csv)."""
    folder, report = tmp_path_factory.mktemp("batch"), tmp_path_factory.mktemp("report")
    files = batch(COUNT)
    hand_in(folder, files)
    done = grade(folder, report)
    assert done.returncode == 0, done.stderr
    return files, rows_of(report)


def test_every_answer_gets_the_verdict_it_deserves(graded):
    """Right work that a tool, a habit or the next cell makes wrong; or a mistake that goes by another name."""
    files, rows = graded
    wrong = []
    for file in files:
        student = file.name.rsplit(".", 1)[0]
        for exercise in POOL:
            verdict, mistake = file.deserves.get(exercise, ("missing", ""))
            row = rows[student, exercise]
            if (row["verdict"], row["mistake"]) != (verdict, mistake):
                wrong.append(f"{student}, {exercise}: {row['verdict']} {row['mistake']} instead of {verdict} "
                             f"{mistake}: {row['reason'][:200]} {file.about}")
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong)


def test_no_honest_answer_is_flagged_as_somebody_else_s(graded):
    """A flag on honest work makes a student a suspect."""
    files, rows = graded
    told = [f"{student}, {exercise}: {row['flags']}" for (student, exercise), row in rows.items()
            if row["verdict"] == "pass" and any(telling in row["flags"] for telling in TELLING)]
    assert not told, f"{len(told)}\n" + "\n".join(told)


def test_every_template_occurs():
    """A template that nobody draws proves nothing."""
    files = batch(COUNT)
    about = " ".join(word for file in files for word in file.about)
    text = b" ".join(file.data for file in files)
    assert all(name in about for name in [*TOOLS, *HANDS, *CLASS_HANDS, *POOL, "out of order", "tabs"])
    first_lines = [b for b in (beside.split("\n")[0] for beside in BESIDE) if b and '"' not in b]
    assert [line for line in first_lines if line.encode() not in text] == []
