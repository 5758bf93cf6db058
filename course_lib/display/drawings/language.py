"""The drawings of lesson 12: two kinds of Transformer, tables of what follows, a training, times, the stack's depth."""

import matplotlib.pyplot as plt

from course_lib.display import plots, style
from course_lib.display.diagrams import Sheet, Spot

LOW = 396  # pixels: where the tokens come in


def decoder_only():
    """The Transformer of 2017 as two stacks with a memory between them, and beside it a stack that only looks back."""
    sheet = Sheet(1000, 470)
    sheet.text(210, 24, "2017: encoder and decoder", 16, bold=True)
    sheet.text(640, 24, "decoder-only", 16, bold=True)
    sheet.text(880, 24, "one of its blocks", 16, bold=True)
    for x, name, sees in ((110, "encoder layer", "all tokens"), (310, "decoder layer", "those before")):
        for n in range(3):
            sheet.box(x, 340 - 84 * n, 138, 46, name, note=sees)
            sheet.arrow((x, LOW - 12 if n == 0 else 401 - 84 * n), (x, 364 - 84 * n), width=2.5)
    sheet.line((110, 148), (110, 120), (210, 120), (210, 340), width=2.2, colour=style.VALUE)
    for n in range(3):
        sheet.arrow((210, 340 - 84 * n), (240, 340 - 84 * n), width=2.2, colour=style.VALUE)
    sheet.text(160, 106, "memory", 13, style.VALUE, bold=True)
    sheet.arrow((310, 148), (310, 84), width=2.5)
    sheet.text(310, 68, "next word, English")
    sheet.text(110, LOW + 8, "French", italic=True)
    sheet.text(310, LOW + 8, "English so far", italic=True)
    for n in range(3):
        sheet.box(640, 340 - 84 * n, 138, 46, "block", style.ACCENT, note="those before")
        sheet.arrow((640, LOW - 12 if n == 0 else 401 - 84 * n), (640, 364 - 84 * n), width=2.5)
    sheet.arrow((640, 148), (640, 84), width=2.5)
    sheet.text(640, 68, "next token")
    sheet.text(640, LOW + 8, "text so far", italic=True)
    _block(sheet, 840)
    sheet.line((440, 50), (440, 440), colour=style.tint(style.SOFT, 0.4), dashed=True)
    return sheet.svg()


def _block(sheet, x):
    """Two sublayers beside the stream; each reads a norm of it, and its answer is added."""
    sheet.rectangle(Spot(x - 40, 66, x + 150, LOW - 4), style.tint(style.ACCENT, 0.06), style.ACCENT, 1.2, 12)
    for low, name, note in ((LOW - 6, "self-attention", "masked"), (LOW - 164, "feed-forward", "")):
        branch, top = x + 76, low - 126
        sheet.arrow((x, low - 14), (branch, low - 14), (branch, low - 28))
        sheet.box(branch, low - 42, 70, 26, "norm", style.SOFT)
        sheet.line((branch, low - 56), (branch, low - 62))
        sheet.box(branch, low - 84, 124, 42, name, note=note)
        sheet.arrow((branch, low - 106), (branch, top), (x + 12, top))
        sheet.node(x, top, "+")
        sheet.line((x, low + 6), (x, top + 11), width=5)
        sheet.line((x, top - 11), (x, top - 32), width=5)
    sheet.arrow((x, 82), (x, 52), width=5)
    sheet.text(x, LOW + 18, "x", 15, bold=True)


def what_follows(table, names):
    """A table of pairs: for each word what follows it."""
    figure, axis = plt.subplots(figsize=(4.4, 3.6), layout="constrained")
    plots.heat_map(axis, table, names, names, kind="weight", numbers=True)
    axis.set(xlabel="next word", ylabel="word")
    return figure


def learning(losses, level, says, ylim=None):
    """The loss over the steps, and a level beside it with its name."""
    figure, axis = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
    axis.plot(losses, color=style.ACCENT)
    axis.axhline(level, color=style.INK, linestyle="--", linewidth=1)
    axis.text(len(losses), level, says, va="bottom", ha="right")
    axis.set(xlabel="step", ylabel="loss", ylim=ylim or (0, None))
    return figure


def paces(lengths, taken):
    """The time of a training step over the length of the text, a line per layer."""
    figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
    for (name, seconds), colour, mark in zip(taken.items(), (style.SOFT, style.ACCENT), "so", strict=True):
        axis.loglog(lengths, seconds, f"{mark}-", color=colour, label=name)
    axis.set_xticks(lengths, [f"{T:,}" for T in lengths])
    axis.minorticks_off()
    axis.set(xlabel="tokens", ylabel="seconds for a training step")
    axis.legend(frameon=False)
    return figure


def depth(right, steps):
    """How probable the right next token is, read after each block: (blocks + 1, tokens)."""
    figure, axis = plt.subplots(figsize=(9, 2.8), layout="constrained")
    rows = ["no block", *(f"block {n}" for n in range(1, len(right)))]
    plots.heat_map(axis, right, rows, steps, numbers=True, limit=1.0, kind="weight")
    axis.set(xlabel="token → next token", ylabel="read after")
    return figure
