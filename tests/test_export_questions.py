"""Learning platforms read what is exported: GIFT by a parser of others, QTI by a writer of others."""

import json
import zipfile

import pytest

from course_lib.predictions.question import as_entry, question
from course_lib.staff import export_questions

QUESTIONS = [
    question("Is {this} ~ a #question: or = not?\nYes",
             {"*yes*": (True, "So it is."), "no: never": "It has a question mark."},
             "C034"),
    question("How many pairs?", {25: (True, "Each meets each."), 10.5: "That is their sum."}, "C037", within=0.1),
]
ENTRIES = [{"lesson": "04"} | as_entry(of) for of in QUESTIONS]


def test_moodles_format_is_read_by_a_parser_that_others_wrote():
    """A sign that ends a question in the middle."""
    parser = pytest.importorskip("pygiftparser.parser")
    found = parser.parseFile(export_questions.as_gift(ENTRIES).splitlines(keepends=True))
    assert len(found) == 2 and all(of.valid for of in found)
    assert [type(of.answers).__name__ for of in found] == ["SelectSet", "NumericAnswerSet"]
    right, wrong = sorted(found[0].answers.answers, key=lambda answer: -answer.fraction)
    assert (right.fraction, wrong.fraction) == (100, 0) and "question mark" in wrong.feedback
    assert "So it is." in right.feedback


def test_qti_holds_each_question_with_its_right_answer():
    """A package that a platform refuses."""
    pytest.importorskip("text2qti")
    import io

    package = zipfile.ZipFile(io.BytesIO(export_questions.as_qti(ENTRIES)))
    text = " ".join(package.read(name).decode() for name in package.namelist() if name.endswith(".xml"))
    assert text.count("<item ") == 2 and "question mark" in text and "imsmanifest.xml" in package.namelist()
    assert "So it is." in text and "multiple_choice_question" in text and "numerical_question" in text


@pytest.mark.parametrize(("name", "says"), [("quiz.txt", "has to end in .gift"), ("no/quiz.gift", "cannot be written")])
def test_a_file_that_cannot_be_is_one_sentence(tmp_path, capsys, name, says):
    """A traceback for a slip in a file's name."""
    assert export_questions.main([str(tmp_path / name)]) == 1
    err = capsys.readouterr().err
    assert says in err and len(err.splitlines()) == 1


def test_the_course_s_own_questions_are_exported_and_concepts_without_one_are_listed(tmp_path, capsys):
    """Concepts that nobody asks about, unseen."""
    assert export_questions.main([str(tmp_path / "quiz.gift")]) == 0
    assert export_questions.main(["--without"]) == 0
    listed = {line[:4] for line in capsys.readouterr().out.splitlines() if line.startswith("C")}
    entries = json.loads(export_questions.FILE.read_text(encoding="utf-8"))
    asked = {entry["concept"] for entry in entries}
    assert listed == {f"C{i:03}" for i in range(1, 188)} - asked
    for lesson in {entry["lesson"] for entry in entries}:  # a lesson of the new form asks about all of its concepts
        assert not [row["id"] for row in export_questions.without(entries) if row["lesson"] == lesson]
