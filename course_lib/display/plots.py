"""Pictures of the course: every figure with its description, every heat map with a stated scale."""

import math

import matplotlib.pyplot as plt
import numpy as np
import torch
from IPython.display import display
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from course_lib.display import style
from course_lib.display.descriptions import description
from course_lib.display.pictures import STRIP, as_html

style.use()
WEIGHTS, SIGNED = style.WEIGHTS, style.SIGNED  # colour maps: from zero up, such as attention weights; around zero
HOVER = 1024  # squares: with more, a notebook grows heavy, and nobody finds one under the mouse
STEPS = 25  # colours that a strip names; between them it fades
FEW = 64  # squares: of so many, the numbers are printed
WIDEST = 9.4  # inches: heat maps beside each other


def show(picture, key):
    """Display a picture with its description, which a screen reader reads out.

    picture: a matplotlib figure, which is closed, or the text of an SVG, as from course_lib.display.drawings
    key:     the name of its description in course_lib/display/descriptions/NN.toml; or, with a space in it, the
             description itself: what the picture shows, in a sentence or two
    raises:  ValueError where no description has this name
    """
    alt = description(key)
    display({"text/html": as_html(picture, alt), "text/plain": alt}, raw=True)


def one_scale(*matrices, kind=None):
    """The limits (low, high) that several heat maps share, so that one colour means one number in all of them.

    matrices: tensors of any shapes; what is not finite does not count
    kind:     as for heat_map
    """
    if kind == "weight":
        return 0.0, 1.0
    finite = torch.cat([matrix.detach().flatten()[matrix.detach().flatten().isfinite()] for matrix in matrices])
    high = float(finite.abs().max()) if len(finite) else 0.0
    return (-(high or 1.0) if kind == "score" or bool((finite < 0).any()) else 0.0), high or 1.0


def heat_map(axes, matrix, rows, columns, title="", numbers=None, limit=None, kind=None, mask=None):
    """Draw a matrix with named rows and columns as coloured squares; whoever is masked is hatched, and has no number.

    Under the mouse each square says its row, column and value, where there are at most HOVER squares.

    matrix:  (R, C) tensor; rows and columns: R and C names
    numbers: whether the numbers stand in the squares; None: where there are at most FEW
    limit:   the number of the fullest colour, or both ends (low, high) as from one_scale; by default the largest one
    kind:    "weight" (always 0 to 1), "score" (around 0), "query", "key", "value" or "stream" (what flows on), each in
             its colour; None: as what flows on, or as scores where a number is negative
    mask:    bool, broadcast to (R, C), True = may be seen; what is not finite is hatched, too
    """
    matrix = matrix.detach().cpu().double()
    seen = matrix.isfinite() if mask is None else matrix.isfinite() & mask.cpu()
    low, high = limit if isinstance(limit, tuple) else _limits(matrix, limit, kind)
    if kind == "weight" and (low, high) != (0, 1):
        raise ValueError("weights are always drawn from 0 to 1: leave out limit.")
    if kind == "weight" and bool(((matrix < -1e-6) | (matrix > 1 + 1e-6))[seen].any()):
        raise ValueError("weights lie between 0 and 1: what is not one has another kind.")
    values = np.ma.masked_array(matrix.numpy(), ~seen.numpy())
    axes.imshow(values, cmap=style.colour_map(kind, low < 0), vmin=low, vmax=high)
    _lines_and_hatching(axes, seen)
    hue = style.HUES.get(kind, style.SOFT)
    axes.spines[:].set(visible=True, color=hue, linewidth=1)
    long = max(len(str(name)) for name in columns) > 2
    turned = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if long else {}
    axes.set_xticks(range(len(columns)), columns, **turned)
    axes.set_yticks(range(len(rows)), rows)
    axes.tick_params(length=0)
    axes.set_title(title, color=hue if kind else style.INK)
    digits = 0 if bool((matrix == matrix.round())[seen].all()) else 2  # whole numbers as whole numbers
    says = [(r, c, f"{value:.{digits}f}".replace("-", "−") if seen[r, c] else "masked")
            for r, row in enumerate(matrix.tolist()) for c, value in enumerate(row)]
    if len(says) <= HOVER:
        axes.says = [(r, c, f"{rows[r]} → {columns[c]}: {number}".removeprefix(" → ")) for r, c, number in says]
    if numbers or (numbers is None and len(says) <= FEW):
        for r, c, number in says:
            if seen[r, c]:  # the ink is chosen for each square when it is shown
                axes.text(c, r, number, ha="center", va="center_baseline", fontsize=8)


