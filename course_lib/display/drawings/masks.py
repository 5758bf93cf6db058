"""The drawings of lesson 07: who may see whom, masked attention step by step, and what a die gives away."""

import matplotlib.pyplot as plt
import torch

from course_lib.display import style
from course_lib.display.diagrams import Sheet, width

HONEST = torch.tensor(6.0).log().item()  # the loss of "one sixth each"
CELL = 34  # pixels: a number
SMALL = 16  # pixels: without numbers


def losses(curves):
    """The loss at each of the places: {label: (T,)}; the honest one is dotted."""
    figure, axis = plt.subplots(figsize=(6.5, 2.9), layout="constrained")
    looks = ((style.INK, "o-"), (style.ACCENT, "s-"), (style.ACCENT, "D--"))
    for (label, at_each), (colour, mark) in zip(curves.items(), looks, strict=False):
        axis.plot(range(1, len(at_each) + 1), at_each, mark, color=colour, markersize=5, label=label)
    axis.axhline(HONEST, linestyle=":", color=style.SOFT)
    axis.text(1, HONEST + 0.12, "“one sixth each”: 1.79", color=style.SOFT)
    axis.set(xlabel="place", ylabel="loss", ylim=(-0.2, None))
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def who_sees_whom(masks, names):
    """Masks as squares: 1 where a word may attend, hatched where not: {title: (T, T) bool}, and the T names of each."""
    left = 16 + max(width(name, 13) for each in names for name in each)
    wide, tall = left + CELL * len(names[0]) + 20, CELL * len(names[0]) + 100
    sheet = Sheet(wide * len(masks), tall)
    for n, ((title, mask), each) in enumerate(zip(masks.items(), names, strict=True)):
        spot = sheet.grid(wide * n + left, 84, torch.where(mask, 1.0, torch.nan), "stream", CELL, limit=3)
        sheet.text(spot.x, 14, title, 15, bold=True)
        _names(sheet, spot, each, each)
    return sheet.svg()


def _names(sheet, spot, rows, columns):
    for i, name in enumerate(rows):
        sheet.text(spot.left - 8, spot.top + (i + 0.5) * CELL, name, 13, style.QUERY, "end")
    for i, name in enumerate(columns):
        at = spot.left + (i + 0.5) * CELL
        sheet.text(at, spot.top - 10 - 15 * (i % 2), name, 11, style.KEY)


def strip(scores, mask, words):
    """One attention in four squares: scores, masked scores, their exponentials, weights; all (T, T)."""
    masked = scores.where(mask, -torch.inf)
    steps = (("scores", scores, "score"), ("masked", masked, "score"),
             ("exponentials", masked.exp().where(mask, torch.nan), "stream"),
             ("weights", masked.softmax(-1).where(mask, torch.nan), "weight"))
    left, between = 16 + max(width(word, 13) for word in words), 62
    side = CELL * len(words)
    sheet = Sheet(left + 4 * side + 3 * between + 20, side + 96)
    for n, (title, matrix, kind) in enumerate(steps):
        limit = {"weight": 1, "score": float(scores.abs().max())}.get(kind)
        spot = sheet.grid(left + n * (side + between), 84, matrix, kind, CELL, limit)
        sheet.text(spot.x, 16, title, 15, style.HUES[kind], bold=True)
        _names(sheet, spot, () if n else words, words)
        if n:
            sheet.arrow((spot.left - between + 8, spot.y), (spot.left - 8, spot.y))
            sheet.text(spot.left - between / 2, spot.y - 16, ("", "−∞", "exp", "/ sum")[n], 12, style.SOFT)
    return sheet.svg()


