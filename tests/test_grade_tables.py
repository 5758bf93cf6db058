"""What an instructor gets as tables: nobody lost, nothing executed by a spreadsheet, every mistake one sentence."""

import csv
import os
import re
from dataclasses import replace

import pytest

from course_lib.staff.grade import tables
from course_lib.staff.grade.grades import grades_of, write_grades
from course_lib.staff.grade.policy import overrides
from course_lib.staff.grade.tables import (
    PolicyError,
    Row,
    difference,
    rows,
    settings,
    write_results,
)
from tests.book_of_grades import SCOPE, book

HEADER = "student,lesson,exercise,verdict,points,max_points,mistake,reason,flags,isolation,seconds"
DUE = 'deadlines = { "06" = 2026-03-01T12:00:00Z, all = 2026-02-01T12:00:00+01:00 }\n'


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def toml(folder, text):
    path = folder / "course.toml"
    path.write_text(text, encoding="utf-8")
    return settings(path)


def mistakes(folder, text):
    with pytest.raises(PolicyError) as caught:
        toml(folder, text)
    return str(caught.value).splitlines()


def points_of(connection, chosen):
    return {(row.student, row.exercise): row.points for row in rows(connection, chosen)}


def grades(folder, connection, chosen=None, manual=None):
    """The three files, each as {first column: the rest}; the manual scores are given as text."""
    path = None
    if manual is not None:
        path = folder / "manual.csv"
        path.write_text(manual, encoding="utf-8")
    chosen = chosen or settings()
    write_grades(*grades_of(connection, chosen, path), chosen, folder / "grades.csv")
    return [read(folder / name) for name in ("grades.csv", "canvas.csv", "moodle.csv")]


def test_everybody_who_handed_something_in_has_a_row_for_every_exercise_in_scope():
    """A student whose files could not be read, or who left an exercise out, was absent from the results."""
    found = list(rows(book({
        "bo": {"problems": ["all.ipynb is no notebook."]}, "ada": {"reweight": "pass"}, "cy": {},
        "di": {"problems": ["a.ipynb is empty."], "cells": ["class MultiHeadAttention(nn.Module):\n    ..."]}}),
        settings()))
    assert [(r.student, r.exercise) for r in found] == [(s, e) for s in ("ada", "bo", "cy", "di") for e in SCOPE]
    verdicts = [r.verdict for r in found]
    assert verdicts == ["pass", "missing", "missing", *["unreadable"] * 3, *["missing"] * 3,
                        "unreadable", "missing", "unreadable"]
    assert found[3].reason == "all.ipynb is no notebook." and "MultiHeadAttention" in found[1].reason
    assert {r.isolation for r in found} == {"B"} and found[1].lesson == "06"


def test_verdicts_stay_with_their_student_whoever_has_none():
    """Walking through two tables side by side, one student got the verdicts of the next."""
    people = {name: {"reweight": "pass"} if name in "bdf" else {"reweight": "fail"} if name == "e" else {}
              for name in "gfedcba"}
    found = {r.student: r.verdict for r in rows(book(people, ["reweight"]), settings())}
    assert found == dict(zip("abcdefg", "missing pass missing pass fail pass missing".split(), strict=True))
    assert list(found) == list("abcdefg")


def test_results_have_the_promised_header_and_a_line_for_each_row(tmp_path):
    """A column renamed or moved: everybody's scripts break."""
    write_results(book({"ada": {"MultiHeadAttention": {"verdict": "fail", "mistake": "head-order", "flags": "a, b"}}},
                       isolation="C unsandboxed"), settings(), tmp_path / "results.csv")
    text = (tmp_path / "results.csv").read_bytes().decode("utf-8")
    assert text.split("\n")[0] == HEADER and "\r" not in text and text.endswith("\n")
    lines = read(tmp_path / "results.csv")
    assert lines[2] == ["ada", "06", "MultiHeadAttention", "fail", "0", "1", "head-order", "", "a, b",
                        "C unsandboxed", "0.25"]
    assert lines[1][9] == "C unsandboxed" and len(lines) == 4
    assert os.listdir(tmp_path) == ["results.csv"]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "＝1", "-"])
