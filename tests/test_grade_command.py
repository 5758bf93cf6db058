"""The command: it goes on where it was killed, repeats a grade, refuses what it cannot confine, and says why."""

import csv
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from course_lib.staff.grade import book, command, confine, lanes, marking
from tests.test_grade import MASK, REWEIGHT, SHIFT, notebook

ROOT = Path(__file__).parents[1]
WRONG = "def causal_mask(T):\n    return torch.ones(T, T).triu().bool()"
needs_confinement = pytest.mark.skipif(confine.probe() == "C", reason="this machine cannot confine anything")


@pytest.fixture
def batch(tmp_path):
    """Eight students: half of them have one exercise wrong."""
    folder = tmp_path / "batch"
    folder.mkdir()
    for i in range(8):
        mask = WRONG if i % 2 else MASK
        (folder / f"s{i}.ipynb").write_text(notebook("import torch", REWEIGHT, mask, SHIFT))
    return folder


def arguments(batch, report, *more):
    return [str(batch), "-o", str(report), "--exercises", "reweight,causal_mask,shift_right", *more]


def start(batch, report, *more):
    return subprocess.Popen([sys.executable, "-m", "course_lib.staff.grade", *arguments(batch, report, *more)],
                            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def results(report):
    with (report / "results.csv").open(encoding="utf-8", newline="") as file:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]


def graded(report):
    with sqlite3.connect(f"file:{report / book.NAME}?mode=ro", uri=True) as connection:
        return connection.execute("SELECT rowid, student FROM submission ORDER BY student").fetchall()


@needs_confinement
def test_a_run_that_is_killed_goes_on_where_it_was(batch, tmp_path):
    """Forty minutes of grading lost to a closed laptop, or done twice."""
    report, whole = tmp_path / "report", tmp_path / "whole"
    first = start(batch, report, "--seed", "5", "--lanes", "1")
    while first.poll() is None:
        if (report / book.NAME).exists() and _some(report):
            first.send_signal(signal.SIGKILL)
        time.sleep(0.01)
    first.communicate()
    before = graded(report)
    assert first.returncode == -signal.SIGKILL and 0 < len(before) < 8
    second = start(batch, report)
    said, errors = second.communicate(timeout=120)
    assert second.returncode == 0, errors
    assert f"{8 - len(before)} graded now, {len(before)} before." in said
    assert graded(report)[: len(before)] == before, "what was finished was graded again"
    third = start(batch, whole, "--seed", "5")
    assert third.communicate(timeout=120) and third.returncode == 0
    assert results(report) == results(whole), "a seed repeats a grade"
    assert [r["verdict"] for r in results(report)].count("fail") == 4


def _some(report):
    try:
        return graded(report)
    except sqlite3.Error:
        return []


@needs_confinement
def test_a_changed_submission_is_graded_again_and_nobody_is_dropped_without_a_word(batch, tmp_path, capsys):
    """A student hands in once more, and keeps the old grade; a late one's zip takes the others' place."""
    report = tmp_path / "report"
    assert run(arguments(batch, report)) == 0
    (batch / "s1.ipynb").write_text(notebook("import torch", REWEIGHT, MASK, SHIFT))
    (batch / "s2.ipynb").unlink()
    capsys.readouterr()
    assert run(arguments(batch, report)) == 0
    assert "1 graded now, 6 before." in capsys.readouterr().out
    verdicts = {(r["student"], r["exercise"]): r["verdict"] for r in results(report)}
    assert verdicts["s1", "causal_mask"] == "pass" and verdicts["s2", "reweight"] == "pass"
    late = tmp_path / "late"
    late.mkdir()
    (late / "s9.ipynb").write_text(notebook("import torch", REWEIGHT, MASK, SHIFT))
    assert run(arguments(late, report)) == 0
    assert "s0, s1, s2 and 5 more: not handed in this time, and still in the report" in capsys.readouterr().out
    assert {r["student"] for r in results(report)} == {f"s{i}" for i in (*range(8), 9)}
    assert run(arguments(batch, report, "--replace")) == 0
    assert "s2, s9: not handed in this time, and taken out of the report." in capsys.readouterr().out
    assert {r["student"] for r in results(report)} == {f"s{i}" for i in (0, 1, 3, 4, 5, 6, 7)}


