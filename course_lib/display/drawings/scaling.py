"""The figures of lesson 04: spreads, slopes, and what training makes of them."""

import math
import statistics

import matplotlib.pyplot as plt

from course_lib.display import style

COLOURS = {"version 1": style.LINES[2], "version 2": style.INK, "version 1, W √d times smaller": style.ACCENT}
MARKS = {"version 1": "s", "version 2": "o", "version 1, W √d times smaller": "D"}
DASHES = {"version 1": "--", "version 2": "-", "version 1, W √d times smaller": ":"}
SCORERS = {"additive": ("additive (version 0)", style.LINES[3], "^", "-."),
           "dot": ("dot product (version 1)", style.LINES[2], "s", "--"),
           "dot, queries √d times smaller": ("version 1, queries √d times smaller", style.ACCENT, "D", ":"),
           "scaled dot": ("dot product / √d (version 2)", style.INK, "o", "-")}
TUNING = 100  # seeds from here on choose the learning rate, and the others measure it


def two_spreads(wide, scaled, softmax):
    """The ten largest weights of two sets of scores, (N,) each, in order."""
    figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
    ranks = range(1, 11)
    for name, scores, look in (("as drawn", wide, "s--"), ("divided by their spread", scaled, "o-")):
        axis.plot(ranks, softmax(scores).sort(descending=True).values[:10], look, color=style.WEIGHT, label=name)
    axis.set(xlabel="rank of the weight", ylabel="weight (log axis)", yscale="log", ylim=(1e-9, 3))
    axis.set_xticks([1, 5, 10])
    axis.set_yticks([1e-9, 1e-6, 1e-3, 1])
    axis.yaxis.set_major_formatter(_power)
    axis.minorticks_off()
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def growth(widths, stds):
    """Measured standard deviations over widths, on the line of the square root."""
    figure, axis = plt.subplots(figsize=(5, 3.2), layout="constrained")
    axis.loglog(widths, [d**0.5 for d in widths], color=style.SOFT, linewidth=1)
    axis.loglog(widths, stds, "o", color=style.INK)
    axis.set_xticks(widths, [str(d) for d in widths])
    axis.set_yticks([1, 4, 16, 32], ["1", "4", "16", "32"])
    axis.minorticks_off()
    axis.annotate("√d", (128, 128**0.5), (128, 128**0.5 * 0.7), color=style.SOFT, fontsize=12)
    axis.text(widths[1], stds[1] * 1.5, "measured", ha="center")
    axis.set(xlabel="width d (log axis)", ylabel="standard deviation of q · x (log axis)")
    return figure


