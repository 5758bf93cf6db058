"""The figures of lesson 09: numberings of positions, waves, and what networks make of them."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MultipleLocator

from course_lib.display import plots, style
from course_lib.display.diagrams import Sheet, Spot

NEVER = style.LINES[2]
STILL = (542, 1815)  # wavelengths from which the cosine, or both columns, deviate by less than 0.05 over 50 positions
LINES = ((style.INK, "-", "o"), (NEVER, (0, (1, 1.5)), "s"), (style.ACCENT, (0, (5, 2)), "^"))
MIDDLES = np.array([4.0, *np.arange(11.5, 96, 8)])  # of the bins 1 to 7, 8 to 15, and so on to 88 to 95


def rulers(numbers):
    """{n: (n,) numbers from 0 to 1}, one line each, the dots counted from 0; one position is followed through all."""
    figure, axis = plt.subplots(figsize=(7.4, 0.8 * len(numbers) + 0.9), layout="constrained")
    places = []
    for y, line in enumerate(reversed(numbers.values())):
        axis.plot([0, 1], [y, y], color=style.tint(style.INK, 0.3), linewidth=1.2, zorder=1)
        for p, at in enumerate(line.tolist()):
            followed = p == 3
            colour = style.ACCENT if followed else style.INK
            axis.plot(at, y, "o", color=colour, markersize=8 if followed else 6, zorder=3)
            axis.text(at, y + 0.2, p, ha="center", color=colour, fontweight="bold" if followed else "normal")
        places.append((line[3].item(), y))
    axis.plot(*zip(*places, strict=True), color=style.tint(style.ACCENT, 0.5), linewidth=1.4, zorder=2)
    axis.set(yticks=range(len(numbers)), yticklabels=[f"{n} words" for n in reversed(numbers)],
             ylim=(-0.35, len(numbers) - 0.4), xlabel="number from 0 to 1")
    axis.spines["left"].set_visible(False)
    axis.tick_params(axis="y", length=0)
    return figure


def bits(table, pair=(0, 0)):
    """A table of bits (n, dims): a square for each; of a pair of neighbouring rows, the bits that differ are framed."""
    first, second = pair
    n, dims = table.shape
    cell, wide, left, top = 23, 62, 92, 92
    sheet = Sheet(left + wide * dims + 24, top + cell * n + 22)
    sheet.text(left - 14, 26, "column", 13, style.SOFT, "end")
    sheet.text(left - 14, 50, "weighs", 13, style.SOFT, "end")
    sheet.text(left - 14, top - 14, "position", 13, style.SOFT, "end", italic=True)
    for c in range(dims):
        x = left + (c + 0.5) * wide
        sheet.text(x, 26, str(c), 14, bold=True)
        sheet.text(x, 50, str(2 ** c), 13, style.SOFT)
        for p in range(n):
            square = Spot(left + c * wide + 3, top + p * cell, left + (c + 1) * wide - 3, top + (p + 1) * cell + 0.5)
            fill = style.tint(style.INK, 0.78 if table[p, c] else 0.07)
            sheet.rectangle(square, fill)
            sheet.text(x, square.y, str(int(table[p, c])), 12, style.ink_on(fill))
        if table[first, c] != table[second, c]:
            sheet.rectangle(Spot(left + c * wide + 2, top + first * cell, left + (c + 1) * wide - 2,
                                 top + (second + 1) * cell + 0.5),
                            edge=style.ACCENT, width=2.5, rounded=4)
    for p in range(n):
        sheet.text(left - 14, top + (p + 0.5) * cell, str(p), 13, style.ACCENT if p in pair and p else style.INK,
                   "end", bold=p in pair and p > 0)
    return sheet.svg()


def table(values):
    """A table of sinusoids (n, d), its columns in pairs, one for each hand."""
    n, d = values.shape
    figure, axis = plt.subplots(figsize=(8.6, 5), layout="constrained")
    plots.heat_map(axis, values, [str(p) for p in range(n)], ["sin" if c % 2 == 0 else "cos" for c in range(d)],
                   numbers=False, limit=1.0)
    for hand in range(d // 2):
        if hand:
            axis.axvline(2 * hand - 0.5, color=style.PAPER, linewidth=5)
        axis.text(2 * hand + 0.5, -0.9, f"hand {hand}", ha="center", fontsize=9, color=style.SOFT)
    axis.set_xticklabels(["sin" if c % 2 == 0 else "cos" for c in range(d)], rotation=0, ha="center", fontsize=8)
    axis.set_yticks(range(0, n, 4), range(0, n, 4))
    axis.spines[:].set_visible(False)
    axis.set(ylabel="position", aspect="auto")
    plots.scale(axis)
    return figure


def beats(switches, hands):
    """Columns of bits (n, 4) beside pairs of columns of sinusoids (n, d), row by row."""
    n = len(switches)
    figure, axes = plt.subplots(4, 2, figsize=(9, 5.4), sharex=True, sharey="col", layout="constrained")
    for row, (left, right) in enumerate(axes):
        left.fill_between(range(n), switches[:, row], step="mid", color=style.tint(style.INK, 0.12), linewidth=0)
        left.step(range(n), switches[:, row], where="mid", color=style.INK, linewidth=1.4)
        left.set(ylabel=f"column {row}", yticks=(0, 1), ylim=(-0.15, 1.25))
        right.axhline(0, color=style.tint(style.INK, 0.25), linewidth=0.8)
        dots = "o" if row == 0 else ""  # where the steps are seen
        right.plot(hands[:, 2 * row], dots + "-", color=style.INK, markersize=2.6, linewidth=1.4, label="sine")
        right.plot(hands[:, 2 * row + 1], dots + "--", color=style.ACCENT, markersize=2.4, linewidth=1.4,
                   label="cosine")
        right.set(ylabel=f"hand {row}", yticks=(-1, 0, 1), ylim=(-1.2, 1.2))
        for axis in (left, right):
            axis.tick_params(labelleft=True)
    axes[0, 0].set_title("binary: bits")
    axes[0, 1].set_title("sinusoids: hands")
    axes[0, 1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9, handlelength=1.2)
    for axis in axes[3]:
        axis.set_xlabel("position")
        axis.xaxis.set_major_locator(MultipleLocator(8))
    return figure


def wavelengths(of):
    """{d: (d / 2,) wavelengths} as marks on a logarithmic axis; faint where columns hardly move over 50 positions."""
    figure, axis = plt.subplots(figsize=(8, 2.8), layout="constrained")
    top, end = len(of) - 0.35, 2 * np.pi * 10000
    for y, (d, waves) in enumerate(of.items()):
        for low, high, share in ((0, STILL[0], 1), (STILL[0], STILL[1], 0.55), (STILL[1], np.inf, 0.3)):
            marks = [x for wave in waves.tolist() if low <= wave < high for x in (wave, wave, np.nan)]  # in one path
            axis.plot(marks, [y - 0.26, y + 0.26, np.nan] * (len(marks) // 3), color=style.tint(style.INK, share),
                      linewidth=1 if d > 100 else 1.6, solid_capstyle="butt")
    axis.axvspan(STILL[0], end * 1.6, color=style.tint(style.INK, 0.05), zorder=0)
    axis.text(STILL[0] * 1.12, top, "the cosine hardly moves over 50 positions", color=style.SOFT, fontsize=9,
              va="bottom")
    axis.text(STILL[1] * 1.12, -0.62, "palest: so does the sine", color=style.SOFT, fontsize=9, va="bottom")
    axis.text(6.4, top, "2π", ha="center", va="bottom")
    axis.plot([end, end], [-0.5, top - 0.1], color=style.ACCENT, linewidth=1.2, linestyle=(0, (3, 2)))
    axis.text(end * 1.06, -0.42, "10000 · 2π", color=style.ACCENT, fontsize=9, rotation=90, va="bottom")
    axis.set(xscale="log", yticks=range(len(of)), yticklabels=[f"d = {d}" for d in of], ylim=(-0.7, len(of) - 0.1),
             xlim=(5, end * 1.6), xlabel="wavelength in positions (logarithmic)")
    axis.spines["left"].set_visible(False)
    axis.tick_params(axis="y", length=0)
    return figure


def matrix(of):
    """A matrix that moves positions (d, d), in blocks of two by two."""
    d = len(of)
    names = [f"hand {c // 2} {'cos' if c % 2 else 'sin'}" for c in range(d)]
    figure, axis = plt.subplots(figsize=(4.8, 4.4), layout="constrained")
    plots.heat_map(axis, of.round(decimals=2) + 0.0, names, names, numbers=False, limit=1.0)  # + 0.0: no "−0.0"
    for r in range(d):
        for c in range(2 * (r // 2), 2 * (r // 2) + 2):
            axis.text(c, r, f"{of[r, c] + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−"), ha="center",
                      va="center_baseline", fontsize=8)
    for block in range(d // 2):
        corner = 2 * block - 0.5
        axis.add_patch(plt.Rectangle((corner, corner), 2, 2, fill=False, edgecolor=style.ACCENT, linewidth=2))
    axis.set(xlabel="at position pos", ylabel="at position pos + 1")
    axis.spines[:].set_visible(False)
    return figure


def attention(weights, words):
    """Where each word looks: (T, T)."""
    return plots.panels({"": weights}, words, words, "weight", labels=("is asked", "asks"))


def losses(runs):
    """{name: (seeds, steps)}: the loss over the steps, one line for each seed, on the line of a coin."""
    figure, axes = plt.subplots(2, 3, figsize=(8.4, 4.4), sharex=True, sharey=True, layout="constrained")
    for axis, (name, lines) in zip(axes.flat, runs.items(), strict=True):
        axis.axhline(np.log(2), color=style.SOFT, linewidth=1, linestyle=(0, (2, 2)))
        means = lines.unflatten(1, (-1, 5)).mean(-1)  # of five steps each
        for line in means:
            axis.plot(np.arange(2, lines.shape[1], 5), line, color=style.INK, linewidth=1.1, alpha=0.8)
        axis.set(title=name, ylim=(0, 1))
        axis.tick_params(labelleft=True, labelbottom=True)
    axes[0, 0].text(2, 0.55, "ln 2: a coin", color=style.SOFT, fontsize=9, va="top")
    for axis in axes[1]:
        axis.set_xlabel("step")
    for axis in axes[:, 0]:
        axis.set_ylabel("loss, three seeds")
    return figure


def criteria(says):
    """{proposal: what each of four tests found wrong}: a mark for each."""
    tests = ("unique", "consistent", "longer, bounded", "deterministic")
    left, top, wide, high = 150, 58, 128, 38
    sheet = Sheet(left + wide * len(tests) + 20, top + high * len(says) + 16)
    for c, test in enumerate(tests):
        sheet.text(left + (c + 0.5) * wide, 30, test, 13, bold=True)
    for r, (name, found) in enumerate(says.items()):
        y = top + (r + 0.5) * high
        sheet.line((20, y - high / 2), (sheet.width - 20, y - high / 2), colour=style.tint(style.INK, 0.18), width=1)
        sheet.text(left - 16, y, name, 14, anchor="end", bold=not any(found))
        for c, wrong in enumerate(found):
            x = left + (c + 0.5) * wide
            if wrong:
                for slope in (-1, 1):
                    sheet.line((x - 6, y - 6 * slope), (x + 6, y + 6 * slope), colour=NEVER, width=2.4)
            else:
                sheet.line((x - 8, y), (x - 2, y + 6), (x + 8, y - 7), colour=style.ACCENT, width=2.8)
    return sheet.svg()


def beyond(panels):
    """{title: {name: (seeds, 95) shares of right answers at places 1 to 95, or (seeds, 12) in bins of eight}}.

    A panel for each title, all on the same axes: the mean over the seeds, and the range of all of them. The places that
    were trained, the first 24, are grey.
    """
    wide = min(len(panels), 2)
    room = 0.14 * max(map(len, panels.values()))  # for the legend, above all lines
    figure, axes = plt.subplots(-(-len(panels) // wide), wide, figsize=(8.8, 3.1 * -(-len(panels) // wide)),
                                sharex=True, sharey=True, squeeze=False, layout="constrained")
    for axis, (title, lines) in zip(axes.flat, panels.items(), strict=True):
        axis.axvspan(0, 23.5, color=style.tint(style.INK, 0.06), zorder=0)
        axis.axhline(1 / 8, color=style.SOFT, linewidth=1, linestyle=(0, (2, 2)))
        axis.text(95, 0.105, "a guess", color=style.SOFT, fontsize=8, ha="right", va="top")
        axis.text(12, 0.02, "trained", ha="center", va="bottom", color=style.SOFT, fontsize=9)
        for (name, shares), (colour, dashes, mark) in zip(lines.items(), LINES, strict=False):
            shares = np.asarray(shares)
            axis.fill_between(MIDDLES, shares.min(0), shares.max(0), color=colour, alpha=0.16, linewidth=0)
            axis.plot(MIDDLES, shares.mean(0), color=colour, linestyle=dashes, marker=mark, markersize=4, label=name)
        axis.set(title=title, ylim=(0, 1.06 + room), xlim=(0, 96), yticks=[n / 5 for n in range(6)])
        axis.tick_params(labelleft=True, labelbottom=True)
        axis.xaxis.set_major_locator(MultipleLocator(24))
        axis.legend(loc="upper right", fontsize=9)
    for axis in axes[-1]:
        axis.set_xlabel("place in the text")
    for axis in axes[:, 0]:
        axis.set_ylabel("share of right answers")
    return figure


def products(of):
    """{d: (n,) dot products of two positions over their distance}, each as a share of that at distance 0."""
    figure, axis = plt.subplots(figsize=(7.4, 2.9), layout="constrained")
    for (d, line), (colour, dashes, _) in zip(of.items(), LINES, strict=False):
        axis.plot(line / line[0], color=colour, linestyle=dashes, label=f"d = {d}")
    axis.set(xlabel="distance k", ylabel="share of the product at k = 0", xlim=(0, len(line) - 1), ylim=(0, 1.02))
    axis.legend(loc="upper right")
    return figure


def rotary(rows):
    """The rows of 09-rotary: a dot for each seed, in three ranges of places, with the positions added or turned."""
    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3), sharey=True, layout="constrained")
    parts = {"trained": "1 to 23", "to 47": "24 to 47", "to 95": "48 to 95"}
    for axis, steps in zip(axes, (300, 3000), strict=True):
        axis.axhline(1 / 8, color=style.SOFT, linewidth=1, linestyle=(0, (2, 2)))
        kinds = (("sinusoids", "sinusoids, added", "o"), ("rotary", "rotary, turned", "^"))
        for (kind, name, mark), shift, colour in zip(kinds, (-0.13, 0.13), (style.INK, style.ACCENT), strict=True):
            chosen = [row for row in rows if (row["positions"], row["steps"]) == (kind, steps)]
            at = [x + shift + 0.004 * (row["seed"] - 14.5) for x in range(3) for row in chosen]
            axis.plot(at, [row[part] for part in parts for row in chosen], mark, color=colour, markersize=4, alpha=0.75,
                      label=name)
        axis.set(title=f"{steps:,} steps", xticks=range(3), xticklabels=parts.values(), xlabel="places", ylim=(0, 1.05))
        axis.tick_params(labelleft=True)
    axes[0].text(0.42, 0.11, "a guess", color=style.SOFT, fontsize=8, va="top", ha="right")
    axes[0].set_ylabel("share of right answers")
    axes[0].legend(loc="center left", fontsize=9)
    return figure


def errors(off, fitted):
    """{name: (n,) errors} over the position, on a logarithmic axis; the first `fitted` were fitted."""
    figure, axis = plt.subplots(figsize=(7.4, 3.1), layout="constrained")
    axis.axvspan(0, fitted - 0.5, color=style.tint(style.INK, 0.05), zorder=0)
    axis.text(fitted / 2, 6, "fitted", ha="center", va="top", color=style.SOFT, fontsize=9)
    for (name, error), colour, dashes in zip(off.items(), (style.INK, style.ACCENT, NEVER, style.WEIGHT),
                                             ("-", "-", (0, (4, 2)), (0, (1, 1.5))), strict=True):
        shown = error.clamp_min(3e-8).unfold(0, 5, 5).amax(1)  # the largest of each five
        axis.semilogy(np.arange(2, 5 * len(shown), 5), shown, color=colour, linestyle=dashes, linewidth=1.5, label=name)
    axis.set(xlabel="position moved by one", ylabel="largest error", xlim=(0, len(error)), ylim=(2e-8, 12))
    axis.legend(loc="center right")
    return figure