def test_no_text_of_a_student_is_a_formula(tmp_path, name):
    """`=HYPERLINK(…)` as a name or in a message runs in the instructor's spreadsheet."""
    answer = {"reweight": {"verdict": "error", "reason": name, "mistake": name, "flags": name}}
    connection = book({name: answer}, ["reweight"])
    write_results(connection, settings(), tmp_path / "results.csv")
    student, *_, mistake, reason, flags, _, _ = read(tmp_path / "results.csv")[1]
    assert all(cell.startswith("'") and cell.isprintable() for cell in (student, mistake, reason, flags))
    for file in grades(tmp_path, connection):
        assert all(cell[:1] not in tuple("=+-@\t\r") for cell in file[-1] if cell)


def test_every_cell_is_one_printable_line_and_different_names_stay_different(tmp_path):
    """A name with a line break or an override of the writing direction made two rows, or two students one."""
    names = ["a\nb", "a b", "a\x00b", "a\u202eb", "a\\nb", "ab", "a,\"b"]
    write_results(book({name: {"reweight": {"verdict": "error", "reason": "two\nlines\x1b[31m " + "x" * 10**6}}
                        for name in names}, ["reweight"]), settings(), tmp_path / "results.csv")
    lines = read(tmp_path / "results.csv")[1:]
    assert len(lines) == len(names) and all(cell.isprintable() for line in lines for cell in line)
    assert {line[0] for line in lines} == {"a\\nb", "a b", "a\\x00b", "a\\u202eb", "ab", "a,\"b"}
    assert lines[0][7].startswith("two lines\\x1b[31m xxx") and len(lines[0][7]) < 1100


def test_a_right_answer_gets_its_points_and_nothing_else_gets_any(tmp_path):
    """Points for a time-out, or the default where an exercise has its own."""
    chosen = toml(tmp_path, "[points]\ndefault = 2\nMultiHeadAttention = 5.5\n")
    connection = book({"ada": {"reweight": "pass", "MultiHeadAttention": "pass", "causal_mask": "timeout"}})
    assert [(r.points, r.max_points) for r in rows(connection, chosen)] == [(2, 2), (5.5, 5.5), (0, 2)]


@pytest.mark.parametrize(("modified", "left"), [
    ("2026-03-01T12:00:00Z", 10), ("2026-03-01T12:00:01Z", 9), ("2026-03-02T12:00:00Z", 9),
    ("2026-03-03T13:00:00+01:00", 8), ("2026-03-03T12:00:01Z", 0), (None, 10), ("yesterday", 10)])
def test_each_late_day_costs_its_part_and_after_the_last_nothing_is_left(tmp_path, modified, left):
    """Late by an hour of another time zone, or by a second counted as none."""
    chosen = toml(tmp_path, DUE + "points.default = 10\n[late]\ndays = 2\npercent_per_day = 10\n")
    connection = book({"ada": {"MultiHeadAttention": "pass", "modified": modified}}, ["MultiHeadAttention"])
    row, = rows(connection, chosen)
    assert row.points == pytest.approx(left) and ("late" in row.reason) == (left < 10)


def test_a_named_mistake_may_be_worth_points_and_late_ones_lose_theirs(tmp_path):
    """Partial credit for what no mistake was named for, above the exercise's worth, or that is never late."""
    chosen = toml(tmp_path, "[points]\ndefault = 2\n[partial.causal_mask]\nupside-down = 1\nstrict-lower = 9\n"
                            "[deadlines]\nall = 2026-03-01T12:00:00Z\n[late]\ndays = 2\npercent_per_day = 50\n")
    wrong = {"verdict": "fail", "mistake": "upside-down"}
    connection = book({"ada": {"causal_mask": wrong}, "bo": {"causal_mask": wrong, "modified": "2026-03-02T12:00:00Z"},
                       "cy": {"causal_mask": wrong | {"mistake": "strict-lower"}}, "di": {"causal_mask": "fail"}},
                      ["causal_mask"])
    assert list(points_of(connection, chosen).values()) == [1, 0.5, 2, 0]


def test_an_extension_moves_the_deadlines_of_one_student(tmp_path):
    """A week more for one who was ill is a week more for all, or for no lesson but one."""
    chosen = toml(tmp_path, "[deadlines]\nall = 2026-03-01T12:00:00Z\n[late]\ndays = 0\n[extensions]\nada = 7\n"
                            'bo = { "07" = 7 }\n')
    late = {"reweight": "pass", "causal_mask": "pass", "modified": "2026-03-05T12:00:00Z"}
    found = points_of(book({"ada": late, "bo": late, "cy": late}, ["reweight", "causal_mask"]), chosen)
    assert list(found.values()) == [1, 1, 0, 1, 0, 0]