def masked_heads(x, mask, heads, result, words):
    """Masked multi-head attention: one mask, between the scores of two heads.

    x, result: (T, D), what goes in and what comes out
    heads:     two dicts, each with q, k, v, scores, weights and out of a head
    """
    T, wide = len(words), heads[0]["q"].shape[1]
    tall, left = T * SMALL, 14 + max(width(word, 12) for word in words)
    lanes = [60, 60 + 2 * (tall + 66)]
    middle = lanes[0] + tall + 66
    sheet = Sheet(1060, lanes[1] + tall + 20)
    source = sheet.grid(left, middle, x, "stream", SMALL, name="x", columns="d")
    for n, word in enumerate(words):
        sheet.text(left - 6, source.top + (n + 0.5) * SMALL, word, 12, style.INK, "end")
    cut = source.right + 78
    seen = cut + 3 * (wide * SMALL + 26) + 30
    shown = sheet.grid(seen, middle, torch.where(mask, 1.0, torch.nan), "stream", SMALL, limit=3)
    sheet.text(shown.right + 10, shown.y - 9, "mask", 15, bold=True, anchor="start")
    sheet.text(shown.right + 10, shown.y + 9, "one for both", 12, style.SOFT, "start", italic=True)
    sheet.arrow((shown.x, shown.top - 5), (shown.x, lanes[0] + tall + 5))
    sheet.arrow((shown.x, shown.bottom + 5), (shown.x, lanes[1] - 24))
    looked, out = seen + tall + 60, seen + 2 * tall + 110
    joined_at = out + wide * SMALL + 84
    joined = sheet.grid(joined_at, middle, torch.cat([head["out"] for head in heads], 1), "stream", SMALL,
                        name="side by side", columns="h · d_head")
    end = sheet.grid(joined.right + 74, middle, result, "stream", SMALL, name="result", columns="d")
    for n, (head, top) in enumerate(zip(heads, lanes, strict=True)):
        spots = [sheet.grid(cut + m * (wide * SMALL + 26), top, head[name], kind, SMALL, name=name)
                 for m, (name, kind) in enumerate((("q", "query"), ("k", "key"), ("v", "value")))]
        sheet.text(spots[1].x, top - 36, f"head {n + 1}", 13, bold=True)
        scores = sheet.grid(seen, top, head["scores"].where(mask, torch.nan), "score", SMALL, name="masked scores")
        weights = sheet.grid(looked, top, head["weights"].where(mask, torch.nan), "weight", SMALL, 1, name="weights")
        answer = sheet.grid(out, top, head["out"], "stream", SMALL, name="out")
        sheet.around((source.right + 6, source.y), source.right + 36, (spots[0].left - 6, spots[0].y))
        for one, other in ((spots[2], scores), (scores, weights), (weights, answer)):
            sheet.arrow((one.right + 4, one.y), (other.left - 5, other.y))
        sheet.around((answer.right + 5, answer.y), answer.right + 34, (joined.left - 5, joined.y))
    sheet.arrow((joined.right + 6, joined.y), (end.left - 6, end.y), name="W_o", width=2)
    return sheet.svg()


def of_the_die(rows, ways):
    """Hits, loss, and loss when it writes, of guessers trained in several ways, plain and with the parts of lesson 08.

    rows: those of the stored results 07-die
    """
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained", sharey=True)
    looks = {0: (style.INK, "plain"), 1: (style.ACCENT, "with the parts of lesson 08")}
    marks = {120: "o", 600: "s", 3000: "D"}
    honest = {"hits": 1 / 6, "loss": HONEST, "writing": HONEST}
    for axis, (name, label) in zip(axes, (("hits", "hits, as in training"), ("loss", "loss, as in training"),
                                          ("writing", "loss when it writes")), strict=True):
        for parts, (colour, says) in looks.items():
            for step, (steps, mark) in enumerate(marks.items()):
                found = [(ways.index(row["way"]), row[name]) for row in rows
                         if row["wires"] == parts and row["steps"] == steps]
                axis.plot([value for _, value in found], [way + 0.13 * (3 * parts + step - 2.5) for way, _ in found],
                          mark, color=colour, markersize=4, label=f"{says}, {steps:,} steps")
        axis.axvline(honest[name], linestyle=":", color=style.SOFT)
        axis.set(xlabel=label, ylim=(len(ways) - 0.5, -0.5))
        for between in range(1, len(ways)):
            axis.axhline(between - 0.5, color=style.tint(style.SOFT, 0.3), linewidth=0.7)
    axes[2].set(xscale="log", xlim=(1, 90), xticks=[1, 2, 5, 10, 50], xticklabels=["1", "2", "5", "10", "50"])
    axes[2].minorticks_off()
    axes[0].set_yticks(range(len(ways)), ways)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure
