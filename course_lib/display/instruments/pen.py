"""A pen for still pictures: SVG in the colours of the instruments, with text as text."""

import re
from html import escape
from itertools import groupby
from pathlib import Path

from course_lib.display.dark import RULES, on_dark, where_dark

LIGHT = (Path(__file__).parent / "instrument.css").read_text(encoding="utf-8")
COLOURS = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", LIGHT))
ON_DARK = "".join(f"--{name}:{on_dark(colour)};" for name, colour in COLOURS.items())
STYLE = LIGHT + where_dark(".course-instrument", f"{ON_DARK}color-scheme:dark") + RULES
FONT = "Inter, 'Source Sans 3', system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def words(value, digits=2):
    """A number as people write it: with a real minus, and never minus zero."""
    said = f"{value:.{digits}f}"
    return (said.removeprefix("-") if float(said) == 0 else said).replace("-", "−")


def squares(rows, letter, left=0, top=0, cell=1):
    """The squares of a picture that bear a letter, as the `d` of an SVG path; neighbours in a row are one piece.

    rows: the picture, one letter for each square
    """
    d = ""
    for y, row in enumerate(rows):
        x = 0
        for here, run in groupby(row):
            wide = len(list(run))
            if here == letter:
                d += f"M{left + x * cell} {top + y * cell}h{wide * cell}v{cell}h-{wide * cell}z"
            x += wide
    return d


class Sheet:
    """A sheet of paper with rounded corners, `width` by `height` pixels; colours are those of the style by name."""

    def __init__(self, width, height):
        self.width, self.height, self.parts = width, height, []

    def text(self, x, y, says, colour="ink", size=13, anchor="start", bold=False, over_lines=False):
        """A line of text on the baseline y; one that stands over lines clears them."""
        look = ' font-weight="650"' * bold
        look += f' paint-order="stroke" stroke="{COLOURS["paper"]}" stroke-width="4"' * over_lines
        self.parts.append(f'<text x="{x:.5g}" y="{y:.5g}" font-size="{size}" fill="{COLOURS[colour]}" '
                          f'text-anchor="{anchor}"{look}>{escape(str(says))}</text>')

    def line(self, x1, y1, x2, y2, colour="line", width=1.0, opacity=1.0):
        """From one point to another."""
        pale = f' opacity="{opacity:.2f}"' if opacity < 1 else ""
        self.parts.append(f'<line x1="{x1:.5g}" y1="{y1:.5g}" x2="{x2:.5g}" y2="{y2:.5g}" stroke="{COLOURS[colour]}" '
                          f'stroke-width="{width:.3g}" stroke-linecap="round"{pale}/>')

    def bar(self, x, y, width, height, colour):
        """From its upper left corner."""
        self.parts.append(f'<rect x="{x:.5g}" y="{y:.5g}" width="{max(width, 0):.5g}" height="{max(height, 0):.5g}" '
                          f'rx="1.5" fill="{COLOURS[colour]}"/>')

    def circle(self, x, y, radius, fill=None, stroke=None):
        """Filled, or as a line, or both."""
        filled = COLOURS[fill] if fill else "none"
        line = f' stroke="{COLOURS[stroke]}" stroke-width="1.2"' if stroke else ""
        self.parts.append(f'<circle cx="{x:.5g}" cy="{y:.5g}" r="{radius:.3g}" fill="{filled}"{line}/>')

    def arrow(self, start, tip, colour, width=2.0):
        """A line from start to tip, (x, y) each, with a head at the tip."""
        (x0, y0), (x, y) = start, tip
        long = ((x - x0) ** 2 + (y - y0) ** 2) ** 0.5 or 1.0
        u, v, size = (x - x0) / long, (y - y0) / long, min(6 + 1.5 * width, long)
        back, side = (x - size * u, y - size * v), (-v * size / 2, u * size / 2)
        self.line(*start, *back, colour, width)
        corners = [tip, (back[0] + side[0], back[1] + side[1]), (back[0] - side[0], back[1] - side[1])]
        self.polygon(corners, colour)

    def polygon(self, corners, colour, opacity=1.0):
        """Filled, with these corners (x, y)."""
        places = " ".join(f"{x:.5g},{y:.5g}" for x, y in corners)
        self.parts.append(f'<polygon points="{places}" fill="{COLOURS[colour]}" opacity="{opacity:.3g}"/>')

    def curve(self, points, colour="ink", width=2.0):
        """A line through points (x, y)."""
        places = " ".join(f"{x:.5g},{y:.5g}" for x, y in points)
        self.parts.append(f'<polyline points="{places}" fill="none" stroke="{COLOURS[colour]}" '
                          f'stroke-width="{width}"/>')

    def svg(self):
        """The sheet as the text of an SVG file."""
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
                f'width="{self.width}" height="{self.height}" font-family="{FONT}">'
                f'<rect width="{self.width}" height="{self.height}" rx="14" fill="{COLOURS["paper"]}"/>'
                f'{"".join(self.parts)}</svg>')
