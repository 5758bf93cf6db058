"""Heads: choose a word of a sentence, and see how much weight every head gives to each of its words."""

from course_lib.display.instruments.numbers import plain
from course_lib.display.instruments.pen import Sheet
from course_lib.display.instruments.pen import words as said

TITLE = "Where each head looks"


def given(words, layers, asks=0):
    """What the script gets.

    words:  2 to 14 words
    layers: 1 to 8 layers, {name: (H, N, N) weights of its 1 to 12 heads}; a row belongs to a word that asks
    asks:   the word that asks at the start, counted from 0
    """
    if not 2 <= len(words) <= 14:
        raise ValueError(f"there are {len(words)} words, and there is room for 2 to 14")
    if not 0 <= asks < len(words):
        raise ValueError(f"asks is {asks}, and has to be one of the {len(words)} words, counted from 0")
    if not 1 <= len(layers) <= 8:
        raise ValueError(f"there are {len(layers)} layers, and there is room for 1 to 8")
    N = len(words)
    plainly = [[str(name), plain(f"the weights of {name}", weights, None, N, N, digits=3)]
               for name, weights in dict(layers).items()]
    for name, weights in plainly:
        if not 1 <= len(weights) <= 12:
            raise ValueError(f"{name} has {len(weights)} heads, and there is room for 1 to 12")
    return {"words": list(map(str, words)), "layers": plainly, "asks": int(asks)}


def still(words, layers, asks):
    """The heads of the first layer, as the word asks that asks at the start."""
    name, heads = layers[0]
    cell = min(70, 780 // len(words))
    sheet = Sheet(960, 150 + 58 * len(heads))
    sheet.text(28, 38, TITLE, size=18, bold=True)
    sheet.text(28, 82, f"“{words[asks]}” asks", "query", 15, bold=True)
    for j, word in enumerate(words):
        sheet.text(150 + cell * (j + 0.5), 112, word, "query" if j == asks else "ink", 12, "middle", bold=j == asks)
    for h, rows in enumerate(heads):
        y = 132 + 58 * h
        sheet.text(28, y + 25, f"{name}, head {h + 1}" if len(name) < 9 else f"head {h + 1}", "weight")
        for j, weight in enumerate(rows[asks]):
            left, tall = 150 + cell * j, 36 * weight
            sheet.line(left, y + 38, left + cell - 4, y + 38)
            sheet.bar(left, y + 38 - tall, cell - 4, tall, "weight")
            if weight >= 0.05:
                sheet.text(left + cell / 2 - 2, y + 34 - tall, said(weight), "soft", 11, "middle")
    sheet.text(28, 140 + 58 * len(heads), "The weights of a head add up to 1.", "soft", 12)
    return sheet.svg()
