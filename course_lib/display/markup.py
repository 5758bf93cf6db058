"""The little markup that sentences of the course have, `code`, *emphasis* and $formulas$, as text and as HTML."""

import re
from html import escape

FORMULA = re.compile(r"\$([^$]+)\$")
UPRIGHT = {"softmax", "exp", "log", "tanh", "sin", "cos", "sigmoid", "silu", "T"}  # in a formula
EMPHASIS = re.compile(r"(?<![\w*])\*(?=\S)([^*]+)(?<=\S)\*(?![\w*])")  # *so*, which is no product


class Both(str):
    """Words as text, with an HTML of their own."""

    def __new__(cls, text, html):
        """The text; `html` beside it."""
        both = super().__new__(cls, text)
        both.html = html
        return both

    def __getnewargs__(self):
        """Both again, where it is pickled or copied."""
        return str(self), self.html


def as_html(text):
    """A sentence as HTML; nothing else in it means anything."""
    parts = re.split(r"`([^`]+)`", text)
    return "".join(f"<code>{escape(part)}</code>" if i % 2 else EMPHASIS.sub(r"<em>\1</em>", escape(part))
                   for i, part in enumerate(parts))


def typeset(text):
    """A sentence with $formulas$: as it is typed, and as HTML, which needs nothing to be loaded.

    In a formula `_` and `^` lower and raise what follows, one word or what stands in parentheses.
    """
    parts = FORMULA.split(text)
    return Both("".join(parts), "".join(_formula(part) if i % 2 else as_html(part) for i, part in enumerate(parts)))


def _formula(text):
    text = escape(text.replace("-", "−"), quote=False)
    html = re.sub(r"[A-Za-z]+", lambda m: m[0] if m[0] in UPRIGHT else f"<i>{m[0]}</i>", text)
    html = re.sub(r"\^(?:\(([^()]*)\)|((?:\w|</?i>)+))", r"<sup>\1\2</sup>", html)
    return re.sub(r"_((?:\w|</?i>)+)", r"<sub>\1</sub>", html)
