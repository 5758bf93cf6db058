"""A graph: who hears whom, an arrow for each edge, as thick as its weight."""

import math

from course_lib.display import style
from course_lib.display.diagrams import Sheet

RING, NODE, ROOM = 92, 23, 300  # radius of the ring of nodes, radius of a node, width of a panel; pixels
THICK = 6  # pixels for a weight of 1
MIDDLE = 176  # of the rings, from the top


def graph(panels, names):
    """Nodes on a ring, clockwise from the top. An arrow leads to whoever hears, a bow at a node is its edge to itself.

    panels:  {title: (N, N)}, the weight with which node i hears node j at [i, j], from 0 to 1; 0: no edge, no arrow
    names:   N names
    returns: the text of an SVG, for plots.show
    """
    sheet = Sheet(ROOM * len(panels), MIDDLE + 168)
    for place, (title, weights) in enumerate(panels.items()):
        middle = ROOM * (place + 0.5)
        sheet.text(middle, 24, title, 15, bold=True)
        turns = [2 * math.pi * n / len(names) for n in range(len(names))]
        nodes = [(middle + RING * math.sin(turn), MIDDLE - RING * math.cos(turn)) for turn in turns]
        for i, row in enumerate(weights.tolist()):
            for j, weight in enumerate(row):
                if weight > 0:
                    _edge(sheet, nodes[j], nodes[i], turns[i], weight)
        for (x, y), name in zip(nodes, names, strict=True):
            sheet.circle(x, y, NODE)
            sheet.text(x, y, name, 12)
    sheet.text(sheet.width / 2, MIDDLE + 148, "an arrow leads from the sender to whoever hears; "
               "the thicker, the larger the weight", 12, style.SOFT, italic=True)
    return sheet.svg()


def _edge(sheet, sender, receiver, turn, weight):
    """An arrow a little to the right of the straight line, so that the answer has room beside it; or a bow outwards."""
    thick = max(0.5, THICK * weight)  # a hair at least: an edge is there, however small its weight
    if sender == receiver:
        (x, y), far = receiver, 2.9 * NODE
        ends = [(x + NODE * math.sin(turn + side), y - NODE * math.cos(turn + side)) for side in (-0.5, 0.5)]
        sheet.curve(ends[0], (x + far * math.sin(turn), y - far * math.cos(turn)), ends[1], thick, style.WEIGHT)
        return
    along = math.atan2(receiver[1] - sender[1], receiver[0] - sender[0])
    right, gap = (-4.5 * math.sin(along), 4.5 * math.cos(along)), (NODE * math.cos(along), NODE * math.sin(along))
    sheet.arrow((sender[0] + gap[0] + right[0], sender[1] + gap[1] + right[1]),
                (receiver[0] - gap[0] + right[0], receiver[1] - gap[1] + right[1]),
                colour=style.WEIGHT, width=thick)
