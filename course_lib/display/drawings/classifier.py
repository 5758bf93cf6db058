"""The figures of lesson 10: who can tell twins apart, how far it reaches, and where two words look."""

import statistics

import matplotlib.pyplot as plt

from course_lib.display import style
from course_lib.display.diagrams import Sheet, width

RIVAL, WINDOW = style.LINES[2], style.LINES[3]
LOOKS = {"encoder": (style.INK, "o", "-"), "encoder that sees three words on either side": (WINDOW, "s", (0, (5, 2))),
         "runs of up to six words": (RIVAL, "^", (0, (1, 1.5))),
         "pairs in order, at any distance": (style.ACCENT, "D", "-")}
SAID = {"encoder that sees three words on either side": "encoder with a window",
        "runs of up to six words": "runs of up to six words", "pairs in order, at any distance": "pairs in order"}
MATTERS = 0.2  # a weight that is drawn


def _chance(axis, x, words="chance"):
    axis.axhline(0.5, color=style.SOFT, linewidth=1, linestyle=(0, (2, 2)), zorder=0)
    axis.text(x, 0.51, words, color=style.SOFT, fontsize=9, va="bottom")


def by_longest_run(by_n):
    """{longest run of words: accuracy}, as dots on stems that begin at chance."""
    figure, axis = plt.subplots(figsize=(5.6, 2.9), layout="constrained")
    for n, share in by_n.items():
        axis.plot([n, n], [0.5, share], color=style.tint(RIVAL, 0.45), linewidth=5, solid_capstyle="butt")
        axis.plot(n, share, LOOKS["runs of up to six words"][1], color=RIVAL, markersize=8)
        axis.text(n, share + 0.035, f"{share:.2f}", ha="center", fontsize=9)
    _chance(axis, 3.3)
    axis.set(xlabel="longest run of words that is counted", ylabel="right on test twins", ylim=(0.45, 1.09),
             xlim=(0.6, max(by_n) + 0.4), xticks=list(by_n))
    return figure


