"""Colours that mean something are legible, and told apart by every eye and in grey."""

import re
from itertools import combinations

import numpy as np
import pytest
from matplotlib import rc_params_from_file
from matplotlib.colors import to_hex, to_rgb

from course_lib.display import descriptions, style
from course_lib.display.dark import on_dark
from course_lib.staff.lesson_text import lesson_stems, read_lesson
from tests.eyes import EYES, apart, contrast, grey, luminance, seen

MEANT = {name: getattr(style, name) for name in ("QUERY", "KEY", "VALUE", "SCORE", "WEIGHT", "INK")}
LABELS = MEANT | {"SOFT": style.SOFT, "ACCENT": style.ACCENT} | {f"LINES {i}": c for i, c in enumerate(style.LINES)}


PAGES = pytest.mark.parametrize("page", [str, on_dark], ids=["light page", "dark page"])


@PAGES
@pytest.mark.parametrize("name", LABELS)
def test_a_label_is_legible_on_the_paper(name, page):
    """Orange on cream, of which a third of all readers sees nothing."""
    assert contrast(page(LABELS[name]), page(style.PAPER)) >= 4.5


@PAGES
@pytest.mark.parametrize("name", MEANT)
def test_ink_is_legible_in_a_box(name, page):
    """Grey on grey, in the boxes and grounds of drawings."""
    for ink in (style.INK, style.SOFT):
        assert contrast(page(ink), page(style.tint(MEANT[name], 0.1))) >= 4.5


@PAGES
@pytest.mark.parametrize("eyes", EYES)
def test_meanings_are_told_apart_by_every_eye(eyes, page):
    """A query that looks like a value to one man in twelve."""
    for one, other in combinations(MEANT, 2):
        assert apart(page(MEANT[one]), page(MEANT[other]), eyes) > 13, (one, other)
    for one, other in combinations(style.LINES[:4], 2):
        assert apart(page(one), page(other), eyes) > 13, (one, other)


def test_query_key_value_and_output_are_told_apart_in_grey():
    """A printed page on which all of them are one grey."""
    for one, other in combinations(("QUERY", "KEY", "VALUE", "INK"), 2):
        assert abs(grey(MEANT[one]) - grey(MEANT[other])) > 7, (one, other)


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("kind", style.ABOVE)
def test_a_larger_number_is_darker(kind, eyes):
    """A grid in which 0.2 and 0.8 are the same grey, on either page."""
    colours = style.ABOVE[kind](np.linspace(0, 1, 64))
    assert (np.diff(luminance(seen(colours, eyes))) < 0).all()
    turned = [to_rgb(on_dark(to_hex(colour))) for colour in colours]
    assert (np.diff(luminance(seen(turned, eyes))) > 0).all(), "on a dark page the larger number is brighter"


@PAGES
@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("kind", [*style.AROUND, "score", None])
def test_the_sign_of_a_number_is_seen(kind, eyes, page):
    """A grid in which -1 and 1 are one colour, or in which zero is as dark as they are."""
    low, zero, high = (page(to_hex(style.colour_map(kind, True)(x))) for x in (0.05, 0.5, 0.95))
    assert apart(low, high, eyes) > 30
    assert min(apart(zero, low, eyes), apart(zero, high, eyes)) > 20


@PAGES
@pytest.mark.parametrize("kind", [*style.ABOVE, None])
def test_a_number_in_a_square_is_legible(kind, page):
    """Black on dark violet, or white on a middle grey."""
    for signed in (False, True):
        for x in np.linspace(0, 1, 257):
            square = to_hex(style.colour_map(kind, signed)(x))
            assert contrast(page(style.ink_on(square)), page(square)) >= 4.5, square


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("kind", [*style.HUES, None])
def test_nothing_but_weights_wears_their_colours(kind, eyes):
    """Queries, keys and values in the violet of what comes after the softmax."""
    if kind != "weight":
        strongest = to_hex(style.colour_map(kind, False)(0.75))
        assert apart(strongest, to_hex(style.WEIGHTS(0.75)), eyes) > 13
        assert style.colour_map(kind, False) is not style.WEIGHTS


SHADES = re.compile(r"\b(bright|dark|pale)(er|est|ness|st|r)?\b", re.I)


def test_no_word_says_how_bright_a_colour_is():
    """“The bright square” of a page on which large numbers are dark, or, on a dark page, the other way round."""
    found = [(number, key, said) for number, file in descriptions.described().items() for key, said in file.items()
             if SHADES.search(said)]
    for stem in lesson_stems():
        lesson = read_lesson(stem)
        if any(cell.source.startswith("# The proof") for cell in lesson.cells):  # a lesson of the new form
            found += [(lesson.where(cell), cell.source) for cell in lesson.cells
                      if cell.kind == "markdown" and SHADES.search(cell.source)]
    assert not found


def test_contrast_is_that_of_the_guidelines():
    """A ratio that says legible of what is not."""
    assert style.contrast("#000000", "#ffffff") == pytest.approx(21)
    assert style.contrast(style.INK, style.PAPER) == pytest.approx(contrast(style.INK, style.PAPER))


def test_the_style_sheet_has_the_colours_of_the_course():
    """Two places for one colour, and one of them forgotten."""
    sheet = rc_params_from_file(style.SHEET, use_default_template=False)
    assert [to_hex(c) for c in sheet["axes.prop_cycle"].by_key()["color"]] == list(style.LINES)
    assert to_hex(sheet["figure.facecolor"]) == style.PAPER and to_hex(sheet["text.color"]) == style.INK
    assert to_hex(sheet["axes.edgecolor"]) == style.SOFT
