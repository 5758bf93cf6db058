"""The Transformer of the README as an SVG, in which the boxes lead to the lessons that build them."""

import re

import matplotlib.pyplot as plt

from course_lib.display import pictures, style
from course_lib.display.drawings import transformer

# The colours of the drawing on a dark page, by those on paper
ON_DARK = {style.PAPER: "#131416", style.INK: "#dcd7cf", "#ffffff": "#131416", "#f6f4ee": "#1c1e21",
           "#c9c3b3": "#4a4b4e", transformer.ATTENTION: "#74460f", transformer.FEED_FORWARD: "#234e78",
           transformer.NORM: "#4b4737", transformer.EDGE: "#255a37"}
SAYS = ("The Transformer you will build: an encoder on the left, a decoder on the right, and in each box the number of "
        "the lesson that builds it.")


def machine(facts):
    """The drawing as HTML. Its links are for the mouse: by keyboard, the map below has all of them."""
    pages = {fact["number"]: fact["page"] for fact in facts}
    with plt.style.context(style.SHEET):
        figure, axes = plt.subplots(figsize=(9.6, 8.5))
        transformer.draw_transformer(axes)
        _link(axes, pages)
        figure.draw_without_rendering()
        svg = pictures.as_svg(figure, figure.get_tightbbox().padded(0.1))
        plt.close(figure)
    svg = re.sub(r'<a xlink:href="([^"]*)"[^>]*>', r'<a href="\1" tabindex="-1">', svg)
    svg = re.sub(r'fill="(#\w{6})"', r'style="fill:\1"', svg)  # an attribute knows no variables
    for colour in ON_DARK:
        svg = svg.replace(colour, f"var({variable(colour)},{colour})")
    return (f'<figure class="machine"><div class="drawing"><div aria-hidden="true">{svg}</div></div>'
            f'<figcaption>{SAYS}</figcaption></figure>')


def variable(colour):
    """The style sheet's variable that changes this colour of the drawing; unset on a light page."""
    return f"--drawn-{colour[1:]}"


def _link(axes, pages):
    """Each box that bears a number leads to its lesson, the first one of several."""
    axes.figure.canvas.draw()
    for badge in axes.texts:
        page = pages.get(re.split(r"\W", badge.get_text())[0])
        middle = badge.get_window_extent().get_points().mean(0)
        for box in axes.patches if page else ():
            if box.get_zorder() == 2 and box.get_window_extent().contains(*middle):
                box.set_url(f"{page}.html")
