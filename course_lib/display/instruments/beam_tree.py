"""A beam's tree: what it kept open at each step, what ended, what fell out, and which beginning won."""

from course_lib.display.instruments.numbers import plain
from course_lib.display.instruments.pen import Sheet
from course_lib.display.instruments.pen import words as said

TITLE = "What the beam keeps"
KINDS = ("open", "ended", "out")


def given(searches):
    """What the script gets.

    searches: {name, such as "beam of 2": nodes} of 1 to 5 searches; nodes: a list of 2 to 400 tuples (step, word,
              parent, score, kind, best): the step counted from 0, the number of the node before it in the list or None,
              the sum of log-probabilities, "open", "ended" or "out", and whether it lies on the way that won
    """
    if not 1 <= len(searches) <= 5:
        raise ValueError(f"there are {len(searches)} searches, and there is room for 1 to 5")
    plainly = []
    for name, nodes in dict(searches).items():
        if not 2 <= len(nodes) <= 400:
            raise ValueError(f"{name} has {len(nodes)} nodes, and there is room for 2 to 400")
        scores = plain(f"the scores of {name}", [node[3] for node in nodes], len(nodes), digits=3)
        rows = []
        for n, ((step, word, parent, _, kind, best), score) in enumerate(zip(nodes, scores, strict=True)):
            known = parent is None and step == 0 or parent is not None and 0 <= parent < n
            if kind not in KINDS or not known or parent is not None and nodes[parent][0] != step - 1:
                raise ValueError(f"node {n} of {name} is no node: its kind is {kind!r}, and its parent {parent!r}")
            rows.append([int(step), str(word), parent, score, kind, int(bool(best))])
        plainly.append([str(name), rows])
    return {"searches": plainly}


def still(searches):
    """The last search, whole: a column per step; the way that won is thick, what fell out is pale."""
    name, nodes = searches[-1]
    steps = max(node[0] for node in nodes)
    most = max(sum(node[0] == step for node in nodes) for step in range(steps + 1))
    sheet, place = Sheet(960, 110 + 34 * most), {}
    sheet.text(28, 38, f"{TITLE}: {name}", size=18, bold=True)
    for n, (step, word, parent, score, kind, best) in enumerate(nodes):
        row = sum(place[other][2] == step for other in place)
        x, y = 40 + 900 * step / max(steps + 0.6, 1), 82 + 34 * row
        place[n] = x, y, step
        if parent is not None:
            before = place[parent]
            sheet.line(before[0] + 8 * len(nodes[parent][1]) + 14, before[1] - 5, x - 6, y - 5,
                       "ink" if best else "line", 3 if best else 1)
        colour = {"out": "soft", "ended": "value", "open": "ink"}[kind]
        sheet.text(x, y, word, colour, 15, bold=bool(best))
        sheet.text(x, y + 13, said(score, 1), "soft", 10)
    return sheet.svg()
