"""A question is asked before the result is seen, answers each wrong guess, and never stops a notebook."""

import ast
import asyncio
import datetime
import json

import ipywidgets
import pytest

from course_lib import predict, predictions, progress
from course_lib.predictions import buttons, guesses, showing
from course_lib.predictions.question import QuestionError, known, of_the_course, question
from course_lib.staff import questions
from course_lib.staff.lesson_text import Cell, LessonError, notebook_stems, read_lesson
from course_lib.staff.notebooks import compose
from course_lib.upkeep import remembered

CHOICES = {"it stays": "Nothing keeps it there.", "it grows": True, "it falls": "That is what small ones do."}
NUMBERS = {25: (True, "Each of five meets each of five."), 10: "That is their sum. Every one meets every other one.",
           5: "That is one of them."}


@pytest.fixture
def looked_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module in (guesses, buttons, predictions):
        monkeypatch.setattr(module, "somebody_is_looking", lambda: True)
    return tmp_path


def said(capsys, *arguments, **named):
    capsys.readouterr()
    assert predict(*arguments, **named) is None
    return capsys.readouterr().out


@pytest.mark.parametrize(("guess", "says"), [("it grows", "✓ it grows: Right."), ("it falls", "small ones"),
                                             (" It  Stays. ", "keeps it"), ("it s", "✗ it stays: ")])
def test_a_guess_among_choices_is_told_its_thought(capsys, guess, says):
    """A wrong guess that is only called wrong."""
    assert says in said(capsys, "What does it do?", CHOICES, guess=guess)


@pytest.mark.parametrize(("guess", "says"), [
    (25, "✓ 25: Each of five"), ("25.2", "✓"), (10.05, "their sum"), ("1,000", "Too large"), (5, "one of them"),
    (24, "Too small"), (" −3 ", "Too small"), ("1 000", "Too large"), ("'25'", "✓")])
def test_a_number_is_right_when_it_is_near_and_a_known_wrong_way_is_named(capsys, guess, says):
    """25.2 counted as wrong, or 24 as right, and a number that nobody foresaw told nothing."""
    assert says in said(capsys, "How many pairs?", NUMBERS, guess=guess)


@pytest.mark.parametrize("typed", ["-1 to 1", "–1 to 1", "'−1 to 1'", "“−1 to 1”", "−1  TO 1", "-1 t", "−1 to *1*"])
def test_a_typed_guess_is_forgiven_its_dash_quotes_case_and_spaces(capsys, typed):
    """"None of the choices" for a hyphen in the place of a minus sign."""
    choices = {"−1 to 1": True, "0 to 1": "That is a share."}
    assert "✓ −1 to 1" in said(capsys, "Where do they lie?", choices, guess=typed)


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
    assert len(out.splitlines()) == (2 if says is None else 1) and (says is None or says in out)


@pytest.mark.parametrize(("answers", "guess", "says"), [
    (CHOICES, "it flies", "“it flies” is none of the choices: it grows · it falls · it stays."),
    (NUMBERS, "many", "“many” is no number, and the question asks for one."),
    (CHOICES, "it", "none of the choices"), (CHOICES, "", "none"), (CHOICES, 3, "none"), (NUMBERS, [], "no number")])
def test_a_guess_that_is_none_is_one_sentence(capsys, answers, guess, says):
    """A slip of the fingers counted as a wrong guess, or stopped the notebook."""
    out = said(capsys, "Which?", answers, guess=guess)
    assert says in out and len(out.splitlines()) == 1


def test_nobody_looking_sees_a_fold_for_each_guess():
    """A solved notebook or a page of the site with buttons that do nothing, or with every reply at one click."""
    html, text = showing.as_plain(question("Is <b> bold?", CHOICES, "C034"))
    assert "Is &lt;b&gt; bold?" in html and html.count("<details") == html.count('name="guess-') == 3
    assert "it stays</summary>" in html and "✗ Nothing keeps it there." in html and "✓ Right." in html
    assert text.splitlines()[0] == "Is <b> bold?" and "Nothing keeps" not in text
    number, text = showing.as_plain(question("How many?", NUMBERS, "C037"))
    assert number.count("<details") == 1 and 'data-answer="25" data-room="0.25" data-right' in number
    assert text == "How many?"


def test_what_is_typed_for_is_no_answer(looked_at, capsys, monkeypatch):
    """A sample of a guess that is the right one."""
    monkeypatch.setattr(predictions, "show_buttons", lambda of, answered: False)
    out = said(capsys, "What does it do?", CHOICES, "C034")
    assert 'guess="the first words of a choice"' in out and "guess=\"it" not in out


