"""The figures of lesson 10: who can tell twins apart, how far, and what ten trainings have learned."""

import statistics

import matplotlib.pyplot as plt

from course_lib.display import style

RIVAL = style.LINES[2]
LOOKS = {"encoder": (style.INK, "-", "encoder"),
         "runs of up to six words": (RIVAL, (0, (1, 1.5)), "six-grams"),
         "pairs in order, at any distance": (style.ACCENT, (0, (6, 1)), "pairs in order"),
         "pairs in order, within eight words": (style.ACCENT, (0, (6, 1)), "pairs within 8 words"),
         "GRU from both ends": (style.LINES[3], (0, (3, 1, 1, 1)), "GRU")}
LOOKS |= {f"encoder that sees {name} words on either side": (style.SOFT, dashes, f"window of {name}")
          for name, dashes in {"three": (0, (5, 2)), "four": (0, (3, 1, 1, 1)), "eight": (0, (1, 1))}.items()}
GAPS = (0, 4, 6, 7, 9, 12, 24, 40)  # words after the first opinion that are drawn


def _chance(axis, x, words="chance"):
    axis.axhline(0.5, color=style.SOFT, linewidth=1, linestyle=(0, (2, 2)), zorder=0)
    axis.text(x, 0.51, words, color=style.SOFT, fontsize=9, va="bottom")


def _dots(axis, points, colour, size):
    """Many dots as one line of the picture: short strokes with round ends."""
    pieces = [(x + step, y) for x, y in points for step in (0, 1e-4, float("nan"))]
    axis.plot(*zip(*pieces, strict=True), color=colour, linewidth=size, solid_capstyle="round", alpha=0.6)


def epochs(history, rivals):
    """Validation accuracy (epochs,) after each epoch; the epoch that is kept, and what {n: n-grams} reach."""
    history = history.tolist()
    figure, axis = plt.subplots(figsize=(6.4, 3), layout="constrained")
    best = history.index(max(history))
    for n, share in rivals.items():
        axis.axhline(share, color=style.tint(RIVAL, 0.6), linewidth=1.2, zorder=0)
        where = dict(x=len(history) + 0.3, y=share - 0.015, ha="right", va="top")
        if share > 0.95:  # at the top, where the ring is on the right
            where = dict(x=0.75, y=share + 0.02, ha="left", va="bottom")
        axis.text(s=f"n-grams of up to {n} words", color=RIVAL, fontsize=9, **where)
    axis.plot(range(1, len(history) + 1), history, "o-", color=style.INK)
    axis.plot(best + 1, history[best], "o", markersize=14, markerfacecolor="none", markeredgecolor=style.ACCENT,
              markeredgewidth=2)
    axis.text(best + 1, history[best] + 0.05, "kept", color=style.ACCENT, ha="center", fontweight="bold")
    _chance(axis, 3.3)
    axis.set(xlabel="epoch", ylabel="accuracy on validation twins", ylim=(0.45, 1.12), xlim=(0.65, len(history) + 0.35),
             xticks=range(1, len(history) + 1), yticks=[0.5, 0.75, 1.0])
    return figure


