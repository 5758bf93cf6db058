"""The drawings of lesson 13b: which places are alike, what can be left out, who looks where."""

import matplotlib.pyplot as plt

from course_lib.display import style

LOOKS = {"rollout": (style.INK, "-", "o"), "last layer": (style.LINES[3], "--", "v"),
         "rollout, one map for all": (style.ACCENT, "--", "s"), "variance, no model": (style.LINES[2], "--", "^"),
         "at random": (style.SOFT, ":", "D")}


def _frame(axis, title=""):
    axis.set(xticks=[], yticks=[])
    axis.spines[:].set_visible(True)
    axis.set_title(title, fontsize=9)


def alike(rows):
    """How alike the position of one place is to that of each other one, on one scale from −1 to 1.

    rows: {name: (cosines (N, N), places)}; a panel for each of the places, marked with a cross
    """
    many = max(len(places) for _, places in rows.values())
    figure, axes = plt.subplots(len(rows), many, figsize=(1.45 * many, 1.65 * len(rows)), layout="constrained")
    for line, (name, (cosines, places)) in zip(axes, rows.items(), strict=True):
        side = round(len(cosines) ** 0.5)
        for axis, place in zip(line, places, strict=True):
            shown = axis.imshow(cosines[place].reshape(side, side), style.colour_map("score", True), vmin=-1, vmax=1)
            axis.plot(place % side, place // side, "+", color=style.PAPER, markersize=9, markeredgewidth=2)
            _frame(axis)
        line[0].set_ylabel(name)
    figure.colorbar(shown, ax=axes, label="cosine", aspect=30)
    return figure


def templates(pictures):
    """Small colour pictures in a row, each brought to its own range: (n, 3, S, S)."""
    figure, axes = plt.subplots(1, len(pictures), figsize=(10, 0.9), layout="constrained")
    for axis, picture in zip(axes, pictures, strict=True):
        low, high = picture.min(), picture.max()
        axis.imshow(((picture - low) / (high - low)).permute(1, 2, 0))
        _frame(axis)
    return figure


def left_out(curves, whole):
    """The mean accuracy over the number of patches left out, and with all of them, `whole`.

    curves: {measure: {many: [(without the least, without the most)]}}, a pair for each training
    """
    figure, axes = plt.subplots(1, 2, figsize=(9.4, 3.3), layout="constrained", sharey=True)
    for side, (axis, title) in enumerate(zip(axes, ("without the least", "without the most"), strict=True)):
        for name, points in curves.items():
            colour, dash, mark = LOOKS[name]
            means = [100 * sum(both[side] for both in each) / len(each) for each in points.values()]
            axis.plot([0, *points], [100 * whole, *means], dash, marker=mark, color=colour, label=name, markersize=5)
        axis.set(title=title, xlabel="patches left out, of 16", ylim=(0, 104), xticks=[0, *points])
    axes[0].set_ylabel("accuracy (%)")
    axes[1].legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def requests(canvas, words, looks=None, drawn=None):
    """Canvases of nine digits with a request above each; below, the weights over the cells, and what was drawn.

    canvas: (n, 24, 24); words: n texts; looks: (n, 9); drawn: (n, 8, 8)
    """
    lines = 1 + (looks is not None) + (drawn is not None)
    figure, axes = plt.subplots(lines, len(canvas), figsize=(1.75 * len(canvas), 1.85 * lines), layout="constrained",
                                squeeze=False)
    for n, column in enumerate(axes.T):
        column[0].imshow(canvas[n], cmap=style.colour_map("stream", False))
        for at in (7.5, 15.5):
            column[0].axvline(at, color=style.ACCENT, linewidth=1.5)
            column[0].axhline(at, color=style.ACCENT, linewidth=1.5)
        _frame(column[0], words[n])
        if looks is not None:
            column[1].imshow(looks[n].reshape(3, 3), cmap=style.WEIGHTS, vmin=0, vmax=1)
            _frame(column[1], f"looks, at most {looks[n].max():.2f}")
        if drawn is not None:
            column[2].imshow(drawn[n], cmap=style.colour_map("stream", False))
            _frame(column[2], "draws")
    return figure
