"""Writing: a translation word by word: where each word looked as it was written, and what else it might have been."""

from course_lib.display.instruments.numbers import plain
from course_lib.display.instruments.pen import Sheet
from course_lib.display.instruments.pen import words as said

TITLE = "Written word by word"


def given(sentences):
    """What the script gets.

    sentences: 1 to 6 triples (read, steps, weights): 2 to 16 words that are read; for each of 1 to 16 steps its 1 to 6
               candidates as pairs (word, probability), the one that was written first; and the (steps, read) weights
    """
    if not 1 <= len(sentences) <= 6:
        raise ValueError(f"there are {len(sentences)} sentences, and there is room for 1 to 6")
    plainly = []
    for read, steps, weights in sentences:
        if not (2 <= len(read) <= 16 and 1 <= len(steps) <= 16):
            raise ValueError(f"{len(read)} words are read and {len(steps)} written, and there is room for 2 to 16 and "
                             "for 1 to 16")
        if not all(1 <= len(candidates) <= 6 for candidates in steps):
            raise ValueError("a step has no candidate, or more than 6")
        shares = [plain("the probabilities of a step", [p for _, p in step], len(step)) for step in steps]
        named = [[[str(word), p] for (word, _), p in zip(step, each, strict=True)]
                 for step, each in zip(steps, shares, strict=True)]
        plainly.append([list(map(str, read)), named, plain("weights", weights, len(steps), len(read))])
    return {"sentences": plainly}


def still(sentences):
    """The first sentence in the middle of its writing."""
    read, steps, weights = sentences[0]
    at = len(steps) // 2
    sheet = Sheet(960, 300)
    sheet.text(28, 38, TITLE, size=18, bold=True)

    def across(i, many):
        return 130 + 800 * (i + 0.5) / many

    sheet.text(28, 94, "written", "soft", bold=True)
    sheet.text(28, 232, "read", "soft", bold=True)
    for j, weight in enumerate(weights[at]):
        if weight >= 0.02:
            sheet.line(across(at, len(steps)), 106, across(j, len(read)), 210, "weight", 0.5 + 9 * weight,
                       opacity=0.25 + 0.6 * weight)
    for i, candidates in enumerate(steps[: at + 1]):
        sheet.text(across(i, len(steps)), 94, candidates[0][0], "query" if i == at else "ink", 18, "middle", bold=True)
    for j, word in enumerate(read):
        sheet.text(across(j, len(read)), 232, word, "ink", 18, "middle")
    few = ", ".join(f"{word} {said(p)}" for word, p in steps[at])
    sheet.text(28, 278, f"The next word: {few}", "soft")
    return sheet.svg()
