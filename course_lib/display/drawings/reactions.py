"""The drawings of lesson 15: a reaction as molecules and as text, heads against rivals, heads cut."""

import matplotlib.pyplot as plt

from course_lib.display import style
from course_lib.display.diagrams import Sheet

# The atoms of CCO, CC(=O)O and CCOC(C)=O: (place in the text, sign, x, y), and the bonds between them
ETHANOL = ((0, "C", 60, 150), (1, "C", 130, 110), (2, "O", 200, 150)), ((0, 1, 1), (1, 2, 1))
ACID = (((4, "C", 290, 150), (5, "C", 360, 110), (8, "O", 360, 40), (10, "O", 430, 150)),
        ((4, 5, 1), (5, 8, 2), (5, 10, 1)))
ESTER = (((12, "C", 590, 150), (13, "C", 660, 110), (14, "O", 730, 150), (15, "C", 800, 110), (17, "C", 870, 150),
          (20, "O", 800, 40)), ((12, 13, 1), (13, 14, 1), (14, 15, 1), (15, 17, 1), (15, 20, 2)))
TEXT = "CCO.CC(=O)O»CCOC(C)=O"  # one sign per token; » stands for >>


def molecules():
    """A small reaction: its molecules, and below them the same as text, with the places of the atoms."""
    sheet = Sheet(930, 270)
    for atoms, bonds in (ETHANOL, ACID, ESTER):
        where = {place: (x, y) for place, _, x, y in atoms}
        for one, other, lines in bonds:
            for shift in ((0,) if lines == 1 else (-4, 4)):
                (x, y), (u, v) = where[one], where[other]
                sheet.line((x + shift, y), (u + shift, v), width=2.4)
        for place, sign, x, y in atoms:
            sheet.circle(x, y, 17, style.INK, style.tint(style.ACCENT, 0.18) if sign == "O" else style.PAPER)
            sheet.text(x, y, sign, 16, bold=True)
            sheet.text(x + 20, y + 20, place + 1, 11, style.SOFT)
    sheet.text(245, 120, "+", 26)
    sheet.arrow((480, 120), (550, 120), width=2.4)
    for n, sign in enumerate(TEXT):
        x = 60 + 40 * n
        sheet.text(x, 225, ">>" if sign == "»" else sign, 19, bold=sign in "CO")
        sheet.text(x, 250, n + 1, 11, style.SOFT)
    return sheet.svg()


def nonlinearities(z, curves):
    """What comes through of z: {name: (N,)}."""
    figure, axis = plt.subplots(figsize=(5.6, 2.8), layout="constrained")
    for (name, values), colour, dash in zip(curves.items(), style.LINES, ("-", "--", ":"), strict=False):
        axis.plot(z, values, dash, color=colour, linewidth=2, label=name)
    axis.set(xlabel="z", ylabel="what comes through")
    axis.legend(frameon=False)
    return figure


def judged(rows):
    """The share of product atoms found in each reaction: {way: {reaction: share}}."""
    names = list(next(iter(rows.values())))
    figure, axis = plt.subplots(figsize=(8, 0.8 + 0.31 * len(names)), layout="constrained")
    looks = (("o", style.WEIGHT, 7), ("D", style.INK, 5), ("|", style.SOFT, 8))
    for k, ((way, shares), (mark, colour, size)) in enumerate(zip(rows.items(), looks, strict=False)):
        axis.plot([100 * shares[name] for name in names], [n + 0.22 * (k - 1) for n in range(len(names))], mark,
                  color=colour, markersize=size, label=way, markeredgewidth=2 if mark == "|" else 1, clip_on=False)
    axis.set_yticks(range(len(names)), names)
    axis.set(xlabel="atoms of the product found (%)", xlim=(-2, 102), ylim=(len(names) - 0.5, -0.5))
    axis.grid(axis="y", alpha=0.3)
    figure.legend(frameon=False, loc="outside upper center", ncols=3)
    return figure


def cuts(rows, whole):
    """The loss on hidden tokens with each head cut: {head: (everywhere, noise everywhere, worst of once)}."""
    figure, axis = plt.subplots(figsize=(7.4, 3.5), layout="constrained")
    names = ("zeros, in all twelve", "noise, in all twelve", "zeros, in the worst one of twelve")
    for k, (name, colour) in enumerate(zip(names, (style.INK, style.ACCENT, style.LINES[2]), strict=True)):
        axis.bar([n + 0.27 * (k - 1) for n in range(len(rows))], [row[k] for row in rows.values()], 0.25, color=colour,
                 label=name)
    axis.axhline(whole, color=style.SOFT, linestyle=(0, (2, 2)), linewidth=1, label="nothing cut")
    axis.set_xticks(range(len(rows)), [f"head {head}" for head in rows])
    axis.set(ylabel="loss on hidden tokens")
    figure.legend(frameon=False, loc="outside upper center", ncols=2)
    return figure
