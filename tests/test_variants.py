"""Each student has numbers of their own: the same each time, marked by what is right for them."""

import csv
import json
import math
import random
import zipfile
from types import SimpleNamespace

import nbformat
import pytest

from course_lib.predictions import concepts
from course_lib.staff.grade import policy
from course_lib.staff.variants import __main__ as command
from course_lib.staff.variants.families import FAMILIES, variant
from course_lib.staff.variants.marking import fits
from course_lib.staff.variants.sheets import answers, sheet

STUDENTS = [f"s{n}" for n in range(60)]
CONCEPTS = {row["id"]: row["lesson"] for row in concepts.rows()}


@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
def test_a_question_has_many_numbers_and_is_the_same_each_time(family):
    """A class in which everybody has one of three sheets; a student whose numbers change overnight."""
    asked = [variant(family, student) for student in STUDENTS]
    assert asked == [variant(family, student) for student in STUDENTS]
    assert len({of.text for of in asked}) >= 15
    assert [variant(family, s, "next year").text for s in STUDENTS] != [of.text for of in asked]
    assert CONCEPTS[family.concept] == family.lesson
    for of in asked:
        assert "{" not in of.text and len(of.answers) == 4 and next(iter(of.answers)) == of.right
        for answer, says in of.answers.items():
            assert of.reply(round(answer, 4)) == (answer == of.right, says)


DRAWN = [  # (what is drawn, a part of the question, what a person gets with a pencil)
    ("weight", [[1, 3, 0.5]], "keys are 1, 3 and 0.5.", math.e / (math.e + math.e**3 + math.e**0.5)),
    ("energies", [7, 12], "of 7 words is translated into one of 12.", 84),
    ("dot-product", [1, 3, -2, 2, 4, -1, 2, -3], "key (4, -1, 2, -3) for the query (1, 3, -2, 2)", 4 - 3 - 4 - 6),
    ("scale", [64, 24], "have 64 numbers each, and their dot product is 24.", 3),
    ("parameters", [4, 6], "d_model = 24 and 4 heads", 2304),
    ("causal", [9], "A sentence of 9 tokens", 45),
    ("bits", [31, 2], "0 to 31 as binary numbers, the fastest bit first. How often does the bit that weighs 4", 7),
    ("token-mean", [2, 8, 6, 1], "2 tokens that cost 6 each, and one of 8 tokens that cost 1 each", 2),
    ("perplexity", [[2, 18]], "one of 2 equally likely ones, the second one of 18", 6),
    ("temperature", [2, 4], "2 above that of another. At temperature 4", math.e**0.5),
    ("patches", [16, 14], "224 × 224 pixels, in patches of 16 × 16", 197),
    ("online-softmax", [0, 1], "was 0, and now comes a 1.", 1 / math.e)]


@pytest.mark.parametrize(("key", "drawn", "says", "right"), DRAWN)
def test_what_is_right_is_what_a_person_works_out(key, drawn, says, right):
    """A question that is wrong in the same way for everybody."""
    drawn = iter(drawn)
    given = SimpleNamespace(**dict.fromkeys(("choice", "randint", "sample"), lambda *_: next(drawn)))
    numbers, answers = FAMILIES[key].draw(given)
    assert says in FAMILIES[key].text.format(**numbers) and float(answers[0][0]) == pytest.approx(right)


@pytest.fixture
def course(tmp_path):
    (tmp_path / "roster.csv").write_text("name,id\nAda,ada\nBen,ben\nCem,cem\n", encoding="utf-8")
    assert command.main(["sheets", str(tmp_path / "roster.csv"), "-o", str(tmp_path / "sheets")]) == 0
    return tmp_path


def fill(course, student, **given):
    """Write answers into a sheet, as a student does."""
    path = course / "sheets" / f"{student}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    for key, text in given.items():
        cell = notebook.cells[-1]
        cell.source = cell.source.replace(f'"{key.replace("_", "-")}": None', f'"{key.replace("_", "-")}": {text}')
    nbformat.write(notebook, path)


def marked(course, *more):
    status = command.main(["marks", str(course / "roster.csv"), str(course / "sheets"), "-o", str(course / "marks.csv"),
                           *more])
    tables = []
    for name in ("marks.csv", "marks.flags.csv"):
        with (course / name).open(encoding="utf-8", newline="") as file:
            tables.append(list(csv.DictReader(file)))
    return status, *tables