def bands(widths, left):
    """{version: one (draws,) tensor for each width}: the median, the mean, and where four fifths lie."""
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.7), layout="constrained", sharey=True)
    for axis, (name, drawn) in zip(axes, left.items(), strict=True):
        low, high = ([values.quantile(q).item() for values in drawn] for q in (0.1, 0.9))
        colour = COLOURS[name]
        axis.fill_between(widths, [max(x, 1e-9) for x in low], high, color=style.tint(colour, 0.18), linewidth=0,
                          label="four fifths of all queries")
        axis.plot(widths, [values.mean().item() for values in drawn], "s--", color=colour, label="mean")
        axis.plot(widths, [values.median().item() for values in drawn], "o-", color=colour, label="median")
        axis.set(title=name, xlabel="width d (log axis)", xscale="log", yscale="log", ylim=(1e-4, 1))
        axis.set_xticks(widths, [str(d) for d in widths])
        axis.set_yticks([1e-4, 1e-3, 1e-2, 1e-1, 1], ["0.0001", "0.001", "0.01", "0.1", "1"])
        axis.minorticks_off()
        axis.tick_params(labelleft=True)
    far = [d for d in widths if d >= 64]
    axes[0].plot(far, [0.6 * (64 / d) ** 0.5 for d in far], color=style.SOFT, linewidth=1)
    axes[0].text(far[1], 0.42, "1/√d", color=style.SOFT)
    figure.legend(*axes[1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    axes[0].set_ylabel("norm of the Jacobian (log axis)")
    return figure


def best_rates(rows):
    """{(loss, optimizer, width, version): rows}, at the rate that is best on the seeds for tuning, of the others."""
    found, names = {}, ("loss", "optimizer", "width", "version")
    for key in dict.fromkeys(tuple(row[name] for name in names) for row in rows):
        at = [row for row in rows if tuple(row[name] for name in names) == key]
        tuned = {row["rate"]: [r["error"] for r in at if r["rate"] == row["rate"] and r["seed"] >= TUNING]
                 for row in at}
        rate = min(tuned, key=lambda rate: statistics.median(tuned[rate]))
        found[key] = [row for row in at if row["rate"] == rate and row["seed"] < TUNING]
    return found


def over_widths(at_best, loss):
    """Errors at the best rates over the width, a panel for each optimizer: lines of medians, bars over all seeds.

    at_best: {(loss, optimizer, width, version): rows}, as best_rates gives it
    """
    errors = [row["error"] for rows in at_best.values() for row in rows]  # of both losses: one scale for both figures
    optimizers = list(dict.fromkeys(optimizer for _, optimizer, _, _ in at_best))
    widths = sorted({width for by, _, width, _ in at_best if by == loss})
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.5), layout="constrained", sharey=True)
    for axis, optimizer in zip(axes, optimizers, strict=True):
        for n, name in enumerate(COLOURS):
            dots = [[row["error"] for row in at_best[loss, optimizer, d, name]] for d in widths]
            beside = [d * 1.13 ** (n - 1) for d in widths]
            axis.vlines(beside, list(map(min, dots)), list(map(max, dots)), color=COLOURS[name], linewidth=5, alpha=0.3)
            axis.plot(beside, list(map(statistics.median, dots)), DASHES[name], marker=MARKS[name], markersize=6,
                      color=COLOURS[name], label=name)
        axis.set(title=optimizer, xlabel="width d (log axis)", xscale="log", yscale="log",
                 xlim=(11, 372), ylim=(min(errors) / 2, max(errors) * 2))
        axis.set_xticks(widths, [str(d) for d in widths])
        axis.minorticks_off()
        axis.yaxis.set_major_formatter(_power)
        axis.tick_params(labelleft=True)
    axes[0].set_ylabel("mean squared error\non fresh queries (log axis)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def over_rates(rows, panels="width", title="{}", y="error"):
    """Stored points over the learning rate, a panel for each value of `panels`: lines of medians in bands of all.

    A ring marks the lowest median of each line.
    """
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
            middle = list(map(statistics.median, at))
            axis.plot(rates, middle, DASHES[name], color=COLOURS[name], label=name)
            best = min(range(len(rates)), key=middle.__getitem__)
            axis.plot(rates[best], middle[best], "o", markersize=12, markerfacecolor="none", color=COLOURS[name])
        axis.set(title=title.format(value), xlabel="learning rate (log axis)", xscale="log", yscale="log")
        axis.set_xticks([1 / 256, 1 / 16, 1, 16], ["1/256", "1/16", "1", "16"])
        axis.minorticks_off()
        axis.yaxis.set_major_formatter(_power)
        axis.tick_params(labelleft=True)
    axes[0].set_ylabel("mean squared error\non fresh queries (log axis)")
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
    """The share of right answers over the width for four ways of scoring: lines of medians, bars over all seeds."""
    figure, axis = plt.subplots(figsize=(6.6, 3.7), layout="constrained")
    shares = chosen(rows)
    widths = sorted({d for _, d in shares})
    for n, (score, (name, colour, mark, dash)) in enumerate(SCORERS.items()):
        beside, at = [d * 1.1 ** (n - 1.5) for d in widths], [shares[score, d] for d in widths]
        axis.vlines(beside, list(map(min, at)), list(map(max, at)), color=colour, linewidth=5, alpha=0.3)
        axis.plot(beside, list(map(statistics.median, at)), dash, marker=mark, color=colour, label=name)
    axis.set(xlabel="width d (log axis)", ylabel="share of right answers", xscale="log", ylim=(0, 1.04))
    axis.set_xticks(widths, [str(d) for d in widths])
    axis.minorticks_off()
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _power(value, _):
    """0.01 as a power of ten, 10⁻²."""
    return "10" + str(round(math.log10(value))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
