"""The instructor's guide, followed command by command by somebody who has never seen the repository."""

import csv
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from course_lib.staff.grade import confine
from course_lib.staff.grade.policy import ON_THE_ROSTER, READERS, Settings, settings

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^python3 start\.py python (-m .+)$", GUIDE, re.MULTILINE)


EXAMPLE, = re.findall(r"```toml\n(.+?)```", GUIDE, re.DOTALL)
TABLES = {
    "roster.csv": "id,last_name,first_name,username\nstudent00000,Löve,Ada,alove\nab1,Be,Bo,student00001\nab2,,,\n",
    "times.csv": "student,time,lesson\nstudent00005,2027-03-02T23:59:00Z,02\n",
    "scores.csv": "student,item,points,comment\nab1,02 reflection,2.5,Well said.\n",
    "gradebook.csv": "Username,Homework 2,Everything\nalove,,\nstudent00001,,\nstudent00005,,\n",
    "report/overrides.csv": "student,exercise,points,reason\nab1,shift_right,0.25,Shown on paper.\n"}


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A folder in which all commands of the guide were given, beside its example of settings and what that names."""
    folder = tmp_path_factory.mktemp("guide")
    assert len(COMMANDS) == 5
    said = []
    for command in COMMANDS:
        if "--settings" in command:
            for name, text in (TABLES | {"course.toml": EXAMPLE}).items():
                (folder / name).write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, *command.replace("../", f"{folder}/").split()], cwd=ROOT,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        if "--settings" in command:
            shutil.copytree(folder / "report", folder / "decided")
        said.append(done.stdout)
    return folder, said


def table(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


needs_confinement = pytest.mark.skipif(confine.probe() == "C", reason="this machine cannot confine anything")


@needs_confinement
def test_the_guide_leads_from_a_hand_out_to_grades(followed):
    """A guide whose third command needs what its second one does not make."""
    folder, said = followed
    assert (folder / "handout" / "lessons" / "02_self_attention_untrained.ipynb").exists()
    rows = table(folder / "report" / "results.csv")
    assert len(rows) == 4 * 30 and {row["verdict"] for row in rows} == {"pass", "fail"}
    assert all(row["mistake"] for row in rows if row["verdict"] == "fail")
    assert (folder / "report" / "pages" / "index.html").exists()
    assert len(list((folder / "report" / "pages" / "students").glob("*.html"))) == 30
    assert "0 of " in said[-1] and "verdicts change" in said[-1], "the last command grades again"


@needs_confinement
def test_every_line_of_the_example_changes_what_comes_out(followed):
    """A key of the settings that is read, and forgotten on the way to the grades."""
    folder, said = followed
    verdicts = {(r["student"], r["exercise"]): r for r in table(folder / "decided" / "results.csv")}
    points = {key: float(row["points"]) for key, row in verdicts.items()}
    right = {key for key, row in verdicts.items() if row["verdict"] == "pass"}
    masks = {s: points[s, e] for s, e in points if e == "causal_mask"}
    assert {masks[s] for s in masks if (s, "causal_mask") in right} == {2}, "[points]"
    assert {masks[s] for s in masks if (s, "causal_mask") not in right} == {0.5}, "[partial.causal_mask]"
    assert "Decided by hand: 0.25 points." in verdicts["student00001", "shift_right"]["reason"]
    assert verdicts["student00005", "reweight"]["reason"] == "1 day late: 100 % of the points.", "[late]"
    grades = {row["student"]: row for row in table(folder / "decided" / "grades.csv")}
    assert grades["student00001"]["id"] == "ab1" and grades["student00001"]["02 reflection"] == "2.5"
    assert set(grades) == {f"student{i:05d}" for i in range(30)} | {"ab2"}, "[students]"
    filled = {row["Username"]: row for row in table(folder / "decided" / "gradebook_filled.csv")}
    for login, student in ("alove", "student00000"), ("student00001",) * 2, ("student00005",) * 2:
        assert filled[login]["Homework 2"] == grades[student]["reweight"], "[gradebook]"
        assert filled[login]["Everything"] == grades[student]["total"] != ""
    assert "gradebook_filled.csv, with the points of 3 students." in said[3]
    assert len(list((folder / "decided" / "pages" / "students").glob("love-ada-student00000-*.html"))) == 1


def test_the_settings_of_the_guide_are_settings_and_all_there_are(tmp_path):
    """An example that is refused, or a key that nobody hears of."""
    (tmp_path / "course.toml").write_text(EXAMPLE, encoding="utf-8")
    for name in ("times.csv", "roster.csv"):
        (tmp_path / name).write_text(TABLES[name], encoding="utf-8")
    found = settings(tmp_path / "course.toml")
    assert found.extensions == {"student00001": {"all": 7}, "student00002": {"02": 3}}
    assert (found.free_days, found.days, found.percent_per_day) == (2, 3, 10)
    assert set(tomllib.loads(EXAMPLE)) == set(READERS)
    assert {field.name for field in fields(Settings) if getattr(found, field.name) == getattr(Settings(), field.name)} \
        == {"overrides"}, "a field that the example leaves as it is"
    assert all(f"`{column}`" in GUIDE for column in ON_THE_ROSTER)


def test_every_option_the_guide_names_exists():
    """An option that was renamed."""
    helped = "".join(subprocess.run([sys.executable, "-m", f"course_lib.staff.{command}", "--help"], cwd=ROOT,
                                    capture_output=True, text=True, check=True).stdout
                     for command in ("grade", "release"))
    for option in set(re.findall(r"`(--[a-z-]+)", GUIDE)):
        assert option in helped, option
