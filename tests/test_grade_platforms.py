"""What learning platforms import: the right points at the right student's, in the platform's own form."""

import csv
import json
from dataclasses import replace

import pytest

from course_lib.staff.grade import gradebook
from course_lib.staff.grade.grades import grades_of, write_grades
from course_lib.staff.grade.gradescope import write_results_json
from course_lib.staff.grade.policy import everybody, notes
from course_lib.staff.grade.tables import PolicyError, rows, settings
from tests.book_of_grades import book

ROSTER = ("id,first_name,last_name,email,section,canvas_id,sis_id,username,org_id,github\n"
          "u1,Ada,Löve,a@b.org,A,4711,S1,alove,1001,ada-l\n"
          "u2,Bo,Be,b@b.org,B,4712,S2,bbe,1002,bobe\n"
          "u3,Cy,Ce,c@b.org,B,4713,S3,cce,1003,cyce\n")
TWO = {"reweight": "pass", "causal_mask": "pass"}
CANVAS = ("Student,ID,SIS User ID,SIS Login ID,Section,Homework 2 (77),Essay (78),Current Score\n"
          "    Points Possible,,,,,1,5,(read only)\n"
          '"Löve, Ada",4711,S1,alove,A,,4,80\n"Be, Bo",4712,S2,bbe,B,0.5,,\n"Student, Test",9,,x,A,,,\n')
BLACKBOARD = ('"Last Name"\t"First Name"\t"Username"\t"Student ID"\t"Homework 2 [Total Pts: 1 Score] |5501"\n'
              '"Löve"\t"Ada"\t"alove"\t"S1"\t""\n"Be"\t"Bo"\t"bbe"\t"S2"\t"0.5"\n')
BRIGHTSPACE = ("OrgDefinedId,Username,Homework 2 Points Grade <Numeric MaxPoints:1 Weight:10>,End-of-Line Indicator\n"
               "#1001,#alove,,#\n#1002,#bbe,0.5,#\n")
MOODLE = ('"First name","Last name","ID number",Institution,Department,"Email address","Assignment: Homework 2"\n'
          "Ada,Löve,u1,,,a@b.org,\nBo,Be,,,,b@b.org,1.00\n")
GITHUB = ("assignment_name,assignment_url,starter_code_url,github_username,roster_identifier,student_repository_name,"
          "student_repository_url,submission_timestamp,points_awarded,points_available\n"
          "Homework,u,s,ada-l,a@b.org,r,r,2026-03-01,0,1\nHomework,u,s,unknown,Bo Be,r,r,2026-03-01,0,1\n")


def policy(folder, text="", roster=ROSTER):
    (folder / "roster.csv").write_text(roster, encoding="utf-8")
    (folder / "course.toml").write_text(f'students.file = "roster.csv"\n{text}', encoding="utf-8")
    return settings(folder / "course.toml")


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def fill(folder, exported, name="exported.csv", encoding="utf-8", columns='{ "Homework 2" = "02" }', roster=ROSTER):
    """What becomes of an exported gradebook, as text, and what is said."""
    (folder / name).write_bytes(exported.encode(encoding))
    chosen = policy(folder, f'[gradebook]\nfile = "{name}"\n' + (f"columns = {columns}\n" if columns else ""), roster)
    connection = book({"u1": TWO, "u2": {"reweight": "fail", "causal_mask": "pass"}},
                      ["reweight", "causal_mask"])
    said = gradebook.fill(*grades_of(connection, chosen), chosen, folder)
    filled, = folder.glob("gradebook_filled.*")
    return filled.read_bytes().decode(encoding), said


def test_an_exported_canvas_gradebook_comes_back_with_points_and_nothing_else_changed(tmp_path):
    """Canvas makes a new assignment of a title without its number, and a new student of a line without an ID."""
    text, said = fill(tmp_path, CANVAS)
    assert text == CANVAS.replace("A,,4,80", "A,1,4,80").replace("B,0.5,,", "B,0,,")
    assert said[0].endswith("gradebook_filled.csv, with the points of 2 students.")
    assert said[1:] == ["Not in exported.csv, so without points there: u3."]


