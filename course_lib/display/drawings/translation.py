"""The drawings of lesson 11: memory as it flows, decoding step by step, four cases of cheating, a training."""

import matplotlib.pyplot as plt
import torch

from course_lib.display import style
from course_lib.display.diagrams import Sheet, Spot, width

CELL = 22  # pixels: a number of a strip


def memory(layers=3):
    """The encoder's last output, as keys and values, on its way into every layer of the decoder."""
    tall, left, right, turn = 108, 150, 700, 350
    sheet, low = Sheet(980, 116 + tall * layers), 58 + tall * layers
    over = low - tall * (layers - 1) - 104
    for n in range(layers):
        y = low - tall * n - 40
        sheet.box(left, y, 170, 46, f"encoder layer {n + 1}")
        sheet.arrow((left, y + tall / 2 + 4 if n else low + 12), (left, y + 24), width=4)
        sheet.rectangle(Spot(right - 240, y - 52, right + 240, y + 34), style.tint(style.INK, 0.045),
                        style.tint(style.INK, 0.25), 1.2, 12)
        looks, asks, thinks = (sheet.box(right - 160, y, 124, 44, "self-attention", note="masked"),
                               sheet.box(right + 8, y, 120, 44, "cross-attention", style.WEIGHT),
                               sheet.box(right + 158, y, 112, 44, "feed-forward", style.ACCENT))
        sheet.arrow((looks.right + 2, y), (asks.left - 3, y), colour=style.QUERY, width=2)
        sheet.arrow((asks.right + 2, y), (thinks.left - 3, y), width=2)
        for colour, off, height in ((style.KEY, -16, 34), (style.VALUE, 16, 42)):
            sheet.arrow((turn + off / 2, y - height), (asks.x + off, y - height), (asks.x + off, asks.top - 1),
                        colour=colour, width=2.2)
        below = low + 12 if n == 0 else y + tall / 2 + 1
        if n:
            sheet.line((thinks.x, y + tall - 22), (thinks.x, below), (looks.x, below), (looks.x, below - 4), width=2.5)
        sheet.arrow((looks.x, below), (looks.x, looks.bottom + 1), width=2.5)
    for colour, off, height in ((style.KEY, -16, 34), (style.VALUE, 16, 42)):
        up = over + (10 if off < 0 else 0)
        sheet.line((left + off / 2, over + 40), (left + off / 2, up), (turn + off / 2, up),
                   (turn + off / 2, low - 40 - height), colour=colour, width=2.2)
    sheet.text(left - 60, over - 18, "memory (B, Ts, d)", 14, anchor="start", bold=True)
    sheet.text(turn + 22, over + 2, "keys", 13, style.KEY, "start", bold=True)
    sheet.text(turn + 64, over + 2, "values", 13, style.VALUE, "start", bold=True)
    sheet.text(right - 76, low - tall * (layers - 1) - 26, "query", 12, style.QUERY, bold=True)
    sheet.text(left, low + 30, "French (B, Ts)", italic=True)
    sheet.text(right - 160, low + 30, "English so far (B, Tt)", italic=True)
    sheet.arrow((right + 158, over + 42), (right + 158, over - 2), width=2.5)
    sheet.text(right + 158, over - 16, "(B, Tt, d), to the linear map", 13)
    return sheet.svg()


def growing(steps):
    """Decoding: what the self-attention of one head has at each step; rows that have just come are framed.

    steps: for each, a dict with `words` (t names), q, k, v (t, n) and weights (t, t)
    """
    wide = max(width(word, 13) for step in steps for word in step["words"]) + 16
    cells, T = steps[-1]["q"].shape[1], len(steps[-1]["words"])
    panel = max(wide + cells * CELL, T * CELL) + 44
    sheet = Sheet(panel * len(steps) + 30, 4 * (T * CELL + 46) + 40)
    for n, step in enumerate(steps):
        t, left = len(step["words"]), 30 + wide + panel * n
        sheet.text(left + cells * CELL / 2, 14, f"step {n + 1}", 15, bold=True)
        for row_of, name in enumerate(("q", "k", "v")):
            kind = {"q": "query", "k": "key", "v": "value"}[name]
            spot = sheet.grid(left, 62 + row_of * (T * CELL + 46), step[name], kind, CELL,
                              float(steps[-1][name].abs().max()), name=kind if n == 0 else "", framed=t - 1)
            for row, word in enumerate(step["words"]):
                sheet.text(left - 8, spot.top + (row + 0.5) * CELL, word, 12, style.INK, "end", bold=row == t - 1)
        seen = torch.ones(t, t).tril().bool()
        sheet.grid(left, 62 + 3 * (T * CELL + 46), step["weights"].where(seen, torch.nan), "weight", CELL, 1,
                   name="weights" if n == 0 else "", framed=t - 1)
    return sheet.svg()


def cases(courses, blind):
    """Loss over steps for each case, the ways to write none or all: {name: Course}; blind: the loss of a guess."""
    figure, axis = plt.subplots(figsize=(7, 3.1), layout="constrained")
    looks = ((style.INK, "-"), (style.ACCENT, "-"), (style.ACCENT, "--"), (style.ACCENT, ":"))
    for (name, course), (colour, dash) in zip(courses.items(), looks, strict=True):
        axis.plot(range(3, 200, 5), course.curve.unfold(0, 5, 5).mean(1), dash, color=colour, label=name)
    axis.axhline(blind, linestyle=":", color=style.SOFT)
    axis.text(200, blind + 0.05, "a blind guess", color=style.SOFT, ha="right")
    axis.set(xlabel="step", ylabel="loss per token")
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def training(losses, blind):
    """The loss of each step, the mean of eight at a time; blind: what a guess costs."""
    figure, axis = plt.subplots(figsize=(6.5, 2.9), layout="constrained")
    smooth = losses.unfold(0, 8, 8).mean(1)
    axis.semilogy(range(4, 4 + 8 * len(smooth), 8), smooth, color=style.INK)
    axis.axhline(blind, linestyle=":", color=style.SOFT)
    axis.text(len(losses), blind * 1.12, "a blind guess", color=style.SOFT, ha="right")
    axis.set(xlabel="step", ylabel="loss per token")
    return figure