def test_a_table_says_when_work_was_handed_in_and_files_do_not(tmp_path):
    """A platform's download gives every file the time of the download."""
    (tmp_path / "times.csv").write_text("student,time,lesson\nada,2026-03-01T11:00:00Z,\nbo,2026-03-02T12:00:00Z,07\n")
    chosen = toml(tmp_path, '[deadlines]\nall = 2026-03-01T12:00:00Z\n[late]\ndays = 0\ntimes = "times.csv"\n')
    late = {"causal_mask": "pass", "modified": "2026-03-05T12:00:00Z"}
    early = {"causal_mask": "pass", "modified": "2026-02-05T12:00:00Z"}
    found = points_of(book({"ada": late, "bo": early, "cy": late}, ["causal_mask"]), chosen)
    assert list(found.values()) == [1, 0, 0]


def decided(folder, text):
    path = folder / "overrides.csv"
    path.write_text("student,exercise,points,reason\n" + text, encoding="utf-8")
    return overrides(path)


def test_a_person_has_the_last_word_and_says_why(tmp_path):
    """An instructor's decision that the next run forgets, or that nobody can explain."""
    connection = book({"ada": {"causal_mask": "fail"}, "bo": {}}, ["causal_mask"])
    chosen = replace(settings(), overrides=decided(tmp_path, "ada,causal_mask,0.5,Shown on paper.\n"
                                                             "bo,causal_mask,1,Right at the blackboard.\n"))
    found = list(rows(connection, chosen))
    assert [(r.verdict, r.points) for r in found] == [("fail", 0.5), ("missing", 1)]
    assert found[0].reason.endswith("Decided by hand: 0.5 points. Shown on paper.")
    assert grades(tmp_path, connection, chosen)[0][1:] == [["ada", "0.5", "0.5"], ["bo", "1", "1"]]
    stranger = replace(settings(), overrides=decided(tmp_path, "eve,causal_mask,1,Why not.\n"))
    with pytest.raises(PolicyError, match="'eve' has handed nothing in"):
        grades(tmp_path, connection, stranger)


@pytest.mark.parametrize(("line", "says"), [
    ("ada,causal,1,x", "line 2: there is no exercise 'causal'; did you mean causal_mask?"),
    ("ada,causal_mask,much,x", "line 2: 'much' is not a number from 0 on."),
    ("ada,causal_mask,1,", "line 2: there is no reason"),
    ("ada,causal_mask,1,x\nada,causal_mask,0,y", "line 3: ada has an override for causal_mask already.")])
def test_an_override_that_cannot_be_taken_is_one_sentence_with_its_line(tmp_path, line, says):
    """A word of the instructor's that is lost."""
    with pytest.raises(PolicyError, match=re.escape(says)):
        decided(tmp_path, line + "\n")


def test_free_late_days_are_spent_in_the_order_of_the_deadlines_and_never_twice(tmp_path):
    """The same free day given to every lesson, or spent on an answer that is wrong or too late anyway."""
    text = ("[deadlines]\n02 = 2026-03-05T12:00:00Z\n06 = 2026-03-09T12:00:00Z\n07 = 2026-03-02T12:00:00Z\n"
            "[late]\ndays = 2\nfree_days = 3\npercent_per_day = 50\n")
    chosen = toml(tmp_path, text)

    def left(causal_mask_on="2026-03-04T12:00:00Z", **verdicts):
        when = {"reweight": "2026-03-07T12:00:00Z", "MultiHeadAttention": "2026-03-10T12:00:00Z",
                "causal_mask": causal_mask_on}
        notebooks = [{"path": e, "modified": when[e], "cells": [f"def {e}():\n    pass"]} for e in SCOPE]
        answers = {"reweight": "pass", "MultiHeadAttention": "pass", "causal_mask": "pass"} | verdicts
        return list(points_of(book({"ada": {"notebooks": notebooks, **answers}}), chosen).values())

    assert left() == [.5, .5, 1]
    assert left(causal_mask="fail") == [1, 1, 0]
    assert left(causal_mask_on="2026-03-08T12:00:00Z") == [1, 1, 0]


