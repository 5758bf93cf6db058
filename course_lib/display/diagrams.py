"""A kit for drawings of what flows: boxes, arrows with a vector and its shape, matrices as grids, bars.

A drawing is the text of an SVG, for plots.show. In the words on it, W_{q} sets an index and x^{2} a power.
"""

import re
from html import escape
from typing import NamedTuple

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from course_lib.display import style
from course_lib.display.pictures import svg_of

HATCH = ('<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
         f'<rect width="5" height="5" fill="{style.PAPER}"/><path d="M0 0V5" stroke="{style.SOFT}" stroke-width="1.6"/>'
         '</pattern></defs>')


class Spot(NamedTuple):
    """Where something stands on a sheet, for arrows to begin and end at; x and y are its middle."""

    left: float
    top: float
    right: float
    bottom: float
    x = property(lambda spot: (spot.left + spot.right) / 2)
    y = property(lambda spot: (spot.top + spot.bottom) / 2)


class Sheet:
    """A sheet of paper, drawn on in pixels from its left upper corner, in the order of the calls.

    width, height: pixels
    """

    def __init__(self, width, height):
        self.width, self.height, self.parts = width, height, []

    def svg(self):
        """The drawing as the text of an SVG."""
        body = "".join(self.parts)
        return svg_of((HATCH if "url(#hatch)" in body else "") + body, self.width, self.height)

    def text(self, x, y, words, size=14, colour=style.INK, anchor="middle", bold=False, italic=False):
        """A line of text; anchor: which part of it stands at x, "start", "middle" or "end"; y: its middle."""
        plain, *marked = re.split(r"([_^])\{(.*?)\}", str(words))
        spans, small = escape(plain), round(0.72 * size, 1)
        for mark, inner, after in zip(marked[::3], marked[1::3], marked[2::3], strict=True):
            shift = round((0.22 if mark == "_" else -0.38) * size, 1)
            spans += f'<tspan dy="{shift}" font-size="{small}">{escape(inner)}</tspan>'
            spans += f'<tspan dy="{-shift}">{escape(after)}</tspan>' if after else ""
        face = (' font-weight="600"' if bold else "") + (' font-style="italic"' if italic else "")
        self.parts.append(f'<text x="{_n(x)}" y="{_n(y + 0.35 * size)}" font-size="{size:g}" fill="{colour}" '
                          f'text-anchor="{anchor}"{face}>{spans}</text>' if words else "")

    def rectangle(self, spot, fill="none", edge="none", width=1.5, rounded=0):
        """A rectangle on a spot; fill: a colour, or "hatched" for what is masked."""
        line = f' stroke="{edge}" stroke-width="{width:g}"' if edge != "none" else ""
        self.parts.append(f'<rect x="{_n(spot.left)}" y="{_n(spot.top)}" width="{_n(spot.right - spot.left)}" '
                          f'height="{_n(spot.bottom - spot.top)}" rx="{rounded}" '
                          f'fill="{"url(#hatch)" if fill == "hatched" else fill}"{line}/>')

    def box(self, x, y, width, height, words, colour=style.INK, note=""):
        """A part of a machine, its middle at (x, y), with its name and perhaps a note below the name."""
        spot = Spot(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        self.rectangle(spot, style.tint(colour, 0.1), colour, rounded=7)
        self.text(x, y - (8 if note else 0), words)
        self.text(x, y + 10, note, 12, style.SOFT)
        return spot

    def circle(self, x, y, radius, edge=style.INK, fill=style.PAPER):
        """A circle with its middle at (x, y)."""
        self.parts.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" fill="{fill}" stroke="{edge}" '
                          'stroke-width="1.5"/>')

    def node(self, x, y, sign, colour=style.INK, radius=10):
        """A small circle where two things become one: "+", "×" or "·"."""
        self.circle(x, y, radius, colour)
        if sign == "·":
            self.circle(x, y, 0.22 * radius, colour, colour)
        else:
            self.text(x, y, sign, 1.6 * radius, colour, bold=True)

    def line(self, *points, colour=style.INK, width=1.6, dashed=False):
        """A line through all points, (x, y) each, with rounded corners."""
        d = f"M{_n(points[0][0])} {_n(points[0][1])}"
        for before, here, after in zip(points, points[1:], points[2:], strict=False):
            d += f"L{_towards(here, before)}Q{_n(here[0])} {_n(here[1])} {_towards(here, after)}"
        dashes = ' stroke-dasharray="1 4" stroke-linecap="round"' if dashed else ""
        self.parts.append(f'<path d="{d}L{_n(points[-1][0])} {_n(points[-1][1])}" fill="none" stroke="{colour}" '
                          f'stroke-width="{width:g}"{dashes}/>')

    def curve(self, start, towards, end, width, colour=style.INK):
        """A bow from one point to another, drawn towards a third that it does not reach."""
        (x, y), (u, v), (a, b) = start, towards, end
        self.parts.append(f'<path d="M{_n(x)} {_n(y)}Q{_n(u)} {_n(v)} {_n(a)} {_n(b)}" fill="none" stroke="{colour}" '
                          f'stroke-width="{_n(width)}" stroke-linecap="round" opacity="0.75"/>')

    def arrow(self, *points, colour=style.INK, width=1.6, name="", shape="", side=1):
        """An arrow through all points that carries a named vector and its shape.

        name, shape: stand beside its longest part: right of one that goes up or down, above one that goes sideways
        side:        -1: left of it, or below
        """
        tip, before = np.array(points[-1], dtype=float), np.array(points[-2], dtype=float)
        along = (tip - before) / np.hypot(*(tip - before))
        neck, across = tip - (5 + 2 * width) * along, (2.4 + width) * np.array([-along[1], along[0]])
        self.line(*points[:-1], tuple(neck), colour=colour, width=width)
        head = "L".join(f"{_n(x)} {_n(y)}" for x, y in (tip, neck + across, neck - across))
        self.parts.append(f'<path d="M{head}z" fill="{colour}"/>')
        start, end = max(zip(points, points[1:], strict=False), key=lambda ends: np.hypot(*np.subtract(*ends)))
        (x, y), upright = np.add(start, end) / 2, start[0] == end[0]
        said = [(words, ink) for words, ink in ((name, colour), (shape, style.SOFT)) if words]
        anchor = ("start" if side > 0 else "end") if upright else "middle"
        for n, (words, ink) in enumerate(said):
            over = n - (len(said) - 1) / 2 if upright else n - (len(said) - 1) * (side > 0) - 0.75 * side
            self.text(x + side * 10 * upright, y + 16 * over, words, 13, ink, anchor, bold=words == name)

    def around(self, start, turn, end, **looks):
        """An arrow from left to right that goes up or down where x is `turn`, or straight where it need not."""
        bend = [] if start[1] == end[1] else [(turn, start[1]), (turn, end[1])]
        self.arrow(start, *bend, end, **looks)

    def grid(self, x, y, values, kind="stream", cell=28, limit=None, name="", rows="", columns="", framed=None):
        """A matrix as a grid, its left upper corner at (x, y); cells of 24 pixels or more have their numbers.

        values:        (R, C) tensor or lists, or (C,), one row; what is not finite is masked, and hatched
        kind:          whose colours, as for plots.heat_map
        limit:         the number of the fullest colour, to compare several grids
        name:          above it; rows and columns: its dimensions, at its left and upper edge
        framed:        the row that is framed
        """
        values = np.atleast_2d(np.asarray(values, dtype=float))
        finite = values[np.isfinite(values)]
        limit = limit or float(np.abs(finite).max(initial=0)) or 1.0
        signed, hue = bool((finite < 0).any()), style.HUES[kind]
        colours = style.colour_map(kind, signed)
        spot = Spot(x, y, x + cell * values.shape[1], y + cell * values.shape[0])
        for (r, c), value in np.ndenumerate(values):
            square = Spot(x + c * cell, y + r * cell, x + (c + 1) * cell, y + (r + 1) * cell)
            seen = np.isfinite(value)
            fill = style.to_hex(colours((value / limit + signed) / (1 + signed))) if seen else "hatched"
            self.rectangle(square, fill, style.PAPER, 1.2)
            if seen and cell >= 24:
                self.text(square.x, square.y, written([value])[0], min(12, 0.42 * cell), style.ink_on(fill))
        self.rectangle(spot, edge=hue, rounded=2)
        if framed is not None:
            frame = Spot(x - 3, y + framed * cell - 3, spot.right + 3, y + (framed + 1) * cell + 3)
            self.rectangle(frame, edge=hue, width=2.5, rounded=4)
        self.text(spot.x, y - (28 if columns else 14), name, 15, hue, bold=True)
        self.text(spot.x, y - 11, columns, 12, style.SOFT, italic=True)
        self.text(x - 9, spot.y, rows, 12, style.SOFT, "end", italic=True)
        return spot

    def bars(self, x, ys, values, kind, length=90, low=0.0, high=1.0, thick=16):
        """Bars from a zero line, each with its number; the ends of their scale stand below.

        ys:      the height of each bar's middle
        values:  numbers; what is not finite is masked, and hatched
        low, high: the numbers at x and at x + length
        returns: the Spot of the bars and their numbers
        """
        values, zero = np.asarray(values, dtype=float), x - length * low / (high - low)
        top, bottom, right = min(ys) - thick, max(ys) + thick + 6, x + length
        for y, value, says in zip(ys, values, written(values, 2), strict=True):
            end = zero + (length * value / (high - low) if np.isfinite(value) else thick)
            bar = Spot(min(zero, end), y - thick / 2, max(zero, end), y + thick / 2)
            self.rectangle(bar, style.tint(style.HUES[kind], 0.6) if np.isfinite(value) else "hatched")
            self.text(bar.right + 5, y, says, 12, anchor="start")
            right = max(right, bar.right + 5 + width(says, 12))
        self.line((zero, top), (zero, bottom), width=1.2)
        self.line((x, bottom), (x + length, bottom), colour=style.SOFT, width=0.8)
        for value, place in {0: zero, low: x, high: x + length}.items():
            if value == 0 or abs(place - zero) > 24:  # else the two numbers would meet
                self.line((place, bottom), (place, bottom + 4), colour=style.SOFT, width=1)
                self.text(place, bottom + 13, written([value])[0], 11, style.SOFT)
        return Spot(x, top, right, bottom)

    def ribbon(self, start, end, thick, colour=style.INK):
        """A flow from one point to another, as thick as its share."""
        (x, y), (u, v), bend, half = start, end, (start[0] + end[0]) / 2, max(thick, 0.6) / 2
        way = (x, y), (bend, y), (bend, v), (u, v)
        edges = [f"{_n(a)} {_n(b + side * half)}" for side in (-1, 1) for a, b in way]
        self.parts.append(f'<path d="M{edges[0]}C{" ".join(edges[1:4])}L{edges[7]}C{" ".join(edges[6:3:-1])}z" '
                          f'fill="{colour}" opacity="0.55"/>')


def written(values, digits=1):
    """Numbers as a drawing writes them: all whole, or all with so many digits; with a true minus."""
    values = np.asarray(values, dtype=float)
    digits = 0 if (values == values.round())[np.isfinite(values)].all() else digits
    return [f"{value.round(digits) + 0.0:.{digits}f}".replace("-", "−") if np.isfinite(value) else "masked"
            for value in values]  # + 0.0: no "−0.0"


def width(words, size=14, bold=False):
    """How many pixels wide a text is at most, as set in DejaVu Sans, the widest of the fonts that a reader may have."""
    font = FontProperties(family="DejaVu Sans", size=size, weight="bold" if bold else "normal")
    parts = re.split(r"[_^]\{(.*?)\}", str(words))
    sizes = [text_to_path.get_text_width_height_descent(part, font, ismath=False)[0] for part in parts]
    return float(sum(sizes[::2]) + 0.72 * sum(sizes[1::2]))


def _towards(corner, other, radius=6):
    """The point on the way from a corner from which it is rounded."""
    step = np.subtract(other, corner)
    x, y = np.array(corner) + min(radius / np.hypot(*step), 0.5) * step
    return f"{_n(x)} {_n(y)}"


def _n(value):
    return f"{round(float(value), 1):g}"