def test_a_sheet_is_a_whole_notebook_and_the_same_twice(course):
    """A notebook that Jupyter mends when it opens it; another one each time the command runs."""
    path = course / "sheets" / "ada.ipynb"
    nbformat.validate(nbformat.read(path, as_version=4))
    text = path.read_text(encoding="utf-8")
    assert text == sheet("ada", FAMILIES.values()) != sheet("ben", FAMILIES.values())
    assert answers(["".join(json.loads(text)["cells"][-1]["source"])]) == dict.fromkeys(FAMILIES)


def test_right_wrong_copied_and_open_answers_are_told(course, capsys):
    """A point for somebody else's number; a wrong answer without the thought behind it."""
    of, others = variant(FAMILIES["scale"], "ada"), variant(FAMILIES["causal"], "ben")
    wrong, says = list(of.answers.items())[1]
    fill(course, "ada", scale=wrong, causal=others.right, perplexity="3 / 0", temperature="__import__('os')")
    fill(course, "ben", causal=others.right, scale=f"{variant(FAMILIES['scale'], 'ben').right * 7} / 7")
    (course / "sheets" / "cem.ipynb").unlink()
    (course / "sheets" / "dan.ipynb").write_text("{}", encoding="utf-8")
    status, rows, flags = marked(course)
    found = {(row["student"], row["item"]): (row["points"], row["comment"]) for row in rows}
    assert status == 0 and len(rows) == 3 * len(FAMILIES)
    assert found["ada", "question scale"] == ("0", says)
    assert found["ben", "question scale"][0] == found["ben", "question causal"][0] == "1"
    assert found["ada", "question causal"][0] == "0"
    for student, key in (("ada", "perplexity"), ("ada", "temperature"), ("cem", "scale")):
        assert found[student, f"question {key}"] == ("0", "It is not answered.")
    assert flags == [], "one number that fits may be chance"
    says = "2 of 36 answers are right, 0 students have answers that are right for another one; of nobody on the roster:"
    assert f"{says} dan\n" in capsys.readouterr().out


def test_who_hands_in_the_numbers_of_another_is_named(course, capsys):
    """A list on which everybody stands whom a wrong number fits by chance; a copied sheet that nobody sees."""
    bens = {key.replace("-", "_"): variant(family, "ben").right for key, family in FAMILIES.items()}
    fill(course, "ben", **bens)
    fill(course, "ada", **bens)
    fill(course, "cem", **{key: 0.123 for key in bens})
    _, rows, flags = marked(course)
    (flag,) = flags
    own = {row["item"].removeprefix("question ") for row in rows if row["student"] == "ada" and row["points"] == "1"}
    assert (flag["student"], flag["right for"]) == ("ada", "ben") and float(flag["pairs by chance"]) < 1e-6
    assert set(flag["questions"].split("; ")) == set(FAMILIES) - own
    assert "1 student has answers that are right for another one" in capsys.readouterr().out


def test_nobody_is_named_for_mistakes_of_their_own():
    """A class of 200 in which all are wrong in the ways that the sheets know, and forty are accused."""
    chance, class_of = random.Random(0), [f"student {n}" for n in range(200)]
    given = {student: {key: chance.choice(list(variant(family, student).answers)) for key, family in FAMILIES.items()}
             for student in class_of}
    assert list(fits(given, list(FAMILIES.values()))) == []


def test_sheets_that_a_platform_has_renamed_are_found(course, capsys):
    """Canvas puts words before a file's name, Moodle a folder around it: a class in which nobody handed in anything."""
    sheets = course / "sheets"
    for student in ("ada", "ben"):
        fill(course, student, scale=variant(FAMILIES["scale"], student).right)
    (sheets / "ada.ipynb").rename(sheets / "lovelaceada_4711_815_ada.ipynb")
    (sheets / "Ben Doe_12_assignsubmission_file_").mkdir()
    (sheets / "ben.ipynb").rename(sheets / "Ben Doe_12_assignsubmission_file_" / "ben.ipynb")
    (sheets / "kayacem_LATE_4712_816_cem.ipynb").write_bytes((sheets / "cem.ipynb").read_bytes())
    status, rows, _ = marked(course, "--lessons", "04")
    assert status == 0 and [row["student"] for row in rows if row["points"] == "1"] == ["ada", "ben"]
    says = "cem: there are several sheets, cem.ipynb, kayacem_LATE_4712_816_cem.ipynb: take all but one away; it counts"
    assert says in capsys.readouterr().err


