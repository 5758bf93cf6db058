"""The course can be read with a screen reader, in grey, and by people who see fewer colours."""

import json
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest

from course_lib.checks import EXERCISES
from course_lib.checks.engine.judging import judge
from course_lib.checks.notebook.card import COLOURS, MARKS, as_html, card_rows
from course_lib.display import plots
from course_lib.staff.lesson_text import LESSONS, SOLUTIONS, lesson_stems
from tests.eyes import EYES, contrast, lab, luminance, seen

STEMS = lesson_stems()


def cells(path, kind):
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("eyes", EYES)
def test_a_larger_weight_is_darker_to_every_eye(eyes):
    """A heat map in which 0.2 and 0.8 are the same grey."""
    grey = luminance(seen(plt.get_cmap(plots.WEIGHTS)(np.linspace(0, 1, 64)), eyes))
    assert (np.diff(grey) < 0).all()


@pytest.mark.parametrize("eyes", EYES)
def test_the_two_signs_are_told_apart_by_every_eye(eyes):
    """A map of signed values whose two ends are one colour."""
    low, middle, high = seen(plt.get_cmap(plots.SIGNED)([0.05, 0.5, 0.95]), eyes)
    assert luminance(middle) > max(luminance(low), luminance(high)) + 0.3
    assert np.linalg.norm(lab(low) - lab(high)) > 30, "ten is told apart side by side, thirty at a glance"


@pytest.mark.parametrize("stem", STEMS)
def test_every_picture_says_what_it_shows(stem):
    """A picture that a screen reader passes over, or calls "figure"."""
    shown = "".join("".join(output.get("data", {}).get("text/html", ""))
                    for cell in cells(SOLUTIONS / f"{stem}.ipynb", "code") for output in cell["outputs"])
    pictures = re.findall(r"<img [^>]*>", shown)
    words = [re.search(r'alt="([^"]*)"', picture) for picture in pictures]
    assert all(alt and len(alt[1].split()) >= 6 for alt in words), [alt and alt[1] for alt in words]
    assert "image/png" not in str([o.get("data", {}).keys() for c in cells(SOLUTIONS / f"{stem}.ipynb", "code")
                                   for o in c["outputs"]]), "a picture without words beside it"


@pytest.mark.parametrize("stem", STEMS)
def test_headings_go_down_one_step_at_a_time(stem):
    """Who jumps from heading to heading misses a part."""
    text = "\n".join("".join(cell["source"]) for cell in cells(LESSONS / f"{stem}.ipynb", "markdown"))
    levels = [len(mark) for mark in re.findall(r"^(#+) ", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.M)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))


@pytest.mark.parametrize("status", MARKS)
def test_a_card_says_its_verdict_without_colour(status):
    """Red and green, and nothing else."""
    right = EXERCISES["reweight"].verified
    answers = {"right": right, "wrong": EXERCISES["reweight"].mistakes[0].answer, "unanswered": _blank}
    rows = card_rows(judge(EXERCISES["reweight"], answers[status]))
    assert MARKS[status][0] in rows[0][1] and MARKS[status][1] in rows[0][1]
    html = as_html(rows, status)
    assert "color:" not in html.replace("border-left:4px solid", "") and html.count('scope="row"') == len(rows) - 1
    assert contrast(COLOURS[status], "white") > 3 and contrast(COLOURS[status], "#111111") > 3


def _blank(x):
    raise NotImplementedError


def test_a_card_typesets_its_own_sentences_and_nothing_of_the_answer():
    """Raw backticks and asterisks; or numbers that an answer printed, in italics."""
    rows = [("", "✗ reweight: not right yet"), ("Likely cause", "What is `x @ x`, and *which* row has a * b * c < 1?"),
            ("Hint 1", "Look at `dim`."), ("It printed", "`raw` and *so* < 1"), ("Example", "x = `a` *b*")]
    html = as_html(rows, "wrong")
    assert "What is <code>x @ x</code>, and <em>which</em> row has a * b * c &lt; 1?" in html
    assert "Look at <code>dim</code>." in html
    assert "`raw` and *so* &lt; 1" in html and "x = `a` *b*" in html


def test_a_card_names_the_sizes_of_a_module_and_marks_nothing_where_all_is_wrong():
    """Eight numbers in brackets, in an order that nobody remembers; or marks on every number."""
    exercise = EXERCISES["FeedForward"]
    wrong = judge(exercise, next(m for m in exercise.mistakes if m.name == "no-relu").answer)
    assert "on a module built with d_model = 2, d_ff = 3" in dict(card_rows(wrong))["Example"]
    all_wrong = judge(EXERCISES["reweight"], lambda x: EXERCISES["reweight"].verified(x) + 1)
    some_wrong = judge(EXERCISES["reweight"], lambda x: EXERCISES["reweight"].verified(x) + (x == x[0, 0]))
    assert "<mark" not in as_html(card_rows(all_wrong), "wrong") and "<mark" in as_html(card_rows(some_wrong), "wrong")
