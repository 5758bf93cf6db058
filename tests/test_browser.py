"""A learner's first minutes, in a real JupyterLab in a real browser, without a mouse."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import TimeoutError as TooLate
from playwright.sync_api import expect

from course_lib.staff.lesson_text import read_lesson
from course_lib.staff.notebooks import KERNEL
from tests.eyes import contrast

ROOT = Path(__file__).parents[1]
LESSON = "04_scaling.ipynb"
EXERCISE = "scaled_dot_product_attention_single"
NO_SCALE = f"""def {EXERCISE}(query, inputs):
    return torch.softmax(inputs @ query, 0) @ inputs
"""
RIGHT = f"""def {EXERCISE}(query, inputs):
    return torch.softmax(inputs @ query / len(query) ** 0.5, 0) @ inputs
"""

PATIENCE = 300_000  # milliseconds for whatever is waited for: a machine may have much else to do
pytestmark = pytest.mark.browser


@pytest.fixture
def lab(tmp_path):
    """JupyterLab serving a copy of lessons/; yields the lesson's address."""
    shutil.copytree(ROOT / "lessons", tmp_path / "lessons", ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    with jupyter_lab(tmp_path / "lessons", tmp_path) as address:
        yield address(LESSON)


@contextmanager
def jupyter_lab(folder, tmp_path, **chosen):
    """JupyterLab serving a folder, with settings and a token of its own; gives a function from a file to its address.

    chosen: further settings, by the name of their plugin in JupyterLab's apputils-extension
    """
    settings = tmp_path / "settings"
    settings.mkdir()
    chosen = {"notification": {"fetchNews": "false", "checkForUpdates": False}, **chosen}
    plugin = "@jupyterlab/apputils-extension:"
    (settings / "overrides.json").write_text(json.dumps({plugin + name: value for name, value in chosen.items()}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {f"JUPYTER_{kind}_DIR": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "RUNTIME")}
    own |= {"JUPYTERLAB_SETTINGS_DIR": str(tmp_path / "user"), "JUPYTERLAB_WORKSPACES_DIR": str(tmp_path / "spaces"),
            "PYTHONPATH": str(ROOT)}
    log = (tmp_path / "server.log").open("w")
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}", "--port-retries=0",
         "--IdentityProvider.token=learner", f"--ServerApp.root_dir={folder}",
         f"--LabApp.app_settings_dir={settings}"],
        env={**os.environ, **own}, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait_for(f"http://127.0.0.1:{port}/api?token=learner", server)
        yield f"http://127.0.0.1:{port}/lab/tree/{{}}?token=learner".format
    finally:
        server.terminate()
        with suppress(subprocess.TimeoutExpired):  # it waits for its kernels, and on a busy machine for long
            server.wait(60)
        server.kill()
        server.wait()


def _wait_for(address, server, seconds=PATIENCE / 1000):
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        try:
            return urllib.request.urlopen(address, timeout=2).read()
        except OSError:
            time.sleep(0.3)
    pytest.fail("JupyterLab did not start")


def opened(browser, address, **how):
    """A page with a notebook in JupyterLab that is ready for keys."""
    page = browser.new_page(**how)
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    wait_until_idle(page)
    return page


