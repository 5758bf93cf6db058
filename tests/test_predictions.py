"""A question is asked before the result is seen, answers each wrong guess, and never stops a notebook."""

import ast
import json

import pytest

from course_lib import predict, progress
from course_lib.checks.notebook import remembered
from course_lib.predictions import guesses, showing
from course_lib.predictions.question import QuestionError, known, of_the_course, question
from course_lib.staff import questions
from course_lib.staff.lesson_text import Cell, LessonError, lesson_stems, read_lesson
from course_lib.staff.notebooks import compose

CHOICES = {"it stays": "Nothing keeps it there.", "it grows": True, "it falls": "That is what small ones do."}
NUMBERS = {25: True, 10: "That is their sum. Every one meets every other one.", 5: "That is one of them."}


@pytest.fixture
def looked_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module in (guesses, showing):
        monkeypatch.setattr(module, "somebody_is_looking", lambda: True)
    return tmp_path


def said(capsys, *arguments, **named):
    capsys.readouterr()
    assert predict(*arguments, **named) is None
    return capsys.readouterr().out


@pytest.mark.parametrize(("guess", "says"), [("it grows", "✓"), ("it falls", "small ones"),
                                             (" It  Stays. ", "keeps it"), ("it s", "✗ it stays: ")])
def test_a_guess_among_choices_is_told_its_thought(capsys, guess, says):
    """A wrong guess that is only called wrong."""
    assert says in said(capsys, "What does it do?", CHOICES, guess=guess)


@pytest.mark.parametrize(("guess", "says"), [
    (25, "✓"), ("25.2", "✓"), (10.05, "their sum"), ("1,000", "That is not it"), (5, "one of them"), (24, "not it")])
def test_a_number_is_right_when_it_is_near_and_a_known_wrong_way_is_named(capsys, guess, says):
    """25.2 counted as wrong, or 24 as right."""
    assert says in said(capsys, "How many pairs?", NUMBERS, guess=guess)


@pytest.mark.parametrize(("arguments", "says"), [
    ((), "a question first"), ((3,), "a question first"), (("", CHOICES), "a question first"),
    (("Q?", {}), "needs answers"), (("Q?", {"a": True}), "one choice is no choice"),
    (("Q?", {"a": True, "b": True}), "exactly one"), (("Q?", {"a": "no", "b": "no"}), "exactly one"),
    (("Q?", {"a": True, "b": False}), "needs a sentence"), (("Q?", {"a": True, "b": " "}), "needs a sentence"),
    (("Q?", {"a": True, 2: "Two."}), "all texts or all numbers"), (("Q?", {None: True, 2: "Two."}), "all texts or all"),
    (("Q?", ["a", "b"]), "was the question edited"), (("Q?",), "was the question edited"),
    (("Q?", CHOICES, "C034"), None),
])
def test_a_bad_call_is_one_sentence_and_no_exception(capsys, arguments, says):
    """A traceback in the middle of a lesson."""
    out = said(capsys, *(arguments or (None,)))
    assert len(out.splitlines()) == 1 and (says is None or says in out)


@pytest.mark.parametrize(("answers", "guess", "says"), [
    (CHOICES, "it flies", "“it flies” is none of the choices: it stays · it grows · it falls."),
    (NUMBERS, "many", "“many” is no number, and the question asks for one."),
    (CHOICES, "it", "none of the choices"), (CHOICES, "", "none"), (CHOICES, 3, "none"), (NUMBERS, [], "no number")])
def test_a_guess_that_is_none_is_one_sentence(capsys, answers, guess, says):
    """A slip of the fingers counted as a wrong guess, or stopped the notebook."""
    out = said(capsys, "Which?", answers, guess=guess)
    assert says in out and len(out.splitlines()) == 1


def test_nobody_looking_sees_the_question_with_its_answers_folded():
    """A solved notebook or a page of the site with buttons that do nothing."""
    html, text = showing.as_folded(question("Is <b> bold?", CHOICES))
    places = [html.index(part) for part in ("<summary>", "Is &lt;b&gt; bold?", "</summary>", "it grows")]
    assert places == sorted(places)
    assert "✓ <em>it grows" in html and "✗ <em>it stays</em>: Nothing keeps" in html and "it stays" in text


def test_the_first_guess_is_what_counts_and_the_last_one_is_shown_again(looked_at, capsys):
    """A second, better guess that wipes out what surprised the learner; a cell run again that forgets."""
    said(capsys, "What does it do?", CHOICES, "C034", guess="it falls")
    assert "✓ it grows" in said(capsys, "What does it do?", CHOICES, "C034", guess="it grows")
    assert "✓ it grows" in said(capsys, "What does it do?", CHOICES, "C034")
    assert guesses.read() == {"What does it do?": {"concept": "C034", "right": False, "guess": "it grows"}}


