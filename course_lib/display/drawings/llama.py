"""The drawings of lesson 15b: blocks of 2017 and of today, shared heads, copying, one wrong part, heads cut."""

import matplotlib.pyplot as plt

from course_lib.display import style
from course_lib.display.diagrams import Sheet, Spot


def blocks():
    """A decoder-only block with the parts of 2017 (pre-norm), and one of today; what differs is marked."""
    sheet = Sheet(900, 520)
    for x, title, norm, attention, feed, new in (
            (130, "the parts of 2017", "layer norm", "attention", "ReLU network", False),
            (560, "today (Llama)", "RMSNorm", "grouped attention", "SwiGLU", True)):
        colour = style.ACCENT if new else style.SOFT
        sheet.text(x + 90, 24, title, 16, bold=True)
        frame = Spot(x - 40, 64, x + 260, 428)
        sheet.rectangle(frame, style.tint(style.INK, 0.04), style.tint(style.INK, 0.25), 1.2, 12)
        for low, name in ((420, attention), (236, feed)):
            attends, branch, top = low == 420, x + 130, low - 138
            sheet.arrow((x, low - 12), (branch, low - 12), (branch, low - 26))
            sheet.box(branch, low - 40, 104, 27, norm, colour)
            sheet.line((branch, low - 54), (branch, low - 62))
            if attends and new:
                sheet.box(branch, low - 74, 60, 22, "RoPE", colour)
                sheet.text(branch + 74, low - 74, "queries, keys", 11, style.SOFT)
            sheet.arrow((branch, low - 85 if attends and new else low - 54), (branch, low - 92))
            sheet.box(branch, low - 110, 150, 34, name, colour)
            sheet.arrow((branch, low - 127), (branch, top), (x + 12, top))
            sheet.node(x, top, "+")
            sheet.line((x, low + 8), (x, top + 11), width=4.5)
            sheet.line((x, top - 11), (x, top - 38), width=4.5)
        sheet.arrow((x, 74), (x, 46), width=4.5)
        sheet.line((x, 428), (x, 470), width=4.5)
        sheet.text(x, 488, "tokens" if new else "tokens + sinusoids", 13, italic=True)
    return sheet.svg()


def shared_heads(query_heads=9, key_heads=(9, 3, 1)):
    """Which query heads ask which heads of keys and values: each its own, shared by three, one for all."""
    sheet = Sheet(960, 250)
    for n, groups in enumerate(key_heads):
        left, step = 40 + 310 * n, 30
        title = {query_heads: "multi-head (version 6)", 1: "multi-query"}.get(groups, f"grouped, {groups} groups")
        sheet.text(left + 4 * step, 26, title, 14, bold=True)
        share = query_heads // groups
        for h in range(query_heads):
            x = left + h * step
            below = left + step * (share * (h // share) + (share - 1) / 2)
            sheet.line((x, 78), (below, 160), width=1.6)
            sheet.rectangle(Spot(x - 11, 54, x + 11, 78), style.tint(style.QUERY, 0.25), style.QUERY, 1.4, 5)
        for g in range(groups):
            x = left + step * (share * g + (share - 1) / 2)
            sheet.rectangle(Spot(x - 11, 160, x + 11, 182), style.tint(style.KEY, 0.25), style.KEY, 1.4, 5)
            sheet.rectangle(Spot(x - 11, 184, x + 11, 206), style.tint(style.VALUE, 0.25), style.VALUE, 1.4, 5)
        sheet.text(left + 4 * step, 232, f"kept per token: {groups} keys and {groups} values", 12, style.SOFT)
    sheet.text(14, 66, "q", 14, style.QUERY, bold=True)
    sheet.text(14, 171, "k", 14, style.KEY, bold=True)
    sheet.text(14, 195, "v", 14, style.VALUE, bold=True)
    return sheet.svg()


def over_distance(scores):
    """A score over the distance of query and key, (T,)."""
    figure, axis = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
    axis.plot(scores, color=style.SCORE)
    axis.axhline(0, color=style.INK, linewidth=0.5)
    axis.set(xlabel="distance", ylabel="score, largest = 1")
    return figure


def copying(trainings, yours):
    """The loss on the second half over the steps: {model: runs, each {step: loss}}, and those of a run of today."""
    figure, axis = plt.subplots(figsize=(8.8, 3.2), layout="constrained")
    for (name, runs), colour, dash in zip(trainings.items(), style.LINES, ("-", "--", ":"), strict=False):
        for n, run in enumerate(runs):
            axis.plot(list(run), list(run.values()), dash, color=colour, alpha=0.7,
                      label=f"{name}, {len(runs)} times" if n == 0 else None)
    axis.plot(list(yours), list(yours.values()), "o", color=style.INK, markersize=4, label="yours, today")
    axis.set(xlabel="step", ylabel="loss on the second half")
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def wrong_parts(rows):
    """What one wrong part costs: {part: (p of Paris, bits more on short texts, bits more on all as one)}."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 0.7 + 0.38 * len(rows)), layout="constrained", sharey=True)
    axes[0].barh(range(len(rows)), [row[0] for row in rows.values()], color=style.INK, height=0.5)
    axes[0].set(xlabel="probability of “ Paris”", xlim=(0, 1), ylim=(len(rows) - 0.5, -0.5))
    axes[0].set_yticks(range(len(rows)), list(rows))
    for k, (name, colour) in enumerate((("five short texts", style.ACCENT), ("all five as one", style.LINES[2]))):
        axes[1].barh([n + 0.3 * (k - 0.5) for n in range(len(rows))], [row[k + 1] for row in rows.values()], 0.28,
                     color=colour, label=name)
    axes[1].set(xlabel="bits per token lost", xlim=(0, 4))
    axes[1].legend(frameon=False, loc="upper right")
    return figure


def read_off(blocks, ranks):
    """The rank of the answer behind each block: {name: (len(blocks),)}."""
    figure, axis = plt.subplots(figsize=(6.8, 2.8), layout="constrained")
    for (name, each), colour, mark in zip(ranks.items(), style.LINES, ("o", "s"), strict=False):
        axis.plot(blocks, each, marker=mark, color=colour, label=name, markersize=5)
    axis.set(xlabel="read off behind block", ylabel="rank of “ Paris”", yscale="log", xticks=blocks)
    axis.invert_yaxis()
    axis.legend(frameon=False)
    return figure


def looked_and_missed(heads, named):
    """Each head by where it looks and what it costs to cut it: {(block, head): (weight, cost)}.

    named: the heads that get their names
    """
    figure, axis = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    axis.plot(*zip(*heads.values(), strict=True), "o", color=style.INK, markersize=4, alpha=0.4)
    for which in named:
        axis.plot(*heads[which], "o", color=style.ACCENT, markersize=6)
        axis.annotate(f"{which[0]}.{which[1]}", heads[which], xytext=(6, 3), textcoords="offset points", fontsize=10)
    axis.set(xlabel="weight on the token after the copy", ylabel="rise of the loss when it is cut")
    return figure
