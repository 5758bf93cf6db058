"""The landscape of lesson 01, in coarse squares, and the drawings of what attention makes of it."""

import matplotlib.pyplot as plt
from matplotlib.colors import to_hex

from course_lib.display import style
from course_lib.display.diagrams import Sheet
from course_lib.display.instruments.pen import squares

ROWS = """
................................
...ooo..................***.....
.ooooooo...............*****....
..oooooooo.....ooo.....*****....
.............ooooooo....***.....
....^^^^^.......................
...^^^^^^^......................
..^^^^^^^^^.....................
mmm#######mmmmm~~~mmmmmmmmmmmmmm
mmm#W##W##mmmm~~~mmmmmemmmfmmmmm
mmm#######mmm~~~mmmmmmcccccmmmcm
mmm#W##DD#mmm~~~~mmmmmckckcmmmcm
mmm####DD#mmmm~~~~~mmmcccccccccm
mmmmmmmmmmmmmmm~~~~~mmmcccccccmm
mmmmmmmmmmmmmm~~~~~~mmmcccccccmm
mmmmmmmmmmmmm~~~~~~~mmmcmcmcmcmm
mmmmmmmmmmmm~~~~~~~~mmmmmmmmmmmm
""".split()  # one letter for each square
REGIONS = {"sky": ".o*", "meadow": "m", "river": "~", "house": "^#WD", "cat": "ckef"}  # the letters of each
PAINT = {".": "a9d3f0", "o": "ffffff", "*": "f8d255", "m": "93c47d", "~": "3d7ebf", "^": "a5462f", "#": "ecdcb9",
         "W": "44546a", "D": "7a4a2b", "c": "6b6f76", "k": "d7e36a", "e": "6b6f76", "f": "17191c"}  # red, green, blue
PLACES = {"sky": (13, 1.5), "meadow": (7, 15), "river": (17, 14.5), "house": (6.5, 8.5), "cat": (26.5, 13)}  # of names


def laid_over(weights, title):
    """(N,) weights of the regions, over the squares of each, beside the picture: the text of an SVG."""
    cell, by_region = 15, dict(zip(REGIONS, weights.tolist(), strict=True))
    sheet, right = Sheet(2 * 32 * cell + 48, 17 * cell + 50), 32 * cell + 32
    _squares(sheet, 16, 34, cell, _paint)
    sheet.text(right + 16 * cell, 17, title, colour=style.WEIGHT, bold=True)
    _squares(sheet, right, 34, cell, lambda letter: to_hex(style.WEIGHTS(by_region[region_of(letter)])))
    for name, (x, y) in PLACES.items():
        ink = style.ink_on(style.WEIGHTS(by_region[name])[:3])
        sheet.text(right + x * cell, 34 + y * cell, f"{name} {by_region[name]:.2f}", colour=ink)
    return sheet.svg()


def region_of(letter):
    """The region that a square belongs to."""
    return next(name for name, letters in REGIONS.items() if letter in letters)


def _paint(letter):
    """The colour of a thing, which stays what it is on a dark page."""
    return f"rgb({','.join(map(str, bytes.fromhex(PAINT[letter])))})"


def _squares(sheet, left, top, cell, colour):
    """The picture, one path for each letter, so that no seam shows."""
    for letter in PAINT:
        sheet.parts.append(f'<path d="{squares(ROWS, letter, left, top, cell)}" fill="{colour(letter)}" '
                           'shape-rendering="crispEdges"/>')


def shares_over_beta(betas, shares, channels):
    """(steps, D) shares of the maximum, one line for each channel."""
    figure, axis = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for line, name, colour, dash in zip(shares.T, channels, style.LINES, ("-", "--", "-.", ":"), strict=False):
        axis.plot(betas, line, dash, color=colour, linewidth=2, label=name)
    axis.axhline(1, color=style.SOFT, linewidth=0.8)
    axis.text(0.0, 1.03, "the maximum", color=style.SOFT)
    axis.set_xscale("symlog", linthresh=0.03)
    axis.set(xlabel="β (log axis from 0.03 on)", ylabel="share of the maximum", xlim=(-0.003, 32), ylim=(0, 1.15))
    axis.set_xticks([0, 0.1, 1, 10], ["0", "0.1", "1", "10"])
    axis.minorticks_off()
    axis.legend(title="channel", frameon=False, loc="lower right")
    return figure


def hull(x, cloud, way, most, names, features):
    """Two features: (N, 2) inputs, (S, 2) mixtures of them, the (steps, 2) way of softened pooling, and its end."""
    figure, axis = plt.subplots(figsize=(6.2, 4.4), layout="constrained")
    axis.plot(*cloud.T, ".", color=style.tint(style.SOFT, 0.45), markersize=2, rasterized=True)
    axis.plot(*way.T, "-", color=style.ACCENT, linewidth=2)
    axis.plot(*x.T, "o", color=style.INK, markersize=7)
    axis.plot(*most, "*", color=style.ACCENT, markersize=15)
    beside = {"sky": (0, -17), "meadow": (-12, 6), "river": (9, -4), "house": (-9, -17), "cat": (9, 6)}
    for name, place in zip(names, x.tolist(), strict=True):
        axis.annotate(name, place, beside[name], textcoords="offset points",
                      ha="right" if name == "meadow" else "left")
    axis.annotate("maximum of each channel", most, (0, 11), textcoords="offset points", ha="center",
                  color=style.ACCENT)
    axis.annotate("softened pooling,\nβ from 0 to 32", way[len(way) // 2], (60, 12), textcoords="offset points",
                  color=style.ACCENT, arrowprops={"arrowstyle": "-", "color": style.ACCENT})
    axis.text(1.75, 0.3, "all mixtures with\none set of weights", va="top", color=style.SOFT)
    axis.set(xlabel=features[0], ylabel=features[1], xlim=(-0.4, 2.9), ylim=(-0.75, 3.6), aspect="equal")
    return figure


def weights_of_captions(captions, weighed):
    """For each caption its words and their (N,) weights."""
    figure, axes = plt.subplots(2, 2, figsize=(8.4, 4.6), sharey=True, layout="constrained")
    for axis, caption, (words, weights) in zip(axes.flat, captions, weighed, strict=True):
        bars = axis.bar(words, weights, color=style.WEIGHT)
        axis.bar_label(bars, [f"{weight:.2f}" for weight in weights.tolist()], fontsize=8)
        axis.set_title(caption, fontsize=10)
        axis.set(ylim=(0, 0.62), yticks=[0, 0.5])
    figure.supylabel("weight")
    return figure


def meanings(static, sentences, moved, senses):
    """{word: its one vector}, rows (word, sentence, what tells, ...) and the (rows, 2) vectors that they lead to."""
    figure, axes = plt.subplots(1, len(static), figsize=(10, 3.6), layout="constrained")
    for axis, (word, start) in zip(axes, static.items(), strict=True):
        axis.annotate("from the\ntable", start, (8, 4), textcoords="offset points")
        for (of, _, tells, *_), end in zip(sentences, moved.tolist(), strict=True):
            if of == word:
                axis.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "lw": 2, "color": style.ACCENT})
                axis.annotate(f"with “{tells}”", end, (0, 7 if end[1] > end[0] else -16),
                              textcoords="offset points", ha="center", color=style.ACCENT)
        axis.plot(*start, "o", color=style.INK, markersize=8)
        axis.set(xlabel=senses[word][0], ylabel=senses[word][1], xlim=(-0.9, 2.6), ylim=(-0.6, 2.3), title=word)
    return figure
