"""The drawings of lesson 05: a projection with its matrix, two attentions, a pattern as circles, relations found."""

import matplotlib.pyplot as plt
import torch

from course_lib.display import plots, style
from course_lib.display.diagrams import Sheet, width

CELL = 42  # pixels: a number, with the name of its column above it
STEPS = {300: style.INK, 1500: style.ACCENT}  # a colour for each number of steps


def products(x, words, features, *parts, framed=None):
    """x times a matrix is what a word asks, is or gives: one line for each matrix, which stands between the two.

    x:      (N, D), its words and the names of its features
    parts:  (name of the matrix, matrix (D, d), name of the result, kind, names of the d columns)
    framed: a word, counted from 0, whose row is framed
    """
    left = 18 + max(width(word) for word in words)
    tall = CELL * max(len(words), len(features)) + 84
    between = left + CELL * len(features) + 34 + max(width(name, 11) for name in features)
    sheet = Sheet(round(between + 2 * CELL * max(len(part[4]) for part in parts) + 60), tall * len(parts))
    for n, (name, W, result, kind, columns) in enumerate(parts):
        top = tall * n + 58
        source = sheet.grid(left, top, x, "stream", CELL, framed=framed)
        _names(sheet, source, "x", style.INK, features, words)
        matrix = sheet.grid(between, top, W, "stream", CELL)
        _names(sheet, matrix, name, style.INK, columns, features, 11)
        sheet.text(source.right + 14, source.y, "·", 26)
        out = sheet.grid(matrix.right + 40, top, x @ W, kind, CELL, framed=framed)
        _names(sheet, out, result, style.HUES[kind], columns)
        sheet.text(matrix.right + 20, source.y, "=", 20)
    return sheet.svg()


def _names(sheet, spot, name, hue, columns, rows=(), size=14):
    sheet.text(spot.x, spot.top - 31, name, 15, hue, bold=True)
    for c, column in enumerate(columns):
        sheet.text(spot.left + CELL * (c + 0.5), spot.top - 10, column, 11, style.SOFT)
    for r, row in enumerate(rows):
        sheet.text(spot.left - 8, spot.top + CELL * (r + 0.5), row, size, style.INK if size > 12 else style.SOFT, "end")


def two_attentions(words, written, asks=1, weights=None):
    """Attention in a recurrent network and in a Transformer: what waits, what asks, and what flows back.

    words, written: what is read, and the words that are written; one of these asks
    weights:        (N,), how much flows back from each word
    """
    sheet = Sheet(1000, 330)
    weights = [1 / len(words)] * len(words) if weights is None else [float(w) for w in weights]
    for left, title, waits in ((20, "recurrent network with attention", True), (520, "Transformer", False)):
        sheet.text(left + 230, 24, title, 16, bold=True)
        across = [left + 46 + 92 * n for n in range(len(words))]
        above = [left + 46 + 92 * (n + 1) for n in range(len(written))]
        for x, word in zip(across, words, strict=True):
            sheet.text(x, 308, word, 13, italic=True)
        for n, x in enumerate(across):
            back = above[asks] + 8
            sheet.curve((x + 8, 246), (back, 180), (back, 118), 0.8 + 12 * weights[n], style.VALUE)
            sheet.line((above[asks] - 12, 116), (x - 16, 246), colour=style.QUERY, width=1.2)
        for n, x in enumerate(across):
            sheet.box(x, 266, 62, 40, f"h_{{{n + 1}}}" if waits else f"k_{{{n + 1}}} v_{{{n + 1}}}", style.KEY)
            if waits and n:
                sheet.arrow((across[n - 1] + 31, 266), (x - 31, 266), width=3)
        for n, (x, word) in enumerate(zip(above, written, strict=True)):
            sheet.text(x, 60, word, 13, italic=True)
            sheet.box(x, 96, 62, 40, f"s_{{{n}}}" if waits else f"q_{{{n + 1}}}", style.QUERY)
            if waits and n:
                sheet.arrow((above[n - 1] + 31, 96), (x - 31, 96), width=3)
    return sheet.svg()


def layers(features, *parts):
    """Three linear layers drawn as networks: thick lines are numbers other than 0.

    features: what goes in
    parts:    (title, matrix (D, d), kind, what its d outputs say)
    """
    sheet = Sheet(330 * len(parts), 60 + 34 * len(features))
    for n, (title, W, kind, outputs) in enumerate(parts):
        left, right = 330 * n + 74, 330 * n + 214
        rows = [66 + 34 * i for i in range(len(features))]
        middle = (rows[0] + rows[-1]) / 2
        ends = [middle + 34 * (j - (len(outputs) - 1) / 2) for j in range(len(outputs))]
        sheet.text((left + right) / 2, 24, title, 15, style.HUES[kind], bold=True)
        for used in (False, True):  # thick lines above thin ones
            for i, y in enumerate(rows):
                for j, end in enumerate(ends):
                    if bool(W[i, j]) == used:
                        sheet.line((left, y), (right, end), colour=style.HUES[kind] if used else
                                   style.tint(style.INK, 0.18), width=2.6 if used else 1)
        for y, feature in zip(rows, features, strict=True):
            sheet.circle(left, y, 6)
            sheet.text(left - 12, y, feature, 12, anchor="end")
        for y, output in zip(ends, outputs, strict=True):
            sheet.circle(right, y, 6, style.HUES[kind])
            sheet.text(right + 12, y, output, 12, anchor="start")
    return sheet.svg()


def pattern(weights, words):
    """The weights (N, N) as a heat map, and as circles whose area is the weight."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.1), layout="constrained")
    plots.heat_map(axes[0], weights, words, words, kind="weight")
    rows, columns = torch.meshgrid(torch.arange(len(words)), torch.arange(len(words)), indexing="ij")
    axes[1].scatter(columns, rows, s=900 * weights, color=style.WEIGHT)
    axes[1].set_xticks(range(len(words)), words, rotation=45, ha="right", rotation_mode="anchor")
    axes[1].set_yticks(range(len(words)), words)
    axes[1].set(xlim=(-0.6, len(words) - 0.4), ylim=(len(words) - 0.4, -0.6), aspect="equal")
    for axis in axes:
        axis.set_xlabel("is asked", color=style.KEY)
        axis.set_ylabel("asks", color=style.QUERY)
    return figure


def relations(rows):
    """Rows of the stored trainings: the smallest weight on the right word, and likeness with the matrices by hand."""
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.2), layout="constrained", sharex=True, sharey=True)
    beginnings = sorted({row["std"] for row in rows})
    lowest = min(0, min(row["like_product"] for row in rows))
    titles = {"least": "smallest weight\non the right word", "like_product": "product W_q W_kᵀ:\nlike ours",
              "like_W_q": "W_q alone:\nlike ours"}
    for axis, (what, title) in zip(axes, titles.items(), strict=True):
        for steps, colour in STEPS.items():
            for at, std in enumerate(beginnings):
                of = [row[what] for row in rows if (row["std"], row["steps"]) == (std, steps)]
                beside = at + (0.16 if steps == max(STEPS) else -0.16)
                axis.plot([beside + 0.012 * (n % 5 - 2) for n in range(len(of))], of,
                          "s" if steps == max(STEPS) else "o", color=colour, markersize=4,
                          markerfacecolor=style.tint(colour, 0.3), label=f"{steps:,} steps" if at == 0 else None)
        axis.set(title=title, xlabel="spread of the first numbers", ylim=(lowest - 0.04, 1.06))
        axis.set_xticks(range(len(beginnings)), [f"{std:g}" for std in beginnings])
    axes[0].legend(loc="lower left", frameon=False)
    return figure
