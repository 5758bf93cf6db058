"""A picture on a dark page, in a real browser: dark where the page says so, and as it was drawn elsewhere."""

import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from course_lib.display import pictures, style
from course_lib.display.dark import on_dark

pytestmark = pytest.mark.browser
SYSTEM = {"JupyterLab": 'data-jp-theme-light="false"', "VS Code": 'class="vscode-dark"',
          "VS Code, high contrast": 'class="vscode-high-contrast"', "Colab": 'theme="dark"',
          "the site": 'data-theme="dark"', "the site, by the system": 'data-theme="auto"'}


def drawn(kind):
    style.use()
    figure, axes = plt.subplots(figsize=(3, 2))
    if kind == "lines":
        axes.plot([0, 1])
    else:
        axes.imshow(np.zeros((90, 90) if kind == "numbers" else (90, 90, 3)))
    return pictures.as_html(figure, "a picture")


def paper(browser, html, body, system):
    """The colour of a picture's paper, near its lower left corner, (3,) from 0 to 1."""
    page = browser.new_page(color_scheme=system)
    page.set_content(f"<!doctype html><body {body}>{html}")
    page.locator("img").evaluate("image => image.decode()")
    png = page.locator("img").screenshot()
    page.close()
    return plt.imread(io.BytesIO(png))[-12, 12, :3]


@pytest.mark.parametrize("kind", ["lines", "numbers"])
@pytest.mark.parametrize("where", SYSTEM)
def test_a_picture_has_dark_paper_where_the_page_says_that_it_is_dark(browser, where, kind):
    """A bright card on a dark page."""
    seen = paper(browser, drawn(kind), SYSTEM[where], "dark" if "system" in where else "light")
    assert abs(seen - to_rgb(on_dark(style.PAPER))).max() < (0.01 if kind == "lines" else 0.04)


@pytest.mark.parametrize("kind", ["lines", "numbers", "photo"])
@pytest.mark.parametrize("says", ['data-jp-theme-light="true"', 'data-theme="light"', "",
                                  'class="vscode-high-contrast vscode-high-contrast-light"'])
def test_elsewhere_it_stays_as_it_was_drawn(browser, says, kind):
    """A picture that follows the system, on a page that does not."""
    assert abs(paper(browser, drawn(kind), says, "dark") - to_rgb(style.PAPER)).max() < 0.01


def test_a_photo_keeps_its_colours(browser):
    """A negative."""
    assert abs(paper(browser, drawn("photo"), SYSTEM["JupyterLab"], "dark") - to_rgb(style.PAPER)).max() < 0.01
