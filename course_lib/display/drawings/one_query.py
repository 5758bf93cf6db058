"""One query meets keys and values: scores, weights, and a mixture."""

import numpy as np

from course_lib.display import style
from course_lib.display.diagrams import Sheet, width

ROW, FIRST = 40, 128  # pixels from one word to the next; the middle of the first word
CELL, THICK = 30, 30  # pixels: a number, and all flows together


def one_query(words, query, keys, scores, weights, values, output, asks="", formula="query · key / √d"):
    """One query and the keys of all words make scores, these make weights, and the weights mix values into an output.

    words:   N names
    query:   (d,)
    keys:    (N, d)
    scores:  (N,), -inf where a word is masked
    weights: (N,), their sum is 1
    values:  (N, d_v); None where inputs are both keys and values: they are drawn once, as inputs
    output:  (d_v,)
    asks:    what the query wants, in words
    formula: how a score is made
    returns: the text of an SVG, for plots.show
    """
    query, keys, scores, weights, output = map(np.asarray, (query, keys, scores, weights, output))
    ys = [FIRST + ROW * n for n in range(len(words))]
    sheet = Sheet(0, ys[-1] + 58)
    rail = _meet(sheet, words, ys, query, keys, "stream" if values is None else "key", asks)
    seen = scores[np.isfinite(scores)]
    low, high = min(0, np.floor(seen.min(initial=0))), max(0, np.ceil(seen.max(initial=0)))
    scored = sheet.bars(rail + 42, ys, scores, "score", 80, low, high if high > low else 1)
    _heading(sheet, rail + 82, "scores", style.SCORE, formula)
    weighted = sheet.bars(_softmax(sheet, scored.right + 12, ys), ys, weights, "weight", 80)
    _heading(sheet, weighted.left + 40, "weights", style.WEIGHT, "their sum is 1")
    _mix(sheet, ys, keys if values is None else np.asarray(values), weights, output, rail, weighted.right + 40,
         again=values is None)
    return sheet.svg()


def _meet(sheet, words, ys, query, keys, kind, asks):
    """The query stands above the keys; its rail runs past all of them, and where it meets one is a dot product."""
    left, limit, cell = 20 + max(width(word) for word in [*words, "query "]), _top(query, keys), _cell(keys)
    asked = sheet.grid(left + 12, 22, query, "query", cell, limit)
    rail = asked.right + 24
    sheet.text(left, asked.y, "query", 15, style.QUERY, "end", bold=True)
    sheet.text(rail + 14, asked.y, asks, 13, style.SOFT, "start", italic=True)
    sheet.line((asked.right, asked.y), (rail, asked.y), (rail, ys[-1]), colour=style.QUERY, width=2)
    for y, word, key in zip(ys, words, keys, strict=True):
        sheet.text(left, y, word, anchor="end")
        spot = sheet.grid(left + 12, y - cell / 2, key, kind, cell, limit)
        sheet.line((spot.right, y), (rail, y), colour=style.HUES[kind], width=2)
        sheet.node(rail, y, "·", style.QUERY)
        sheet.arrow((rail + 10, y), (rail + 36, y), colour=style.SOFT, width=1.2)
    _heading(sheet, asked.x, "keys" if kind == "key" else "inputs", style.HUES[kind])
    return rail


def _softmax(sheet, x, ys):
    """One bracket around all scores, for each weight depends on all of them."""
    middle, high, low = (ys[0] + ys[-1]) / 2, ys[0] - 14, ys[-1] + 14
    sheet.line((x, high), (x + 7, high), (x + 7, low), (x, low), width=1.2, colour=style.SOFT)
    sheet.arrow((x + 7, middle), (x + 72, middle), colour=style.SOFT, width=1.2)
    sheet.text(x + 38, middle - 11, "softmax", 12, style.SOFT, italic=True)
    return x + 80


def _mix(sheet, ys, values, weights, output, rail, times, again):
    """Every value flows into the output, as thick as its weight."""
    kind, cell, limit = "stream" if again else "value", _cell(values), _top(values, output)
    start = times + 10 if again else times + 24 + cell * values.shape[1]
    target, middle = start + 84, (ys[0] + ys[-1]) / 2
    edges = middle - THICK / 2 + THICK * np.cumsum([0, *weights])
    for y, value, weight, edge in zip(ys, values, weights, edges, strict=False):
        if again:
            sheet.line((rail - 22, y + 17), (times - 14, y + 17), (times - 7, y + 8), dashed=True, colour=style.SOFT)
        else:
            sheet.line((times, y), (times + 24, y), colour=style.VALUE, width=2)
            sheet.grid(times + 24, y - cell / 2, value, kind, cell, limit)
        sheet.arrow((times - 30, y), (times - 10, y), colour=style.SOFT, width=1.2)
        sheet.node(times, y, "×", style.WEIGHT)
        if weight > 0:
            sheet.ribbon((start, y), (target, edge + THICK * weight / 2), THICK * weight, style.HUES[kind])
    _heading(sheet, times if again else (times + 24 + start) / 2, "inputs" if again else "values", style.HUES[kind],
             "the same" if again else "")
    out = sheet.grid(target, middle - _cell(output) / 2, output, "stream", _cell(output), limit)
    sheet.text(out.x, out.top - 32, "output", 15, bold=True)
    sheet.text(out.x, out.top - 14, "Σ weight × " + ("input" if again else "value"), 12, style.SOFT, italic=True)
    sheet.width = round(max(out.right, out.x + width("Σ weight × value", 12) / 2) + 20)


def _heading(sheet, x, name, colour, note=""):
    sheet.text(x, 82 if note else 92, name, 15, colour, bold=True)
    sheet.text(x, 100, note, 12, style.SOFT, italic=True)


def _cell(values):
    return CELL if values.shape[-1] <= 6 else 16


def _top(*values):
    return max(float(np.abs(part).max()) for part in values)