def test_the_place_of_an_answer_says_nothing_and_is_always_the_same():
    """The right answer third in six of nine."""
    texts = [f"Question {n}?" for n in range(300)]
    places = [list(question(text, CHOICES).answers).index("it grows") for text in texts]
    assert all(60 < places.count(place) < 140 for place in range(3))
    assert list(question("Q?", CHOICES).answers) == list(question("Q?", CHOICES).answers)


def test_the_first_guess_is_what_counts_and_the_last_one_is_shown_again(looked_at, capsys):
    """A second, better guess that wipes out what surprised the learner; a cell run again that forgets."""
    said(capsys, "What does it do?", CHOICES, "C034", guess="it falls")
    assert "✓ it grows" in said(capsys, "What does it do?", CHOICES, "C034", guess="it grows")
    assert "✓ it grows" in said(capsys, "What does it do?", CHOICES, "C034")
    today = guesses._today().isoformat()
    assert guesses.read() == {"What does it do?": {"concept": "C034", "right": False, "guess": "it grows", "on": today}}


def test_progress_says_by_concept_what_surprised_and_where_to_read_again(looked_at, capsys):
    """Guesses that are collected, and never seen again."""
    said(capsys, "What does it do?", CHOICES, "C034", guess="it falls")
    said(capsys, "How many pairs?", NUMBERS, "C037", guess="25")
    capsys.readouterr()
    progress()
    out = capsys.readouterr().out
    assert "2 predictions made, 1 came out as you said" in out
    assert "lesson 04: A softmax follows the standard deviation" in out and "A dot product of d unit" not in out


QUESTIONS = {f"{lesson}{n}": (lesson, question(f"{lesson}{n}", CHOICES, "C034", later=n == "l"))
             for lesson in ("04", "09") for n in "abcdl"}


@pytest.fixture
def a_course(looked_at, monkeypatch):
    """Two lessons of four questions, and one each in other clothes; gives a function that lets days pass."""
    day = [datetime.date(2026, 1, 5)]
    monkeypatch.setattr(guesses, "of_the_course", lambda: QUESTIONS)
    monkeypatch.setattr(guesses, "_today", lambda: day[0])
    return lambda days: day.__setitem__(0, day[0] + datetime.timedelta(days))


def due():
    return [of.text for of in guesses.due()]


def test_old_questions_come_back_a_lesson_or_a_week_later(a_course):
    """What was guessed once and is never asked again; or a question that comes back at once."""
    for text, right in (("04a", True), ("04b", False), ("04c", True)):
        guesses.keep(QUESTIONS[text][1], "it grows", right)
    assert due() == []
    a_course(6)
    assert due() == []
    a_course(1)
    assert due() == ["04l", "04b", "04a"], "in other clothes first, then what surprised"


def test_the_next_lesson_brings_them_back_as_well_and_what_came_back_rests(a_course):
    """The same three questions each time that the map is drawn."""
    guesses.keep(QUESTIONS["04a"][1], "it falls", False)
    guesses.keep(QUESTIONS["09a"][1], "it grows", True)
    assert due() == ["04l", "04a"]
    for text in due():
        guesses.keep_again(QUESTIONS[text][1], "it grows", True)
    assert due() == []
    assert guesses.summary().says == "2 predictions made, 1 came out as you said", "they count for nothing"
    assert guesses.read()["04a"]["right"] is False and guesses.read()["04l"]["later"] is True
    a_course(7)
    assert due() == ["09l", "04l", "04a"], "first what was never asked, then what came back"


def test_progress_asks_them_again_below_the_map(a_course, capsys):
    """Questions that come back where nobody looks."""
    guesses.keep(QUESTIONS["04a"][1], "it falls", False)
    progress()
    assert predictions.COME_BACK not in capsys.readouterr().out
    a_course(7)
    progress()
    out = capsys.readouterr().out
    assert out.index("exercises solved") < out.index(predictions.COME_BACK) < out.index("04l") < out.index("04a")


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
    source = 'predict("What does\\nit do?", {"it stays": "No.", "it grows": (True, "Yes.")}, concept="C034")'
    shown = questions.blank(cell(source), "x")
    call = ast.parse(shown).body[0].value
    text, choices = map(ast.literal_eval, call.args)
    assert text == "What does\nit do?" and sorted(choices) == ["it grows", "it stays"]
    assert "True" not in shown and "No." not in shown and "Yes." not in shown
    assert shown.startswith("# A question. Without buttons"), "what JupyterLab shows of a folded cell"
    number = questions.blank(cell('predict("How many?", {25: (True, "Yes."), 5: "One."}, concept="C037")'), "x")
    assert "25" not in number and "5:" not in number


