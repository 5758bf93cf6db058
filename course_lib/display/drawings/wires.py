"""The drawings of lesson 08: the residual stream, gradients through depth, what learns where, what a layer writes."""

import matplotlib.pyplot as plt

from course_lib.display import style
from course_lib.display.diagrams import Sheet

DASHES = {"skip": "-", "plain": "--"}


def streams():
    """Two sublayers joined in four ways: plain, with a skip connection, post-norm, pre-norm; the stream drawn thick."""
    sheet = Sheet(1000, 430)
    for n, (title, says) in enumerate((("plain", "f(x)"), ("skip connection", "x + f(x)"),
                                       ("post-norm", "norm(x + f(x))"), ("pre-norm", "x + f(norm(x))"))):
        x = 110 + 250 * n
        sheet.text(x, 22, title, 16, bold=True)
        sheet.text(x, 46, says, 13, style.SOFT)
        sheet.text(x, 418, "x", 15, bold=True)
        _stack(sheet, x, n)
    return sheet.svg()


def _stack(sheet, x, way):
    """Two sublayers, from below; way: 0 plain, 1 skip, 2 post-norm, 3 pre-norm."""
    if way == 0:
        for low, name in ((402, "attention"), (246, "feed-forward")):
            sheet.arrow((x, low), (x, low - 54), width=2)
            sheet.box(x, low - 74, 116, 38, name)
            sheet.line((x, low - 94), (x, low - 156), width=2)
        sheet.arrow((x, 100), (x, 74), width=2)
        return
    for low, name in ((402, "attention"), (246, "feed-forward")):
        branch, top = x + 62, low - 112
        sheet.line((x, low), (x, top + 11), width=5)
        sheet.arrow((x, low - 12), (branch, low - 12), (branch, low - (26 if way == 3 else 40)))
        if way == 3:
            sheet.box(branch, low - 40, 64, 26, "norm", style.ACCENT)
            sheet.line((branch, low - 54), (branch, low - 60))
        middle = low - 80 if way == 3 else low - 60
        sheet.box(branch, middle, 104, 38 if way < 3 else 34, name)
        sheet.arrow((branch, middle - 19), (branch, top), (x + 12, top))
        sheet.node(x, top, "+")
        sheet.line((x, top - 11), (x, low - 156), width=5)
        if way == 2:
            sheet.box(x, top - 28, 64, 26, "norm", style.ACCENT)
    sheet.arrow((x, 92), (x, 70), width=5)


def gradients(depths, curves):
    """The norm of the gradient over depth, a dot per stack; colour: with a skip or not, dash: the first weights.

    curves: {name: (depths, seeds)}; a name says "skip" or "plain", "√3" for larger weights, "no mixing" for the control
    """
    figure, axis = plt.subplots(figsize=(8, 3.6), layout="constrained")
    for name, lengths in curves.items():
        colour = style.ACCENT if name.startswith("skip") else style.INK
        dash, mark = ("-", "o") if "√3" in name else (":", "x") if "no mixing" in name else ("--", "s")
        axis.semilogy(depths, lengths.median(dim=1).values, dash, color=colour, linewidth=1.5)
        axis.semilogy(depths, lengths, mark, color=colour, markersize=4)
        axis.plot([], [], dash, marker=mark, color=colour, markersize=4, label=name)
    axis.set(xlabel="layers", ylabel="norm of the gradient")
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


LOOKS = {"plain": (style.INK, "s--"), "skip": (style.ACCENT, "o-"), "just add": (style.ACCENT, "o-"),
         "post-norm": ("#b3264d", "^-."), "pre-norm": ("#8a5b00", "D:"), "skip, W_o / 4": (style.SOFT, "v-"),
         "one norm": (style.SOFT, "v-")}


