"""Make the README's pictures of a lesson and of a card.

    python -m course_lib.staff.readme_pictures lesson   docs/lesson.png, from the site
    python -m course_lib.staff.readme_pictures card     docs/card.png

They need the extras `test` and `site`, and an installed Chromium or Chrome.
"""

import argparse
import hashlib
import io
import json
import shutil
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path

from PIL import Image, PngImagePlugin

from course_lib.checks import EXERCISES
from course_lib.checks.engine.judging import judge
from course_lib.checks.notebook.card import as_html, as_text, card_rows
from course_lib.staff.lesson_text import ROOT

EXERCISE, MISTAKE = "scaled_dot_product_attention_single", "no-scale"
LESSON, QUESTION, GUESS = "04_scaling", "quality", "few at 16, and few at 256"  # a named cell, and what is clicked
BROWSERS = "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"
MARGIN = 16  # pixels around the lesson's picture
SAYS = "shows"  # where a picture keeps what it shows, so that a test can tell whether it is still true
PAGE = """<!doctype html>
<body style="margin:0;background:#fff;color:#1f2328;font:14px/1.45 system-ui,'DejaVu Sans',sans-serif">
<div id="card" style="width:720px;padding:8px;border:1px solid #8c959f;border-radius:6px;box-sizing:border-box">
{}</div></body>"""


def main(arguments=None):
    """Write the pictures that are named; the exit status is 1 where there is no browser to draw them."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.readme_pictures",
                                     description=__doc__.partition("\n")[0])
    parser.add_argument("names", metavar="NAME", nargs="+", choices=PICTURES, help=" or ".join(PICTURES))
    names = parser.parse_args(arguments).names
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        print("The pictures are drawn by a browser: install Chromium or Chrome", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        for name in names:
            draw, says, colours = PICTURES[name]
            image, path, kept = draw(browser), picture(name), PngImagePlugin.PngInfo()
            kept.add_itxt(SAYS, says())
            image.convert("RGB").quantize(colours).save(path, optimize=True, pnginfo=kept)
            print(f"{path.relative_to(ROOT)}: {image.width} x {image.height}, {path.stat().st_size // 1024} KiB")
    return 0


def picture(name):
    """Where a picture lies."""
    return ROOT / "docs" / f"{name}.png"


def drawn_card(browser):
    """The card as an image, two pixels for one."""
    page = browser.new_page(device_scale_factor=2, viewport={"width": 760, "height": 600})
    page.set_content(PAGE.format(as_html(_card(), "wrong")))
    return _image(page.locator("#card").screenshot())


def said_on_the_card():
    return as_text(_card())


def _card():
    exercise = EXERCISES[EXERCISE]
    return card_rows(judge(exercise, next(m for m in exercise.mistakes if m.name == MISTAKE).answer, look_inside=True))


def drawn_lesson(browser):
    """A part of a lesson, from a site that is built for it."""
    from course_lib.staff.site import __main__ as site

    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        if site.main(["-o", folder]):
            sys.exit(1)
        return shown_lesson(browser, folder)


def shown_lesson(browser, folder):
    """A question of a lesson with a wrong guess, and what was measured below it, as the site in a folder shows them."""
    page = browser.new_page(device_scale_factor=2, viewport={"width": 1280, "height": 1000})
    page.goto(Path(folder, "lessons", f"{LESSON}.html").as_uri())
    question = page.locator(".course-question").filter(has_text=GUESS)
    question.get_by_text(GUESS, exact=True).click()
    question.get_by_text("✗").wait_for()
    first, last = question.bounding_box(), question.locator("xpath=following::img[1]").bounding_box()
    top = page.evaluate("scrollY") + first["y"]
    return _image(page.screenshot(full_page=True, clip={
        "x": first["x"] - MARGIN, "y": top - MARGIN, "width": first["width"] + 2 * MARGIN,
        "height": last["y"] + last["height"] - first["y"] + 2 * MARGIN}))


def said_in_the_lesson():
    """The question with its answers, the code below it, and a digest of what that shows."""
    cells = json.loads((ROOT / "solutions" / f"{LESSON}.ipynb").read_text(encoding="utf-8"))["cells"]
    at = next(i for i, cell in enumerate(cells) if cell["metadata"].get("name") == QUESTION)
    shown = json.dumps(cells[at + 1]["outputs"], sort_keys=True).encode()
    return "\n".join([*("".join(cell["source"]) for cell in cells[at:at + 2]), hashlib.sha256(shown).hexdigest()])


def _image(png):
    return Image.open(io.BytesIO(png))


PICTURES = {"lesson": (drawn_lesson, said_in_the_lesson, 128), "card": (drawn_card, said_on_the_card, 64)}

if __name__ == "__main__":
    sys.exit(main())