def test_a_free_day_that_is_spent_on_a_deadline_holds_for_every_lesson_that_has_it(tmp_path):
    """Three lessons due on one evening, two days late: the first of them eats the free days of the others."""
    text = "[deadlines]\nall = 2026-03-05T12:00:00Z\n[late]\ndays = 0\nfree_days = 2\npercent_per_day = 50\n"
    when = dict(zip(SCOPE, ("2026-03-07T12:00:00Z", "2026-03-06T12:00:00Z", "2026-03-08T12:00:00Z"), strict=True))
    notebooks = [{"path": e, "modified": when[e], "cells": [f"def {e}():\n    pass"]} for e in SCOPE]
    found = points_of(book({"ada": {"notebooks": notebooks, **dict.fromkeys(SCOPE, "pass")}}), toml(tmp_path, text))
    assert list(found.values()) == [1, 1, 0]


def test_an_answer_is_as_old_as_the_oldest_file_that_holds_it(tmp_path):
    """A lesson handed in for the second time with another exercise in it made yesterday's right answer late."""
    chosen = toml(tmp_path, DUE + "late.days = 0\n")
    code = "class MultiHeadAttention(nn.Module):\n    own = 1"
    answer = {"MultiHeadAttention": {"verdict": "pass", "code": f"import math\n\n{code}"}}
    notebooks = [{"path": "a", "modified": "2026-02-20T12:00:00Z", "cells": [code]},
                 {"path": "b", "modified": "2026-04-20T12:00:00Z", "cells": [code, "def reweight(): pass"]}]
    early = book({"ada": {"notebooks": notebooks, **answer}}, ["MultiHeadAttention"])
    notebooks = [notebooks[0] | {"cells": ["class MultiHeadAttention: ..."]}, notebooks[1]]
    late = book({"ada": {"notebooks": notebooks, **answer}}, ["MultiHeadAttention"])
    assert next(rows(early, chosen)).points == 1 and next(rows(late, chosen)).points == 0


@pytest.mark.parametrize(("text", "says"), [
    ("[point]\n", "did you mean points"),
    ("points = 3\n", "write [points]"),
    ("[points]\nMultiheadAttention = 1\n", "[points] MultiheadAttention: there is no exercise 'MultiheadAttention'; "
                                          "did you mean MultiHeadAttention?"),
    ("[points]\ndefault = '1'\n", "[points] default: '1' is not a number"),
    ("[points]\ndefault = true\n", "[points] default: True is not a number"),
    ("[points]\ndefault = -1\n", "not a number from 0 on"),
    ("[points]\ndefault = nan\n", "not a number from 0 on"),
    ("[deadlines]\n6 = 2026-03-01T23:59:00Z\n[late]\ndays=1", "[deadlines] 6: there is no lesson '6'"),
    ("[deadlines]\n06 = '2026-03-01'\n[late]\ndays=1", "[deadlines] 06: 2026-03-01 is no date with a time"),
    ("[deadlines]\n06 = 2026-03-01\n[late]\ndays=1", "is no date with a time"),
    ("[deadlines]\n06 = 2026-03-01T23:59:00\n[late]\ndays=1", "does not say in which time zone"),
    ("[deadlines]\n06 = 2026-13-01T23:59:00Z\n", "is no TOML"),
    ("[deadlines]\n06 = 2026-03-01T23:59:00Z\n", "needs a section [late]"),
    ("[late]\npercent_per_day = 120\n", "[late] percent_per_day: 120 is more than 100 %"),
    ("[late]\ndays = 1.5\n", "[late] days: 1.5 is not a whole number"),
    ("[late]\nday = 1\n", "[late] day: there is no key 'day'; did you mean days?"),
    ("[students]\nfile = 3\n", "[students] file: give the name of a CSV"),
    ("[students]\nfile = 'nobody.csv'\n", "nobody.csv cannot be read"),
    ("[reflection]\nreweight = 3\n", "[reflection] reweight: this is the name of another column"),
])
def test_each_mistake_in_the_settings_is_one_sentence_with_its_key(tmp_path, text, says):
    """A misspelt exercise silently worth the default, or a traceback out of the TOML reader."""
    line, = mistakes(tmp_path, text)
    assert says in line and "course.toml" in line


