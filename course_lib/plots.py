"""Pictures of the course: every figure with alt text, every heat map with one colour map."""

import base64
import io
import os
from html import escape

import matplotlib.pyplot as plt
from IPython import get_ipython
from IPython.display import display

WEIGHTS = "viridis"  # for values from zero up, such as attention weights; readable in greyscale
SIGNED = "PuOr"  # for values on both sides of zero


def show(figure, alt):
    """Display a matplotlib figure as an image that a screen reader can read out, and close it.

    alt: what the picture shows, in a sentence or two
    """
    display({"text/html": _image(figure, alt), "text/plain": alt}, raw=True)


def _image(figure, alt):
    """A figure as an HTML image; the figure is closed."""
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=100, bbox_inches="tight", facecolor="white")
    plt.close(figure)
    data = base64.b64encode(png.getvalue()).decode()
    return f'<img src="data:image/png;base64,{data}" alt="{escape(alt)}" style="max-width:100%">'


def heat_map(axes, matrix, rows, columns, title="", numbers=True, limit=None):
    """Draw a small matrix with named rows and columns; the numbers stand in the squares, so colour is not needed.

    matrix: (R, C) tensor; rows and columns: R and C names
    limit:  the value of the brightest colour, to compare several maps; by default the largest one
    """
    signed = bool((matrix < 0).any())
    limit = limit or float(matrix.abs().max()) or 1.0
    axes.imshow(matrix, cmap=SIGNED if signed else WEIGHTS, vmin=-limit if signed else 0, vmax=limit)
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="right")
    axes.set_yticks(range(len(rows)), rows)
    axes.set_title(title)
    digits = 0 if bool((matrix == matrix.round()).all()) else 2  # whole numbers as whole numbers
    if numbers:
        for r, row in enumerate(matrix.tolist()):
            for c, value in enumerate(row):
                dark = abs(value) > 0.6 * limit if signed else value < 0.6 * limit
                ink = "white" if dark else "black"
                axes.text(c, r, f"{value:.{digits}f}", ha="center", va="center", color=ink, fontsize=8)


def attention_figure(weights, rows, columns, alt, heads=None, wide=3):
    """Show attention patterns side by side, one a head; in a live notebook, let the reader also pick one.

    weights: (H, Tq, Tk) tensor, or H tensors (Tq, Tk) whose Tq may differ
    rows:    Tq names of who asks, or H lists of them; columns: Tk names of who is asked
    alt:     what the picture shows, in a sentence or two
    heads:   H titles, by default "head 1" to "head H"
    wide:    how many maps stand beside each other
    """
    maps = [head.detach() for head in weights]
    names = rows if isinstance(rows[0], list | tuple) else [rows] * len(maps)
    titles = heads or [f"head {h}" for h in range(1, len(maps) + 1)]
    show(_side_by_side(maps, names, columns, titles, min(wide, len(maps))), alt)
    if _somebody_is_looking():
        _offer_a_choice(maps, names, columns, titles)


def _side_by_side(maps, names, columns, titles, wide):
    lines = [range(i, min(i + wide, len(maps))) for i in range(0, len(maps), wide)]
    heights = [max(len(names[i]) for i in line) + 2.4 for line in lines]  # in squares, with room for the words
    figure, axes = plt.subplots(len(lines), wide, figsize=(0.58 * wide * (len(columns) + 1), 0.52 * sum(heights)),
                                squeeze=False, layout="constrained", height_ratios=heights)
    for axis in axes.flat[len(maps):]:
        axis.axis("off")
    for i, (axis, weights) in enumerate(zip(axes.flat, maps, strict=False)):
        again = i % wide > 0 and names[i] == names[i - 1]  # the same words as on the left need not be repeated
        heat_map(axis, weights, [""] * len(weights) if again else names[i], columns, titles[i], limit=1.0)
        axis.set(xlabel="is asked", ylabel="" if again else "asks")
    return figure


def _somebody_is_looking():
    """Does this kernel belong to an open notebook, which can show widgets? A build or a test has none."""
    shell = get_ipython()
    return hasattr(shell, "kernel") and ("JPY_SESSION_NAME" in os.environ or "__vsc_ipynb_file__" in shell.user_ns)


def _offer_a_choice(maps, names, columns, titles):
    """Buttons that pick one pattern, shown large; without ipywidgets nothing happens."""
    try:
        import ipywidgets
    except ImportError:
        return
    buttons = ipywidgets.ToggleButtons(options=titles, description="Show", style={"button_width": "auto"})
    picture = ipywidgets.HTML()

    def draw(_=None):
        i = titles.index(buttons.value)
        figure, axes = plt.subplots(figsize=(0.9 * (len(columns) + 2), 0.8 * len(names[i]) + 1.6))
        heat_map(axes, maps[i], names[i], columns, titles[i], limit=1.0)
        axes.set(xlabel="is asked", ylabel="asks")
        said = _in_words(maps[i], names[i], columns)
        picture.value = _image(figure, f"{titles[i]}. {said}") + f"<p>{escape(said)}</p>"

    buttons.observe(draw, names="value")
    draw()
    display(ipywidgets.VBox([buttons, picture]))


def _in_words(weights, rows, columns):
    """Where each row looks, in words."""
    says = []
    for row, shares in zip(rows, weights, strict=True):
        even = float(shares.max() - shares.min()) < 0.005
        says.append(f"{row}: all alike" if even else f"{row}: {columns[shares.argmax()]} {shares.max():.2f}")
    return "Where each row looks most. " + "; ".join(says) + "."