@needs_confinement
@pytest.mark.parametrize("how", ["dies", "hangs"])
def test_a_judge_that_dies_costs_one_submission(batch, tmp_path, capsys, monkeypatch, how):
    """One notebook ends the grader, and forty others have no grade."""
    mark = marking.Marker.mark

    def killed(self, submission):
        if submission.student == "s3":
            os.kill(os.getpid(), signal.SIGKILL if how == "dies" else signal.SIGSTOP)
        return mark(self, submission)

    monkeypatch.setattr(marking.Marker, "mark", killed)
    monkeypatch.setattr(lanes, "MARGIN", 1)
    monkeypatch.setattr(marking.Limits.__init__, "__defaults__", (20, 10, 300, 1, 10))
    assert run(arguments(batch, tmp_path / "report", "--lanes", "1", "--submission-seconds", "12")) == 0
    rows = results(tmp_path / "report")
    assert {r["student"] for r in rows if r["verdict"] == "crash"} == {"s3"} and len(rows) == 24
    assert [r["verdict"] for r in rows].count("fail") == 3
    assert all("a person has to look" in r["reason"] for r in rows if r["student"] == "s3")


@needs_confinement
def test_regrading_shows_what_changes_before_it_writes(batch, tmp_path, capsys):
    """A check is mended, and nobody knows whose grade that changes."""
    report = tmp_path / "report"
    assert run(arguments(batch, report)) == 0
    with sqlite3.connect(report / book.NAME) as connection:  # as if an older check had let this one through
        connection.execute("UPDATE verdict SET verdict = 'pass' WHERE student = 's3' AND exercise = 'causal_mask'")
    connection.close()
    for more, verdict in ((), "pass"), (("--yes",), "fail"):
        capsys.readouterr()
        assert run(["regrade", "-o", str(report), *more]) == 0
        said = capsys.readouterr().out
        assert "causal_mask  s3: pass" in said and "1 of 24 verdicts change: 1 × pass → fail." in said
        assert run(["report", "-o", str(report)]) == 0
        assert [r["verdict"] for r in results(report) if (r["student"], r["exercise"]) == ("s3", "causal_mask")] \
            == [verdict]
    assert not (report / ".regrade").exists()


@needs_confinement
def test_one_student_is_graded_again_alone(batch, tmp_path, capsys):
    """One complaint, and everybody's grade is made anew."""
    report = tmp_path / "report"
    assert run(arguments(batch, report)) == 0
    with sqlite3.connect(report / book.NAME) as connection:
        connection.execute("UPDATE verdict SET verdict = 'pass', mistake = '' WHERE exercise = 'causal_mask'")
    connection.close()
    capsys.readouterr()
    assert run(["regrade", "-o", str(report), "--student", "s3", "--yes"]) == 0
    assert "1 of 3 verdicts change" in capsys.readouterr().out
    assert {r["student"] for r in results(report) if r["verdict"] == "fail"} == {"s3"} and len(results(report)) == 24
    (tmp_path / "roster.csv").write_text("id,username\nx3,s3\n")
    (tmp_path / "course.toml").write_text('students.file = "roster.csv"\n')
    asked = ["regrade", "-o", str(report), "--settings", str(tmp_path / "course.toml"), "--student", "x3"]
    assert run(asked) == 0 and "0 of 3 verdicts change" in capsys.readouterr().out
    assert run(["regrade", "-o", str(report), "--student", "s33"]) == 2
    assert "s33 is not in the report. Did you mean s3?" in capsys.readouterr().err


@needs_confinement
def test_an_exercise_is_added_to_a_report_and_an_override_stays(batch, tmp_path, capsys):
    """One exercise was forgotten: the class is graded from the beginning, and what a person decided is lost."""
    report = tmp_path / "report"
    few = [str(batch), "-o", str(report), "--exercises", "reweight"]
    assert run(few) == 0
    (report / "overrides.csv").write_text("student,exercise,points,reason\ns1,reweight,0,Copied.\n")
    assert run([*few[:-1], "reweight,causal_mask"]) == 0
    rows = results(report)
    assert len(rows) == 16 and [r["verdict"] for r in rows].count("fail") == 4
    assert [r["points"] for r in rows if r["student"] == "s1"] == ["0", "0"] and "Copied." in rows[2]["reason"]
    assert "8 graded.\n0 graded now, 8 before." in capsys.readouterr().out
    assert run([*few[:-1], "shift_right"]) == 2
    assert "begun with another chosen" in capsys.readouterr().err


def test_two_runs_at_once_do_not_mix(batch, tmp_path, capsys):
    """Two runs write into one book."""
    report = tmp_path / "report"
    connection = book.opened(report)
    assert run(arguments(batch, report)) == 2
    assert "Another run is at work in" in capsys.readouterr().err
    connection.close()