def test_who_is_excused_at_canvas_stays_excused(tmp_path):
    """A student who was ill, and who gets zero points for what was never asked of them."""
    text, _ = fill(tmp_path, CANVAS.replace("B,0.5,,", "B,EX,,"))
    assert ",B,EX,," in text and "A,1,4,80" in text


def test_an_exported_blackboard_gradebook_keeps_its_encoding_quotes_and_column_number(tmp_path):
    """UTF-8 where Blackboard wants UTF-16, or a column without its number: a new text column worth nothing."""
    text, _ = fill(tmp_path, BLACKBOARD, "gc_exported.xls", "utf-16")
    assert text == BLACKBOARD.replace('"S1"\t""', '"S1"\t"1"').replace('"0.5"', '"0"')
    assert (tmp_path / "gradebook_filled.xls").read_bytes()[:2] in (b"\xff\xfe", b"\xfe\xff")


def test_an_exported_brightspace_gradebook_is_found_by_ids_behind_a_sharp(tmp_path):
    """Brightspace writes # before an id, and its table stays as it was."""
    text, _ = fill(tmp_path, BRIGHTSPACE.replace("\n", "\r\n"), encoding="utf-8-sig")
    assert text == BRIGHTSPACE.replace("#alove,", "#alove,1").replace("0.5", "0").replace("\n", "\r\n")


def test_an_exported_moodle_gradebook_is_found_by_number_or_address(tmp_path):
    """Moodle puts the kind of an activity before its name, and many a student has no ID number."""
    text, _ = fill(tmp_path, MOODLE)
    assert [line.rpartition(",")[2] for line in text.splitlines()[1:]] == ["1", "0"]
    assert list(csv.reader(text.splitlines()))[0] == list(csv.reader(MOODLE.splitlines()))[0]


def test_the_grades_of_github_classroom_are_found_by_user_name_or_roster(tmp_path):
    """Somebody who changed the name on GitHub loses the points."""
    text, _ = fill(tmp_path, GITHUB, columns='{ points_awarded = "total" }')
    assert text == GITHUB.replace("-01,0,1", "-01,2,1", 1).replace("-01,0,1", "-01,1,1")


def test_a_column_named_after_an_exercise_needs_no_settings_and_who_has_the_name_twice_gets_nothing(tmp_path):
    """Two students of one name, and the first one's points for both."""
    text, _ = fill(tmp_path, "roster_identifier,causal_mask,other\nu1,,\nBo Be,,\n", columns="",
                   roster=ROSTER.replace("Cy,Ce", "Bo,Be"))
    assert text == "roster_identifier,causal_mask,other\nu1,1,\nBo Be,,\n"


@pytest.mark.parametrize("exported", [
    CANVAS.replace(",1,5,", ",10,5,"), BLACKBOARD.replace("Pts: 1 ", "Pts: 10 "),
    BRIGHTSPACE.replace("Points:1 ", "Points:10 ")])
def test_a_column_that_is_worth_something_else_on_the_platform_is_named(tmp_path, exported):
    """Two of two points arrive as two of ten, and everybody fails."""
    _, said = fill(tmp_path, exported)
    assert "Homework 2 is worth 10 points in exported.csv and 1 here; the points are written as they are." in said


