"""The drawings of lesson 17: a loss that falls at once, two heads that make a circuit, what is missed, what is read."""

import matplotlib.pyplot as plt

from course_lib.display import style
from course_lib.display.diagrams import Sheet, Spot


def falls(runs, yours):
    """The loss on what is said again over the steps: {model: runs, each {step: loss}}, and that of a run of today."""
    figure, axis = plt.subplots(figsize=(7.6, 3.4), layout="constrained")
    for (name, each), colour, dash in zip(runs.items(), style.LINES, ("-", "--", ":", "-."), strict=False):
        for n, run in enumerate(each):
            axis.plot(list(run), list(run.values()), dash, color=colour, alpha=0.75, linewidth=1.4,
                      label=f"{name}, {len(each)} times" if n == 0 else None)
    axis.plot(list(yours), list(yours.values()), "o", color=style.INK, markersize=4, label="yours, today")
    axis.set(xlabel="step", ylabel="loss on what is said again", ylim=(0, None))
    axis.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def looks(scores, untrained):
    """Each head's weight on the place before, on its token's earlier copies, and just after these.

    scores, untrained: (3, blocks, H), of the trained model and of one before its training
    """
    names = ("one place back", "on an earlier copy", "just after a copy")
    figure, axes = plt.subplots(1, 3, figsize=(9, 2.7), layout="constrained", sharey=True)
    heads = [f"{b + 1}.{h + 1}" for b in range(scores.shape[1]) for h in range(scores.shape[2])]
    for axis, name, now, before in zip(axes, names, scores, untrained, strict=True):
        axis.plot(heads, before.flatten(), "o", color=style.SOFT, markersize=7, fillstyle="none", label="untrained")
        axis.plot(heads, now.flatten(), "o", color=style.WEIGHT, markersize=6, label="trained")
        axis.set(title=name, xlabel="head", ylim=(-0.03, 1.03))
    axes[0].set_ylabel("weight")
    axes[0].legend(frameon=False)
    return figure


def circuit():
    """Two heads, one behind the other: the first notes who stood before, the second looks for that note."""
    sheet = Sheet(960, 330)
    tokens = ["x", "A", "B", "y", "z", "A"]
    across = [90 + 136 * i for i in range(len(tokens))]
    for x, token in zip(across, tokens, strict=True):
        sheet.line((x, 262), (x, 66), width=4.5)
        sheet.box(x, 286, 44, 36, token)
    sheet.rectangle(Spot(20, 186, 940, 226), style.tint(style.INK, 0.05), "none", 0, 8)
    sheet.rectangle(Spot(20, 98, 940, 138), style.tint(style.INK, 0.05), "none", 0, 8)
    sheet.text(900, 206, "block 1", 12, style.SOFT)
    sheet.text(900, 118, "block 2", 12, style.SOFT)
    sheet.arrow((across[1], 206), (across[2] - 4, 206), colour=style.WEIGHT, width=3)
    sheet.text((across[1] + across[2]) / 2, 194, "looks one back", 13, style.WEIGHT)
    sheet.text(across[2] + 12, 166, "“before me: A”", 13, style.KEY, anchor="start", bold=True)
    sheet.text(across[5] + 12, 154, "“who has A", 13, style.QUERY, anchor="start", bold=True)
    sheet.text(across[5] + 12, 172, "before them?”", 13, style.QUERY, anchor="start", bold=True)
    sheet.arrow((across[2], 118), (across[5] - 4, 118), colour=style.WEIGHT, width=3)
    sheet.text((across[2] + across[5]) / 2, 106, "looks for the note, and takes B along", 13, style.WEIGHT)
    sheet.text(across[5], 44, "B", 20, style.VALUE, bold=True)
    return sheet.svg()


