"""A question in a notebook: buttons where a kernel listens, folded with its answers where nobody does."""

import re
import sys
from html import escape as escaped

from course_lib.display.live import somebody_is_looking
from course_lib.predictions.question import QuestionError

COLOURS = {True: "#2e7d32", False: "#b3541e"}
BAR = "border-left:4px solid {colour};padding:6px 12px;margin:4px 0"
INK = "#5b5b66"
# Without this a long answer ends in dots on a narrow page.
LONG_ANSWERS = ("<style>.course-answer.jupyter-button {white-space: normal; height: auto; min-height: 28px; "
                "line-height: 1.4; padding: 4px 10px; text-align: left}</style>")


def escape(text):
    """Text for HTML; what stands between asterisks is emphasised."""
    return re.sub(r"\*(\w[^*]*)\*", r"<em>\1</em>", escaped(text))


def as_reply(of, guess, right, says):
    """The question, the guess, and what is said to it: (HTML, text)."""
    mark = "✓" if right else "✗"
    html = (f'<div role="status" style="{BAR.format(colour=COLOURS[right])}"><strong>{escape(of.text)}</strong>'
            f"<br>{mark} <em>{escape(str(guess))}</em>: {escape(says)}</div>")
    return html, f"{of.text}\n{mark} {guess}: {says}"


def as_folded(of):
    """The question, with its answers behind a click: (HTML, text)."""
    answers = [(says is True, str(answer), "" if says is True else says) for answer, says in of.answers.items()]
    listed = "".join(f"<li>{'✓' if right else '✗'} <em>{escape(answer)}</em>{': ' if says else ''}{escape(says)}</li>"
                     for right, answer, says in answers)
    html = (f'<div style="{BAR.format(colour=INK)}"><details><summary><strong>{escape(of.text)}</strong></summary>'
            f'<ul style="list-style:none;padding-left:1em">{listed}</ul></details></div>')
    return html, f"{of.text} ({' · '.join(answer for _, answer, _ in answers)})"


def as_typed(of):
    """The question, and how to answer where there are no buttons: (HTML, text)."""
    example = "0" if of.wants_a_number else f'"{next(iter(of.answers))}"'
    choices = "" if of.wants_a_number else " · ".join(of.answers)
    how = f"Your guess goes into the call, as in guess={example}. Then run the cell again."
    html = (f'<div role="status" style="{BAR.format(colour=INK)}"><strong>{escape(of.text)}</strong><br>'
            f"{escape(choices)}{'<br>' if choices else ''}{escape(how)}</div>")
    return html, "\n".join(filter(None, (of.text, choices, how)))


def show(html, text):
    """Show HTML in a notebook, and text elsewhere."""
    if not _in_a_notebook():
        print(text)
        return
    from IPython.display import display

    display({"text/html": html, "text/plain": text}, raw=True)


def show_buttons(of, answered):
    """Buttons, or a field for a number; the first guess takes their place. False where no widget can be shown.

    answered: called with the guess; gives the reply as (HTML, text)
    """
    if not somebody_is_looking():
        return False
    try:
        import ipywidgets
    except ImportError:
        return False
    from IPython.display import HTML, display

    def take(guess):
        try:
            place.update(HTML(answered(guess)[0]))
        except QuestionError as error:
            said.value = f'<span role="alert">{escape(str(error))}</span>'

    said = ipywidgets.HTML()
    asks = ipywidgets.HTML(f"<strong>{escape(of.text)}</strong>{LONG_ANSWERS}")
    row = _number_field(ipywidgets, take) if of.wants_a_number else _choices(ipywidgets, of, take)
    box = ipywidgets.VBox([asks, row, said], layout={"border_left": f"4px solid {INK}", "padding": "6px 12px"})
    place = display(box, display_id=True)
    return True


def _choices(ipywidgets, of, take):
    buttons = []
    for answer in of.answers:
        button = ipywidgets.Button(description=answer, tooltip=answer, layout={"width": "auto"})
        button.add_class("course-answer")
        button.on_click(lambda pressed: take(pressed.description))
        buttons.append(button)
    return ipywidgets.Box(buttons, layout={"flex_flow": "row wrap"})


def _number_field(ipywidgets, take):
    field = ipywidgets.Text(placeholder="a number", continuous_update=False, layout={"width": "10em"})  # sent whole
    button = ipywidgets.Button(description="This is my guess", layout={"width": "auto"})
    button.on_click(lambda _: take(field.value))
    return ipywidgets.HBox([field, button])


def _in_a_notebook():
    ipython = sys.modules.get("IPython")
    return hasattr(ipython.get_ipython() if ipython else None, "kernel")
