"""The learner's own control: it runs, it answers, and it never raises."""

import json

import pytest

from course_lib import intervene
from course_lib.staff.lesson_text import SOLUTIONS, LessonError, lesson_stems, read_lesson
from course_lib.staff.notebooks import compose


def said(capsys, choice, **more):
    assert intervene("a number whose square is 16", choice, lambda x: x * x, lambda y: y == 16,
                       shows="{choice} squared is {result}", **more) is None
    return capsys.readouterr().out


@pytest.mark.parametrize(("choice", "says"), [
    (4, "✓ 4 squared is 16."), (3, "✗ 3 squared is 9. Try another one."), (..., "· Not chosen yet"),
    ("ab", "✗ With 'ab' it cannot be run (TypeError: can't multiply"), (7, "one of 1, 2, 3, 4, ab."),
])
def test_a_choice_is_run_and_answered(capsys, choice, says):
    """A choice that is not answered, or a traceback for a learner's slip."""
    out = said(capsys, choice, among=[1, 2, 3, 4, "ab"])
    assert says in out and out.startswith("Yours: a number whose square is 16\n")


def test_a_function_with_a_blank_in_it_is_not_written_yet(capsys):
    """“'ellipsis' object has no attribute …” for who has not begun."""
    intervene("it adds two", lambda x: ..., run=lambda f: f(1), holds=lambda y: y == 3)
    says = "· Not written yet: write it in the place of the three dots.\n"
    assert capsys.readouterr().out == f"Yours: it adds two\n{says}"


def test_what_is_wrong_with_a_choice_can_depend_on_it(capsys):
    """The same sentence for every slip."""
    def otherwise(choice, result):
        return "Larger." if result < 16 else "Smaller."

    assert "Larger." in said(capsys, 2, otherwise=otherwise)
    assert "Smaller." in said(capsys, 5, otherwise=otherwise)
    assert "5 cannot be chosen: the comment on its line says what can." in said(capsys, 5, among=lambda x: x < 5)


@pytest.mark.parametrize("choice", [None, "ab", [[1.0] * 40] * 40])
def test_a_choice_of_another_kind_is_told_so_on_one_line(capsys, choice):
    """“'<' not supported between instances of 'int' and 'NoneType'”; a table of 1,600 numbers as a reply."""
    out = said(capsys, choice, among=lambda x: 0 < x < 5)
    assert "cannot be chosen: the comment" in out and len(out.splitlines()[1]) < 140


TEXT = """# %% [markdown]
# # 04 · A title

# %% tags=["yours"]
word = "the"  # yours: a word
intervene("it stays", word, run=len, holds=bool)
"""


def test_a_lesson_leaves_the_choice_open_and_the_solution_has_one(tmp_path):
    """A lesson that shows what to choose."""
    (tmp_path / "04_a.py").write_text(TEXT, encoding="utf-8")
    solution, lesson = (notebook.cells[2].source for notebook in compose(read_lesson("04_a", tmp_path)))
    assert solution.startswith('word = "the"  # yours: a word')
    assert lesson.startswith("word = ...  # yours: a word\nintervene(")


def test_several_lines_that_are_the_learner_s_leave_one_blank(tmp_path):
    """The second line of the answer in the learner's notebook."""
    loop = ('def loop(x):\n    for y in x:\n        z = y + 1  # yours: two lines\n        z += 1  # yours\n'
            '        yield z\n\n\nintervene("it adds two", loop, run=list, holds=bool)')
    text = TEXT.replace('word = "the"  # yours: a word\nintervene("it stays", word, run=len, holds=bool)', loop)
    (tmp_path / "04_a.py").write_text(text, encoding="utf-8")
    solution, lesson = (notebook.cells[2].source for notebook in compose(read_lesson("04_a", tmp_path)))
    assert solution == loop
    assert lesson.startswith("def loop(x):\n    for y in x:\n        z = ...  # yours: two lines\n        yield z\n")


@pytest.mark.parametrize("text", [TEXT.replace(' tags=["yours"]', ""), TEXT.replace("  # yours", "  # mine"),
                                  TEXT.replace("intervene", "measure")])
def test_a_choice_that_would_not_be_left_open_is_an_author_s_mistake(tmp_path, text):
    """A solution's choice in the learner's notebook."""
    (tmp_path / "04_a.py").write_text(text, encoding="utf-8")
    with pytest.raises(LessonError, match="a cell tagged yours calls intervene"):
        read_lesson("04_a", tmp_path)


def test_what_the_solution_chooses_does_what_was_asked_for():
    """A goal that cannot be reached, or is reached on the author's machine alone: trained numbers are not compared."""
    for stem in lesson_stems():
        for cell in json.loads((SOLUTIONS / f"{stem}.ipynb").read_text(encoding="utf-8"))["cells"]:
            if "yours" in cell["metadata"].get("tags", []):
                (output,) = cell["outputs"]
                text = output["text"] if "text" in output else output["data"]["text/plain"]
                assert "".join(text).splitlines()[1][0] == "✓"