def _limits(matrix, limit, kind):
    low, high = one_scale(matrix, kind=kind)
    return (low, high) if limit is None else (-limit if low < 0 else 0.0, limit)


def _lines_and_hatching(axes, seen):
    """Lines of paper between the squares, and hatching over those that are not seen."""
    rows, columns = seen.shape
    lines = [((x, -0.5), (x, rows - 0.5)) for x in np.arange(0.5, columns - 1)]
    lines += [((-0.5, y), (columns - 0.5, y)) for y in np.arange(0.5, rows - 1)]
    if lines:
        between = Path(np.reshape(lines, (-1, 2)), [Path.MOVETO, Path.LINETO] * len(lines))
        width = 1.2 if max(rows, columns) <= 16 else 0.4
        axes.add_patch(PathPatch(between, fill=False, edgecolor=style.PAPER, linewidth=width))
    squares = [Path.unit_rectangle().vertices + (c - 0.5, r - 0.5) for r, c in (~seen).nonzero().tolist()]
    if squares:
        hidden = Path.make_compound_path(*(Path(s, Path.unit_rectangle().codes) for s in squares))
        axes.add_patch(PathPatch(hidden, hatch="////", facecolor=style.PAPER, edgecolor=style.SOFT, linewidth=0))


def panels(maps, rows, columns, kind=None, numbers=None, limit=None, mask=None, wide=3, labels=("", "")):
    """A figure of several heat maps beside each other, on one scale that a strip beside them states.

    maps:    {title: (R, C) tensor}
    rows:    R names, or one list of names for each map; columns: alike
    numbers, limit, kind, mask: as for heat_map; None prints the numbers where all maps together have at most FEW
    wide:    how many maps stand beside each other
    labels:  what the columns are, and the rows
    returns: the matplotlib figure, for show
    """
    titles, matrices = list(maps), list(maps.values())
    rows, columns = ([names] * len(maps) if isinstance(names[0], str | int) else names for names in (rows, columns))
    wide = math.ceil(len(maps) / math.ceil(len(maps) / wide))  # 4 maps are 2 and 2, not 3 and 1
    lines = [range(i, min(i + wide, len(maps))) for i in range(0, len(maps), wide)]
    widths = [max(len(columns[i]) for i in range(at, len(maps), wide)) for at in range(wide)]
    smaller = min(1, WIDEST / (0.58 * (sum(widths) + wide)))  # so that a page need not shrink the words
    heights = [max(len(rows[i]) for i in line) + 2.4 / smaller for line in lines]  # in squares, with room for the words
    size = 0.58 * smaller * (sum(widths) + wide) + 0.9, 0.52 * smaller * sum(heights)  # inches
    figure, axes = plt.subplots(len(lines), wide, squeeze=False, layout="compressed", figsize=size,
                                height_ratios=heights, width_ratios=widths)
    for axis in axes.flat[len(maps):]:
        axis.axis("off")
    if numbers is None:
        numbers = sum(matrix.numel() for matrix in matrices) <= FEW
    limit = limit or one_scale(*matrices, kind=kind)
    asked, asks = (style.KEY, style.QUERY) if kind == "weight" else (style.INK, style.INK)
    for i, (axis, matrix) in enumerate(zip(axes.flat, matrices, strict=False)):
        again = i % wide > 0 and rows[i] == rows[i - 1]  # the same names as on the left need not be repeated
        heat_map(axis, matrix, rows[i], columns[i], titles[i], numbers, limit, kind, mask)
        axis.tick_params(labelleft=not again)
        axis.set_xlabel(labels[0], color=asked)
        axis.set_ylabel("" if again else labels[1], color=asks)
    figure.get_layout_engine().set(wspace=0.06)
    scale(axes, kind)
    return figure


def scale(axes, kind=None):
    """State the colours of heat maps on a strip at their right.

    axes: one matplotlib Axes with a heat map, or an array of them that share their scale
    kind: what stands beside the strip
    """
    axes = np.atleast_1d(axes)
    image = axes.flat[0].images[0]
    low, high = image.get_clim()
    strip = axes.flat[0].figure.colorbar(image, ax=axes, aspect=30, shrink=0.6, pad=0.02, label=kind or "")
    strip.solids.remove()
    strip.ax.imshow(np.linspace(low, high, STEPS)[:, None], cmap=image.cmap, vmin=low, vmax=high, aspect="auto",
                    origin="lower", extent=(0, 1, low, high), gid=STRIP)
    ends = sorted({low, 0.0, high})
    strip.set_ticks(ends, labels=[f"{end:.3g}".replace("-", "−") for end in ends])
    strip.outline.set_visible(False)
    strip.ax.tick_params(length=0)
