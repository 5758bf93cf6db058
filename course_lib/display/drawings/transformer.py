"""The Transformer of 2017 as one drawing."""

from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.patches import Circle, FancyBboxPatch

from course_lib.display import style
from course_lib.display.style import INK

ATTENTION, FEED_FORWARD, NORM, EDGE = "#f6c177", "#a7c7e7", "#eee6c9", "#bfe0c2"
LEFT, RIGHT = 6.2, 18.0  # the middle of the encoder and of the decoder
WIDE, HIGH = 6.8, 1.0  # a box
GROUND = 8.6  # how wide the ground behind a layer is
ENCODER = ((5.2, "self-attention", "02–06", ATTENTION), (6.7, "add & norm", "08", NORM),
           (8.9, "feed-forward", "08", FEED_FORWARD), (10.4, "add & norm", "08", NORM))
DECODER = ((5.2, "masked self-attention", "07", ATTENTION), (6.7, "add & norm", "08", NORM),
           (8.9, "cross-attention", "05", ATTENTION), (10.4, "add & norm", "08", NORM),
           (12.6, "feed-forward", "08", FEED_FORWARD), (14.1, "add & norm", "08", NORM))
KEY = (("attention: words look at words", ATTENTION), ("feed-forward: each word on its own", FEED_FORWARD),
       ("add & norm: keeps training steady", NORM), ("from words to numbers and back", EDGE))


def draw_transformer(axes):
    """Draw the machine from the words that go in to the word that comes out; what a lesson builds bears its number."""
    axes.set(xlim=(0, 24.2), ylim=(-1, 20.3), aspect="equal")
    axes.axis("off")
    for x, parts, name, lesson in ((LEFT, ENCODER, "encoder layer", "10"), (RIGHT, DECODER, "decoder layer", "11")):
        _words_in(axes, x)
        _ground(axes, x, parts[-1][0] + 0.85, name, lesson)
        for y, text, badge, colour in parts:
            _box(axes, x, y, text, badge, colour)
        for (sub_layer, *_), (norm, *_) in zip(parts[::2], parts[1::2], strict=True):
            _arrow(axes, (x, sub_layer + HIGH / 2), (x, norm - HIGH / 2))
            _skip(axes, x, sub_layer - 0.95, norm)
        for (norm, *_), (sub_layer, *_) in zip(parts[1::2], parts[2::2], strict=False):
            _arrow(axes, (x, norm + HIGH / 2), (x, sub_layer - HIGH / 2))
    _memory(axes)
    _words_out(axes)
    _key(axes)


def _words_in(axes, x):
    """Words, their vectors, and where they stand in the sentence."""
    side = _outwards(x)
    sentence = "Jane visite l'Afrique\nen septembre" if x == LEFT else "<sos> Jane visits\nAfrica"
    axes.text(x, -0.4, sentence, ha="center", va="center", fontsize=11, style="italic", color=INK)
    _arrow(axes, (x, 0.2), (x, 0.85))
    _box(axes, x, 1.35, "embedding", "", EDGE)
    _box(axes, x + side * 3.9, 2.8, "position", "09", EDGE, wide=3.4)
    _arrow(axes, (x + side * 2.2, 2.8), (x + side * 0.35, 2.8))
    _arrow(axes, (x, 1.35 + HIGH / 2), (x, 2.45))
    axes.add_patch(Circle((x, 2.8), 0.35, facecolor="white", edgecolor=INK, zorder=3))
    axes.text(x, 2.78, "+", ha="center", va="center", fontsize=13, color=INK, zorder=4)
    _arrow(axes, (x, 3.15), (x, 5.2 - HIGH / 2))


def _memory(axes):
    """What leaves the last encoder layer goes to the cross-attention of every decoder layer."""
    top, y, turn = ENCODER[-1][0] + HIGH / 2, DECODER[2][0], (LEFT + RIGHT) / 2
    _arrow(axes, (LEFT, top), (LEFT, top + 1.3), (turn, top + 1.3), (turn, y), (RIGHT - WIDE / 2, y))
    says = "memory: from the last layer,\nas keys and values,\nto all 6 layers of the decoder"
    axes.text(LEFT + 0.2, top + 1.5, says, fontsize=10, color=INK)
    axes.text(RIGHT - 0.25, y - 0.78, "queries", ha="right", fontsize=10, color=INK, va="center")