def test_all_mistakes_in_the_settings_are_said_at_once(tmp_path):
    """Mending one only to be told of the next."""
    assert len(mistakes(tmp_path, "[points]\nx = 1\ny = 2\n[late]\ndays = -1\n")) == 3
    with pytest.raises(PolicyError, match="nowhere.toml cannot be read"):
        settings(tmp_path / "nowhere.toml")


def test_who_is_only_on_the_roster_gets_zero_points_and_no_line_in_the_results(tmp_path):
    """Somebody who handed nothing in was forgotten in the gradebook, or invented in the results."""
    (tmp_path / "roster.csv").write_text("\ufeffid;name;email\nzoe;Zoë;z@x\nJose\u0301;José;j@x\n", encoding="utf-8")
    chosen = toml(tmp_path, "[students]\nfile = 'roster.csv'\n")
    connection = book({"ada": {"reweight": "pass"}, "Jos\u00e9": {"reweight": "pass"}}, ["reweight"])
    plain, canvas, moodle = grades(tmp_path, connection, chosen)
    assert plain == [["student", "id", "name", "email", "reweight", "total"],
                     ["Jos\u00e9", "Jose\u0301", "José", "j@x", "1", "1"], ["ada", "ada", "", "", "1", "1"],
                     ["zoe", "zoe", "Zoë", "z@x", "0", "0"]]
    assert moodle[3] == ["zoe", "z@x", "0", "0"] and canvas[4] == ["Zoë", "", "zoe", "zoe", "", "0"]
    assert {row.student for row in rows(connection, chosen)} == {"ada", "Jos\u00e9"}


@pytest.mark.parametrize(("text", "says"), [
    ("name\nx\n", "line 1: there is to be one column named id"), ("", "line 1: there is to be one column named id"),
    ("id\na\na\n", "line 3: a stands there twice"), ("id,name\n,x\n", "line 2: there is no id"),
    ('id\n"a', "this is no CSV"), ("id\na,b\n", "line 2: it has 2 cells under 1 columns")])
def test_a_roster_that_cannot_be_used_is_refused_in_one_sentence(tmp_path, text, says):
    """The second of two lines for a student silently replaced the first."""
    (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
    line, = mistakes(tmp_path, "[students]\nfile = 'roster.csv'\n")
    assert says in line and "[students] file" in line


def test_scores_given_by_hand_are_columns_of_their_own_and_count(tmp_path):
    """A score that stands in the file but not in the total, or an item without a score taken for a zero in Moodle."""
    connection = book({"ada": {"reweight": "pass"}, "bo": {}}, ["reweight"])
    manual = 'student,item,points,comment\nada,06 why,1.5,"well\nsaid"\n\nada,07 why,2,\nbo,06 why,3,\n'
    plain, canvas, moodle = grades(tmp_path, connection, manual=manual)
    assert plain == [["student", "reweight", "06 why", "07 why", "total"], ["ada", "1", "1.5", "2", "4.5"],
                     ["bo", "0", "3", "", "3"]]
    assert moodle[2] == ["bo", "", "0", "3", "-", "3"]
    assert canvas[1] == ["    Points Possible", "", "", "", "", "1", "3", "2"]


@pytest.mark.parametrize(("line", "says"), [
    ("eve,why,1", "'eve' has handed nothing in and is not on the roster"), ("ada,why,many", "'many' is no number"),
    ("ada,why,nan", "nan is not from 0 to 2"), ("ada,why,-1", "-1 is not from 0 to 2"), ("ada,why,", "'' is no number"),
    ("ada,why,3", "3 is not from 0 to 2"), ("ada,whi,1", "no item 'whi'; it has why"), ("ada,,1", "'' cannot be"),
    ("ada,reweight,1", "'reweight' cannot be"), ("bo,why,1", "bo has a score for why already"),
    ("ada,why", "'' is no number")])
def test_a_score_that_cannot_be_taken_is_one_sentence_with_its_line(tmp_path, line, says):
    """A student misspelt in the instructor's file lost the points without a word."""
    chosen = toml(tmp_path, "[reflection]\nwhy = 2\n")
    with pytest.raises(PolicyError) as caught:
        grades(tmp_path, book({"ada": {}, "bo": {}}), chosen, f"student,item,points\nbo,why,0\n{line}\n")
    assert str(caught.value).startswith(f"{tmp_path / 'manual.csv'}, line 3: ") and says in str(caught.value)
    assert "\n" not in str(caught.value) and not (tmp_path / "grades.csv").exists()


def test_canvas_and_moodle_get_what_their_imports_look_for(tmp_path):
    """Canvas refuses another header, makes an assignment of a total, and takes “12ab” in ID for its user 12."""
    connection = book({"12ab": {"reweight": "pass"}, "Points Possible": {}}, ["reweight"])
    _, canvas, moodle = grades(tmp_path, connection)
    assert canvas[0] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "reweight"]
    assert "Points Possible" in canvas[1][0] and canvas[1][5] == "1"
    assert canvas[2] == ["12ab", "", "12ab", "12ab", "", "1"] and "Points Possible" not in canvas[3][0]
    assert moodle[:2] == [["ID number", "Email address", "reweight", "total"], ["12ab", "", "1", "1"]]