def test_progress_says_by_concept_what_surprised_and_where_to_read_again(looked_at, capsys):
    """Guesses that are collected, and never seen again."""
    said(capsys, "What does it do?", CHOICES, "C034", guess="it falls")
    said(capsys, "How many pairs?", NUMBERS, "C037", guess="25")
    capsys.readouterr()
    progress()
    out = capsys.readouterr().out
    assert "2 predictions made, 1 came out as you said" in out
    assert "lesson 04: A softmax follows the standard deviation" in out and "A dot product of d unit" not in out


@pytest.mark.parametrize("content", ["{", "[]", '{"q": 3}', '{"q": {}}', '{"q": {"right": 1, "guess": "a"}}'])
def test_a_damaged_file_is_set_aside_and_the_question_asked(looked_at, capsys, content):
    """A file that is something else stopped every question."""
    remembered.FOLDER.mkdir()
    (remembered.FOLDER / guesses.NAME).write_text(content)
    assert "✓" in said(capsys, "What does it do?", CHOICES, "C034", guess="it grows")
    assert (remembered.FOLDER / "predictions.damaged").read_text() == content


def test_a_tests_run_or_a_build_keeps_nothing(tmp_path, monkeypatch, capsys):
    """Guesses of a build in a learner's map."""
    monkeypatch.chdir(tmp_path)
    said(capsys, "What does it do?", CHOICES, "C034", guess="it grows")
    assert not list(tmp_path.iterdir())


def cell(source):
    return Cell("code", source, {"tags": ["predict"]}, 7)


def test_a_lesson_shows_the_question_and_its_choices_and_not_what_is_right():
    """`True` beside an answer, in a cell that the learner reads before guessing."""
    source = 'predict("What does\\nit do?", {"it stays": "No.", "it grows": True}, concept="C034")'
    shown = questions.blank(cell(source), "x")
    call = ast.parse(shown).body[0].value
    assert [ast.literal_eval(a) for a in call.args] == ["What does\nit do?", ["it stays", "it grows"]]
    assert "True" not in shown and "No." not in shown
    number = questions.blank(cell('predict("How many?", {25: True, 5: "One."}, concept="C037")'), "x")
    assert "25" not in number and "5:" not in number


@pytest.mark.parametrize(("source", "says"), [
    ("x = 1", "holds one call"), ('predict("a", {"b": True, "c": "d"}, concept="C034"); x', "holds one call"),
    ('predict("a", {"b": True, "c": "d"})', "None is no concept"), ("predict(", "holds one call"),
    ('predict("a", {"b": True, "c": "d"}, concept="C999")', "'C999' is no concept"),
    ('predict("a", {"b": True, "c": x}, concept="C034")', "plain text or numbers"),
    ('predict("a", {"b": True, "c": "d"}, concpt="C034")', "plain text or numbers"),
    ('predict("a", {"b": True, "c": 3}, concept="C034")', "needs a sentence"),
    ('predict("a", {"b": True, "' + "c" * 61 + '": "d"}, concept="C034")', "longer than 60"),
])
def test_an_authors_slip_is_one_line_with_its_place(source, says):
    """A question that fails only when a learner sees it."""
    lesson = type("L", (), {"cells": [cell(source)], "where": lambda self, c: f"solutions/04.py:{c.line}"})()
    with pytest.raises(LessonError) as error:
        questions.of_lesson(lesson)
    assert str(error.value).startswith("solutions/04.py:7: ") and says in str(error.value)
    assert "\n" not in str(error.value)


def test_the_course_knows_the_answers_to_every_question_that_a_lesson_asks():
    """A question in a lesson to which the package has no answer."""
    for stem in lesson_stems():
        for made in compose(read_lesson(stem))[1].cells:
            if "predict" in made.metadata.get("tags", []):
                call = ast.parse(made.source).body[0].value
                asked = known(ast.literal_eval(call.args[0]))
                assert len(call.args) == 1 or ast.literal_eval(call.args[1]) == list(asked.answers)
    assert questions.what_is_stale([read_lesson(stem) for stem in lesson_stems()]) == []


def test_every_question_of_the_course_takes_each_of_its_answers():
    """Two wrong ways so near to each other, or to the right number, that the wrong sentence is said."""
    for of in of_the_course():
        for answer, says in of.answers.items():
            assert of.reply(answer)[0] is (says is True), (of.text, answer)
            assert says is True or of.reply(answer)[1] == says, (of.text, answer)
    with pytest.raises(QuestionError):
        known("never asked")
    assert json.loads(questions.FILE.read_text()) is not None
