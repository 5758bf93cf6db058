"""Clock hands: the rows of a table of positions turn, and a fixed angle leads k steps on."""

from course_lib.display.instruments.numbers import plain
from course_lib.display.instruments.pen import Sheet, words

TITLE = "A position is a row of clock hands"
ROWS = 4  # positions that the still shows, from 0 on


def given(table):
    """What the script gets.

    table: (n, d) from a learner's sinusoidal_positions(n, d), sines in even and cosines in odd columns; n from 8 to
           128, d even and at most 16. The second half of the rows is what k steps on are looked up in.
    """
    rows = plain("table", table, None, None, digits=6)  # slow hands turn by little
    n, d = len(rows), len(rows[0]) if rows else 0
    if not (8 <= n <= 128 and 2 <= d <= 16 and d % 2 == 0):
        raise ValueError(f"the table has {n} rows and {d} columns, and there is room for 8 to 128 rows "
                         "and an even number of columns up to 16")
    return {"table": rows}


def still(table):
    """The hands at the first positions, one row below the other, and the dot product with position 0."""
    sheet = Sheet(960, 390)
    sheet.text(28, 38, TITLE, size=18, bold=True)
    pairs, cell = len(table[0]) // 2, 560 / (len(table[0]) // 2)
    for i in range(pairs):
        sheet.text(108 + (i + 0.5) * cell, 74, f"{10000 ** (-i / pairs):.3g}", "soft", 12, "middle")
    sheet.text(28, 74, "ω", "soft", 12)
    for position, row in enumerate(table[:ROWS]):
        y = 116 + 70 * position
        sheet.text(28, y + 4, f"position {position}")
        for i in range(pairs):
            _clock(sheet, 108 + (i + 0.5) * cell, y, min(29, 0.42 * cell), *row[2 * i:2 * i + 2])
    _curve(sheet, table)
    return sheet.svg()


def _clock(sheet, x, y, radius, sin, cos):
    sheet.circle(x, y, radius, stroke="track")
    sheet.line(x, y, x + 0.82 * radius * sin, y - 0.82 * radius * cos, "ink", 3)
    sheet.circle(x, y, 3, "ink")


def _curve(sheet, table):
    left, right, top, floor = 716, 932, 88, 350
    values = [sum(a * b for a, b in zip(table[0], row, strict=True)) for row in table[:(len(table) + 1) // 2]]
    low, high = min(0.0, *values), max(values)
    places = [(left + (right - left) * k / (len(values) - 1), floor - (floor - top) * (value - low) / (high - low or 1))
              for k, value in enumerate(values)]
    zero = floor + (floor - top) * low / (high - low or 1)
    sheet.text(left - 24, 62, "PE(0) · PE(k)", bold=True)
    sheet.line(left, zero, right, zero, "track")
    sheet.text(left - 8, zero + 4, "0", "soft", 12, "end")
    sheet.text(left - 8, places[0][1] + 4, words(values[0], 0), "soft", 12, "end")
    sheet.curve(places)
    sheet.text(left, 372, "k = 0", "soft", 12)
    sheet.text(right, 372, len(values) - 1, "soft", 12, "end")
