"""The encoder as a classifier: the residual stream runs through, and each sublayer reads from it and adds to it."""

from course_lib.display import style
from course_lib.display.diagrams import Sheet, Spot

STREAM, SIDE, EDGE = 310, 512, 700  # where the residual stream runs, the sublayers stand, and the mask comes up
WIDE = 172  # a box


def encoder(layers="N", d="d_{model}"):
    """Token numbers in, one logit per class out: an encoder with padding, and a classifier on top of it.

    layers, d: how many layers there are and how wide they are, as numbers or letters
    returns:   the text of an SVG, for plots.show

    Vaswani et al. 2017, arXiv:1706.03762, figure 1, left half ("post-norm").
    """
    sheet, x, vectors = Sheet(800, 860), STREAM, f"(B, T, {d})"
    sheet.text(x, 832, "token numbers, 0 = padding", italic=True)
    sheet.arrow((x, 817), (x, 781), shape="(B, T)", width=2)
    sheet.box(x, 760, WIDE, 42, f"embedding · √{d}", style.SOFT)
    sheet.box(112, 684, 124, 42, "positions", style.SOFT)
    sheet.arrow((174, 684), (x - 14, 684), shape=f"(T, {d})")

    sheet.rectangle(Spot(90, 228, 640, 638), style.tint(style.INK, 0.045), style.tint(style.INK, 0.25), 1.2, 14)
    sheet.text(112, 256, f"{layers} layers", 15, anchor="start", bold=True)
    sheet.text(112, 278, "built alike, each", 12, style.SOFT, "start")
    sheet.text(112, 294, "with its own weights", 12, style.SOFT, "start")
    sheet.arrow((x, 739), (x, 699), shape=vectors, width=4.5)
    sheet.line((x, 672), (x, 210), width=4.5)
    sheet.node(x, 684, "+", radius=13)
    sheet.text(x - 18, 384, "residual stream", 14, anchor="end", bold=True)
    attention = _sublayer(sheet, 608, "self-attention", "each token looks around", style.WEIGHT, vectors)
    _sublayer(sheet, 416, "feed-forward", "each token on its own", style.ACCENT, vectors)

    top = sheet.box(x, 172, 196, 48, "max over real tokens", style.SOFT, "in each channel")
    sheet.arrow((x, 228), (x, top.bottom), shape=vectors, width=4.5)
    sheet.arrow((x, top.top), (x, 115), shape=f"(B, {d})", width=4.5)
    sheet.box(x, 94, WIDE, 42, "linear layer", style.SOFT)
    sheet.arrow((x, 73), (x, 43), shape="(B, classes)", width=2)
    sheet.text(x, 29, "one logit per class", italic=True)
    _padding(sheet, attention, top)
    return sheet.svg()


def _sublayer(sheet, low, name, says, colour, shape):
    """A sublayer beside the stream: it reads below, its answer is added, and a norm on the stream follows."""
    plus, attends = low - 98, name == "self-attention"
    box = sheet.box(SIDE, low - 57, WIDE, 50, name, colour, says)
    reads = (("query", style.QUERY), ("key", style.KEY), ("value", style.VALUE)) if attends else (("", style.INK),)
    sheet.line((STREAM, low), (SIDE + (46 if attends else 0), low), width=1.8)
    for n, (vector, hue) in enumerate(reads):
        at = SIDE + (54 * n - 62 if attends else 0)
        sheet.arrow((at, low + 1), (at, box.bottom), colour=hue, width=2)
        sheet.text(at + 8, low - 13, vector, 12, hue, "start", bold=True)
    sheet.arrow((SIDE, box.top), (SIDE, plus), (STREAM + 14, plus), width=1.8, shape=shape)
    sheet.node(STREAM, plus, "+", radius=13)
    sheet.box(STREAM, plus - 46, 96, 34, "norm")
    return box


def _padding(sheet, attention, top):
    """The mask, made of the token numbers, comes from the side: into every attention, and into the maximum."""
    mask = Spot(EDGE - 62, 716, EDGE + 62, 784)
    sheet.rectangle(mask, style.tint(style.SOFT, 0.1), style.SOFT, rounded=7)
    sheet.text(EDGE, 732, "padding mask")
    for n in range(6):
        cell = Spot(EDGE - 42 + 14 * n, 743, EDGE - 28 + 14 * n, 757)
        sheet.rectangle(cell, "hatched" if n > 3 else style.tint(style.INK, 0.3), style.PAPER, 1.2)
    sheet.text(EDGE, 770, "(B, 1, T)", 12, style.SOFT)
    sheet.arrow((STREAM + 112, 832), (EDGE, 832), (EDGE, mask.bottom), colour=style.SOFT)
    sheet.arrow((EDGE, attention.y), (attention.right, attention.y), colour=style.SOFT)
    sheet.arrow((EDGE, mask.top), (EDGE, top.y), (top.right, top.y), colour=style.SOFT)
    sheet.text((top.right + EDGE) / 2, top.y - 12, "padding is never the maximum", 12, style.SOFT, italic=True)
    for n, words in enumerate(("nobody", "looks at", "padding")):
        sheet.text(EDGE + 12, attention.y - 16 + 16 * n, words, 12, style.SOFT, "start", italic=True)
