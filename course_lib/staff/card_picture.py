"""Make docs/card.png, the README's picture of a card that names a misconception.

    python -m course_lib.staff.card_picture     it needs the extra `test` and an installed Chromium or Chrome
"""

import io
import shutil
import sys

from PIL import Image, PngImagePlugin

from course_lib.checks import EXERCISES
from course_lib.checks.engine.judging import judge
from course_lib.checks.notebook.card import as_html, as_text, card_rows
from course_lib.staff.lesson_text import ROOT

PICTURE = ROOT / "docs" / "card.png"
EXERCISE, MISTAKE = "scaled_dot_product_attention_single", "no-scale"
BROWSERS = "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"
PAGE = """<!doctype html>
<body style="margin:0;background:#fff;color:#1f2328;font:14px/1.45 system-ui,'DejaVu Sans',sans-serif">
<div id="card" style="width:720px;padding:8px;border:1px solid #8c959f;border-radius:6px;box-sizing:border-box">
{}</div></body>"""


def main():
    """Write the picture; the exit status is 1 where there is no browser to draw it."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        print("docs/card.png is drawn by a browser: install Chromium or Chrome", file=sys.stderr)
        return 1
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        image = drawn(card(), browser)
    said = PngImagePlugin.PngInfo()
    said.add_itxt("card", as_text(card()))  # so that a test can tell whether the picture is still true
    image.convert("RGB").quantize(64).save(PICTURE, optimize=True, pnginfo=said)
    print(f"{PICTURE.relative_to(ROOT)}: {image.width} x {image.height}, {PICTURE.stat().st_size // 1024} KiB")
    return 0


def card():
    """The rows of the card that a learner gets for this mistake."""
    exercise = EXERCISES[EXERCISE]
    return card_rows(judge(exercise, next(m for m in exercise.mistakes if m.name == MISTAKE).answer, look_inside=True))


def drawn(rows, browser):
    """The card as an image, two pixels for one."""
    page = browser.new_page(device_scale_factor=2, viewport={"width": 760, "height": 600})
    page.set_content(PAGE.format(as_html(rows, "wrong")))
    return Image.open(io.BytesIO(page.locator("#card").screenshot()))


if __name__ == "__main__":
    sys.exit(main())
