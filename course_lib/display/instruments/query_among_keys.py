"""One query among keys in the plane: it turns, and scores, weights and the mixture of the values follow."""

from course_lib.display.instruments.numbers import plain, softmax
from course_lib.display.instruments.pen import Sheet, words

TITLE = "One query meets its keys"


def given(names, keys, query, values=None, axes=None, widths=True):
    """What the script gets.

    names:  2 to 8 words, one for each key
    keys:   (N, 2)
    query:  (2,), where the arrow starts
    values: (N, 2); without it the keys are mixed, as in versions 1 and 2
    axes:   what the two features mean, two words
    widths: False hides the width and √d, and has the query stretched much longer in their place
    """
    if not 2 <= len(names) <= 8:
        raise ValueError(f"there are {len(names)} names, and there is room for 2 to 8")
    if axes is not None and len(axes) != 2:
        raise ValueError(f"axes has {len(axes)} words, and a plane has 2")
    return {"names": [str(name) for name in names], "keys": plain("keys", keys, len(names), 2),
            "query": plain("query", query, 2), "axes": axes and [str(word) for word in axes],
            "values": values if values is None else plain("values", values, len(names), 2), "widths": bool(widths)}


def still(names, keys, query, values, axes, widths=True):
    """The query where it starts, the scores and weights it gets, and their mixture of the values."""
    sheet = Sheet(960, 380)
    scores = [query[0] * x + query[1] * y for x, y in keys]
    weights = softmax(scores)
    sheet.text(28, 38, TITLE, size=18, bold=True)
    at = _plane(sheet, 28, "query and keys", [*keys, query], axes)
    for name, key in zip(names, keys, strict=True):
        sheet.arrow(at((0, 0)), at(key), "key")
        _name(sheet, at, key, name, "key")
    sheet.arrow(at((0, 0)), at(query), "query", 3.5)
    _name(sheet, at, query, "query", "query", bold=True)
    _rows(sheet, 348, names, scores, weights)
    _mixture(sheet, names, values or keys, weights, f"{'values' if values else 'inputs'}, and their mixture")
    return sheet.svg()


def _plane(sheet, left, title, points, axes=None, side=280, top=84):
    """Axes through the middle; returns where a point of the plane stands on the sheet."""
    unit = side / 3 / max(abs(x) for point in points for x in point)
    middle = left + side / 2, top + side / 2
    sheet.text(left, 70, title, bold=True)
    sheet.line(left, middle[1], left + side, middle[1], "track")
    sheet.line(middle[0], top, middle[0], top + side, "track")
    sheet.text(middle[0] + unit, middle[1] + 16, 1, "soft", 12, "middle")
    sheet.text(middle[0] - 7, middle[1] - unit + 4, 1, "soft", 12, "end")
    if axes:
        sheet.text(left + side, middle[1] - 7, f"{axes[0]} →", "soft", 12, "end")
        sheet.text(middle[0] + 7, top + 11, f"↑ {axes[1]}", "soft", 12)
    return lambda point: (middle[0] + unit * point[0], middle[1] - unit * point[1])


def _name(sheet, at, point, name, colour, bold=False):
    """Beyond the tip of an arrow from the origin."""
    (x, y), long = at(point), (point[0] ** 2 + point[1] ** 2) ** 0.5 or 1.0
    anchor = "start" if point[0] > 0.3 * long else "end" if point[0] < -0.3 * long else "middle"
    sheet.text(x + 8 * point[0] / long, y - 13 * point[1] / long + 4.5, name, colour, anchor=anchor, bold=bold,
               over_lines=True)


def _rows(sheet, left, names, scores, weights):
    reach, zero, right = max(map(abs, scores)) or 1.0, left + 66, left + 156
    sheet.text(left, 70, "scores", "soft", bold=True)
    sheet.text(right, 70, "weights", "weight", bold=True)
    pitch = min(50, 250 / len(names))
    for i, (name, score, weight) in enumerate(zip(names, scores, weights, strict=True)):
        y, long = 102 + pitch * i, 58 * score / reach
        sheet.text(left, y, name, "key")
        sheet.text(left + 132, y, words(score), "soft", 12, "end")
        sheet.bar(zero + min(long, 0), y + 8, abs(long), 12, "track")
        sheet.line(zero, y + 5, zero, y + 23, "soft")
        sheet.bar(right, y + 8, 112 * weight, 12, "weight")
        sheet.text(right + 112, y, words(weight), "ink", 12, "end")


def _mixture(sheet, names, values, weights, title):
    out = [sum(w * value[i] for w, value in zip(weights, values, strict=True)) for i in (0, 1)]
    at = _plane(sheet, 652, title, values)
    for name, value, weight in zip(names, values, weights, strict=True):
        sheet.line(*at(value), *at(out), "value", 0.8 + 11 * weight, opacity=0.35 + 0.45 * weight)
        sheet.circle(*at(value), 4.5, "value")
        _name(sheet, at, value, name, "value")
    sheet.arrow(at((0, 0)), at(out), "ink", 3.5)
    x, y = at(out)
    sheet.text(x - 10, y - 8, "output", anchor="end", bold=True, over_lines=True)