def over_scales(scales, runs, never):
    """Right answers over the scale of the first weights: {wire: three seeds for each scale}."""
    figure, axis = plt.subplots(figsize=(7.4, 3.4), layout="constrained")
    for wire, seeds in runs.items():
        colour, look = LOOKS[wire]
        axis.semilogx(scales, [sorted(three)[1] for three in seeds], look[1:], color=colour, linewidth=1.5)
        axis.semilogx(scales, seeds, look[0], color=colour, markersize=4)
        axis.plot([], [], look, color=colour, markersize=4, label=wire)
    _always_no(axis, never)
    axis.set_xticks(scales, ["¼", "½", "1", "√3", "3"])
    axis.minorticks_off()
    axis.set(xlabel="scale of the first weights", ylabel="right answers", ylim=(0.5, 1.02))
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _always_no(axis, never):
    axis.axhline(never, linestyle=":", color=style.SOFT)


def of_blocks(rows, never):
    """Right answers of ten blocks, in panels for two learning rates: kinds and warm-ups by steps, a dot per seed."""
    kinds = ["post-norm", "pre-norm", "just add"]
    lines = [(kind, warm) for kind in kinds for warm in (1, 50)]
    figure, axes = plt.subplots(1, 2, figsize=(9.6, 3.2), layout="constrained", sharey=True)
    for axis, rate in zip(axes, (0.003, 0.001), strict=True):
        for steps, colour, mark, shift in ((100, style.INK, "s", -0.14), (500, style.ACCENT, "o", 0.14)):
            found = [(lines.index((row["kind"], row["warm_up"])), row["right"]) for row in rows
                     if (row["depth"], row["rate"], row["steps"], row["scale"]) == (10, rate, steps, 1)]
            axis.plot([right for _, right in found], [line + shift for line, _ in found], mark, color=colour,
                      markersize=5, label=f"{steps} steps")
        axis.axvline(never, linestyle=":", color=style.SOFT)
        axis.set(xlabel="right answers", title=f"learning rate {rate}", xlim=(0.5, 1.02), ylim=(5.5, -0.5))
        for between in (1.5, 3.5):
            axis.axhline(between, color=style.tint(style.SOFT, 0.4), linewidth=0.8)
    axes[0].set_yticks(range(6), [f"{kind}{', warm-up' if warm > 1 else ''}" for kind, warm in lines])
    axes[1].legend(frameon=False, loc="center")
    return figure


def bends(line, hidden, out):
    """Two hidden numbers and the output of a small network over its one input."""
    figure, axis = plt.subplots(figsize=(6.4, 3), layout="constrained")
    for n, dash in enumerate((":", "--")):
        axis.plot(line, hidden[:, n], dash, color=style.SOFT, label=f"hidden number {n + 1}")
    axis.plot(line, out, color=style.INK, label="output")
    axis.set(xlabel="x", ylabel="value")
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def widths(rows):
    """The error over the width of the hidden layer, for two tasks, after few steps and after many; a dot per seed."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    for axis, task in zip(axes, ("products", "|x|"), strict=True):
        for steps, colour, mark in ((300, style.INK, "s"), (3000, style.ACCENT, "o")):
            of = [(row["times"], row["error"]) for row in rows if (row["task"], row["steps"]) == (task, steps)]
            axis.loglog([times for times, _ in of], [error for _, error in of], mark, color=colour, markersize=4,
                        label=f"{steps:,} steps")
        axis.set(xlabel="times as wide as the word", title=task)
        axis.set_xticks([2, 4, 8, 16], ["2", "4", "8", "16"])
        axis.minorticks_off()
    axes[0].set(ylabel="error")
    axes[0].legend(frameon=False, loc="lower left")
    return figure


def what_is_written(names, sizes, right, of):
    """For each sublayer, how large its write is beside what it reads, and how many sentences stay right without it."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    for axis, values, label in zip(axes, (sizes, right), ("size of the write, beside what is read",
                                                          f"right without it, of {of}"), strict=True):
        axis.barh(range(len(names)), values, color=style.tint(style.INK, 0.45), height=0.6)
        for at, value in enumerate(values):
            axis.text(value, at, f" {value:.3g}", va="center")
        axis.set(xlabel=label, ylim=(len(names) - 0.4, -0.6), xlim=(0, 1.15 * max(values)))
    axes[0].set_yticks(range(len(names)), names)
    return figure