def reach(rows, names):
    """Stored points over the gap: a line for the median of each named model, a dot for each seed."""
    figure, axis = plt.subplots(figsize=(8.2, 3.6), layout="constrained")
    at, ends = {gap: place for place, gap in enumerate(GAPS)}, {}
    known, longest = at[4] + 0.5, at[12] + 0.5
    for left, right, colour, words in ((-0.6, known, style.INK, "as in training"),
                                       (known, longest, style.PAPER, "gaps that training never showed"),
                                       (longest, len(GAPS) - 0.4, RIVAL, "texts longer than\nany in training")):
        axis.axvspan(left, right, color=style.tint(colour, 0.07), linewidth=0, zorder=-1)
        axis.text(left + 0.1, 1.135, words, fontsize=9, color=style.SOFT, va="top")
    for n, name in enumerate(names):
        colour, line, says = LOOKS[name]
        of, shift = [row for row in rows if row["model"] == name], 0.1 * (n - (len(names) - 1) / 2)
        x = [at[gap] + shift for gap in GAPS]
        dots = {(x[at[gap]], round(row[f"gap {gap}"], 2)) for row in of for gap in GAPS}  # what is equal is drawn once
        _dots(axis, sorted(dots), colour, 4)
        medians = [statistics.median(row[f"gap {gap}"] for row in of) for gap in GAPS]
        for part in (slice(None, 2), slice(2, -2), slice(-2, None)):
            axis.plot(x[part], medians[part], color=colour, linestyle=line, linewidth=2.6 if name == "encoder" else 1.6)
        ends[says] = medians[-1], colour
    for (says, (_, colour)), y in zip(ends.items(), _apart([end for end, _ in ends.values()]), strict=True):
        axis.text(len(GAPS) - 0.3, y, says, color=colour, va="center", fontsize=10)
    axis.axhline(0.5, xmax=0.78, color=style.SOFT, linewidth=1, linestyle=(0, (2, 2)), zorder=0)
    axis.text(-0.5, 0.51, "chance", color=style.SOFT, fontsize=9, va="bottom")
    axis.set(xlabel="words that follow the first opinion (not to scale)", ylabel="accuracy on new twins",
             ylim=(0.45, 1.15), xlim=(-0.6, len(GAPS) + 1.9))
    axis.set_xticks(range(len(GAPS)), GAPS)
    axis.set_yticks([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    return figure


def _apart(heights, least=0.045):
    """Heights for labels in the same order, moved down where two would meet."""
    placed, below = {}, 2.0
    for i in sorted(range(len(heights)), key=lambda i: -heights[i]):
        below = placed[i] = min(heights[i], below - least)
    return [placed[i] for i in range(len(heights))]


def seeds(values, says, chance=False):
    """{label: one number per training}, from 0 to 1: a row of dots each, those that are equal one above the other."""
    figure, axis = plt.subplots(figsize=(6.8, 0.8 + 0.5 * len(values)), layout="constrained")
    for n, shares in enumerate(values.values()):
        axis.axhline(n, color=style.tint(style.INK, 0.15), linewidth=1, zorder=0)
        places = [round(share * 60) for share in shares]
        step = min(0.085, 0.75 / max(map(places.count, places)))
        heights = [n - step * places[:i].count(place) for i, place in enumerate(places)]
        _dots(axis, zip(shares, heights, strict=True), style.INK, 5)
    if chance:
        axis.axvline(0.5, color=style.SOFT, linewidth=1, linestyle=(0, (2, 2)), zorder=0)
        axis.text(0.49, -0.55, "chance", color=style.SOFT, fontsize=9, ha="right", va="top")
    of = {len(shares) for shares in values.values()}
    each = f"one of {of.pop()} trainings" if len(of) == 1 else "a training"
    axis.set(xlabel=f"{says}; each dot is {each}", xlim=(0.3 if chance else -0.03, 1.03),
             ylim=(len(values) - 0.6, -0.95))
    axis.set_yticks(range(len(values)), list(values))
    axis.set_xticks([0.5, 0.75, 1.0] if chance else [0, 0.5, 1.0])
    return figure


def recipe(rows):
    """Validation accuracy over the epochs, a line for each seed, the kept epoch marked; then the training texts."""
    names = [name for name in rows[0] if name.startswith("epoch")]
    figure, axis = plt.subplots(figsize=(7.4, 3.6), layout="constrained")
    for row in rows:
        history = [row[name] for name in names]
        if row["model"] != "recipe":
            colour = RIVAL if row["model"].endswith("of words") else style.ACCENT
            axis.plot([0.35, 0.6], [history[0]] * 2, color=colour, linewidth=2.4)
            continue
        axis.plot(range(1, len(names) + 1), history, color=style.INK, alpha=0.75, linewidth=1.4)
        _dots(axis, enumerate(history, 1), style.INK, 4)
        best = history.index(max(history))
        axis.plot(best + 1, history[best], "o", markersize=12, markerfacecolor="none", markeredgecolor=style.ACCENT,
                  markeredgewidth=2)
        axis.plot(len(names), row["fitted"], "s", color=style.LINES[3])
    axis.axhline(0.58, color=style.SOFT, linewidth=1, linestyle=(0, (2, 2)), zorder=0)
    end = len(names) + 0.3
    axis.text(end, 0.59, "always “good”", color=style.SOFT, fontsize=9, ha="right", va="bottom")
    axis.text(len(names) - 0.25, 0.998, "classic recipe, on its training texts", color=style.LINES[3], ha="right",
              va="center")
    axis.text(end, 0.7, "classic recipe, on validation texts", ha="right", va="top")
    axis.text(0.4, 0.84, "TF-IDF of words and pairs", color=style.ACCENT, va="bottom")
    axis.text(0.4, 0.725, "TF-IDF\nof words", color=RIVAL, va="top")
    axis.set(xlabel="epoch (the one that is kept has a ring)", ylabel="accuracy", ylim=(0.5, 1.04),
             xlim=(0.25, len(names) + 0.4), xticks=(1, 2, 5, 10), yticks=(0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
    return figure
