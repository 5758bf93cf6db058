"""The little markup that sentences of the course have, `code` and *emphasis*, as HTML."""

import re
from html import escape

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