@pytest.mark.parametrize(("exported", "columns", "says"), [
    ("Name,Homework 2\nx,\n", None, "no column says whose a line is"),
    ("Username,Home\nx,\n", None, "has no column Homework 2, which [gradebook] columns names; it has Username, Home."),
    ("Username,Home\nx,\n", "", "has no column named after an exercise"),
    ("Username,Homework 2 (1),Homework 2 (2)\n", None, "has 2 columns named Homework 2: write the whole title"),
    ("", None, "is no table"), ('Username,"a\n', None, "is no table"),
    ("Username,X\n", '{ X = "03" }', "X is to hold '03', which is not graded here; write one of reweight, causal_mask"),
])
def test_a_gradebook_that_cannot_be_filled_in_is_one_sentence(tmp_path, exported, columns, says):
    """A traceback out of the table reader, or a file without a single point in it."""
    with pytest.raises(PolicyError) as caught:
        fill(tmp_path, exported, columns='{ "Homework 2" = "02" }' if columns is None else columns)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_a_gradebook_that_is_not_there_or_is_the_filled_one_is_one_sentence(tmp_path):
    """What was filled in is filled in again, and the platform's own file is lost."""
    (tmp_path / "gradebook_filled.csv").write_text("mine")
    for name, says in ("nowhere.csv", "nowhere.csv cannot be read"), ("gradebook_filled.csv", "is what was filled in"):
        chosen = policy(tmp_path, f'gradebook.file = "{name}"')
        with pytest.raises(PolicyError, match=says):
            gradebook.fill(*grades_of(book({"u1": TWO}), chosen), chosen, tmp_path)
    assert (tmp_path / "gradebook_filled.csv").read_text() == "mine"


def test_what_no_longer_holds_goes(tmp_path):
    """Last week's gradebook, filled in with last week's points, is imported again."""
    fill(tmp_path, CANVAS)
    connection, chosen = book({"u1": TWO}), policy(tmp_path)
    write_grades(*grades_of(connection, chosen), chosen, tmp_path / "grades.csv")
    assert gradebook.fill(*grades_of(connection, chosen), chosen, tmp_path) == []
    assert not list(tmp_path.glob("gradebook_filled*")) and (tmp_path / "brightspace.csv").exists()
    assert (tmp_path / "exported.csv").exists()
    write_grades(*grades_of(connection, settings()), settings(), tmp_path / "grades.csv")
    assert not (tmp_path / "brightspace.csv").exists()


def test_brightspace_gets_titles_that_say_points_grade_and_a_mark_at_the_end(tmp_path):
    """Brightspace passes over a column whose title ends in anything else."""
    chosen = policy(tmp_path, '[points]\nreweight = 2\n[gradebook]\ncolumns = { "Homework 2" = "02", All = "total" }\n')
    connection = book({"u1": TWO, "stranger": TWO}, ["reweight", "causal_mask"])
    write_grades(*grades_of(connection, chosen), chosen, tmp_path / "grades.csv")
    assert read(tmp_path / "brightspace.csv") == [
        ["OrgDefinedId", "Username", "Homework 2 Points Grade", "All Points Grade", "End-of-Line Indicator"],
        ["stranger", "", "2", "3", "#"], ["1001", "alove", "2", "3", "#"], ["1002", "bbe", "0", "0", "#"],
        ["1003", "cce", "0", "0", "#"]]
    assert read(tmp_path / "canvas.csv")[:3] == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Homework 2", "All"],
        ["    Points Possible", "", "", "", "", "2", "3"], ["stranger", "", "stranger", "stranger", "", "2", "3"]]
    assert read(tmp_path / "canvas.csv")[3] == ["Ada Löve", "4711", "S1", "alove", "A", "2", "3"]
    assert read(tmp_path / "moodle.csv")[0] == ["ID number", "Email address", "Homework 2", "All"]


@pytest.mark.parametrize("handed_in", [
    "u1", "alove", "ADA-L", "a@b.org", "1001", "S1", "Ada Löve", "ada löve_345", "loveada_4711", "lab-1-ada-l",
    "loveada_4711_998877_02_lesson", "loveada_LATE_4711_998877_02"])
