"""Pictures of the course: every figure with alt text, every heat map with one colour map."""

import base64
import io
from html import escape

import matplotlib.pyplot as plt
from IPython.display import display

from course_lib.display.live import somebody_is_looking

WEIGHTS = "viridis"  # for values from zero up, such as attention weights; readable in greyscale
SIGNED = "PuOr"  # for values on both sides of zero
HOVER = 1024  # squares: with more, a notebook grows heavy, and nobody finds one under the mouse


def show(figure, alt):
    """Display a matplotlib figure as an image that a screen reader can read out, and close it.

    alt: what the picture shows, in a sentence or two
    """
    display({"text/html": _image(figure, alt), "text/plain": alt}, raw=True)


def _image(figure, alt):
    """A figure as an HTML image whose heat maps say each square's value under the mouse; the figure is closed."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")  # a layout moves again when it is asked twice
    frame = figure.get_tightbbox().padded(0.1)  # inches
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=100, bbox_inches=frame, facecolor="white")
    squares = "".join(_squares(axes, frame) for axes in figure.axes)
    plt.close(figure)
    data = base64.b64encode(png.getvalue()).decode()
    return (f'<div style="position:relative;display:inline-block"><img src="data:image/png;base64,{data}" '
            f'alt="{escape(alt)}" style="max-width:100%;display:block">{squares}</div>')


def _squares(axes, frame):
    """Invisible boxes over the squares of a heat map, each with its row, column and value as a tooltip."""
    boxes = []
    for r, c, says in getattr(axes, "says", ()):
        corners = axes.transData.transform([(c - 0.5, r - 0.5), (c + 0.5, r + 0.5)]) / axes.figure.dpi  # inches
        (left, right), (low, high) = sorted(corners[:, 0]), sorted(corners[:, 1])
        place = {"left": (left - frame.x0) / frame.width, "top": (frame.y1 - high) / frame.height,
                 "width": (right - left) / frame.width, "height": (high - low) / frame.height}
        style = "".join(f"{side}:{100 * share:.2f}%;" for side, share in place.items())
        boxes.append(f'<b style="position:absolute;{style}" title="{escape(says)}"></b>')
    return "".join(boxes)


def heat_map(axes, matrix, rows, columns, title="", numbers=True, limit=None):
    """Draw a small matrix with named rows and columns; the numbers stand in the squares, so colour is not needed.

    Under the mouse each square says its row, column and value, where there are at most HOVER squares.

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
    values = list(enumerate(matrix.tolist()))
    if matrix.numel() <= HOVER:
        axes.says = [(r, c, f"{rows[r]} → {columns[c]}: {value:.{digits}f}".removeprefix(" → "))
                     for r, row in values for c, value in enumerate(row)]
    if numbers:
        for r, row in values:
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
    if somebody_is_looking():
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
        heat_map(axis, weights, names[i], columns, titles[i], limit=1.0)
        axis.tick_params(labelleft=not again)
        axis.set(xlabel="is asked", ylabel="" if again else "asks")
    return figure


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
