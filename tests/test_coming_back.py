"""Who comes back is told where they were; at the end there is a page of what they know."""

import json
import re
from html.parser import HTMLParser
from types import SimpleNamespace

import IPython
import pytest

from course_lib import check, made_for, progress
from course_lib.checks import EXERCISES
from course_lib.checks.notebook import coming_back, course_map, kept, solved
from course_lib.predictions import guesses
from course_lib.predictions.question import of_the_course
from course_lib.upkeep import versions
from tests.right_answers import RIGHT_ANSWERS

RIGHT = RIGHT_ANSWERS["reweight"]["einsum"]
HERE = "03_bottleneck_and_version_0.ipynb"
QUESTIONS = of_the_course()
A_WRONG_GUESS = next((of, guess) for lesson, of in QUESTIONS.values() if lesson == "02" and not of.wants_a_number
                     for guess in of.answers if guess != of.right)


@pytest.fixture
def looked_at(tmp_path, monkeypatch):
    """Somebody has opened the notebook of lesson 03."""
    monkeypatch.chdir(tmp_path)
    for module in (kept, solved, course_map, guesses, coming_back):
        monkeypatch.setattr(module, "somebody_is_looking", lambda: True)
    monkeypatch.setattr(coming_back, "_open_notebook", lambda: HERE)
    return tmp_path


def began(capsys):
    capsys.readouterr()
    made_for(versions.VERSION)
    return capsys.readouterr().out


def test_nobody_is_greeted_who_was_not_here_before(looked_at, capsys):
    """A first lesson that begins with “0 of 69”, or with old questions."""
    assert began(capsys) == ""
    assert json.loads((looked_at / "my_answers/last.json").read_text()) == {"notebook": HERE}


def test_a_build_is_not_greeted_and_leaves_nothing(tmp_path, monkeypatch, capsys):
    """Every built notebook began with somebody's progress."""
    monkeypatch.chdir(tmp_path)
    assert began(capsys) == "" and not list(tmp_path.iterdir())


def test_the_first_cell_says_what_is_solved_where_to_go_on_and_what_surprised(looked_at, capsys):
    """After a week nobody knows where they were."""
    check(RIGHT, "reweight")
    of, guess = A_WRONG_GUESS
    guesses.keep(of, guess, False)
    said = began(capsys)
    of_this = sum(e.lesson == "03" for e in EXERCISES.values())
    assert said.startswith(f"Welcome back. 1 of {len(EXERCISES)} exercises are solved, 0 of {of_this} in this lesson. "
                           "Go on at additive_attention. What surprised you: ")
    assert said.split("\n")[0].endswith("(lesson 02).")


def test_old_questions_stand_where_a_lesson_begins_and_not_again(looked_at, capsys):
    """Three old questions at every restart of a kernel, above a lesson that is half solved."""
    of, guess = A_WRONG_GUESS
    guesses.keep(of, guess, False)
    later = next(of for lesson, of in QUESTIONS.values() if lesson == "03" and not of.later)
    guesses.keep(later, str(later.right), True)
    assert of.text in began(capsys)
    check(lambda *_: None, "additive_attention")
    assert of.text not in began(capsys)


def test_at_the_end_of_a_lesson_the_way_leads_on(looked_at, capsys):
    """“Go on at nothing.”"""
    for name in (name for name, e in EXERCISES.items() if e.lesson <= "03"):
        solved.note(name, "right")
    assert re.search(r"Go on at \w+ in lesson 04\.", began(capsys))
    for name in EXERCISES:
        solved.note(name, "right")
    assert "Go on" not in began(capsys)


@pytest.mark.parametrize("names", [{}, {"__vsc_ipynb_file__": f"some/folder/{HERE}"}])
def test_the_notebook_is_known_in_jupyterlab_and_in_vs_code(monkeypatch, names):
    """Who works in VS Code is greeted in no lesson, and always begins with the first."""
    monkeypatch.setenv("JPY_SESSION_NAME", "some/folder/00_big_picture.ipynb" if names else f"some/folder/{HERE}")
    monkeypatch.setattr(IPython, "get_ipython", lambda: SimpleNamespace(user_ns=names))
    assert coming_back._open_notebook() == HERE


def test_the_way_is_a_link_to_the_cell(looked_at):
    """A name to scroll for through sixty cells."""
    check(RIGHT, "reweight")
    course = course_map.lessons(EXERCISES)
    here = coming_back.lesson_of(course, HERE)
    html, _ = coming_back.greeting(course, here, None)
    assert re.search(r'href="[^"]*03_bottleneck_and_version_0\.ipynb#cell-id=\w[^"]*"', html)


def test_the_page_has_concepts_with_questions_formulas_and_own_code(looked_at, capsys):
    """A list of names that says nothing a year later; or the course's code in the place of one's own."""
    check(RIGHT, "reweight")
    check(own_softmax, "softmax")
    of, guess = A_WRONG_GUESS
    guesses.keep(of, guess, False)
    progress("know.html")
    assert capsys.readouterr().out.endswith("know.html: open it in a browser, and print it from there.\n")
    page = (looked_at / "know.html").read_text(encoding="utf-8")
    text = " ".join(_words(page).split())
    assert f"2 of {len(EXERCISES)} exercises solved. 1 prediction made, 0 came out as you said." in text
    for said in (of.text, str(of.right), "It surprised me.", f"My last guess: {guess}.", "def own_softmax(",
                 "softmax = own_softmax", "reweight"):
        assert said in text
    assert "<code>embed_tokens</code>" not in page
    assert [path.name for path in (looked_at / "my_answers").glob("*.py")] == ["softmax.py"]  # a lambda has no name
    assert "<i>scores</i>" in page and not re.search("<(script|img|link)", page)


def test_a_page_of_nothing_says_so_and_a_stranger_s_file_stays(looked_at, capsys):
    """Somebody's homework, replaced by a summary; a traceback for a folder that is not there."""
    progress("new.html")
    assert "Nothing is solved or predicted yet." in (looked_at / "new.html").read_text()
    progress("new.html")
    (looked_at / "mine.html").write_text("mine")
    capsys.readouterr()
    progress("mine.html")
    progress("nowhere/new.html")
    assert capsys.readouterr().out == ("mine.html is something else, and stays as it is: give the page another name.\n"
                                       "nowhere/new.html cannot be written (No such file or directory): give the page "
                                       "another name.\n")
    assert (looked_at / "mine.html").read_text() == "mine"


def own_softmax(scores):
    e = (scores - scores.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)


def _words(html):
    parser, found = HTMLParser(), []
    parser.handle_data = found.append
    parser.feed(html)
    return "".join(found)
