"""The drawings of lesson 06: split, attend, concatenate; what a mixture costs; errors over heads and steps."""

import matplotlib.pyplot as plt
import torch

from course_lib.display import plots, style
from course_lib.display.diagrams import Sheet, width

CELL = 17  # pixels: small squares, without numbers
STEPS = {200: style.tint(style.INK, 0.4), 1000: style.tint(style.INK, 0.65), 3000: style.ACCENT, 15000: style.INK}
MARKS = {200: "o", 1000: "s", 3000: "D", 15000: "^"}


def split_attend_concatenate(x, Q, K, V, weights, W_o, heads, words):
    """One wide query, key and value, cut into heads; a pattern in each; the results side by side, and W_o.

    x:       (N, D)
    Q, K, V: (N, H * d_head); weights: (H, N, N); W_o: (H * d_head, D)
    heads:   the names of the H heads
    """
    N, wide = len(words), Q.shape[1] // len(heads)
    outs = [w @ v for w, v in zip(weights, V.split(wide, 1), strict=True)]  # (N, d_head) each
    side_by_side = torch.cat(outs, 1)
    tall, left = N * CELL, 12 + max(width(word, 12) for word in words)
    lanes = [84 + n * (tall + 52) for n in range(len(heads))]
    middle = (lanes[0] + lanes[-1]) / 2
    sheet = Sheet(1020, lanes[-1] + tall + 24)
    source = sheet.grid(left, middle, x, "stream", CELL, name="x", columns="d")
    for n, word in enumerate(words):
        sheet.text(left - 6, source.top + (n + 0.5) * CELL, word, 12, style.INK, "end")
    cut, seen, out = source.right + 78, source.right + 270, source.right + 408
    joined = sheet.grid(out + 112, middle, side_by_side, "stream", CELL, name="side by side", columns="h · d_head")
    result = sheet.grid(joined.right + 74, middle, side_by_side @ W_o, "stream", CELL, name="result", columns="d")
    for n, (head, top) in enumerate(zip(heads, lanes, strict=True)):
        part = slice(n * wide, (n + 1) * wide)
        spots = [sheet.grid(cut + m * (wide * CELL + 26), top, made[:, part], kind, CELL, name=letter)
                 for m, (made, kind, letter) in enumerate(((Q, "query", "q"), (K, "key", "k"), (V, "value", "v")))]
        sheet.text(spots[1].x, top - 36, f"head {n + 1}: {head}", 13, bold=True)
        pattern = sheet.grid(seen, top, weights[n], "weight", CELL, name="weights")
        answer = sheet.grid(out, top, outs[n], "stream", CELL, name="out")
        turns = [source.right + 36, answer.right + 30]
        sheet.around((source.right + 6, source.y), turns[0], (spots[0].left - 6, spots[0].y))
        sheet.arrow((spots[2].right + 4, spots[2].y), (pattern.left - 5, pattern.y))
        sheet.arrow((pattern.right + 4, pattern.y), (answer.left - 5, answer.y))
        sheet.around((answer.right + 5, answer.y), turns[1], (joined.left - 5, joined.y))
    sheet.arrow((joined.right + 6, joined.y), (result.left - 6, result.y), name="W_o", width=2)
    for at, step in ((source.right + 36, "split"), (seen + 44, "attend"), (joined.x, "concatenate")):
        sheet.text(at, 20, step, 16, bold=True)
    return sheet.svg()


def costs(shares, first, second):
    """What a mixture a · first + (1 − a) · second misses of both, over the share a."""
    figure, axis = plt.subplots(figsize=(6, 3), layout="constrained")
    axis.plot(shares, first, "o-", color=style.ACCENT, markersize=4, label="missed of the first")
    axis.plot(shares, second, "s-", color=style.SOFT, markersize=4, label="missed of the second")
    axis.plot(shares, first + second, "D-", color=style.INK, markersize=4, label="both together")
    axis.set(xlabel="share of the first in the mixture", ylabel="missed", ylim=(-0.04, 1.12), xlim=(-0.02, 1.45))
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1])
    axis.legend(loc="center right", frameon=False)
    return figure


