"""A lesson of the new form on the site: predictions, proofs and optional sections folded, instruments alive."""

import json
import re
from importlib.util import find_spec

import pytest

from course_lib.staff.claims import claims_in
from course_lib.staff.lesson_text import read_lesson
from course_lib.staff.site import building, claims, lessons
from course_lib.staff.site.__main__ import NEEDED
from course_lib.staff.site.page import Page

STEM = "04_scaling"
pytestmark = pytest.mark.skipif(not all(map(find_spec, NEEDED)), reason="needs pip install -e '.[site]'")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site") / "out"
    index = Page("index.md", f"# First\n\n[Lesson 04](lessons/{STEM}.ipynb), [claims](claims.md)\n", ())
    building.build([index, *lessons.pages([STEM]), *claims.pages([STEM])], folder)
    return folder


@pytest.fixture
def page(built, browser):
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.goto((built / f"lessons/{STEM}.html").as_uri())
    yield page
    page.close()


@pytest.mark.browser
def test_a_prediction_stands_without_its_answer_until_it_is_opened(page):
    """A question whose answer stands beside it."""
    assert "predict(" not in page.locator("article").inner_text()
    question = page.locator(".course-question", has_text="All ten scores are divided by 100")
    reply, other = question.get_by_role("status"), "nears 1/10"
    assert "stays as it is" in question.inner_text() and reply.inner_text() == ""
    question.get_by_label("stays as it is").press("Space")
    assert "Only the differences of the" in reply.inner_text()
    question.get_by_label(other).check()
    assert "✓" in reply.inner_text()
    page.reload()
    assert question.get_by_label(other).is_checked() and "✓" in reply.inner_text()
    number = page.locator(".course-question", has_text="tea's score")
    number.get_by_role("textbox").fill("9")
    number.get_by_role("textbox").press("Enter")
    assert "You added query and tea" in number.get_by_role("status").inner_text()
    number.get_by_role("textbox").fill("1000")
    number.get_by_role("button").click()
    assert "Too large" in number.get_by_role("status").inner_text()


@pytest.mark.browser
def test_guesses_can_be_taken_along(page, tmp_path):
    """Guesses that stay on a page, where a notebook could go on with them."""
    assert not page.locator(".my-guesses").is_visible()
    question = page.locator(".course-question", has_text="All ten scores are divided by 100")
    for choice in ("nears 1", "nears 1/10"):
        question.get_by_label(choice, exact=True).check()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download them").click()
    download.value.save_as(tmp_path / "predictions.json")
    (kept,) = json.loads((tmp_path / "predictions.json").read_text(encoding="utf-8")).values()
    assert (kept["concept"], kept["right"], kept["guess"]) == ("C034", False, "nears 1/10"), "the first one counts"


@pytest.mark.browser
def test_a_question_answers_without_scripts(built, browser):
    """Radios that a browser without scripts cannot use."""
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((built / f"lessons/{STEM}.html").as_uri())
    fold = page.locator(".course-question details", has_text="stays as it is").first
    assert "Only the differences" not in fold.inner_text()
    fold.locator("summary").click()
    assert "Only the differences" in fold.inner_text()
    context.close()


@pytest.mark.browser
def test_code_that_only_draws_is_folded(page):
    """Plumbing in half of the code that a reader sees."""
    text = page.locator("article").inner_text()
    assert 'plots.show(draw.wrong_answers(at_best, "cross-entropy")' not in text and "The code of this picture" in text


@pytest.mark.browser
def test_a_proof_is_folded_and_what_it_proves_is_seen(page):
    """Assertions in the middle of the prose."""
    text = page.locator("article").inner_text()
    assert "✓ the gradient is p − y" in text and 'claim("the gradient' not in text


@pytest.mark.browser
def test_an_optional_section_opens_by_keyboard_below_its_heading(page):
    """A section that nobody can open, or that hides its own name."""
    section = page.locator("details.further", has_text="half precision")
    assert page.get_by_role("heading", name="Further: is it there for stability?").is_visible()
    assert "exp(e) / exp(e).sum()" not in section.inner_text()
    section.locator("summary").first.press("Enter")
    assert "exp(e) / exp(e).sum()" in section.inner_text()
    assert page.get_by_role("heading", name="Summary").is_visible(), "the section has an end"


@pytest.mark.browser
def test_an_instrument_is_alive_on_the_site(page):
    """A still picture where there was something to hold."""
    knob = page.locator(".course-instrument[data-instrument=softmax-and-scale]").first
    slider = knob.get_by_role("slider").first
    before = knob.locator("[aria-live]").inner_text()
    slider.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    assert knob.locator("[aria-live]").inner_text() != before


def test_the_page_of_claims_has_each_of_them_with_its_proof(built):
    """A claim that the lesson makes and the page does not know."""
    html = (built / "claims.html").read_text(encoding="utf-8")
    text = re.sub(r"<[^>]+>", "", html)
    proved = [says for cell, says in claims_in(read_lesson(STEM)) if "claim" in cell.tags]
    assert len(proved) > 25 and all(says in text for says in proved if "<" not in says and "&" not in says)
    assert html.count("<summary>The proof</summary>") >= 10
