"""The figures of lesson 09: numberings of positions, waves, and what networks make of them."""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MultipleLocator

from course_lib.display import plots, style
from course_lib.display.diagrams import Sheet, Spot

NEVER = style.LINES[2]
STILL = (542, 1815)  # wavelengths from which the cosine, or both columns, deviate by less than 0.05 over 50 positions
COLOURS = {"sinusoids": style.INK, "learned positions": NEVER, "no positions": style.LINES[3],
           "no positions, causal mask": style.ACCENT, "weights by hand": style.ACCENT,
           "all hands came round": style.WEIGHT, "random starts": style.LINES[3], "RoPE": style.ACCENT}
DASHES = {"learned positions": (0, (1, 1.5)), "weights by hand": (0, (1, 1.5)), "all hands came round": (0, (5, 2))}


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


def what_is_seen(seen, ends):
    """How many texts have a position (from 0), and how many have a length (from 1); empty places are marked."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 2.7), sharey=True, layout="constrained")
    sides = (("position", "texts that have it", 0, seen), ("length", "texts of that length", 1, ends))
    for axis, (name, counts, start, heights) in zip(axes, sides, strict=True):
        at = np.arange(start, start + len(heights))
        last = max(place for place, height in zip(at, heights, strict=True) if height)
        axis.bar(at, heights, width=0.72, color=style.tint(style.INK, 0.6))
        for place, height in zip(at, heights, strict=True):
            if not height:
                gap = start and 2 < place < last
                axis.bar(place, 12, width=0.9, color=style.tint(NEVER if gap else style.INK, 0.16 if gap else 0.05))
        axis.axvline(last + 0.5, color=style.SOFT, linewidth=1, linestyle=(0, (2, 2)))
        axis.text(last + 0.7, 11.2, "never seen", color=style.SOFT, fontsize=9, va="top")
        axis.set(xlabel=name, ylabel=counts, ylim=(0, 12.5), xlim=(at[0] - 0.6, at[-1] + 0.6))
        axis.tick_params(labelleft=True)
        axis.xaxis.set_major_locator(MultipleLocator(2))
    for place, word in ((8, "gap"), (10.5, "gaps")):
        axes[1].text(place, 11.2, word, ha="center", va="top", color=NEVER, fontsize=9)
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
        right.plot(hands[:, 2 * row], "o-", color=style.INK, markersize=2.6, linewidth=1.4, label="sine")
        right.plot(hands[:, 2 * row + 1], "s-", color=style.ACCENT, markersize=2.4, linewidth=1.4, label="cosine")
        right.set(ylabel=f"hand {row}", yticks=(-1, 0, 1), ylim=(-1.2, 1.2))
        for axis in (left, right):
            axis.tick_params(labelleft=True)
    axes[0, 0].set_title("binary: switches")
    axes[0, 1].set_title("sinusoids: hands")
    axes[0, 1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9, handlelength=1.2)
    for axis in axes[3]:
        axis.set_xlabel("position")
        axis.xaxis.set_major_locator(MultipleLocator(8))
    return figure


def wavelengths(of):
    """{d: (d / 2,) wavelengths} as marks on a logarithmic axis; pale where columns hardly move over 50 positions."""
    figure, axis = plt.subplots(figsize=(8, 2.8), layout="constrained")
    top, end = len(of) - 0.35, 2 * np.pi * 10000
    for y, (d, waves) in enumerate(of.items()):
        for wave in waves.tolist():
            colour = style.tint(style.INK, 1 if wave < STILL[0] else 0.55 if wave < STILL[1] else 0.3)
            axis.plot([wave, wave], [y - 0.26, y + 0.26], color=colour, linewidth=1 if d > 100 else 1.6,
                      solid_capstyle="butt")
    axis.axvspan(STILL[0], end * 1.6, color=style.tint(style.INK, 0.05), zorder=0)
    axis.text(STILL[0] * 1.12, top, "the cosine hardly moves over 50 positions", color=style.SOFT, fontsize=9,
              va="bottom")
    axis.text(6.4, top, "2π", ha="center", va="bottom")
    axis.plot([end, end], [-0.5, top - 0.1], color=style.ACCENT, linewidth=1.2, linestyle=(0, (3, 2)))
    axis.text(end * 1.06, -0.42, "10000 · 2π", color=style.ACCENT, fontsize=9, rotation=90, va="bottom")
    axis.set(xscale="log", yticks=range(len(of)), yticklabels=[f"d = {d}" for d in of], ylim=(-0.5, len(of) - 0.1),
             xlim=(5, end * 1.6), xlabel="wavelength in positions (logarithmic)")
    axis.spines["left"].set_visible(False)
    axis.tick_params(axis="y", length=0)
    return figure


def matrix(of):
    """A matrix that moves positions (d, d), in blocks of two by two."""
    d = len(of)
    names = [f"{'cos' if c % 2 else 'sin'} {c // 2}" for c in range(d)]
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
    figure, axes = plt.subplots(1, len(runs), figsize=(2.5 * len(runs) + 0.6, 2.9), sharey=True, layout="constrained")
    for axis, (name, lines) in zip(axes, runs.items(), strict=True):
        axis.axhline(np.log(2), color=style.SOFT, linewidth=1, linestyle=(0, (2, 2)))
        for line in lines:
            axis.plot(line, color=COLOURS[name], linewidth=1.1, alpha=0.8)
        axis.set(title=name.replace(", ", ",\n"), xlabel="step", ylim=(0, 1))
        axis.tick_params(labelleft=True)
    axes[0].text(2, 0.55, "ln 2: a coin", color=style.SOFT, fontsize=9, va="top")
    axes[0].set_ylabel("loss, three seeds")
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


def places(right, trained):
    """{name: (seeds, places)}: the share of right answers over the place, the mean and the range of all seeds."""
    figure, axis = plt.subplots(figsize=(8, 3.3), layout="constrained")
    at = np.arange(1, 1 + next(iter(right.values())).shape[1])
    axis.axvspan(0, trained - 0.5, color=style.tint(style.INK, 0.05), zorder=0)
    axis.axhline(1 / 8, color=style.SOFT, linewidth=1, linestyle=(0, (2, 2)))
    axis.text(at[-1], 0.11, "a guess", color=style.SOFT, fontsize=9, ha="right", va="top")
    axis.text(trained / 2, 0.5, f"places 0 to {trained - 1}", ha="center", color=style.SOFT, fontsize=9)
    for name, lines in right.items():
        lines, colour = lines.detach().numpy(), COLOURS[name]
        axis.fill_between(at, lines.min(0), lines.max(0), color=colour, alpha=0.16, linewidth=0)
        axis.plot(at, lines.mean(0), color=colour, linestyle=DASHES.get(name, "-"), label=name)
    axis.set(xlabel="place in the text", ylabel="share of right answers", ylim=(0, 1.06), xlim=(0, at[-1] + 1))
    axis.legend(loc="center right", bbox_to_anchor=(1.0, 0.62))
    return figure


def errors(off, fitted):
    """{name: (n,) errors} over the position, on a logarithmic axis; the first `fitted` were fitted."""
    figure, axis = plt.subplots(figsize=(7.4, 3.1), layout="constrained")
    axis.axvspan(0, fitted - 0.5, color=style.tint(style.INK, 0.05), zorder=0)
    axis.text(fitted / 2, 6, "fitted", ha="center", va="top", color=style.SOFT, fontsize=9)
    for (name, error), colour, dashes in zip(off.items(), (style.INK, style.ACCENT, NEVER), ("-", "-", (0, (4, 2))),
                                             strict=True):
        axis.semilogy(error.clamp_min(3e-8), color=colour, linestyle=dashes, linewidth=1.5, label=name)
    axis.set(xlabel="position moved by one", ylabel="largest error", xlim=(0, len(error)), ylim=(2e-8, 12))
    axis.legend(loc="center right")
    return figure
