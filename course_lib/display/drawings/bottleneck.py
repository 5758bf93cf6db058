"""The figures of lesson 03: cells and their gates, curves over the length of a word, and a bump of two steps."""

import matplotlib.pyplot as plt
import torch

from course_lib.display import style
from course_lib.display.diagrams import Sheet

TRAINED = 12  # letters, at most
STEPS = {1200: style.INK, 6000: style.ACCENT}  # a colour for each number of steps
STEPS_OF_SEARCH = {600: style.INK, 3000: style.ACCENT}
WIDTHS = {36: ":", 72: "--", 144: "-"}  # a dash for each number of numbers that are passed on
CELLS = {"tanh": "plain", "tanh, orthogonal": "plain, orthogonal", "gates, as torch starts them": "GRU, as it starts",
         "tanh, a fixed share kept": "plain, a fixed share kept", "gates, held open": "GRU, gates held open"}


def cells():
    """One step of a plain cell, a GRU and an LSTM: what becomes of the old state."""
    sheet = Sheet(960, 300)
    for x, name in ((115, "plain cell"), (405, "GRU"), (765, "LSTM")):
        sheet.text(x, 24, name, 16, bold=True)
    _plain(sheet, 20)
    _gru(sheet, 265)
    _lstm(sheet, 600)
    sheet.text(480, 282, "The input x_{t} and the old state h_{t−1} enter every σ and every tanh at the bottom.", 13,
               style.SOFT)
    return sheet.svg()


def _plain(sheet, x):
    sheet.arrow((x, 90), (x + 64, 90))
    sheet.arrow((x + 126, 90), (x + 190, 90))
    sheet.text(x + 2, 72, "h_{t−1}", anchor="start")
    sheet.text(x + 188, 72, "h_{t}", anchor="end")
    sheet.box(x + 95, 90, 62, 34, "tanh")


def _gru(sheet, x):
    z, r, n = x + 70, x + 145, x + 225
    sheet.arrow((x, 90), (x + 285, 90))
    sheet.text(x + 2, 72, "h_{t−1}", anchor="start")
    sheet.text(x + 283, 72, "h_{t}", anchor="end")
    sheet.arrow((z, 214), (z, 100), colour=style.ACCENT, name="z", side=-1)
    sheet.arrow((z, 150), (n - 10, 150), colour=style.ACCENT, name="1 − z")
    sheet.arrow((n, 214), (n, 160), name="n")
    sheet.arrow((n, 140), (n, 100))
    sheet.arrow((r + 22, 231), (n - 31, 231), colour=style.ACCENT, name="r")
    sheet.node(z, 90, "×")
    sheet.node(n, 150, "×")
    sheet.node(n, 90, "+")
    for at, says, wide, colour in ((z, "σ", 44, style.ACCENT), (r, "σ", 44, style.ACCENT), (n, "tanh", 62, style.INK)):
        sheet.box(at, 231, wide, 34, says, colour)


def _lstm(sheet, x):
    f, i, g, o = x + 65, x + 125, x + 200, x + 280
    add = (i + g) / 2
    sheet.arrow((x, 90), (x + 340, 90))
    sheet.text(x + 2, 72, "c_{t−1}", anchor="start")
    sheet.text(x + 338, 72, "c_{t}", anchor="end")
    sheet.arrow((f, 214), (f, 100), colour=style.ACCENT, name="f", side=-1)
    sheet.arrow((i, 214), (i, 150), (add - 10, 150), colour=style.ACCENT, name="i", side=-1)
    sheet.arrow((g, 214), (g, 150), (add + 10, 150), name="g")
    sheet.arrow((add, 140), (add, 100))
    sheet.arrow((o, 90), (o, 140), name="tanh")
    sheet.arrow((o, 214), (o, 160), colour=style.ACCENT, name="o")
    sheet.arrow((o + 10, 150), (x + 340, 150))
    sheet.text(x + 338, 134, "h_{t}", anchor="end")
    for place, sign in (((f, 90), "×"), ((add, 150), "×"), ((add, 90), "+"), ((o, 150), "×")):
        sheet.node(*place, sign)
    for at, says, wide, colour in ((f, "σ", 44, style.ACCENT), (i, "σ", 44, style.ACCENT), (g, "tanh", 62, style.INK),
                                   (o, "σ", 44, style.ACCENT)):
        sheet.box(at, 231, wide, 34, says, colour)


def curve(shares):
    """{length: share of words without a mistake} of one network."""
    return over_lengths({"": ([shares], style.INK, "--")})


def rivals(by):
    """{name: trainings}: those that look back in the colour that stands for what is new, the others in ink."""
    dashes = {style.INK: iter(("--", "-.", ":")), style.ACCENT: iter(("-", "--"))}
    colours = {name: style.ACCENT if name.startswith("looking back") else style.INK for name in by}
    return over_lengths({name: (trainings, colours[name], next(dashes[colours[name]]))
                         for name, trainings in by.items()})


