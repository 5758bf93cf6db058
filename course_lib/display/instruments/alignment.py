"""An alignment: choose something that was written, and see how much weight lay on each thing that was read."""

from course_lib.display.instruments.numbers import plain
from course_lib.display.instruments.pen import Sheet

TITLE = "Where it looks while it writes"


def given(pairs, heard=None):
    """What the script gets.

    pairs: 1 to 8 triples (read, written, weights): 2 to 16 words or letters that were read, 1 to 16 that were written,
           and the (written, read) weights
    heard: for each pair "left" or "right", the end from which the encoder had read up to each state, or None: of it
           nothing is said
    """
    if not 1 <= len(pairs) <= 8:
        raise ValueError(f"there are {len(pairs)} pairs, and there is room for 1 to 8")
    heard = [None] * len(pairs) if heard is None else list(heard)
    if len(heard) != len(pairs) or not set(heard) <= {None, "left", "right"}:
        raise ValueError(f'heard is {heard}, and has to say "left", "right" or None for each of {len(pairs)} pairs')
    plainly = []
    for read, written, weights in pairs:
        read, written = list(map(str, read)), list(map(str, written))
        if not (2 <= len(read) <= 16 and 1 <= len(written) <= 16):
            raise ValueError(f"{len(read)} were read and {len(written)} written, and there is room for 2 to 16 and "
                             "for 1 to 16")
        plainly.append([read, written, plain("weights", weights, len(written), len(read))])
    return {"pairs": plainly, "heard": heard}


def still(pairs, heard):
    """All that was written in the first pair, above all that was read; a line is as thick as its weight."""
    read, written, weights = pairs[0]
    sheet = Sheet(960, 300)
    sheet.text(28, 38, TITLE, size=18, bold=True)

    def across(i, many):
        return 130 + 800 * (i + 0.5) / many

    sheet.text(28, 94, "written", "soft", bold=True)
    sheet.text(28, 250, "read", "soft", bold=True)
    for i, row in enumerate(weights):
        for j, weight in enumerate(row):
            if weight >= 0.02:
                sheet.line(across(i, len(written)), 106, across(j, len(read)), 226, "weight", 0.5 + 9 * weight,
                           opacity=0.25 + 0.6 * weight)
    for y, names in ((94, written), (250, read)):
        for i, name in enumerate(names):
            sheet.text(across(i, len(names)), y, name, "ink", 18, "middle", bold=True)
    return sheet.svg()
