"""The look of the course: colours that mean something, colour maps, fonts, and the style sheet of its figures.

Every colour of a label has a contrast of at least 4.5 : 1 on the paper, and those that mean something are told apart by
people who see fewer colours, and in grey; tests/test_style_of_pictures.py measures all of it.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

SHEET = Path(__file__).with_name("course.mplstyle")
PAPER = "#fbf9f4"  # the ground of every picture
INK = "#2f2c29"  # text, outputs, the residual stream: what flows on
SOFT = "#69645d"  # shapes, axes, what is said in passing
QUERY = "#ad5200"  # orange: it asks
KEY = "#1d4489"  # blue: it is asked
VALUE = "#0d6636"  # green: it is delivered
SCORE = SOFT  # grey: before the softmax
WEIGHT = "#6b2560"  # violet: after the softmax
ACCENT = "#0f7c94"  # teal: the one thing to look at, where none of the above is meant
LINES = (ACCENT, INK, "#b3264d", "#8a5b00", WEIGHT, SOFT)  # curves, in this order
FONT = "Inter, 'Helvetica Neue', 'Segoe UI', Arial, 'DejaVu Sans', sans-serif"  # the first that a reader has


def tint(colour, share):
    """A colour mixed with the paper: share 0 is the paper, 1 the colour."""
    paper, full = np.array(to_rgb(PAPER)), np.array(to_rgb(colour))
    return to_hex(paper + share * (full - paper))


def contrast(one, other):
    """How well one colour is read on the other, from 1 to 21 (WCAG 2.2, "contrast ratio")."""
    rgb = np.array([to_rgb(one), to_rgb(other)])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    dark, bright = sorted(linear @ [0.2126, 0.7152, 0.0722])
    return float((bright + 0.05) / (dark + 0.05))


def ink_on(colour):
    """The colour of a number in a square of this colour: ink where it is legible, else white or black."""
    return next(ink for ink in (INK, "#ffffff", "#000000") if contrast(ink, colour) >= 4.5)


def _ramp(name, *colours):
    return LinearSegmentedColormap.from_list(name, colours)


ZERO = tint(INK, 0.06)  # the square of a zero, seen on the paper
WEIGHTS = _ramp("weights", "#f3edf0", "#dcc3d6", "#b587ad", "#7c4577", "#3a103a")  # always from 0 to 1
SIGNED = _ramp("signed", "#5d7d94", ZERO, "#4a2a18")  # around 0: cold grey below, warm grey above
HUES = {"query": QUERY, "key": KEY, "value": VALUE, "stream": INK, "score": SCORE, "weight": WEIGHT}
BELOW = {"query": "#5d7d94", "key": "#9a7b52", "value": "#9080b0", "stream": "#6d8fa8"}  # the numbers below zero
ABOVE = {kind: _ramp(kind, tint(hue, 0.06), hue) for kind, hue in HUES.items()} | {"weight": WEIGHTS}
AROUND = {kind: _ramp(f"{kind} around 0", below, ZERO, HUES[kind]) for kind, below in BELOW.items()}


def colour_map(kind, signed):
    """The colour map of a kind of numbers, around zero if signed, else from zero up.

    kind: one of HUES; None: as scores where they are signed, else as what flows on
    """
    return AROUND.get(kind, SIGNED) if signed else ABOVE[kind or "stream"]


def use():
    """Draw every matplotlib figure from here on in the course's style."""
    plt.style.use(SHEET)
