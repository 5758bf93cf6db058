"""A card to try: four spellings of one line, and for each of them what the check really says."""

from html import escape

from course_lib.checks import EXERCISES
from course_lib.checks.engine.judging import judge
from course_lib.checks.engine.mistakes import plain_source
from course_lib.checks.notebook.card import as_html, card_rows

EXERCISE = "weighted_sum"
BEFORE, AFTER = ("mean", "misses-an-axis"), ("sums-features",)  # mistakes, around the right answer
ASKED = """\
<p>The last step of attention mixes: each row of <code>x</code>, of shape (N, D), is multiplied by its weight, one of N,
and all rows are added up. Which line of <code>weighted_sum(weights, x)</code> does it?</p>"""


def trying():
    """The question, its answers as buttons, and the card of each; no script is needed."""
    exercise = EXERCISES[EXERCISE]
    wrong = {m.name: (m.source, m.answer) for m in exercise.mistakes}
    right = plain_source(exercise.verified), exercise.verified
    tries = [*(wrong[name] for name in BEFORE), right, *(wrong[name] for name in AFTER)]
    labels = "".join(f'<label><input type="radio" name="try" id="try-{i}"><code>{_line(source)}</code></label>'
                     for i, (source, _) in enumerate(tries, 1))
    cards = "".join(f'<div class="card card-{i}">{_card(exercise, answer)}</div>'
                    for i, (_, answer) in enumerate(tries, 1))
    return (f'<div class="trying">{ASKED}<fieldset><legend>Your answer</legend>{labels}</fieldset>'
            f'<div class="cards">{cards}</div></div>')


def _line(source):
    return escape(source.strip().splitlines()[-1].strip())


def _card(exercise, answer):
    verdict = judge(exercise, answer)
    return as_html(card_rows(verdict), verdict.status)