@pytest.mark.parametrize(("source", "says"), [
    ("x = 1", "holds one call"), ('predict("a", {"b": True, "c": "d"}, concept="C034"); x', "holds one call"),
    ('predict("a", {"b": True, "c": "d"})', "None is no concept"), ("predict(", "holds one call"),
    ('predict("a", {"b": (True, "e"), "c": "d"}, concept="C999")', "'C999' is no concept"),
    ('predict("a", {"b": True, "c": x}, concept="C034")', "plain text or numbers"),
    ('predict("a", {"b": True, "c": "d"}, concpt="C034")', "plain text or numbers"),
    ('predict("a", {"b": True, "c": 3}, concept="C034")', "needs a sentence"),
    ('predict("a", {"b": (True, "e"), "' + "c" * 61 + '": "d"}, concept="C034")', "longer than 60"),
    ('predict("a", {"b": True, "c": "d"}, concept="C034")', "(True, a sentence): why"),
    ('predict("a", {"as long as this": (True, "e"), "too short": "d"}, concept="C034")', "the longest by far"),
    ('predict("a", {"b": (True, ""), "c": "d"}, concept="C034")', "needs a sentence"),
    ('predict("a", {"b": (False, "e"), "c": "d"}, concept="C034")', "exactly one answer"),
])
def test_an_authors_slip_is_one_line_with_its_place(source, says):
    """A question that fails only when a learner sees it."""
    of = {"cells": [cell(source)], "later": [], "where": lambda self, c: f"solutions/04.py:{c.line}"}
    lesson = type("L", (), of)()
    with pytest.raises(LessonError) as error:
        questions.of_lesson(lesson)
    assert str(error.value).startswith("solutions/04.py:7: ") and says in str(error.value)
    assert "\n" not in str(error.value)


def test_the_course_knows_the_answers_to_every_question_that_a_lesson_asks():
    """A question in a lesson to which the package has no answer."""
    for stem in notebook_stems():
        for made in compose(read_lesson(stem))[1].cells:
            if "predict" in made.metadata.get("tags", []):
                call = ast.parse(made.source).body[0].value
                asked = known(ast.literal_eval(call.args[0]))
                assert len(call.args) == 1 or ast.literal_eval(call.args[1]) == list(asked.answers)
    assert questions.what_is_stale([read_lesson(stem) for stem in notebook_stems()]) == []


def test_every_question_of_the_course_takes_each_of_its_answers():
    """Two wrong ways so near to each other, or to the right number, that the wrong sentence is said."""
    for _, of in of_the_course().values():
        for answer, says in of.answers.items():
            assert of.reply(answer) == (answer == of.right, says), (of.text, answer)
    with pytest.raises(QuestionError):
        known("never asked")
    assert json.loads(questions.FILE.read_text()) is not None


def test_a_question_for_later_stands_in_no_notebook(tmp_path):
    """A question in other clothes, read in its own lesson."""
    text = ('# %% [markdown]\n# # 04 · A title\n\n# %% tags=["predict", "later"]\n'
            'predict("Again?", {"b": (True, "e"), "c": "d"}, concept="C034")\n')
    (tmp_path / "04_a.py").write_text(text, encoding="utf-8")
    lesson = read_lesson("04_a", tmp_path)
    assert not any("Again?" in made.source for notebook in compose(lesson) for made in notebook.cells)
    assert [of.later for _, of in questions.of_lesson(lesson)] == [True]
    assert json.loads(questions.file_of([lesson]))[0]["later"] is True


@pytest.mark.parametrize("say_so", [
    lambda field, button: field._handle_custom_msg({"event": "submit"}, []),
    lambda field, button: button.click(),
])
def test_a_number_that_comes_late_is_the_guess_and_not_the_one_before_it(say_so):
    """The last guess answered once more, and the new one never, where the page sends the number a second after Enter,
    or after the click on the button.
    """
    async def late():
        taken = []
        row = buttons._number_field(ipywidgets, lambda guess, marked: taken.append(guess)).children
        row[0].value = "eight"
        row[1].click()
        say_so(*row)
        await asyncio.sleep(1)
        row[0].value = "10"
        return taken

    assert asyncio.run(late()) == ["eight", "10"]
