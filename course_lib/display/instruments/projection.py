"""Projection: a sentence becomes queries, keys and values, and one word asks all words, step by step."""

from course_lib.display.instruments.numbers import plain, softmax
from course_lib.display.instruments.pen import Sheet, words

TITLE = "One word asks, step by step"


def given(names, features, asked, handed, x, W_q, W_k, W_v, asks=0):
    """What the script gets.

    names:    2 to 8 words
    features: what the D numbers of a word mean
    asked:    what the d_k numbers of a query and of a key mean
    handed:   what the d_v numbers of a value mean
    x:        (N, D)
    W_q, W_k: (D, d_k); W_v: (D, d_v)
    asks:     the word that asks at the start, counted from 0
    """
    if not 2 <= len(names) <= 8:
        raise ValueError(f"there are {len(names)} words, and there is room for 2 to 8")
    if not 0 <= asks < len(names):
        raise ValueError(f"asks is {asks}, and has to be one of the {len(names)} words, counted from 0")
    D, d_k, d_v = len(features), len(asked), len(handed)
    if not 1 <= min(D, d_k, d_v) <= max(D, d_k, d_v) <= 8:
        raise ValueError(f"a word has {D} numbers, a key {d_k} and a value {d_v}, and there is room for 1 to 8 of each")
    return {"names": list(map(str, names)), "features": list(map(str, features)), "asked": list(map(str, asked)),
            "handed": list(map(str, handed)), "x": plain("x", x, len(names), D), "W_q": plain("W_q", W_q, D, d_k),
            "W_k": plain("W_k", W_k, D, d_k), "W_v": plain("W_v", W_v, D, d_v), "asks": int(asks)}


def still(names, features, asked, handed, x, W_q, W_k, W_v, asks):
    """The word that asks: its query, and the key, score, weight and value of each word."""
    sheet = Sheet(960, 150 + 40 * len(names))
    sheet.text(28, 38, TITLE, size=18, bold=True)
    query = _times(x[asks], W_q)
    scores = [sum(q * k for q, k in zip(query, _times(row, W_k), strict=True)) / len(query) ** 0.5 for row in x]
    weights = softmax(scores)
    sheet.text(28, 74, f"{names[asks]} asks for: {_said(query, asked)}", "query", 15, bold=True)
    for left, heading, colour in ((150, "key", "key"), (470, "score", "soft"), (540, "weight", "weight"),
                                  (720, "value", "value")):
        sheet.text(left, 112, heading, colour, 14, bold=True)
    for n, (name, row, score, weight) in enumerate(zip(names, x, scores, weights, strict=True)):
        y = 144 + 40 * n
        sheet.text(28, y, name, bold=n == asks)
        sheet.text(150, y, _said(_times(row, W_k), asked), "key")
        sheet.text(470, y, words(score), "soft")
        sheet.bar(540, y - 11, 110 * weight, 14, "weight")
        sheet.text(660, y, words(weight), "weight")
        sheet.text(720, y, _said(_times(row, W_v), handed), "value")
    return sheet.svg()


def _times(row, W):
    return [sum(a * b for a, b in zip(row, column, strict=True)) for column in zip(*W, strict=True)]


def _said(numbers, meanings):
    """What is not 0, in words."""
    return ", ".join(f"{meaning} {words(number, 1)}" for number, meaning in zip(numbers, meanings, strict=True)
                     if abs(number) >= 0.05) or "nothing"