def test_without_confinement_nothing_is_run(batch, tmp_path, capsys, monkeypatch):
    """Students' code with the rights of the person who grades."""
    monkeypatch.setattr(confine, "probe", lambda: "C")
    assert run(arguments(batch, tmp_path / "report")) == 3
    captured = capsys.readouterr()
    assert captured.out.startswith("Isolation C: ") and "--unsandboxed" in captured.err
    assert not (tmp_path / "report" / "results.csv").exists()
    assert run(arguments(batch, tmp_path / "report", "--unsandboxed")) == 0
    assert {r["isolation"] for r in results(tmp_path / "report")} == {"C unsandboxed"}
    assert [r["verdict"] for r in results(tmp_path / "report")].count("pass") == 20


@pytest.mark.parametrize(("changed", "words"), [
    (["/nowhere"], "There is no folder or zip /nowhere."),
    (["--exercises", "reweigt"], "There is no exercise named reweigt. Did you mean reweight?"),
    (["--exercises", " ,"], "--exercises names none"),
    (["--settings", "/nowhere.toml"], "/nowhere.toml"),
    (["--isolation", "M"], "isolation M was asked for"),
])
def test_what_cannot_be_done_is_said_in_a_sentence(batch, tmp_path, capsys, changed, words):
    """A traceback for a wrong path."""
    asked = arguments(batch, tmp_path / "report")
    asked = [*changed, *asked[1:]] if not changed[0].startswith("--") else [*asked, *changed]
    assert run(asked) in (2, 3)
    said = capsys.readouterr().err
    assert words in said and "Traceback" not in said


@needs_confinement
def test_without_a_list_everybody_has_a_row_for_every_exercise_of_the_lessons_handed_in(tmp_path, capsys):
    """Forty-seven rows "missing" for a class that has handed in one lesson; or none for who left it blank."""
    folder = tmp_path / "batch"
    folder.mkdir()
    blank, = (ROOT / "lessons").glob("05_*.ipynb")
    (folder / "blank.ipynb").write_bytes(blank.read_bytes())
    (folder / "one.ipynb").write_text(notebook("import torch", REWEIGHT))
    assert run([str(folder), "-o", str(tmp_path / "report")]) == 0
    found = {(r["student"], r["exercise"]): r["verdict"] for r in results(tmp_path / "report")}
    assert set(exercise for _, exercise in found) == {"reweight", "attention_query_matrix", "cross_attention",
                                                      "self_attention"}
    assert found["one", "reweight"] == "pass" and list(found.values()).count("missing") == 7


@needs_confinement
def test_the_page_of_a_right_answer_says_which_cell_failed_and_why(tmp_path):
    """A statement before the answer fails, the answer counts all the same, and nobody tells its author."""
    (tmp_path / "ada.ipynb").write_text(notebook("import torch", f"print(gone)\n{REWEIGHT}", MASK))
    asked = [str(tmp_path / "ada.ipynb"), "-o", str(tmp_path / "report"), "--exercises", "reweight,causal_mask"]
    assert run(asked) == 0
    assert [r["verdict"] for r in results(tmp_path / "report")] == ["pass", "pass"]
    page, = (tmp_path / "report" / "pages" / "students").iterdir()
    said = "Code cell 2 raised NameError: name &#x27;gone&#x27; is not defined."
    assert page.read_text(encoding="utf-8").count(said) == 1


@needs_confinement
def test_an_instructors_files_come_out_of_one_command_and_its_notes_are_said(tmp_path, capsys):
    """A gradebook that is named in the settings and filled in by nobody; a results.json in the wrong folder."""
    (tmp_path / "ada.ipynb").write_text(notebook("import torch", REWEIGHT))
    (tmp_path / "gc.csv").write_text("Username,reweight,Note\nada,,7\n")
    (tmp_path / "course.toml").write_text('gradebook.file = "gc.csv"\n')
    report = tmp_path / "report"
    asked = [str(tmp_path / "ada.ipynb"), "-o", str(report), "--exercises", "reweight", "--settings",
             str(tmp_path / "course.toml"), "--gradescope", str(tmp_path / "out" / "results.json")]
    assert run(asked) == 0
    assert (report / "gradebook_filled.csv").read_text() == "Username,reweight,Note\nada,1,7\n"
    assert '"score": 1' in (tmp_path / "out" / "results.json").read_text()
    assert "gradebook_filled.csv, with the points of 1 student" in capsys.readouterr().out
    assert run(["report", "-o", str(report)]) == 0
    assert not (report / "gradebook_filled.csv").exists()
    assert f"The run before was given --settings {tmp_path / 'course.toml'}, and this one" in capsys.readouterr().out
    assert run(["report", "-o", str(report)]) == 0 and "The run before" not in capsys.readouterr().out
    (tmp_path / "gc.csv").write_text("Name\nada\n")
    assert run(["report", "-o", str(report), "--settings", str(tmp_path / "course.toml")]) == 2
    assert "no column says whose a line is" in capsys.readouterr().err


