"""A position as a row of clock hands, from fast to slow."""

import math

from course_lib.display import style
from course_lib.display.diagrams import Sheet, width

MIDDLE = 118  # of the faces, from the top


def clock_hands(position, d, shift=0):
    """Sinusoids as clocks: at a position, hand i stands at the angle position / 10000^(2i/d), in radians from the top.

    position: the position, 0 or more
    d:        the width, even, from 2 to 20: there are d/2 clocks
    shift:    k, how many positions further a second hand stands; each hand turns by an angle of its own, whatever the
              position; 0: no second hand
    returns:  the text of an SVG, for plots.show
    raises:   ValueError where d has no clocks

    Vaswani et al. 2017, arXiv:1706.03762, section 3.5.
    """
    if d % 2 or not 2 <= d <= 20:
        raise ValueError(f"clock hands come in pairs of columns: d must be even and from 2 to 20, and it is {d}.")
    step = min(150, 840 // (d // 2))
    radius = min(44, 0.42 * step)
    sheet = Sheet(max(step * d // 2 + 40, 480), MIDDLE + 124)
    middle = sheet.width / 2
    here, there = f"position {position}", f"position {position + shift}: k = {shift}".replace("-", "−") if shift else ""
    begin = middle - (width(here, 15) + bool(shift) * (28 + width(there, 15))) / 2
    sheet.text(begin, 30, here, 15, anchor="start", bold=True)
    sheet.text(begin + 28 + width(here, 15), 30, there, 15, style.ACCENT, "start", bold=True)
    for i in range(d // 2):
        x, speed = middle + step * (i - (d // 2 - 1) / 2), 10000 ** (-2 * i / d)  # radians per position
        _clock(sheet, x, radius, position * speed, shift * speed, i)
        turn = 2 * math.pi / speed
        sheet.text(x, MIDDLE + 64, f"{turn:.1f}" if turn < 100 else f"{turn:,.0f}", 13)
    sheet.text(middle, MIDDLE + 84, "positions per turn", 12, style.SOFT, italic=True)
    formula = f"hand i: position / 10000^{{2i/d}} radians from the top, with d = {d}"
    sheet.text(middle, MIDDLE + 104, formula, 12, style.SOFT, italic=True)
    return sheet.svg()


def _clock(sheet, x, radius, angle, turn, i):
    """One face, with its hand, and where a shift turns it."""
    sheet.text(x, MIDDLE - radius - 17, f"i = {i}", 13, style.SOFT)
    sheet.circle(x, MIDDLE, radius, style.SOFT)
    for quarter in range(4):
        tick = [_at(x, quarter * math.pi / 2, share * radius) for share in (0.88, 1)]
        sheet.line(*tick, colour=style.SOFT, width=1.2)
    if turn:
        if abs(turn) > 2 * math.pi:
            sheet.circle(x, MIDDLE, 0.62 * radius, style.ACCENT)
        rest = math.fmod(turn, 2 * math.pi)
        arc = [_at(x, angle + rest * n / 12, 0.62 * radius) for n in range(13)]
        (sheet.arrow if abs(rest) * radius > 20 else sheet.line)(*arc, colour=style.ACCENT)
        sheet.arrow((x, MIDDLE), _at(x, angle + turn, 0.94 * radius), colour=style.ACCENT, width=2)
    sheet.arrow((x, MIDDLE), _at(x, angle, 0.94 * radius), width=2.2)
    sheet.circle(x, MIDDLE, 3, style.INK, style.INK)


def _at(x, angle, radius):
    """The point that a hand of this length shows at: right by its sine, up by its cosine."""
    return x + radius * math.sin(angle), MIDDLE - radius * math.cos(angle)
