"""A lamp over a picture in the dark: a question is asked, and where the lamp was is what it was worth looking at."""

import re

from course_lib.display.instruments.pen import Sheet, squares

TITLE = "A picture in the dark, and your lamp"


def given(rows, paint, regions, questions):
    """What the script gets.

    rows:      the picture, one letter for each square, 2 to 40 rows of the same length, at most 60
    paint:     {letter: its colour as six hexadecimal digits, such as "a9d3f0"}
    regions:   {name: its letters}, 2 to 8; every letter of the picture belongs to one
    questions: 1 to 6 that can be answered by looking
    """
    rows, wide = [str(row) for row in rows], {len(row) for row in rows}
    if not (2 <= len(rows) <= 40 and len(wide) == 1 and 2 <= max(wide) <= 60):
        raise ValueError("rows has to be 2 to 40 rows of equal length, at most 60 letters each")
    if not (2 <= len(regions) <= 8 and 1 <= len(questions) <= 6):
        raise ValueError(f"there are {len(regions)} regions and {len(questions)} questions, and there is room for "
                         "2 to 8 and for 1 to 6")
    for letter in sorted(set("".join(rows))):
        if sum(letter in letters for letters in regions.values()) != 1:
            raise ValueError(f"the letter {letter!r} of the picture has to belong to one region")
        if not re.fullmatch("[0-9a-fA-F]{6}", str(paint.get(letter))):
            raise ValueError(f"the letter {letter!r} of the picture has no colour of six hexadecimal digits in paint")
    return {"rows": rows, "paint": dict(paint), "regions": dict(regions), "questions": [str(q) for q in questions]}


def still(rows, paint, regions, questions):
    """The picture as it is with all lamps on, and the questions."""
    cell = min(18, 600 // len(rows[0]))
    sheet = Sheet(960, max(78 + cell * len(rows), 124 + 30 * len(questions) + 22 * len(regions)))
    sheet.text(28, 38, TITLE, size=18, bold=True)
    for letter, colour in paint.items():
        red, green, blue = bytes.fromhex(colour)  # of a thing: it stays what it is on a dark page
        sheet.parts.append(f'<path d="{squares(rows, letter, 28, 56, cell)}" fill="rgb({red},{green},{blue})" '
                           'shape-rendering="crispEdges"/>')
    for i, question in enumerate(questions):
        sheet.text(56 + cell * len(rows[0]), 78 + 30 * i, question, "query", 15, bold=True)
    right, below = 56 + cell * len(rows[0]), 100 + 30 * len(questions)
    sheet.text(right, below, f"The {len(regions)} regions:", "soft")
    for i, name in enumerate(regions):
        sheet.text(right, below + 22 * (i + 1), name, "soft")
    return sheet.svg()