def run(asked):
    """The command in this process; it changes its folder."""
    here = os.getcwd()
    try:
        return command.main(asked)
    finally:
        os.chdir(here)


def test_a_grader_that_fails_on_one_answer_costs_that_verdict_and_says_so(monkeypatch):
    """One mistake of our own, and a class has no grades."""
    def broken(*_):
        raise KeyError("oh")

    student = marking._Student(marking.Marker(None, ("reweight",), 1, "B"), [], [])
    monkeypatch.setattr(student, "places", lambda *_: [(0, "function")])
    monkeypatch.setattr(student, "judged", broken)
    mark = student.mark("reweight", ())
    assert mark.verdict == "error" and "The grader itself failed here" in mark.reason


@needs_confinement
def test_predictions_that_were_handed_in_stand_beside_the_report_under_the_same_names(tmp_path):
    """What a class was surprised by is on five hundred computers; or a file of a student's stops the grader."""
    asked = "By the dot product, what is tea's score for the query (3, 2, 0, 0)?"
    kept = {asked: {"concept": "C030", "right": False, "guess": "10"}, "mine": {"right": True, "guess": "=1+1"},
            "no guess": {"right": "yes", "guess": 3}, "none": 7}
    for student, predictions in (("ada", json.dumps(kept)), ("bo", "[" * 10**5), ("cy", "[1]")):
        folder = tmp_path / "batch" / student / "my_answers"
        folder.mkdir(parents=True)
        (folder / "predictions.json").write_text(predictions)
        (folder.parent / "02.ipynb").write_text(notebook("import torch", REWEIGHT))
    report = tmp_path / "report"
    assert run([str(tmp_path / "batch"), "-o", str(report), "--exercises", "reweight"]) == 0
    assert [r["verdict"] for r in results(report)] == ["pass"] * 3
    with (report / "predictions.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.reader(file)) == [
            ["student", "lesson", "concept", "question", "last_guess", "first_guess_right"],
            ["ada", "04", "C030", asked, "10", "no"], ["ada", "", "", "mine", "'=1+1", "yes"]]
    (tmp_path / "batch" / "ada" / "my_answers" / "predictions.json").unlink()
    assert run([str(tmp_path / "batch"), "-o", str(report), "--exercises", "reweight"]) == 0
    assert not (report / "predictions.csv").exists()


def test_a_reader_that_has_gone_stops_it_in_one_sentence(tmp_path):
    """`grade … | head -1`, and a traceback."""
    (tmp_path / "ann.ipynb").write_text(notebook(REWEIGHT))
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "course_lib.staff.grade", str(tmp_path / "ann.ipynb"), "-o",
                           str(tmp_path / "report"), "--unsandboxed"], cwd=ROOT, stdout=write, stderr=subprocess.PIPE,
                          text=True)
    os.close(write)
    assert (done.returncode, done.stderr) == (130, "grade: stopped; the same command goes on from here.\n")


@needs_confinement
def test_without_a_terminal_a_line_a_minute_says_how_far_it_is(batch, tmp_path, capsys, monkeypatch):
    """An hour on a server, and nobody can say whether it works or hangs."""
    monkeypatch.setattr(command, "A_MINUTE", 0)
    assert run(arguments(batch, tmp_path / "report", "--lanes", "1")) == 0
    said = capsys.readouterr().out
    assert "3 graded now, of 8 in all.\n4 graded now, of 8 in all.\n" in said


@needs_confinement
def test_a_report_of_another_year_is_compared_with_or_said_not_to_be_there(batch, tmp_path, capsys):
    """A path with a slip in it, and nobody of last year is ever found."""
    report = tmp_path / "report"
    assert run(arguments(batch, report)) == 0
    assert run(["report", "-o", str(report), "--earlier", str(tmp_path / "none")]) == 2
    assert "none: --earlier names one." in capsys.readouterr().err
    assert run(arguments(batch, tmp_path / "next", "--earlier", str(report))) == 0