def epochs(history, by_n):
    """Validation accuracy (epochs,) after each epoch; the epoch that is kept, and what runs of words reach."""
    history = history.tolist()
    figure, axis = plt.subplots(figsize=(6.4, 3), layout="constrained")
    best = history.index(max(history))
    for n in (3, 5):
        axis.axhline(by_n[n], color=style.tint(RIVAL, 0.6), linewidth=1.2, zorder=0)
        axis.text(len(history) + 0.3, by_n[n] - 0.015, f"runs of up to {n} words", color=RIVAL, fontsize=9, ha="right",
                  va="top")
    axis.plot(range(1, len(history) + 1), history, "o-", color=style.INK)
    axis.plot(best + 1, history[best], "o", markersize=14, markerfacecolor="none", markeredgecolor=style.ACCENT,
              markeredgewidth=2)
    axis.text(best + 1, history[best] + 0.05, "kept", color=style.ACCENT, ha="center", fontweight="bold")
    _chance(axis, 3.3)
    axis.set(xlabel="epoch", ylabel="right on validation twins", ylim=(0.45, 1.12), xlim=(0.65, len(history) + 0.35),
             xticks=range(1, len(history) + 1), yticks=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    return figure


def reach(rows):
    """Stored points over the gap: a line for the median of each model, a dot for each seed; what is new is shaded."""
    gaps = [int(name.split()[1]) for name in rows[0] if name.startswith("gap")]
    at = {gap: place for place, gap in enumerate(gaps)}
    figure, axis = plt.subplots(figsize=(8.6, 4.2), layout="constrained")
    known, longest = at[4] + 0.5, at[12] + 0.5
    axis.axvspan(-0.6, known, color=style.tint(style.INK, 0.07), linewidth=0, zorder=-1)
    axis.axvspan(longest, len(gaps) - 0.4, color=style.tint(RIVAL, 0.07), linewidth=0, zorder=-1)
    for x, words in ((-0.5, "as in training"), (known + 0.1, "gaps that training never showed"),
                     (longest + 0.1, "texts longer than\nany in training")):
        axis.text(x, 1.125, words, fontsize=9, color=style.SOFT, va="top")
    for n, model in enumerate(dict.fromkeys(row["model"] for row in rows)):
        colour, mark, line = LOOKS[model]
        of, shift = [row for row in rows if row["model"] == model], 0.09 * (n - 1.5)
        medians = [statistics.median(row[f"gap {gap}"] for row in of) for gap in gaps]
        for row in of:
            axis.plot([at[gap] + shift for gap in gaps], [row[f"gap {gap}"] for gap in gaps], mark, color=colour,
                      markersize=4, alpha=0.45, markeredgewidth=0)
        for part in (slice(None, -2), slice(-2, None)):
            axis.plot([at[gap] + shift for gap in gaps[part]], medians[part], color=colour, linestyle=line,
                      linewidth=3 if model == "encoder" else 1.6, zorder=3 - n * 0.1)
        axis.text(len(gaps) - 0.75, medians[-1], SAID.get(model, model), color=colour, va="center", fontsize=10)
    _chance(axis, -0.5)
    axis.set(xlabel="words that follow the first opinion", ylabel="right on new twins", ylim=(0.45, 1.14),
             xlim=(-0.6, len(gaps) + 1.6))
    axis.set_xticks(range(len(gaps)), gaps)
    axis.set_yticks([0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    return figure


def arcs(words, asking, patterns):
    """Where some words of a text look: an arc for each weight that matters, as thick as the weight.

    words:    the T words of one text
    asking:   those whose rows are drawn; each stands in the text once
    patterns: {path: weights (1, H, T, T)}, as attention_patterns returns them
    returns:  the text of an SVG; of several heads that look to one word, the largest weight is drawn
    """
    steps = [width(word, 15, bold=True) + 18 for word in words]
    places = [130 + sum(steps[:t]) + steps[t] / 2 for t in range(len(words))]
    tall, over = 172, 34
    sheet = Sheet(sum(steps) + 170, over + tall * len(patterns) + 20)
    for n, weights in enumerate(patterns.values()):
        base = over + tall * (n + 1) - 40
        sheet.text(20, base - 52, f"layer {n + 1}", 15, anchor="start", bold=True)
        _arcs_of_a_layer(sheet, words, asking, weights[0].amax(0), places, base)
    sheet.text(20, 22, f"weights above {MATTERS:g}, as thick as they are large", 12, style.SOFT, "start", italic=True)
    return sheet.svg()


def _arcs_of_a_layer(sheet, words, asking, weights, places, base):
    for word in asking:
        t = words.index(word)
        for s, weight in enumerate(weights[t].tolist()):
            if weight < MATTERS:
                continue
            if s == t:
                sheet.circle(places[t], base - 26, 9, style.WEIGHT, "none")
                sheet.text(places[t] + 14, base - 28, f"{weight:.1f}", 11, style.WEIGHT, "start")
                continue
            high = base - 18 - min(92, 22 + 0.26 * abs(places[s] - places[t]))
            middle = (places[s] + places[t]) / 2
            sheet.curve((places[t], base - 14), (middle, 2 * high - base + 14), (places[s], base - 14), 7 * weight,
                        style.WEIGHT)
    for word, x in zip(words, places, strict=True):
        asks = word in asking
        sheet.text(x, base, word, 15, style.QUERY if asks else style.INK, bold=asks)


def recipe(rows):
    """Validation accuracy over the epochs, a line for each seed, the kept epoch marked; then the training texts."""
    names = [name for name in rows[0] if name.startswith("epoch")]
    figure, axis = plt.subplots(figsize=(7.4, 3.6), layout="constrained")
    trained = [row for row in rows if "counts" not in row["model"]]
    counted = [row[names[0]] for row in rows if "counts" in row["model"]]
    axis.axhspan(min(counted) - 0.002, max(counted) + 0.002, color=style.tint(RIVAL, 0.3), linewidth=0)
    for row in trained:
        history = [row[name] for name in names]
        axis.plot(range(1, len(names) + 1), history, "o-", color=style.INK, alpha=0.75, markersize=4, linewidth=1.4)
        best = history.index(max(history))
        axis.plot(best + 1, history[best], "o", markersize=12, markerfacecolor="none", markeredgecolor=style.ACCENT,
                  markeredgewidth=2)
        axis.plot(len(names), row["fitted"], "o", color=style.LINES[3])
    axis.text(len(names) - 0.2, 0.985, "on its own training texts", color=style.LINES[3], ha="right", va="center")
    axis.text(len(names) + 0.3, max(counted) + 0.008, "counts of words and pairs", color=RIVAL, ha="right")
    axis.text(len(names) + 0.3, 0.655, "classic recipe, on texts that it has not seen", ha="right", va="bottom")
    axis.set(xlabel="epoch (the one that is kept has a ring)", ylabel="right", ylim=(0.65, 1.03),
             xlim=(0.6, len(names) + 0.4), xticks=range(1, len(names) + 1))
    return figure
