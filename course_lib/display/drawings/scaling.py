"""The figures of lesson 04: spreads, slopes, and what training makes of them."""

import math
import statistics

import matplotlib.pyplot as plt

from course_lib.display import style

COLOURS = {"version 1": style.LINES[2], "version 2": style.INK, "version 1, W √d times smaller": style.ACCENT,
           "version 1, W begins at 0": style.LINES[3], "divided by d": style.SOFT}
MARKS = dict(zip(COLOURS, "soD^v", strict=True))
DASHES = {"version 1": "--", "version 2": "-", "version 1, W √d times smaller": ":"}
SCORERS = {"additive": ("additive (version 0)", style.LINES[3], "^", "-."),
           "dot": ("dot product (version 1)", style.LINES[2], "s", "--"),
           "dot, queries √d times smaller": ("version 1, queries √d times smaller", style.ACCENT, "D", ":"),
           "scaled dot": ("dot product / √d (version 2)", style.INK, "o", "-")}
TUNING = 100  # seeds from here on choose the learning rate, and the others measure it


def histograms(wide, scaled, spike, spread):
    """Two sets of scores, (N,) each, as histograms, and how large their weights are."""
    figure, axes = plt.subplots(2, 2, figsize=(8.4, 4.8), layout="constrained", sharex="col")
    for (left, right), scores, weights, name in zip(
            axes, (wide, scaled), (spike, spread), ("as drawn", "divided"), strict=True):
        left.hist(scores.tolist(), bins=[x * 10 for x in range(-36, 37, 3)], color=style.SCORE)
        left.set(ylabel=f"{name}:\nhow many of 1,000")
        sizes = [math.log10(max(weight, 1e-12)) for weight in weights.tolist()]
        right.hist(sizes, bins=[x / 2 for x in range(-24, 1)], color=style.WEIGHT)
        right.axvline(-3, color=style.INK, linewidth=1)
    for axis in axes.flat:
        axis.set_yscale("symlog", linthresh=10)
        axis.set_yticks([0, 10, 100, 1000], ["0", "10", "100", "1,000"])
        axis.set_ylim(0, 1500)
        axis.minorticks_off()
        axis.tick_params(labelbottom=True)
    axes[0, 0].set_title("scores")
    axes[0, 1].set_title("their weights; the line is an even share")
    axes[1, 0].set_xlabel("score")
    axes[1, 1].set_xlabel("weight (log axis)")
    axes[1, 1].set_xticks([-12, -9, -6, -3, 0], ["10⁻¹² or less", "10⁻⁹", "10⁻⁶", "10⁻³", "1"])
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


def divisors(widths, left, unequal):
    """{divisor: one (draws,) tensor for each width}, twice: slopes, and differences between weights, as medians in
    bands of four fifths."""
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.9), layout="constrained")
    looks = zip(left, (style.LINES[2], style.INK, style.LINES[3], style.ACCENT), ("--", "-", "-.", ":"), "so^D",
                strict=True)
    for by, colour, dash, mark in looks:
        for axis, drawn in zip(axes, (left[by], unequal[by]), strict=True):
            low, middle, high = ([values.quantile(q).item() for values in drawn] for q in (0.1, 0.5, 0.9))
            axis.fill_between(widths, low, high, color=style.tint(colour, 0.14), linewidth=0)
            axis.plot(widths, middle, dash, marker=mark, color=colour, label=f"divided by {by}")
    for axis in axes:
        axis.set(xlabel="width d (log axis)", xscale="log", ylim=(-0.02, None))
        axis.set_xticks(widths, [f"{d:,}" for d in widths])
        axis.minorticks_off()
    axes[0].set(title="slopes", ylabel="norm of the Jacobian")
    axes[1].set(title="differences between the weights", ylabel="standard deviation of 8 weights")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    return figure


def best_rates(rows):
    """{(steps, loss, optimizer, width, version): rows of the seeds that measure}, at the rate that the seeds for tuning
    choose."""
    found, names = {}, ("steps", "loss", "optimizer", "width", "version")
    for key in dict.fromkeys(tuple(row[name] for name in names) for row in rows):
        at = [row for row in rows if tuple(row[name] for name in names) == key]
        tuned = {row["rate"]: [r["error"] for r in at if r["rate"] == row["rate"] and r["seed"] >= TUNING]
                 for row in at}
        rate = min(tuned, key=lambda rate: statistics.median(tuned[rate]))
        found[key] = [row for row in at if row["rate"] == rate and row["seed"] < TUNING]
    return found


def wrong_answers(at_best, loss, width=256):
    """Wrong answers of each network at its best rate, a panel for each number of steps: a dot is a training."""
    steps = sorted({key[0] for key in at_best if key[1] == loss})
    figure, axes = plt.subplots(1, len(steps), figsize=(8.4, 3.4), layout="constrained", sharey=True, sharex=True)
    names = list(COLOURS)
    for axis, n in zip(axes, steps, strict=True):
        for place, name in enumerate(reversed(names)):
            for optimizer, shift, face in (("gradient descent", 0.15, None), ("Adam", -0.15, style.PAPER)):
                wrong = [1000 * row["wrong"] for row in at_best[n, loss, optimizer, width, name]]
                axis.plot(wrong, [place + shift] * len(wrong), MARKS[name], color=COLOURS[name], markersize=7,
                          markerfacecolor=face or COLOURS[name])
        axis.set_xscale("symlog", linthresh=1)
        axis.set(title=f"after {n:,} steps", xlabel="wrong answers of 1,000", xlim=(-0.1, 40), ylim=(-0.6, 4.6))
        axis.set_xticks([0, 1, 10], ["0", "1", "10"])
        axis.minorticks_off()
        axis.tick_params(labelbottom=True)
        axis.grid(axis="y", visible=False)
    axes[0].set_yticks(range(len(names)), list(reversed(names)))
    marks = [axes[0].plot([], [], "o", color=style.INK, markerfacecolor=face, label=name)[0]
             for name, face in (("gradient descent", style.INK), ("Adam", style.PAPER))]
    figure.legend(handles=marks, loc="outside lower center", ncols=2)
    return figure


def head_spreads(fresh, trained):
    """{attention: (heads,)} twice: the spread of each head's scores, before the training and after it."""
    figure, axis = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
    names = list(trained)
    for place, name in enumerate(reversed(names)):
        axis.plot(fresh[name].tolist(), [place + 0.14] * len(fresh[name]), "o", color=style.SOFT,
                  markerfacecolor=style.PAPER, label="before training" if place == 0 else None)
        axis.plot(trained[name].tolist(), [place - 0.14] * len(trained[name]), "o", color=style.INK,
                  label="trained" if place == 0 else None)
    said = {"encoder": "encoder", "decoder": "decoder", "self_attn": "self-attention", "cross_attn": "cross-attention"}
    axis.set_yticks(range(len(names)), [f"{said[part]}, layer {int(n) + 1}, {said[of]}" for part, n, of in
                                        (name.split(".") for name in reversed(names))])
    axis.set(xlabel="standard deviation of a query's scores, after the division by √d", xlim=(0, None))
    axis.grid(axis="y", visible=False)
    figure.legend(loc="outside lower center", ncols=2)
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


def by_scorer(rows, names=tuple(SCORERS)):
    """The share of right answers over the width for ways of scoring: lines of medians, bars over all seeds."""
    figure, axis = plt.subplots(figsize=(6.6, 3.7), layout="constrained")
    shares = chosen(rows)
    widths = sorted({d for _, d in shares})
    for n, score in enumerate(names):
        name, colour, mark, dash = SCORERS[score]
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
