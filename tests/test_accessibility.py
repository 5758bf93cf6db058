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

STEMS = lesson_stems()
# How linear RGB is seen without one kind of cone: Machado, Oliveira and Fernandes (2009), severity 1.0.
EYES = {
    "all cones": np.eye(3),
    "no red cones": np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
                              [-0.003882, -0.048116, 1.051998]]),
    "no green cones": np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
                                [-0.011820, 0.042940, 0.968881]]),
    "no blue cones": np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
                               [0.004733, 0.691367, 0.303900]]),
}


def cells(path, kind):
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == kind]


def seen(colours, eyes):
    """Linear RGB (N, 3) of sRGB colours (N, 3 or 4), as these eyes have it."""
    rgb = np.asarray(colours, dtype=float)[:, :3]
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return np.clip(linear @ EYES[eyes].T, 0, 1)


def luminance(linear):
    """Of linear RGB, from 0 to 1 (Rec. 709)."""
    return linear @ [0.2126, 0.7152, 0.0722]


def lab(linear):
    """CIE L*a*b* of linear RGB under daylight: distances in it are what an eye sees."""
    xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]] @ linear
    t = xyz / [0.9505, 1.0, 1.089]
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one, other):
    """The contrast ratio of two colours, from 1 to 21 (WCAG 2)."""
    dark, bright = sorted(luminance(seen([plt.matplotlib.colors.to_rgb(c) for c in (one, other)], "all cones")))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("eyes", EYES)
def test_a_larger_weight_is_brighter_to_every_eye(eyes):
    """A heat map in which 0.2 and 0.8 are the same grey."""
    grey = luminance(seen(plt.get_cmap(plots.WEIGHTS)(np.linspace(0, 1, 64)), eyes))
    assert (np.diff(grey) > 0).all()


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
