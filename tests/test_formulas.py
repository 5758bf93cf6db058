"""Formulas of lessons are read before a learner sees them."""

import re

import pytest

from course_lib.staff.formulas import BLOCK, CODE, INLINE, formulas, problems, trouble
from course_lib.staff.lesson_text import lesson_stems, read_lesson


@pytest.mark.parametrize("latex", [r"\frac{a}{b}", r"\underset{(N,)}{e}", r"\{a_{ij}\}", r"\left(\sqrt{d}\right)"])
def test_what_can_be_typeset_is_no_trouble(latex):
    """A check that cries wolf."""
    assert trouble(latex) is None


@pytest.mark.parametrize("latex", [r"\frac{1}", r"\sqroot{d}", r"\left( a", r"\sum_{i=1}^{N", "a_", r"a}"])
def test_what_cannot_be_typeset_is_told_in_a_few_words(latex):
    """Red source instead of an equation."""
    assert trouble(latex) and "\n" not in trouble(latex)


def test_prices_and_code_are_no_formulas():
    """3 $ and 4 $ typeset as mathematics."""
    assert formulas("3 $ and 4 $, `$x$`, $q \\cdot k$ and\n$$\nz\n$$") == ["z", r"q \cdot k"]


def test_every_formula_of_the_course_can_be_typeset():
    """One that fails only on the learner's screen."""
    assert problems([read_lesson(stem) for stem in lesson_stems()]) == []


@pytest.mark.parametrize("stem", lesson_stems())
def test_no_equation_of_a_lesson_is_typed(stem):
    """p(y_i given y_1 … y_{i−1}, x) = g(y_{i−1}, s_i, c_i), which a learner has to decipher."""
    text = "\n".join(cell.source for cell in read_lesson(stem).cells if cell.kind == "markdown")
    for pattern in (CODE, BLOCK, INLINE):
        text = pattern.sub("", text)
    signs = re.compile(r"[√ΣᵀΠ²₀-₉]|\b[A-Za-zα-ω]_\{?\w|\w\^\w")
    assert [line for line in text.split("\n") if signs.search(line) and " = " in line] == []
