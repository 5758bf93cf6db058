"""Softmax and scale: scores are spread, and weights, entropy and slopes follow."""

import torch

from course_lib.display.instruments.numbers import plain, softmax
from course_lib.display.instruments.pen import Sheet, words

TITLE = "A softmax has a volume knob"
SPREADS = (0.1, 1.0, 10.0)  # standard deviations that the still shows side by side


def given(scores, widths=True):
    """What the script gets.

    scores: (N,) of 2 to 16 numbers that are not all the same, such as ten drawn from a normal distribution
    widths: False hides the width and √d
    """
    numbers = plain("scores", scores, None)
    if not 2 <= len(numbers) <= 16:
        raise ValueError(f"there are {len(numbers)} scores, and there is room for 2 to 16")
    if max(numbers) - min(numbers) < 1e-3:
        raise ValueError("the scores are all the same: there is nothing to spread")
    return {"scores": numbers, "widths": bool(widths)}


def still(scores, widths=True):
    """The same scores at three spreads, and their weights below."""
    sheet = Sheet(960, 360)
    sheet.text(28, 38, TITLE, size=18, bold=True)
    shape = torch.tensor(scores, dtype=torch.float64)
    for i, spread in enumerate(SPREADS):
        _column(sheet, 28 + 308 * i, (shape / shape.std(correction=0) * spread).tolist(), spread)
    return sheet.svg()


def _column(sheet, left, scores, spread):
    wide, zero, floor = 288, 142, 316
    weights, reach = softmax(scores), 1.1 * max(map(abs, scores))
    slopes = torch.diag(torch.tensor(weights)) - torch.outer(torch.tensor(weights), torch.tensor(weights))
    sheet.text(left, 72, f"scores with standard deviation {spread:g}", "soft", bold=True)
    norm = slopes.norm().item()
    says = f"of norm {words(norm)}" if norm >= 0.01 else "below 0.01"
    sheet.text(left, 212, f"weights; slopes {says}", "weight", bold=True)
    for y, says in ((zero, "0"), (floor, "0"), (floor - 84, "1")):
        sheet.line(left + 26, y, left + wide, y, "track" if says == "0" else "line")
        sheet.text(left + 18, y + 4, says, "soft", 12, "end")
    step = (wide - 30) / len(scores)
    for i, (score, weight) in enumerate(zip(scores, weights, strict=True)):
        x, high = left + 30 + i * step, 44 * score / reach
        sheet.bar(x + 0.2 * step, zero - max(high, 0), 0.6 * step, abs(high), "track")
        sheet.bar(x + 0.2 * step, floor - 84 * weight, 0.6 * step, 84 * weight, "weight")
    top = max(range(len(scores)), key=scores.__getitem__)
    middle = left + 30 + (top + 0.5) * step
    sheet.text(middle, zero - 44 * scores[top] / reach - 5, words(scores[top], 1 + (spread < 1)), "soft", 12, "middle")
    sheet.text(middle, floor - 84 * weights[top] - 5, words(weights[top]), "weight", 12, "middle")
    sheet.text(left + wide / 2 + 14, floor + 20, f"score 1 to {len(scores)}", "soft", 12, "middle")
