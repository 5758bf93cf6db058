"""A click that is never lost: a question after a reload, after a restart, and the next day, in a real JupyterLab."""

import json

import nbformat
import pytest

from course_lib.predictions.question import of_the_course
from course_lib.staff.notebooks import KERNEL
from tests.test_browser import _run_all_cells, jupyter_lab, opened, wait_until_idle

VIEWPORT = {"width": 1300, "height": 1800}
pytestmark = pytest.mark.browser
CHOICE, OTHER = [text for text, (lesson, of) in of_the_course().items()
                 if lesson == "04" and not of.wants_a_number and not of.later][:2]
NUMBER = next(text for text, (lesson, of) in of_the_course().items() if lesson == "04" and of.wants_a_number)


def question(text):
    return of_the_course()[text][1]


def wrong(text):
    of = question(text)
    return next(answer for answer in of.answers if answer != of.right)


@pytest.fixture
def lab(tmp_path):
    """A notebook of three questions in JupyterLab: (its address, the file of guesses)."""
    cells = [nbformat.v4.new_code_cell(f"from course_lib import predict\n\npredict({text!r})")
             for text in (CHOICE, OTHER, NUMBER)]
    (tmp_path / "course").mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=KERNEL), tmp_path / "course" / "asks.ipynb")
    with jupyter_lab(tmp_path / "course", tmp_path) as address:
        yield address("asks.ipynb"), tmp_path / "course" / "my_answers" / "predictions.json"


def saved(page):
    page.keyboard.press("Control+s")
    page.wait_for_timeout(1500)


def seen(page, text):
    return page.locator(".jp-OutputArea-output").get_by_text(text).filter(visible=True)


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def test_a_click_is_answered_and_kept_after_a_reload_a_restart_and_the_next_day(browser, lab):
    """A reply that never comes, a second click that counts, broken icons, “model not found”."""
    address, file = lab
    page = opened(browser, address, viewport=VIEWPORT)
    page.keyboard.press("Escape")
    _run_all_cells(page)
    button(page, wrong(OTHER)).wait_for()
    page.get_by_placeholder("a number").wait_for()  # the last of the three: what is saved is whole
    assert seen(page, CHOICE).count() == 1, "a question stands once"
    saved(page)

    page.reload()  # the kernel lives on
    wait_until_idle(page)
    button(page, wrong(CHOICE)).focus()
    page.keyboard.press("Enter")
    seen(page, question(CHOICE).answers[wrong(CHOICE)].replace("*", "")[:40]).wait_for()
    page.wait_for_function("document.activeElement.textContent.startsWith('✗')")  # its mark comes last
    focused = page.evaluate("document.activeElement.textContent")
    assert focused == f"✗ {wrong(CHOICE)}", "the focus has left the button that was pressed"
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_timeout(500)
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert {text: (it["guess"], it["right"]) for text, it in kept.items()} == {CHOICE: (wrong(CHOICE), False)}

    field = page.get_by_placeholder("a number")
    field.focus()
    page.keyboard.type("eight")
    page.keyboard.press("Enter")
    seen(page, "“eight” is no number").wait_for()
    assert page.evaluate("document.activeElement.placeholder") == "a number"
    field.fill(str(question(NUMBER).right))
    page.keyboard.press("Enter")
    seen(page, question(NUMBER).answers[question(NUMBER).right]).wait_for()
    saved(page)

    page.get_by_role("button", name="Restart the kernel", exact=True).click()
    page.get_by_role("button", name="Confirm Kernel Restart").click()
    page.wait_for_timeout(3000)
    _unanswered_is_still_answered(page)
    saved(page)
    page.close()

    page = opened(browser, address, viewport=VIEWPORT)  # the next day
    page.wait_for_timeout(2000)
    assert seen(page, "model not found").count() == 0
    _unanswered_is_still_answered(page)


def _unanswered_is_still_answered(page):
    """No button is left; a question without a guess answers by its folds, in HTML alone."""
    assert button(page, wrong(OTHER)).filter(visible=True).count() == 0
    fold = page.locator("details", has_text=wrong(OTHER)).filter(visible=True)
    fold.locator("summary").click()
    reply = question(OTHER).answers[wrong(OTHER)].replace("*", "")[:40]
    assert fold.get_by_text(reply).is_visible()
    fold.locator("summary").click()
