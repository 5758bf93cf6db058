"""The drawings of lesson 11b: beams over budgets, words after wrong words, smoothed losses, a ward of patients."""

import matplotlib.pyplot as plt

from course_lib.display import plots, style

SIZES = (1, 4, 16)


def beams(rows, length):
    """BLEU and tokens per sentence over the size of the beam, a line per seed; length: of the right translations."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
    for row in rows:
        for axis, what in zip(axes, ("bleu", "tokens"), strict=True):
            values = [row[f"fresh: {what} {size}"] for size in SIZES]
            axis.plot(range(3), values, "o-", color=style.ACCENT, markersize=4)
    axes[0].set_ylabel("BLEU")
    axes[1].set_ylabel("tokens per sentence")
    axes[1].axhline(length, linestyle=":", color=style.SOFT)
    axes[1].text(2, length, "right ones", color=style.SOFT, va="bottom", ha="right")
    for axis in axes:
        axis.set(xticks=range(3), xticklabels=["1, greedy", "4", "16"], xlabel="beam")
    return figure


def after_wrong_words(rows, ways, steps):
    """How often a word is right after a right word and after a wrong one, a dot per seed."""
    figure, axis = plt.subplots(figsize=(7.5, 0.36 * len(ways) * len(steps) + 0.9), layout="constrained")
    names = [(way, budget) for budget in steps for way in ways]
    for n, (way, budget) in enumerate(names):
        mine = [row for row in rows if (row["way"], row["steps"]) == (way, budget)]
        for what, colour, mark in (("right word shown", style.INK, "o"), ("second word shown", style.ACCENT, "D")):
            axis.plot([row[what] for row in mine], [n] * len(mine), mark, color=colour, markersize=5, alpha=0.8,
                      label=what if n == 0 else None)
    axis.set(yticks=range(len(names)), yticklabels=[f"{way}, {budget:,} steps" for way, budget in names],
             xlabel="share of next words that are right", xlim=(0, 1.03))
    axis.invert_yaxis()
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def smoothed(ps, plain, soft, best):
    """Two losses over the probability of the right word."""
    figure, axis = plt.subplots(figsize=(5.5, 2.8), layout="constrained")
    axis.plot(ps, plain, color=style.INK, label="plain")
    axis.plot(ps, soft, "--", color=style.ACCENT, label="smoothed by 0.1")
    axis.axvline(best, color=style.SOFT, linewidth=1)
    axis.set(xlabel="probability of the right word", ylabel="loss")
    axis.legend(frameon=False)
    return figure


def ward(courses, healthy, blind, any_order):
    """The loss of each patient beside that of a healthy one; two dotted lines: a guess, and a guess of the order."""
    figure, axes = plt.subplots(1, len(courses), figsize=(11, 2.5), sharey=True, layout="constrained")
    for axis, (name, course) in zip(axes, courses.items(), strict=True):
        for curve, colour, dash in ((healthy.curve, style.SOFT, "--"), (course.curve, style.ACCENT, "-")):
            axis.plot(range(3, 200, 5), curve.unfold(0, 5, 5).mean(1), dash, color=colour)
        for level in (any_order, blind):
            axis.axhline(level, linestyle=":", color=style.INK, linewidth=1)
        axis.set(title=f"{name}: writes {100 * course.right:.0f} of 100", xlabel="step")
    axes[0].set_ylabel("loss per token")
    return figure


def looks(seen, row="492037"):
    """Where each patient looks: above in what it is shown, below in the source: {name: what patients.sees returns}."""
    figure, axes = plt.subplots(2, len(seen), figsize=(10.4, 4.2), layout="constrained")
    said = [*reversed(row), "·"]
    for (above, below), (name, (patterns, shown)) in zip(axes.T, seen.items(), strict=True):
        plots.heat_map(above, patterns["self_attn"], said, shown, name, numbers=False, kind="weight")
        plots.heat_map(below, patterns["cross_attn"], said, list(row), numbers=False, kind="weight")
        for axis in (above, below):
            axis.tick_params(axis="x", rotation=0)
    axes[0, 0].set_ylabel("has to say\n(is shown: →)")
    axes[1, 0].set_ylabel("has to say\n(the source: →)")
    return figure