def test_a_download_is_read_as_it_is_and_the_roster_says_whose(course):
    """A zip that has to be unpacked; a student who is nobody, since the platform knows them by another number."""
    (course / "roster.csv").write_text("name,id,canvas_id\nAda,ada,4711\nBen,ben,4712\n", encoding="utf-8")
    for student in ("ada", "ben"):
        fill(course, student, scale=variant(FAMILIES["scale"], student).right)
    with zipfile.ZipFile(course / "submissions.zip", "w") as together:
        for name, student in (("lovelaceada_4711_815_my sheet.ipynb", "ada"), ("doeben_4712_816_sheet.ipynb", "ben")):
            together.write(course / "sheets" / f"{student}.ipynb", name)
    (course / "sheets").rename(course / "sheets as they were")
    (course / "submissions.zip").rename(course / "sheets")
    status, rows, _ = marked(course, "--lessons", "04")
    assert status == 0 and [row["student"] for row in rows if row["points"] == "1"] == ["ada", "ben"]


def test_the_grader_takes_the_marks(course):
    """A table of marks that has to be typed again."""
    fill(course, "ada", scale=variant(FAMILIES["scale"], "ada").right)
    marked(course)
    scores, worth = policy.manual_scores(course / "marks.csv", dict.fromkeys(("ada", "ben", "cem")), policy.Settings())
    points, comment = scores["ada"]["question scale"]
    assert points == worth["question scale"] == 1 and "Divided by √d" in comment
    assert scores["ben"]["question scale"] == (0, "It is not answered.")


@pytest.mark.parametrize("written", ["1" + 400 * "0", "1e999", "1e200 * 1e200", "True", "'2'", "2 ** 3", "f(2)"])
def test_what_is_no_number_of_this_world_is_not_answered(course, written):
    """One sheet with a number of 400 digits, and nobody gets any marks."""
    fill(course, "ada", scale=written)
    status, rows, _ = marked(course, "--lessons", "04")
    assert status == 0 and next(row["comment"] for row in rows if row["item"] == "question scale") in (
        "It is not answered.", "Too large.")


@pytest.mark.parametrize("cell", [5000 * "(", "answers = {'scale': " + 20_000 * "-" + "1}", "x = '\x00'"])
def test_code_that_python_cannot_read_is_left_out(course, cell):
    """A cell that brings the parser down, below a good one."""
    right = variant(FAMILIES["scale"], "ada").right
    fill(course, "ada", scale=right)
    path = course / "sheets" / "ada.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["cells"].append(notebook["cells"][-1] | {"source": cell, "id": "last"})
    path.write_text(json.dumps(notebook), encoding="utf-8")
    assert next(row["points"] for row in marked(course)[1] if row["item"] == "question scale") == "1"


NO_ANSWERS = json.dumps({"cells": [{"cell_type": "code", "source": "answers = 1"}]})


@pytest.mark.parametrize("text", ["", "no JSON", "[]", NO_ANSWERS])
def test_what_cannot_be_read_is_said_and_counts_as_open(course, capsys, text):
    """A traceback for one sheet, and no marks for the other two hundred."""
    (course / "sheets" / "ada.ipynb").write_text(text, encoding="utf-8")
    status, rows, _ = marked(course, "--lessons", "04,07")
    assert status == 0 and len(rows) == 3 * 3 and {row["points"] for row in rows} == {"0"}
    said = capsys.readouterr()
    assert said.err.startswith("ada: ") and said.err.count("\n") == 1 and "1 sheet cannot be read" in said.out


@pytest.mark.parametrize(("roster", "more", "says"), [
    ("name\nAda\n", [], "there is to be one column named id"), ("id\nada\nada\n", [], "line 3: ada stands there twice"),
    ("id\n", [], "names nobody"),
    ("id\n../ada\n", [], "can be no file's name"),
    ("id\nada\n", ["--lessons", "99"], "no question is about the lessons 99"),
    (None, [], "cannot be read: No such file")])
def test_what_cannot_be_done_is_one_sentence(tmp_path, capsys, roster, more, says):
    """A traceback for a roster without a column, or a sheet that lands in another folder."""
    if roster is not None:
        (tmp_path / "roster.csv").write_text(roster, encoding="utf-8")
    assert command.main(["sheets", str(tmp_path / "roster.csv"), "-o", str(tmp_path / "out"), *more]) == 1
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1


def test_a_folder_that_is_not_there_is_one_sentence(course, capsys):
    """A table of marks in which everybody has zero points, for a slip in a path."""
    words = ["marks", str(course / "roster.csv"), str(course / "shets"), "-o", str(course / "marks.csv")]
    assert command.main(words) == 1 and "There is no folder or zip" in capsys.readouterr().err
    assert not (course / "marks.csv").exists()


def test_the_questions_can_be_listed(capsys):
    """An instructor who has to read the source to know what is asked."""
    assert command.main(["list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [*FAMILIES]
