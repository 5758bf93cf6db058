"""The residual stream as a strip: choose a head, see where it looks and what it writes, cut it: the loss answers."""

from course_lib.display.instruments.numbers import plain
from course_lib.display.instruments.pen import Sheet
from course_lib.display.instruments.pen import words as said

TITLE = "Two blocks of heads on one residual stream"


def given(tokens, first, second, costs, start=(0, 0)):
    """What the script gets.

    tokens: 2 to 24 tokens of one letter each
    first:  of block 1, a pair: for each of its 1 to 4 heads and each token the two places that it looks at most, with
            percents, (H, T, 2, 2), place before percent; and for each head a word of T letters, what it writes
    second: the same of block 2, for each of the 2^H sets of heads of block 1 that are cut, bit by bit
    costs:  the share of right answers and the loss with each of the 4^H sets of heads cut, block 1 in the lowest bits
    start:  the head that is chosen at first, counted from 0 through both blocks, and the place
    """
    tokens, T = list(map(str, tokens)), len(tokens)
    if not 2 <= T <= 24 or any(len(token) != 1 for token in tokens):
        raise ValueError(f"there are {T} tokens, and there is room for 2 to 24 of one letter each")
    first, H = _block("block 1", first, T), len(first[1])
    if not 1 <= H <= 4:
        raise ValueError(f"block 1 has {H} heads, and there is room for 1 to 4")
    if len(second) != 2**H:
        raise ValueError(f"block 2 is given for {len(second)} sets of heads that are cut, and there are {2**H}")
    second = [_block("block 2", seen, T, H) for seen in second]
    costs = plain("costs", costs, 4**H, 2, digits=3)
    head, place = start
    if not (0 <= head < 2 * H and 0 <= place < T):
        raise ValueError(f"start is {tuple(start)}, and there are {2 * H} heads and {T} places, counted from 0")
    return {"tokens": tokens, "first": first, "second": second, "costs": costs, "start": [head, place]}


def _block(name, seen, T, H=None):
    """(looks, words) of a block's heads, checked."""
    looks, words = seen
    looks = plain(f"what {name} looks at", looks, H, T, 2, 2, digits=0)
    looks = [[[[int(part) for part in pair] for pair in pairs] for pairs in head] for head in looks]
    pairs = [pair for head in looks for both in head for pair in both]
    if not all(0 <= place < T and 0 <= percent <= 100 for place, percent in pairs):
        raise ValueError(f"{name} looks at places from 0 to {T - 1}, with 0 to 100 percent")
    if len(words) != len(looks) or any(len(word) != T for word in words):
        raise ValueError(f"{name} writes a word of {T} letters for each of its {len(looks)} heads")
    return [looks, list(map(str, words))]


def still(tokens, first, second, costs, start):
    """The strip with all heads: where the chosen head looks, and what every head writes at the chosen place."""
    (head, place), H, T = start, len(first[1]), len(tokens)
    sheet, cell = Sheet(960, 330), min(38, 880 / T)
    sheet.text(28, 38, TITLE, size=18, bold=True)
    looks, _ = (first, second[0])[head // H]
    for at, percent in looks[head % H][place]:
        sheet.line(28 + cell * (place + 0.5), 92, 28 + cell * (at + 0.5), 66, "weight", 0.5 + percent / 11)
    for t, token in enumerate(tokens):
        sheet.text(28 + cell * (t + 0.5), 112, token, "query" if t == place else "ink", 16, "middle", bold=t == place)
    sheet.line(28, 210, 932, 210, "ink", 6)
    for h in range(2 * H):
        x, (_, words) = 110 + 780 * (h + 0.5) / (2 * H), (first, second[0])[h // H]
        sheet.circle(x, 210, 22, "paper", "weight" if h == head else "ink")
        sheet.text(x, 215, f"{h // H + 1}.{h % H + 1}", "ink", 13, "middle", bold=h == head)
        sheet.text(x, 262, words[h % H][place], "value", 16, "middle", bold=True)
    sheet.text(28, 262, "writes", "soft")
    sheet.text(28, 308, f"Of what is said again {said(100 * costs[0][0], 0)} % is right; the loss is "
                        f"{said(costs[0][1])}.", "ink", 14)
    return sheet.svg()