def missed(cuts, others):
    """Each head by where it looks and what is right without it: {"1.1": (weight, share)} of block 1 and 2, two dicts.

    others: the same of other trainings, two lists of pairs
    """
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.3), layout="constrained", sharey=True)
    for axis, own, all_, name in zip(axes, cuts, others, ("one place back", "just after a copy"), strict=True):
        axis.plot(*zip(*all_, strict=True), "o", color=style.SOFT, markersize=4, fillstyle="none",
                  label="twenty other trainings")
        axis.plot(*zip(*own.values(), strict=True), "o", color=style.ACCENT, markersize=7, label="yours")
        axis.set(xlabel=f"its weight {name}", xlim=(0, 1.02), ylim=(0, 1.04))
    for n, (head, at) in enumerate(cuts[0].items()):
        away = (46 + 13 * (n % 2)) * (1 if at[1] < 0.4 else -1)  # below its dot, unless that is below the axis
        axes[0].annotate(head, at, xytext=(0, away), textcoords="offset points", fontsize=10, ha="center",
                         arrowprops={"arrowstyle": "-", "color": style.SOFT, "linewidth": 0.8, "shrinkB": 5})
    axes[0].set_ylabel("right without it")
    axes[1].legend(frameon=False)
    return figure


def restored(shares):
    """How many answers one head brings back, from the run in which they are right: {contrast: {head: share}}."""
    figure, axes = plt.subplots(1, len(shares), figsize=(9.4, 2.9), layout="constrained", sharey=True)
    for axis, (contrast, each) in zip(axes, shares.items(), strict=True):
        colours = [style.INK if "." in head else style.ACCENT for head in each]
        bars = axis.bar([head.replace(" ", "\n") for head in each], list(each.values()), color=colours, width=0.6)
        axis.bar_label(bars, [f"{share:.2f}" for share in each.values()], fontsize=9, padding=1)
        axis.set(title=contrast, xlabel="patched in from the clean run", ylim=(0, 1.12))
        axis.tick_params(axis="x", labelsize=9)
    axes[0].set_ylabel("answers B")
    return figure


def attributed(shares, chance):
    """What each part of the residual stream adds to the answer's logit, and to that of another token: two dicts."""
    figure, axis = plt.subplots(figsize=(8, 2.9), layout="constrained")
    for k, (values, colour, name) in enumerate(((shares, style.VALUE, "the answer"),
                                                (chance, style.SOFT, "another token of the row"))):
        axis.bar([n + 0.38 * (k - 0.5) for n in range(len(values))], list(values.values()), 0.36, color=colour,
                 label=name)
    axis.axhline(0, color=style.INK, linewidth=0.6)
    axis.set_xticks(range(len(shares)), list(shares))
    axis.set(xlabel="part of the residual stream", ylabel="adds to the logit")
    axis.legend(frameon=False, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1))
    return figure


def read(scores, random):
    """How much the keys of block 2 read of each head of block 1, and of random matrices: (H, H), (n,)."""
    figure, axis = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
    axis.axhspan(random.min(), random.max(), color=style.tint(style.SOFT, 0.3), label="random matrices")
    for later, row in enumerate(scores):
        axis.plot([f"1.{h + 1}" for h in range(len(row))], row, "o", color=style.KEY, markersize=6, alpha=0.8,
                  label="keys of the heads of block 2" if later == 0 else None)
    axis.set(xlabel="what this head writes", ylabel="is read", ylim=(0, None))
    axis.legend(frameon=False, loc="lower left")
    return figure


def wrong_words(rows, kinds):
    """The share of wrong words of each kind, without one head: {head: (kinds,)}, as a table of squares."""
    figure, axis = plt.subplots(figsize=(8.6, 1.6 + 0.34 * len(rows)), layout="constrained")
    table = [[100 * share for share in row] for row in rows.values()]
    axis.imshow(table, style.colour_map("stream", False), vmin=0, vmax=max(map(max, table)), aspect="auto")
    for y, row in enumerate(table):
        for x, share in enumerate(row):
            ground = style.colour_map("stream", False)(share / max(map(max, table)))
            axis.text(x, y, f"{share:.0f}", ha="center", va="center", fontsize=10, color=style.ink_on(ground))
    axis.set_xticks(range(len(kinds)), [kind.replace(", did", ",\ndid").replace(", this", ",\nthis") for kind in kinds])
    axis.set_yticks(range(len(rows)), list(rows))
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    axis.set_title("wrong words in a hundred", fontsize=11)
    return figure