def wait_until_idle(page):
    page.wait_for_selector(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell")
    page.wait_for_selector("text=/Python 3 \\(ipykernel\\) \\| Idle/")
    page.wait_for_timeout(1000)


def _run_all_cells(page):
    for _ in range(PATIENCE // 2000):
        page.keyboard.press("Control+Shift+C")  # a Lab that is still busy with itself hears no keys
        with suppress(TooLate):
            page.wait_for_selector(".lm-CommandPalette-input:focus", timeout=2000)
            break
    else:
        pytest.fail("the palette of commands does not open")
    page.keyboard.type("Run All Cells")
    page.wait_for_selector(".lm-CommandPalette-item.lm-mod-active:has-text('Run All Cells')")
    page.keyboard.press("Enter")


def _run_all(page):
    _run_all_cells(page)
    prompts = "[...document.querySelectorAll('.jp-CodeCell:not(:has(.jp-Placeholder)) .jp-InputPrompt')]"  # unfolded
    page.wait_for_function(
        f"() => {{ const p = {prompts}.map(e => e.textContent);"
        " return p.length > 20 && p.every(t => /\\[\\d+\\]/.test(t)); }")


# A notebook that has just been opened takes keys a moment later than it is seen.
LISTENS = "document.activeElement?.closest('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook')"


def _walk_to(page, text):
    """Select the cell that holds a text, by the arrow keys."""
    page.wait_for_function(LISTENS)
    page.keyboard.press("Escape")
    for key in ["ArrowUp"] * 200 + ["ArrowDown"] * 200:
        if page.locator(".jp-Cell.jp-mod-active", has_text=text).count():
            return
        page.keyboard.press(key)
    pytest.fail(f"the arrow keys lead to no cell with {text}")


def _answer(page, code, tells):
    """Type an answer over the exercise's cell, then run it and the check below it; the new card, which tells this."""
    _walk_to(page, f"def {EXERCISE}(query")
    page.keyboard.press("Enter")
    page.wait_for_selector(".jp-Cell.jp-mod-active .cm-focused")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(code)
    check = page.locator(".jp-CodeCell", has_text=f"check({EXERCISE})").first
    before = check.locator(".jp-InputPrompt").text_content()
    page.keyboard.press("Shift+Enter")
    page.keyboard.press("Shift+Enter")
    page.wait_for_function("([e, old]) => e.textContent != old && /\\[\\d+\\]/.test(e.textContent)",
                           arg=[check.locator(".jp-InputPrompt").element_handle(), before])
    card = check.locator("[role=status]")
    expect(card).to_contain_text(tells, timeout=PATIENCE)
    return card.text_content()


def _predict_by_keyboard(page, answers):
    """Guess wrong by a button, and a number by its field; both are answered in place, and kept.

    The same reply stands there twice: hidden in what the notebook keeps, and seen beside the buttons.
    """
    page.get_by_role("button", name="raises an error", exact=True).scroll_into_view_if_needed()
    page.get_by_role("button", name="counts the missing feature as 0").focus()
    page.keyboard.press("Enter")
    reply = page.locator("[role=status]:visible", has_text="A dot product does not pad: nobody gave that number")
    reply.wait_for()
    assert "✗ counts the missing feature as 0" in reply.text_content()
    assert page.get_by_role("button", name="raises an error", exact=True).is_disabled()
    field = page.locator(".jp-OutputArea", has_text="tea's score").get_by_placeholder("a number")
    field.focus()
    page.keyboard.type("eight")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("[role=alert]", has_text="“eight” is no number").wait_for()
    field.fill("10")
    field.press("Tab")
    page.keyboard.press("Enter")
    page.locator("[role=status]:visible", has_text="✓ 10").wait_for()
    kept = json.loads((answers / "predictions.json").read_text(encoding="utf-8"))
    assert sorted((entry["concept"], entry["right"]) for entry in kept.values()) == [("C030", True), ("C032", False)]


def test_a_learner_opens_lesson_04_errs_reads_the_card_and_gets_it_right(browser, lab, tmp_path):
    """A card that never shows in JupyterLab, or names no misconception, would leave a learner alone."""
    page = opened(browser, lab, viewport={"width": 1400, "height": 2600})
    _run_all(page)
    cards = page.locator("[role=status]", has_text="not answered yet")  # JupyterLab draws the last ones a while later
    expect(cards).to_have_count(len(read_lesson(LESSON.removesuffix(".ipynb")).exercises), timeout=PATIENCE)
    for trouble in ("application/vnd.jupyter.error", "application/vnd.jupyter.stderr"):
        assert page.locator(f".jp-OutputArea-output[data-mime-type='{trouble}']").count() == 0
    page.screenshot(path=tmp_path / "1-untouched.png")

    wrong = _answer(page, NO_SCALE, "not divided by √D")
    page.screenshot(path=tmp_path / "2-wrong.png")
    assert "✗" in wrong and "Hint" not in wrong
    _answer(page, NO_SCALE, "Hint 1")  # the same mistake again

    right = _answer(page, RIGHT, "your own code")
    page.screenshot(path=tmp_path / "3-right.png")
    assert "✓" in right
    _predict_by_keyboard(page, tmp_path / "lessons" / "my_answers")
    page.reload()
    wait_until_idle(page)
    _run_all(page)
    greeting = page.locator("p:visible", has_text="Welcome back.")
    greeting.wait_for()
    assert "1 of 4 in this lesson" in greeting.text_content()
    assert "#cell-id=" in greeting.get_by_role("link").first.get_attribute("href")


SCROLLED_TO_THE_END = """() => {
    const notebook = document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer');
    notebook.scrollTo(0, notebook.scrollHeight);
    return [...notebook.querySelectorAll('a')].some(link => link.textContent == 'glossary');
}"""
MAP = "from course_lib import progress\n\nprogress()"
# The colours of all words under an element, and of the ground they stand on.
COLOURS = """e => {
    const rgb = c => c.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255);
    let ground = e;
    while (getComputedStyle(ground).backgroundColor.match(/rgba.*, 0\\)/)) ground = ground.parentElement;
    return [[e, ...e.querySelectorAll('a, li, p, strong')].map(x => rgb(getComputedStyle(x).color)),
            rgb(getComputedStyle(ground).backgroundColor)];
}"""


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_the_map_leads_to_the_next_exercise_and_a_lesson_to_the_glossary(browser, tmp_path, theme):
    """A map that cannot be read in the dark or on a narrow page, or whose links end in “file not found”."""
    course = tmp_path / "course"
    for name in ("lessons", "docs"):
        shutil.copytree(ROOT / name, course / name, ignore=shutil.ignore_patterns(".ipynb_checkpoints", "my_answers"))
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(MAP)], metadata=KERNEL),
                   course / "lessons" / "map.ipynb")
    with jupyter_lab(course, tmp_path, themes={"theme": theme}) as address:
        page = opened(browser, address("lessons/map.ipynb"), viewport={"width": 1400, "height": 1600})
        _run_all_cells(page)
        shown = page.locator(".jp-RenderedHTML", has_text="exercises solved")
        shown.wait_for()
        texts, ground = page.evaluate(COLOURS, shown.locator("div").first.element_handle())
        assert all(contrast(colour, ground) >= 4.5 for colour in texts), (texts, ground)
        page.keyboard.press("Control+b")  # the list of files leaves
        page.set_viewport_size({"width": 390, "height": 1600})
        page.wait_for_timeout(2000)
        assert shown.evaluate("e => e.scrollWidth <= e.clientWidth + 1"), "sideways scrolling"
        page.set_viewport_size({"width": 1400, "height": 1600})
        shown.get_by_role("link", name="padding_mask_from_ids", exact=True).click()
        page.get_by_role("tab", name="07_masks.ipynb").wait_for()  # Lab scrolls to the cell, in its time
        wait_until_idle(page)
        glossary = page.get_by_role("link", name="glossary")  # in the last cell, which is drawn when one scrolls to it
        page.wait_for_function(SCROLLED_TO_THE_END)
        glossary.click()
        page.get_by_role("tab", name="glossary.md").wait_for()
