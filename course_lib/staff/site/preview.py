"""The picture that a link to the site is shown with."""

import io

import matplotlib.pyplot as plt
from matplotlib.patches import Rectangle

from course_lib.display import style

NAME = "preview.png"
SAYS = "Transformers from Version 0: a course in Jupyter notebooks. Beside it a causal mask, half of it filled."
TOKENS = 7


def preview(words):
    """A PNG of 1200 × 630 pixels: the course's name, a few words about it, and a causal mask.

    words: a short line for each fact
    """
    with plt.style.context(style.SHEET):
        figure = plt.figure(figsize=(12, 6.3), dpi=100)
        figure.text(0.06, 0.74, "Transformers\nfrom Version 0", fontsize=44, va="center", weight="bold",
                    linespacing=1.15)
        figure.text(0.06, 0.50, "Write attention seven times, and end\nwith a Transformer of your own.", fontsize=21,
                    va="center", color=style.SOFT, linespacing=1.3)
        figure.text(0.06, 0.23, "\n".join(words), fontsize=19, va="center", color=style.ACCENT, linespacing=1.5)
        axes = figure.add_axes((0.615, 0.19, 0.62 * 6.3 / 12, 0.62), xlim=(0, TOKENS), ylim=(TOKENS, 0))
        axes.axis("off")
        for row in range(TOKENS):
            for column in range(TOKENS):
                colour = style.ACCENT if column <= row else style.tint(style.INK, 0.08)
                axes.add_patch(Rectangle((column + 0.05, row + 0.05), 0.9, 0.9, facecolor=colour, edgecolor="none"))
        png = io.BytesIO()
        figure.savefig(png, format="png", metadata={"Software": None})
        plt.close(figure)
    return png.getvalue()
