"""The drawings of lesson 00: where a translator looks, mixtures in a triangle, states that forget, operations."""

import matplotlib.pyplot as plt
import torch

from course_lib.display import plots, style
from course_lib.display.drawings.transformer import draw_transformer

PARTS = {"feed-forward": style.LINES[0], "projections": style.LINES[3], "words with words": style.LINES[2],
         "everything else": style.SOFT}


def machine():
    """The whole Transformer."""
    figure, axes = plt.subplots(figsize=(9.6, 8.5))
    draw_transformer(axes)
    return figure


def alignment(weights, english, french):
    """(Tt, Ts) weights: the English words that are written, and the French ones that are looked at."""
    return plots.panels({"": weights}, english, french, "weight", labels=("is looked at", "is written"))


def triangle(weights, mixtures, names):
    """(T, 3) weights as places in a triangle with these names at its corners, and (T, 3) colours."""
    corners = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.5, 0.866]])
    figure, axis = plt.subplots(figsize=(4.6, 4.2))
    axis.scatter(*(weights @ corners).T, c=mixtures.clamp(0, 1), marker="h", s=62)
    for name, (x, y), up in zip(names, corners.tolist(), (-0.07, -0.07, 0.05), strict=True):
        axis.text(x, y + up, name, ha="center", va="center")
    axis.set(aspect="equal", xlim=(-0.1, 1.1), ylim=(-0.12, 0.97))
    axis.axis("off")
    return figure


def left_of_the_first(lengths, lines):
    """{name: a list of numbers for each length}: dots for the seeds, a line through their middle."""
    figure, axis = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    for (name, seeds), colour, mark in zip(lines.items(), style.LINES, "os^", strict=False):
        numbers = torch.tensor(seeds).clamp(min=1e-16)  # (lengths, seeds)
        axis.plot(lengths, numbers.median(1).values, color=colour, marker=mark, label=name)
        for column in numbers.T:
            axis.plot(lengths, column, mark, color=colour, markersize=3, alpha=0.5)
    axis.set(xscale="log", yscale="log", xticks=lengths, xlabel="words that were read (log axis)",
             ylabel="slope of the last state\nat the first word (log axis)")
    axis.set_xticks(lengths, lengths)
    axis.minorticks_off()
    axis.legend(loc="lower left", frameon=False)
    return figure


def shares_of_operations(lengths, counts):
    """{part: operations for each length} as shares, one upon the other."""
    rows = torch.tensor([counts[part] for part in PARTS], dtype=torch.float64)  # (parts, lengths)
    shares = rows / rows.sum(0)
    figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
    axis.stackplot(lengths, shares, colors=[style.tint(colour, 0.45) for colour in PARTS.values()],
                   edgecolor=style.PAPER)
    for part, T, y in (("feed-forward", 100, 0.3), ("projections", 100, 0.8), ("words with words", 14_000, 0.6)):
        axis.text(T, y, part, ha="center", va="center")
    axis.annotate("everything else", (20_000, 0.99), (2_500, 1.07), arrowprops={"arrowstyle": "-"}, va="center")
    axis.set(xscale="log", xlabel="words T (log axis)", ylabel="share of operations", ylim=(0, 1),
             xlim=(lengths[0], lengths[-1]))
    return figure
