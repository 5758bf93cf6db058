"""A claim is a sentence that its condition can refute; it is folded, listed, and watched."""

import ast

import pytest
import torch

from course_lib import claim
from course_lib.staff import claims
from course_lib.staff.lesson_text import LessonError, read_lesson
from course_lib.staff.seeds.watching import Book, Watch


@pytest.mark.parametrize("condition", [True, torch.tensor(True), torch.tensor([1.0]), 3])
def test_what_holds_is_one_line(capsys, condition):
    """A proof that says nothing when it is run."""
    claim("softmax sums to 1", condition)
    assert capsys.readouterr().out == "✓ softmax sums to 1\n"


@pytest.mark.parametrize("condition", [False, torch.tensor(False), 0, None])
def test_what_does_not_hold_stops_with_its_sentence(condition):
    """A claim that cannot fail."""
    with pytest.raises(AssertionError, match="this does not hold: softmax sums to 1"):
        claim("softmax sums to 1", condition)


@pytest.mark.parametrize(("arguments", "says"), [
    ((True, "a sentence"), "a sentence first"), (("", True), "a sentence first"), (("a", "b"), "no truth value"),
    (("a", torch.ones(2)), "more than one truth value"), (("a", lambda: True), "no truth value")])
def test_what_is_no_claim_is_one_sentence(arguments, says):
    """A condition that is always true, such as a text."""
    with pytest.raises(TypeError, match=says):
        claim(*arguments)


@pytest.mark.parametrize(("code", "says"), [
    ('# %%\nclaim("a", True)', "a claim that is not folded"),
    ('# %% tags=["claim"]\nclaim("a", True)', "begins with the line `# The proof`"),
    ('# %% tags=["claim"]\n# The proof\nx = 1', "calls claim"),
    ('# %% tags=["claim"]\n# The proof\nclaim(f"{x}", True)', "a plain text"),
    ('# %% tags=["given"]\nx = 1', "a given cell holds one line"),
])
def test_a_claim_in_view_is_one_line_of_the_build(tmp_path, code, says):
    """A claim whose sentence gives the result away above it."""
    (tmp_path / "16_x.py").write_text(f"# %% [markdown]\n# # 16 · X\n\n{code}\n")
    with pytest.raises(LessonError, match=says) as error:
        read_lesson("16_x", tmp_path)
    assert str(error.value).startswith("solutions/16_x.py:4: ")


def test_the_sweep_of_seeds_watches_claims(capsys):
    """Claims that fall with another seed, and nobody hears of it."""
    book, names = Book(), {"claim": claim, "share": 0.4}
    code = ast.parse('claim("most of it", share > 0.5)\nclaim("some of it", share > 0.1)')
    exec(compile(Watch(10).visit(code), "x", "exec"), names | book.functions())
    assert list(book.claims.values()) == [("most of it", False), ("some of it", True)]
    assert book.compared["most of it: share > 0.5"][2] == pytest.approx(-0.1)


def test_the_list_of_claims_names_the_line_of_each(capsys):
    """A claim that no list shows."""
    assert claims.main(["04"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("solutions/04_scaling.py:") and out[-1] == f"{len(out) - 1} claims"
    assert claims.main(["77"]) == 1 and "there is no lesson 77" in capsys.readouterr().err
