"""The figures of lesson 04: spreads, slopes, and what training makes of them."""

import math
import statistics

import matplotlib.pyplot as plt

from course_lib.display import style

COLOURS = {"version 1": style.LINES[2], "version 2": style.INK, "version 1, W √d times smaller": style.ACCENT}
SCORERS = {"additive": ("additive (version 0)", style.LINES[3]), "dot": ("dot product (version 1)", style.LINES[2]),
           "scaled dot": ("dot product / √d (version 2)", style.INK)}
TUNING = 100  # seeds from here on choose the learning rate, and the others measure it


def two_spreads(wide, scaled, softmax):
    """Two sets of scores, (N,) each, as histograms; below each, its softmax."""
    figure, axes = plt.subplots(2, 2, figsize=(8.4, 4.6), layout="constrained", sharey="row")
    for column, (name, scores) in enumerate({"as drawn": wide, "divided by their spread": scaled}.items()):
        axes[0, column].hist(scores, bins=40, histtype="stepfilled", color=style.tint(style.SCORE, 0.6))
        axes[0, column].set(title=f"scores {name}", xlabel="score")
        axes[1, column].plot(softmax(scores), color=style.WEIGHT, linewidth=1)
        axes[1, column].set(title="their softmax", xlabel="number of the score", ylim=(0, 1.05))
        for axis in axes[:, column]:
            axis.tick_params(labelleft=True)
    axes[0, 0].set_ylabel("how many")
    axes[1, 0].set_ylabel("weight")
    return figure


def growth(widths, stds):
    """Measured standard deviations over widths, on the line of the square root."""
    figure, axis = plt.subplots(figsize=(5, 3.2), layout="constrained")
    axis.loglog(widths, [d**0.5 for d in widths], color=style.SOFT, linewidth=1)
    axis.loglog(widths, stds, "o", color=style.INK)
    axis.set_xticks(widths, [str(d) for d in widths])
    axis.set_yticks([1, 4, 16], ["1", "4", "16"])
    axis.minorticks_off()
    axis.text(widths[-2], widths[-2] ** 0.5 * 0.55, "√d", color=style.SOFT, fontsize=12)
    axis.text(widths[1], stds[1] * 1.5, "measured", ha="center")
    axis.set(xlabel="width d", ylabel="standard deviation of q · x")
    return figure


def bands(widths, left):
    """{version: one (draws,) tensor for each width}: the median, the mean, and where four fifths lie."""
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.3), layout="constrained", sharey=True)
    for axis, (name, drawn) in zip(axes, left.items(), strict=True):
        low, high = ([values.quantile(q).item() for values in drawn] for q in (0.1, 0.9))
        colour = COLOURS[name]
        axis.fill_between(widths, low, high, color=style.tint(colour, 0.18), label="four fifths of all queries")
        axis.plot(widths, [values.mean().item() for values in drawn], "s--", color=colour, label="mean")
        axis.plot(widths, [values.median().item() for values in drawn], "o-", color=colour, label="median")
        axis.set(title=name, xlabel="width d", ylim=(0, 0.6), xscale="log")
        axis.set_xticks(widths, [str(d) for d in widths])
        axis.minorticks_off()
        axis.legend(fontsize=9, loc="upper right" if name == "version 1" else "lower left")
        axis.tick_params(labelleft=True)
    axes[0].set_ylabel("norm of the Jacobian")
    return figure


def over_rates(rows, panels="width", title="{}", y="error"):
    """Stored points over the learning rate, a panel for each value of `panels`: lines of medians in bands of all."""
    values = sorted({row[panels] for row in rows})
    figure, axes = plt.subplots(1, len(values), figsize=(3 * len(values), 3.4), layout="constrained", sharey=True)
    names = list(dict.fromkeys(row["version"] for row in rows))
    for axis, value in zip(axes, values, strict=True):
        for name in names:
            points = [row for row in rows if row[panels] == value and row["version"] == name]
            rates = sorted({row["rate"] for row in points})
            at = [[row[y] for row in points if row["rate"] == rate] for rate in rates]
            lowest, highest = list(map(min, at)), list(map(max, at))
            axis.fill_between(rates, lowest, highest, color=COLOURS[name], alpha=0.15, linewidth=0)
            axis.plot(rates, list(map(statistics.median, at)), "-", color=COLOURS[name], label=name)
        axis.set(title=title.format(value), xlabel="learning rate", xscale="log", yscale="log")
        axis.minorticks_off()
        axis.xaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_major_formatter(_power)
        axis.tick_params(labelleft=True)
    axes[0].set_ylabel("error on fresh queries")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names))
    return figure


def chosen(rows):
    """{(score, width): shares right}, at the learning rate that is best on the seeds for tuning, on the other seeds."""
    found = {}
    for score in SCORERS:
        for d in sorted({row["width"] for row in rows}):
            at = [row for row in rows if (row["score"], row["width"]) == (score, d)]
            tuned = {row["rate"]: [r["right"] for r in at if r["rate"] == row["rate"] and r["seed"] >= TUNING]
                     for row in at}
            rate = max(tuned, key=lambda rate: statistics.mean(tuned[rate]))
            found[score, d] = [row["right"] for row in at if row["rate"] == rate and row["seed"] < TUNING]
    return found


def by_scorer(rows):
    """The share of right answers over the width for three ways of scoring: a dot for each seed, lines of medians."""
    figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
    shares = chosen(rows)
    widths = sorted({d for _, d in shares})
    for score, (name, colour) in SCORERS.items():
        for d in widths:
            axis.plot([d] * len(shares[score, d]), shares[score, d], "o", color=colour, alpha=0.4, markeredgewidth=0)
        above = {"linestyle": (0, (2, 2)), "zorder": 3} if score == "additive" else {}
        axis.plot(widths, [statistics.median(shares[score, d]) for d in widths], color=colour, label=name, **above)
    axis.set(xlabel="width d", ylabel="share of right answers", xscale="log", ylim=(0.5, 1.03))
    axis.set_xticks(widths, [str(d) for d in widths])
    axis.minorticks_off()
    axis.legend(loc="lower left")
    return figure


def _power(value, _):
    """0.01 as a power of ten, 10⁻²."""
    return "10" + str(round(math.log10(value))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