def errors_over_heads(rows):
    """Left, the error over the number of heads after four budgets; right, of two heads over steps, for two ways with
    the learning rate.
    """
    figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", sharey=True)
    one_width = [row for row in rows if row["heads"] * row["d_k"] == 32 == row["heads"] * row["d_v"]
                 and row["then"] == "matrix" and row["rate"] == 0.03]
    numbers = sorted({row["heads"] for row in one_width})
    for place, (steps, colour) in enumerate(STEPS.items()):
        of = [[row["error"] for row in one_width if row["falls"] and (row["heads"], row["steps"]) == (h, steps)]
              for h in numbers]
        beside = [n + 0.09 * (place - 1.5) for n in range(len(numbers))]
        axes[0].plot(beside, [sorted(each)[len(each) // 2] for each in of], "-", color=colour, linewidth=1)
        for at, each in zip(beside, of, strict=True):
            axes[0].plot([at] * len(each), each, MARKS[steps], color=colour, markersize=4,
                         label=f"{steps:,} steps" if at == beside[0] else None)
    axes[0].axhline(7 / 16, linestyle=":", color=style.INK, linewidth=1)
    axes[0].text(2.5, 0.55, "7/16", ha="center")
    axes[0].set(yscale="log", xlabel="heads, each 32 / heads wide", ylabel="error", ylim=(3e-11, 3))
    axes[0].set_xticks(range(len(numbers)), numbers)
    axes[0].legend(frameon=False, ncols=2, loc="lower center")
    for falls, label, colour, mark in ((0, "rate stays 0.03", style.ACCENT, "s"),
                                       (1, "rate falls to 0", style.INK, "D")):
        of = {steps: [row["error"] for row in one_width if row["heads"] == 2 and row["falls"] == falls
                      and row["steps"] == steps] for steps in STEPS}
        axes[1].plot(range(len(STEPS)), [sorted(each)[1] for each in of.values()], "-", color=colour, linewidth=1)
        for n, each in enumerate(of.values()):
            axes[1].plot([n] * len(each), each, mark, color=colour, markersize=4, label=None if n else label)
    axes[1].set_xticks(range(len(STEPS)), [f"{steps:,}" for steps in STEPS])
    axes[1].set(xlabel="steps, two heads")
    axes[1].legend(frameon=False, loc="lower left")
    return figure


def narrow(rows, shapes):
    """Errors of heads with keys and values of any width, a line for each of the shapes (heads, d_k, d_v)."""
    figure, axis = plt.subplots(figsize=(7.5, 2.9), layout="constrained")
    for steps, colour in ((3000, STEPS[3000]), (15000, STEPS[15000])):
        for n, shape in enumerate(shapes):
            of = [row["error"] for row in rows if row["steps"] == steps and row["rate"] == 0.03 and row["falls"]
                  and row["then"] == "matrix" and (row["heads"], row["d_k"], row["d_v"]) == shape]
            axis.plot(of, [n + (0.12 if steps == 15000 else -0.12)] * len(of), MARKS[steps], color=colour, markersize=5,
                      label=None if n else f"{steps:,} steps")
    axis.set(xscale="log", xlabel="error", xlim=(1e-12, 2), yticks=range(len(shapes)), ylim=(len(shapes) - 0.5, -0.5),
             yticklabels=[f"{heads} heads, keys {d_k}, values {d_v}" for heads, d_k, d_v in shapes])
    axis.legend(frameon=False, loc="lower left")
    return figure


def two_slices(maps, names):
    """What each part of an output depends on, each map a heat map on one scale: {title: (H, H)}."""
    return plots.panels(maps, names, names, labels=("made by the rows of", "part of the output"))
