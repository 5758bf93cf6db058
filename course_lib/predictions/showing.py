"""A question as HTML and text. It answers each guess wherever it stands: without a script, and without a kernel."""

import hashlib
import re
from html import escape as escaped

COLOURS = {True: "#2e7d32", False: "#b3541e"}
BAR = "border-left:4px solid {colour};padding:6px 12px;margin:4px 0"
INK = "#5b5b66"
# While its buttons are alive, the question in HTML is not seen; where they have died, they are not.
WHILE_ALIVE = ("<style>body:has(.course-live-{key}:not(.jupyter-widgets-disconnected)) .course-plain-{key}, "
               ".course-live-{key}.jupyter-widgets-disconnected, .jp-OutputArea-child:has(.course-plain-{key}) + "
               ".jp-OutputArea-child:not(:has(.course-live-{key})) {{display: none}}</style>")
TYPED = "Or put your guess into the call, as in guess={example}, and run the cell again: then it is kept."


def escape(text):
    """Text for HTML; what stands between asterisks is emphasised."""
    return re.sub(r"\*(\w[^*]*)\*", r"<em>\1</em>", escaped(text))


def key(of):
    """A name for a question on its page."""
    return hashlib.sha256(of.text.encode()).hexdigest()[:8]


def mark(right):
    return "✓" if right else "✗"


def as_reply(of, guess, right, says):
    """The question, the guess, and what is said to it: (HTML, text)."""
    html = (f'<div role="status" class="course-plain-{key(of)}" style="{BAR.format(colour=COLOURS[right])}">'
            f"<strong>{escape(of.text)}</strong><br>{mark(right)} <em>{escape(str(guess))}</em>: {escape(says)}</div>")
    return html, f"{of.text}\n{mark(right)} {guess}: {says}"


def as_plain(of, more=""):
    """The question with a fold for each guess, or for a number one for all: (HTML, text).

    more: a sentence below it
    """
    replies = [(answer, answer == of.right, f"{mark(answer == of.right)} {escape(says)}")
               for answer, says in of.answers.items()]
    if of.wants_a_number:
        items = "".join(f'<li data-answer="{answer}" data-room="{of.room(answer):g}"{" data-right" * right}>'
                        f"<em>{answer:g}</em>: {reply}</li>" for answer, right, reply in replies)
        folds = (f'<details><summary>Your number, and then click here</summary><ul style="list-style:none;'
                 f'padding-left:1em">{items}</ul></details>')
    else:
        folds = "".join(f'<details name="guess-{key(of)}"{" data-right" * right}><summary>{escape(answer)}</summary>'
                        f'<div style="padding:2px 1.2em 6px">{reply}</div></details>'
                        for answer, right, reply in replies)
    html = (f'<div class="course-question course-plain-{key(of)}" data-concept="{of.concept or ""}" '
            f'style="{BAR.format(colour=INK)}"><strong>{escape(of.text)}</strong>{folds}'
            f"{f'<p>{escape(more)}</p>' if more else ''}</div>")
    choices = "" if of.wants_a_number else " · ".join(of.answers)
    return html, "\n".join(filter(None, (of.text, choices, more)))


def how_to_type(of):
    """The sentence for whoever has no buttons."""
    return TYPED.format(example="0" if of.wants_a_number else '"the first words of a choice"')