def test_a_roster_gives_platforms_their_own_numbers(tmp_path):
    """Moodle's import looks for an id and finds the name of a folder; Canvas's two kinds of id are mixed up."""
    (tmp_path / "roster.csv").write_text("id,name,email,section,canvas_id,sis_id\nx7,Ada Löve,a@b.org,A,4711,S7\n"
                                         "x8,Bo Be,b@b.org,B,,\nx9,Bo Be,c@b.org,B,,\n", encoding="utf-8")
    chosen = toml(tmp_path, '[students]\nfile = "roster.csv"\n')
    connection = book({"ADA LÖVE_12345": {"causal_mask": "pass"}, "Bo Be_9": {"causal_mask": "pass"}}, ["causal_mask"])
    _, canvas, moodle = grades(tmp_path, connection, chosen)
    assert ["Ada Löve", "4711", "S7", "x7", "A", "1"] in canvas
    assert ["x7", "a@b.org", "1", "1"] in moodle
    assert ["Bo Be_9", "", "1", "1"] in moodle and ["x9", "c@b.org", "0", "0"] in moodle, "two of one name"


def test_a_table_is_there_whole_or_as_it_was(tmp_path, monkeypatch):
    """Half a table after a failure, taken for all of it."""
    path, link = tmp_path / "results.csv", tmp_path / "another name of the same file"
    path.write_text("before")
    os.link(path, link)
    write_results(book({}), settings(), path)
    assert link.read_text() == "before" and path.read_text().startswith(HEADER)
    link.unlink()
    path.write_text("before")

    def breaks(connection, settings):
        yield from list(rows(connection, settings))[:1]
        raise RuntimeError

    monkeypatch.setattr(tables, "rows", breaks)
    with pytest.raises(RuntimeError):
        write_results(book({"ada": {}}), settings(), path)
    assert path.read_text() == "before" and os.listdir(tmp_path) == ["results.csv"]
    monkeypatch.undo()
    (tmp_path / "folder").mkdir()
    with pytest.raises(PolicyError, match="folder cannot be written"):
        write_results(book({}), settings(), tmp_path / "folder")


def test_a_difference_is_a_line_for_each_verdict_that_changes():
    """A regrade that says “3 changed” without saying whose."""
    def row(student, exercise, verdict, mistake="", points=0):
        return Row(student, "02", exercise, verdict, points, 1, mistake)

    old = [row("ada", "causal_mask", "fail", "off-by-one"), row("ada", "reweight", "pass"),
           row("bo", "reweight", "fail"), row("bo", "causal_mask", "fail", "a")]
    new = [row("ada", "causal_mask", "pass"), row("ada", "reweight", "pass"), row("bo", "reweight", "error"),
           row("bo", "causal_mask", "fail", "b"), row("c\nd", "reweight", "pass")]
    assert difference(iter(old), iter(new)).splitlines() == [
        "reweight  bo: fail → error", "reweight  c\\nd: not there → pass", "causal_mask  ada: fail (off-by-one) → pass",
        "3 of 5 verdicts change: 1 × fail → error, 1 × not there → pass, 1 × fail → pass. "
        "1 more: the same verdict with other points or another mistake."]
    assert difference(old, old) == "0 of 4 verdicts change."