def test_a_submission_is_found_on_the_roster_under_the_name_its_platform_gave_it(tmp_path, handed_in):
    """A student who has handed in gets zero points, and beside them stands a stranger with theirs."""
    found = everybody(book({handed_in: TWO}), policy(tmp_path))
    assert set(found) == {handed_in, "u2", "u3"} and found[handed_in]["id"] == "u1"


def test_what_is_decided_of_a_student_may_use_the_id_of_the_roster(tmp_path):
    """An instructor has to look up what a platform has made of each name, for every extension and every override."""
    (tmp_path / "times.csv").write_text("student,time\nu1,2026-03-05T12:00:00Z\nu2,2026-03-05T12:00:00Z\n")
    (tmp_path / "scores.csv").write_text("student,item,points\nu1,why,3\n")
    chosen = policy(tmp_path, "[deadlines]\nall = 2026-03-01T12:00:00Z\n[late]\ndays = 0\ntimes = 'times.csv'\n"
                              "[extensions]\nu1 = 7\n")
    chosen = replace(chosen, overrides={("u2", "causal_mask"): (0.5, "Why.")})
    connection = book({"Ada Löve_12": TWO, "bebo_4712": TWO}, ["reweight", "causal_mask"])
    found = {g.student: g.points for g in grades_of(connection, chosen, tmp_path / "scores.csv")[0]}
    assert found["Ada Löve_12"] == {"reweight": 1, "causal_mask": 1, "why": 3}
    assert found["bebo_4712"] == {"reweight": 0, "causal_mask": 0.5, "why": ""}


def test_an_extension_for_nobody_is_said(tmp_path):
    """A week more for a name that is misspelt, and the student has none."""
    chosen = policy(tmp_path, "[extensions]\nu1 = 7\n'Ada Löve_12' = 1\nada = 7\n")
    assert notes(book({"Ada Löve_12": TWO}), chosen) == [
        "[extensions] names ada: nothing was handed in under that name, and it is not on the roster."]
    assert notes(book({"ada": TWO}), settings()) == []


def test_nobody_gets_the_points_of_two_or_of_somebody_else(tmp_path):
    """One student's login is another's id, or two submissions may be one student's: a person has to look."""
    found = everybody(book({"u2": TWO, "Ada Löve_1": TWO, "Ada Löve_2": TWO}),
                      policy(tmp_path, roster=ROSTER.replace("cce", "u2")))
    assert found["u2"]["id"] == "u2" and found["u3"]["id"] == "u3" and found["u1"]["id"] == "u1"
    assert found["Ada Löve_1"] is None and found["Ada Löve_2"] is None
    doe = "id,github\nx,doe\ny,j-doe\n"
    found = everybody(book({"lab-1-j-doe": TWO}), policy(tmp_path, roster=doe))
    assert found["lab-1-j-doe"]["id"] == "y" and found["x"]["id"] == "x"


def test_an_id_of_two_students_is_refused(tmp_path):
    """The second one's points land at the first one's."""
    with pytest.raises(PolicyError, match="roster.csv, line 3: 4711 stands there twice"):
        policy(tmp_path, roster=ROSTER.replace("4712", "4711"))


def test_gradescope_gets_a_test_for_each_exercise(tmp_path):
    """Gradescope adds up score over tests, and shows output; a report of many students has no one result."""
    connection = book({"submission": {"reweight": "pass", "causal_mask": {"verdict": "fail", "reason": "It is\nö."}}},
                      ["reweight", "causal_mask", "MultiHeadAttention"])
    write_results_json(rows(connection, settings()), tmp_path / "results.json")
    tests = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["tests"]
    assert tests[:2] == [{"name": "reweight", "score": 1, "max_score": 1, "output": "right."},
                         {"name": "causal_mask", "score": 0, "max_score": 1, "output": "not right yet. It is ö."}]
    assert tests[2]["output"].startswith("not handed in. No cell")
    with pytest.raises(PolicyError, match="has 2 students"):
        write_results_json(rows(book({"a": {}, "b": {}}), settings()), tmp_path / "results.json")
