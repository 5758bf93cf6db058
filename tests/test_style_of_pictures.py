"""Colours that mean something are legible, and told apart by every eye and in grey."""

from itertools import combinations

import numpy as np
import pytest
from matplotlib import rc_params_from_file
from matplotlib.colors import to_hex

from course_lib.display import style
from tests.eyes import EYES, apart, contrast, grey, luminance, seen

MEANT = {name: getattr(style, name) for name in ("QUERY", "KEY", "VALUE", "SCORE", "WEIGHT", "INK")}
LABELS = MEANT | {"SOFT": style.SOFT, "ACCENT": style.ACCENT} | {f"LINES {i}": c for i, c in enumerate(style.LINES)}


@pytest.mark.parametrize("name", LABELS)
def test_a_label_is_legible_on_the_paper(name):
    """Orange on cream, of which a third of all readers sees nothing."""
    assert contrast(LABELS[name], style.PAPER) >= 4.5


@pytest.mark.parametrize("name", MEANT)
def test_ink_is_legible_in_a_box(name):
    """Grey on grey, in the boxes and grounds of drawings."""
    for ink in (style.INK, style.SOFT):
        assert contrast(ink, style.tint(MEANT[name], 0.1)) >= 4.5


@pytest.mark.parametrize("eyes", EYES)
def test_meanings_are_told_apart_by_every_eye(eyes):
    """A query that looks like a value to one man in twelve."""
    for one, other in combinations(MEANT, 2):
        assert apart(MEANT[one], MEANT[other], eyes) > 13, (one, other)
    for one, other in combinations(style.LINES[:4], 2):
        assert apart(one, other, eyes) > 13, (one, other)


def test_query_key_value_and_output_are_told_apart_in_grey():
    """A printed page on which all of them are one grey."""
    for one, other in combinations(("QUERY", "KEY", "VALUE", "INK"), 2):
        assert abs(grey(MEANT[one]) - grey(MEANT[other])) > 7, (one, other)


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("kind", style.ABOVE)
def test_a_larger_number_is_darker(kind, eyes):
    """A grid in which 0.2 and 0.8 are the same grey."""
    assert (np.diff(luminance(seen(style.ABOVE[kind](np.linspace(0, 1, 64)), eyes))) < 0).all()


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("kind", [*style.AROUND, "score", None])
def test_the_sign_of_a_number_is_seen(kind, eyes):
    """A grid in which -1 and 1 are one colour, or in which zero is as dark as they are."""
    low, zero, high = (to_hex(style.colour_map(kind, True)(x)) for x in (0.05, 0.5, 0.95))
    assert apart(low, high, eyes) > 30
    assert min(apart(zero, low, eyes), apart(zero, high, eyes)) > 20


@pytest.mark.parametrize("kind", [*style.ABOVE, None])
def test_a_number_in_a_square_is_legible(kind):
    """Black on dark violet, or white on a middle grey."""
    for signed in (False, True):
        for x in np.linspace(0, 1, 33):
            square = to_hex(style.colour_map(kind, signed)(x))
            assert contrast(style.ink_on(square), square) >= 4.5


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