def over_lengths(lines):
    """{name: (trainings, colour, dash)}: the median of {length: share} of some trainings, in a band of all of them."""
    figure, axis = plt.subplots(figsize=(7.6, 3.6), layout="constrained")
    axis.axvspan(TRAINED + 0.5, 20.5, color=style.tint(style.SOFT, 0.12), linewidth=0)
    axis.text(TRAINED + 0.7, 1.045, "longer than in training", color=style.SOFT, fontsize=9)
    for name, (trainings, colour, dash) in lines.items():
        lengths = list(trainings[0])
        shares = torch.tensor([list(each.values()) for each in trainings])  # (trainings, lengths)
        axis.fill_between(lengths, shares.amin(0), shares.amax(0), color=style.tint(colour, 0.2), linewidth=0)
        axis.plot(lengths, shares.median(0).values, dash, color=colour, linewidth=2, label=name)
    axis.set(xlabel="letters in the word", ylabel="words without a mistake", ylim=(-0.03, 1.12), xlim=(0.5, 20.5))
    axis.set_xticks(range(2, 21, 2))
    if len(lines) > 1:
        figure.legend(loc="outside right center")
    return figure


def cliffs(by):
    """{(width, steps): trainings}: a colour for the steps, a dash for the width."""
    return over_lengths({f"{width} numbers, {steps:,} steps": (trainings, STEPS[steps], WIDTHS[width])
                         for (width, steps), trainings in by.items()})


def of_cells(by, lengths):
    """{(network, steps): trainings}: their shares at some lengths, a row for each network and a dot for each training.
    """
    names, (steps,) = [network for network, _ in by], {steps for _, steps in by}
    return _dots({f"words of {T} letters": {(name, steps): [each[T] for each in trainings]
                                            for (name, _), trainings in by.items()} for T in lengths},
                 names, "words without a mistake", {steps: STEPS[steps]})


def drawn_to(search):
    """{(network, steps): rows}: what draws it when its word is exchanged, and which words it gets wrong."""
    measures = {"drawn to the letter, or beside it": "letter_within_1",
                "drawn to the place, or beside it": "place_within_1",
                "wrong: 16 letters, all different": "different_16", "wrong: 16 letters at random": "random_16"}
    panels = {f"reads {network}": {(says, steps): [row[what] for row in search[network, steps]]
                                   for says, what in measures.items() for steps in STEPS_OF_SEARCH}
              for network in dict.fromkeys(network for network, _ in search)}
    return _dots(panels, list(measures), "share of words", STEPS_OF_SEARCH)


def _dots(panels, names, x, steps=STEPS):
    """{title: {(name, steps): shares}}: a row for each name, a dot for each share, a colour for the steps."""
    size = 4.2 + 2.0 * len(panels), 1.4 + 0.38 * len(names)
    figure, axes = plt.subplots(1, len(panels), figsize=size, layout="constrained", sharey=True, squeeze=False)
    axes, marks = axes[0], dict(zip(steps, "oD", strict=False))
    for axis, (title, shares) in zip(axes, panels.items(), strict=True):
        for (name, many), each in shares.items():
            axis.plot(each, [len(names) - 1 - names.index(name)] * len(each), marks[many], color=steps[many],
                      markersize=7, markerfacecolor=style.tint(steps[many], 0.35))
        axis.set(title=title, xlabel=x, xlim=(-0.04, 1.04), ylim=(-0.6, len(names) - 0.4))
        axis.grid(axis="y", visible=False)
    axes[0].set_yticks(range(len(names)), names[::-1])
    if len(steps) > 1:
        handles = [axes[0].plot([], [], marks[many], color=colour, markerfacecolor=style.tint(colour, 0.35),
                                label=f"{many:,} steps")[0] for many, colour in steps.items()]
        figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


def slopes_left(left):
    """{cell: (seeds, steps)}: what is left of a gradient so many steps back, on a log axis."""
    figure, axis = plt.subplots(figsize=(7.6, 3.4), layout="constrained")
    looks = zip(left.items(), (style.LINES[2], style.LINES[3], style.INK, style.SOFT, style.ACCENT),
                ("-", "-.", "--", ":", "-"), strict=False)
    for (cell, each), colour, dash in looks:
        axis.plot(range(1, each.shape[1] + 1), each.median(0).values, dash, color=colour, linewidth=2,
                  label=CELLS[cell])
    axis.set(xlabel="steps back", ylabel="left of the gradient (log axis)", yscale="log", ylim=(1e-12, 3))
    axis.set_yticks([1, 1e-4, 1e-8, 1e-12], ["1", "10⁻⁴", "10⁻⁸", "10⁻¹²"])
    axis.minorticks_off()
    figure.legend(loc="outside right center")
    return figure


def bump(places, units, v):
    """(S,) places of a letter, (S, 2) hidden units and v: each unit times its part of v, and their sum, the energy."""
    figure, axis = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    parts = units * v
    for part, dash, name in ((parts[:, 0], "--", "4 × first unit"), (parts[:, 1], ":", "−4 × second unit"),
                             (parts.sum(1), "-", "energy: their sum")):
        axis.plot(places, part, dash, color=style.SCORE if dash == "-" else style.SOFT, linewidth=2, label=name)
    axis.set(xlabel="place of a letter", ylabel="energy", title="asked: place 3")
    figure.legend(loc="outside right center")
    return figure
