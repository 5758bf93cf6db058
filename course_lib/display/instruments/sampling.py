"""Sampling: turn the temperature, cut the tail, and see from which tokens the next one is drawn."""

from course_lib.display.instruments.numbers import plain
from course_lib.display.instruments.pen import Sheet
from course_lib.display.instruments.pen import words as said

TITLE = "From what the next token is drawn"


def given(contexts, temperatures, cuts, start=(0, 0)):
    """What the script gets.

    contexts:     1 to 5 texts, {text: (tokens, probs, left)}: the names of the 3 to 24 tokens that are shown, their
                  probabilities (temperatures, cuts, tokens), and how many of all tokens have any (temperatures, cuts)
    temperatures: 2 to 12 numbers above 0, rising
    cuts:         1 to 12 names, such as "all", "top 5" or "p = 0.9"
    start:        the temperature and the cut at the start, counted from 0
    """
    if not 1 <= len(contexts) <= 5:
        raise ValueError(f"there are {len(contexts)} texts, and there is room for 1 to 5")
    temperatures = plain("temperatures", temperatures, None)
    if not 2 <= len(temperatures) <= 12 or temperatures[0] <= 0 or temperatures != sorted(set(temperatures)):
        raise ValueError("temperatures have to be 2 to 12 numbers above 0, rising")
    if not 1 <= len(cuts) <= 12:
        raise ValueError(f"there are {len(cuts)} cuts, and there is room for 1 to 12")
    t, c = start
    if not (0 <= t < len(temperatures) and 0 <= c < len(cuts)):
        raise ValueError(f"start is {tuple(start)}, and has to be a temperature and a cut, counted from 0")
    size, plainly = (len(temperatures), len(cuts)), []
    for text, (tokens, probs, left) in dict(contexts).items():
        if not 3 <= len(tokens) <= 24:
            raise ValueError(f"after “{text}” there are {len(tokens)} tokens, and there is room for 3 to 24")
        plainly.append([str(text), [
            list(map(str, tokens)), plain(f"the probabilities after “{text}”", probs, *size, len(tokens), digits=4),
            plain(f"the numbers of tokens after “{text}”", left, *size, digits=0)]])
    return {"contexts": plainly, "temperatures": temperatures, "cuts": list(map(str, cuts)), "start": [t, c]}


def still(contexts, temperatures, cuts, start):
    """The first text at the start's temperature, under each of up to four cuts."""
    text, (tokens, probs, left) = contexts[0]
    shown = list(range(min(4, len(cuts))))
    sheet = Sheet(960, 140 + 24 * len(tokens))
    sheet.text(28, 38, TITLE, size=18, bold=True)
    sheet.text(28, 66, f"after “{text}”, temperature {temperatures[start[0]]:g}", "soft", 14)
    wide = (960 - 150) / len(shown)
    for n, cut in enumerate(shown):
        x = 130 + wide * n
        many = left[start[0]][cut]
        sheet.text(x, 98, f"{cuts[cut]}: {many:.0f} token{'s' * (many > 1)} left", "weight", 13, bold=True)
        for i, p in enumerate(probs[start[0]][cut]):
            y = 112 + 24 * i
            sheet.bar(x, y, (wide - 70) * p, 16, "weight")
            sheet.text(x + (wide - 70) * p + 6, y + 13, said(p) if p else "–", "soft", 11)
    for i, token in enumerate(tokens):
        sheet.text(118, 125 + 24 * i, token, "ink", 12, "end")
    return sheet.svg()
