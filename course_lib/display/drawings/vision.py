"""The drawings of lesson 13: from a picture to tokens, trainings as dots, pictures in pieces."""

import matplotlib.pyplot as plt

from course_lib.display import style
from course_lib.display.diagrams import Sheet, Spot

LOOKS = ((style.ACCENT, "-", "o"), (style.INK, "-", "s"), (style.LINES[2], "--", "^"), (style.LINES[3], "--", "v"),
         (style.SOFT, ":", "D"))
CLASS = style.LINES[2]  # the class token, on its way


def patches_to_tokens(picture, patches):
    """A picture, four of its patches as rows, their tokens, the class token and the positions, and who answers.

    picture: (S, S); patches: (16, 4), its patches of two by two
    """
    sheet = Sheet(1000, 430)
    cell, left, top = 22, 30, 96
    sheet.text(118, 40, "picture", 15, bold=True)
    sheet.text(118, 62, "(B, C, S, S)", 12, style.SOFT)
    full = float(picture.max())
    sheet.grid(left, top, picture, cell=cell, limit=full)
    for n in range(1, 4):
        at = 2 * n * cell
        sheet.line((left + at, top - 3), (left + at, top + 8 * cell + 3), colour=style.ACCENT, width=2)
        sheet.line((left - 3, top + at), (left + 8 * cell + 3, top + at), colour=style.ACCENT, width=2)
    sheet.text(118, 296, "cut into 16 patches,", 13, style.SOFT)
    sheet.text(118, 314, "read like words on a page", 13, style.SOFT)

    sheet.text(300, 40, "patches", 15, bold=True)
    sheet.text(300, 62, "(B, N, C · p · p)", 12, style.SOFT)
    sheet.text(545, 40, "tokens", 15, bold=True)
    sheet.text(545, 62, "(B, N + 1, d)", 12, style.SOFT)
    ys = {1: 152, 2: 196, 3: 240, 16: 328}
    sheet.arrow((214, 184), (234, 184), width=2)
    for n, y in ys.items():
        sheet.text(244, y, n, 12, style.SOFT, "end")
        sheet.grid(252, y - 12, patches[n - 1], cell=24, limit=full)
        sheet.arrow((352, y), (392, y))
        sheet.arrow((444, y), (492, y))
        _token(sheet, 496, y, style.INK)
        sheet.text(630, y, "+", 16, bold=True)
        _token(sheet, 642, y, style.ACCENT)
    sheet.text(300, 286, "⋮", 20, style.SOFT)
    sheet.text(545, 286, "⋮", 20, style.SOFT)
    sheet.rectangle(Spot(392, 132, 444, 348), style.tint(style.INK, 0.1), style.INK, rounded=7)
    sheet.text(418, 226, "· W", 15, bold=True)
    sheet.text(418, 246, "+ b", 15, bold=True)
    sheet.text(418, 366, "one for all", 12, style.SOFT)
    _token(sheet, 496, 108, CLASS)
    sheet.text(486, 108, "class token", 13, CLASS, "end", bold=True)
    sheet.text(630, 108, "+", 16, bold=True)
    _token(sheet, 642, 108, style.ACCENT)
    sheet.text(690, 366, "positions, learned:", 12, style.ACCENT)
    sheet.text(690, 383, "a row for each place", 12, style.ACCENT)

    box = sheet.box(806, 218, 76, 252, "layers", note="all see all")
    for y in (108, *ys.values()):
        sheet.arrow((744, y), (box.left, y), width=1.4)
    sheet.arrow((box.right, 108), (884, 108), colour=CLASS, width=2.5)
    sheet.box(922, 108, 76, 40, "head", CLASS)
    sheet.arrow((922, 128), (922, 176), width=2)
    sheet.text(922, 192, "logits", 14, bold=True)
    sheet.text(922, 211, "(B, classes)", 12, style.SOFT)
    return sheet.svg()


def _token(sheet, x, y, colour):
    """A row of numbers, with an end that stays open."""
    for n in range(5):
        sheet.rectangle(Spot(x + 20 * n, y - 10, x + 20 * n + 20, y + 10), style.tint(colour, 0.14 + 0.08 * (n % 3)),
                        style.PAPER, 1.2)
    sheet.rectangle(Spot(x, y - 10, x + 100, y + 10), edge=colour)


def trainings(rows, xlabel="accuracy (%)"):
    """A dot for each training, and a mark at the mean: {name: shares from 0 to 1}."""
    figure, axis = plt.subplots(figsize=(7.4, 0.7 + 0.34 * len(rows)), layout="constrained")
    for n, shares in enumerate(rows.values()):
        axis.plot([100 * share for share in shares], [n] * len(shares), "o", color=style.ACCENT, alpha=0.6)
        axis.plot(100 * sum(shares) / len(shares), n, "|", color=style.INK, markersize=18, markeredgewidth=2)
    axis.set(xlabel=f"{xlabel}; a dot is a training, a line their mean", ylim=(len(rows) - 0.5, -0.5))
    axis.set_yticks(range(len(rows)), list(rows))
    axis.grid(axis="x", alpha=0.4)
    return figure


def over_examples(curves, xlabel="training pictures", guessing=None):
    """The accuracy over how much was learned from, a dot for each training: {name: {number: shares}}.

    guessing: the share that guessing has, drawn as a line
    """
    figure, axis = plt.subplots(figsize=(8, 3.4), layout="constrained")
    for (name, points), (colour, dash, mark) in zip(curves.items(), LOOKS, strict=False):
        axis.plot(list(points), [100 * sum(each) / len(each) for each in points.values()], dash, color=colour,
                  marker=mark, label=name)
        for number, each in points.items():
            axis.plot([number] * len(each), [100 * share for share in each], mark, color=colour, markersize=3,
                      alpha=0.5)
    if guessing is not None:
        axis.axhline(100 * guessing, color=style.SOFT, linestyle=(0, (2, 2)), linewidth=1, label="guessing")
    axis.set(xscale="log", xlabel=xlabel, ylabel="accuracy (%)")
    ticks = sorted({number for points in curves.values() for number in points})
    axis.set_xticks(ticks, [f"{number:,}" for number in ticks])
    axis.minorticks_off()
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def over_starts(points):
    """The accuracy over the size of the positions at the start: {their size: shares}."""
    figure, axis = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
    for n, shares in enumerate(points.values()):
        axis.plot([n] * len(shares), [100 * share for share in shares], "o", color=style.ACCENT, alpha=0.6)
    axis.plot([100 * sum(shares) / len(shares) for shares in points.values()], color=style.ACCENT)
    axis.set_xticks(range(len(points)), [f"{size:g}" for size in points])
    axis.set(xlabel="how large the positions are at the start", ylabel="accuracy (%)")
    return figure


def in_rows(rows, titles):
    """Small grey pictures in rows: [[(S, S)]], and a title for each column."""
    figure, axes = plt.subplots(len(rows), len(titles), figsize=(1.15 * len(titles), 1.3 * len(rows)),
                                layout="constrained", squeeze=False)
    for line, pictures in zip(axes, rows, strict=True):
        for axis, picture in zip(line, pictures, strict=True):
            axis.imshow(picture, cmap=style.colour_map("stream", False))
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_visible(True)
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, fontsize=10)
    return figure