def _words_out(axes):
    """From the decoder's vectors to one probability for each word of the vocabulary."""
    _arrow(axes, (RIGHT, 14.1 + HIGH / 2), (RIGHT, 16.75 - HIGH / 2))
    _box(axes, RIGHT, 16.75, "linear", "", EDGE)
    _arrow(axes, (RIGHT, 16.75 + HIGH / 2), (RIGHT, 18.25 - HIGH / 2))
    _box(axes, RIGHT, 18.25, "softmax", "04", EDGE)
    _arrow(axes, (RIGHT, 18.25 + HIGH / 2), (RIGHT, 19.45))
    axes.text(RIGHT, 19.9, "the next word: in", ha="center", va="center", fontsize=11, style="italic", color=INK)


def _key(axes):
    """What the colours and the black labels mean."""
    for row, (text, colour) in enumerate(KEY):
        y = 18.6 - 0.95 * row
        axes.add_patch(_rounded(0.4, y - 0.3, 0.9, 0.6, 0.12, facecolor=colour, edgecolor=INK))
        axes.text(1.7, y, text, va="center", fontsize=10.5, color=INK)
    _badge(axes, 1.3, 14.65, "08")
    says = "the lesson that builds this part;\nno number: PyTorch's own"
    axes.text(1.7, 14.65, says, va="center", fontsize=10.5, color=INK)


def _ground(axes, x, top, name, lesson):
    """The ground behind the parts of one layer."""
    side, bottom = _outwards(x), 3.85
    axes.add_patch(_rounded(x - GROUND / 2, bottom, GROUND, top - bottom, 0.4, facecolor="#f6f4ee",
                            edgecolor="#c9c3b3", zorder=0))
    edge = x + side * GROUND / 2
    axes.text(x + side * 2.5, top + 0.45, name, ha="center", va="center", fontsize=11, weight="bold", color=INK)
    axes.text(edge + side * 0.85, (top + bottom) / 2, "6\ntimes", ha="center", va="center", fontsize=11, color=INK)
    _badge(axes, edge + side * 0.85, (top + bottom) / 2 - 1.2, lesson, "center")


def _box(axes, x, y, text, badge, colour, wide=WIDE):
    """One part of the machine, with the number of the lesson that builds it; PyTorch's own parts have none."""
    axes.add_patch(_rounded(x - wide / 2, y - HIGH / 2, wide, HIGH, 0.18, facecolor=colour, edgecolor=INK, zorder=2))
    axes.text(x - wide / 2 + 0.3, y, text, va="center", fontsize=11, color=INK, zorder=3)
    if badge:
        _badge(axes, x + wide / 2 - 0.3, y, badge)


def _badge(axes, x, y, text, align="right"):
    axes.text(x, y, text, ha=align, va="center", fontsize=8, color="white", weight="bold", zorder=4,
              bbox={"boxstyle": "round,pad=0.3", "facecolor": INK, "edgecolor": "none"})


def _skip(axes, x, low, high):
    """The road around a sub-layer."""
    side = _outwards(x)
    out = x + side * (WIDE / 2 + 0.45)
    _arrow(axes, (x, low), (out, low), (out, high), (x + side * WIDE / 2, high))


def _arrow(axes, *points):
    """A line through all points, with its head at the last."""
    axes.plot(*zip(*points[:-1], strict=True), color=INK, linewidth=1.2, zorder=1, solid_capstyle="round")
    axes.annotate("", points[-1], points[-2], zorder=1, arrowprops={
        "arrowstyle": "-|>", "color": INK, "linewidth": 1.2, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 11})


def _rounded(x, y, wide, high, radius, **style):
    return FancyBboxPatch((x, y), wide, high, boxstyle=f"round,pad=0,rounding_size={radius}", **style)


def _outwards(x):
    """The encoder's side is the left, the decoder's the right."""
    return -1 if x == LEFT else 1


def main(path):
    """Write the drawing to a file."""
    style.use()
    figure, axes = plt.subplots(figsize=(9.6, 8.5))
    draw_transformer(axes)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150, bbox_inches="tight", metadata={"Software": None})
