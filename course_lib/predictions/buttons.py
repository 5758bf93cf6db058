"""A question with buttons, or a field for a number: where a kernel listens, the first guess is kept and answered."""

import asyncio

from course_lib.display.live import somebody_is_looking
from course_lib.predictions.question import QuestionError
from course_lib.predictions.showing import COLOURS, INK, WHILE_ALIVE, as_plain, as_reply, escape, key, mark

# Without this a long answer ends in dots on a narrow page.
LONG_ANSWERS = ("<style>.course-answer.jupyter-button {white-space: normal; height: auto; min-height: 28px; "
                "line-height: 1.4; padding: 4px 10px; text-align: left}</style>")
A_MOMENT = 2  # seconds between Enter or a click and the number that was typed before it, where the kernel is slow


def show_buttons(of, answered):
    """Show a question that takes one guess. False where no widget can be shown.

    Below the buttons lies the same question in HTML, and then the reply to the guess. That is what a saved notebook
    shows: a page that is loaded again, or a kernel that has ended, leaves no buttons.

    answered: called with the first guess that is one; gives (the answer it stands for, is it right?, the sentence)
    """
    if not somebody_is_looking():
        return False
    try:
        import ipywidgets
    except ImportError:
        return False
    from IPython.display import display

    style = WHILE_ALIVE.format(key=key(of))
    html, text = as_plain(of)
    below = display({"text/html": style + html, "text/plain": text}, raw=True, display_id=True)
    said, done = ipywidgets.HTML(), []

    def take(guess, marked=None):
        if done:
            return  # a second click
        try:
            answer, right, says = answered(guess)
        except QuestionError as error:
            said.value = f'<span role="alert">{escape(str(error))}</span>'
            return
        done.append(guess)
        said.value = (f'<span role="status"><span style="color:{COLOURS[right]}">{mark(right)} '
                      f"<em>{escape(str(answer))}</em>: </span>{escape(says)}</span>")
        marked(mark(right))
        html, text = as_reply(of, answer, right, says)
        below.update({"text/html": style + html, "text/plain": text}, raw=True)

    row = _number_field(ipywidgets, take) if of.wants_a_number else _choices(ipywidgets, of, take)
    asks = ipywidgets.HTML(f"<strong>{escape(of.text)}</strong>{LONG_ANSWERS}")
    box = ipywidgets.VBox([asks, row, said], layout={"border_left": f"4px solid {INK}", "padding": "6px 12px"})
    box.add_class(f"course-live-{key(of)}")
    display(box)
    return True


def _choices(ipywidgets, of, take):
    """A button for each choice; the one that was pressed is marked and keeps the focus, the others rest."""
    buttons = {}

    def pressed(button):
        def marked(sign):
            button.description = f"{sign} {button.description}"
            for other in buttons:
                other.disabled = other is not button

        take(buttons[button], marked)

    for answer in of.answers:
        button = ipywidgets.Button(description=answer, tooltip=answer, layout={"width": "auto"})
        button.add_class("course-answer")
        button.on_click(pressed)
        buttons[button] = answer
    return ipywidgets.Box(list(buttons), layout={"flex_flow": "row wrap"})


def _number_field(ipywidgets, take):
    """A field that takes its number by Enter or by the button beside it, and keeps the focus."""
    field = ipywidgets.Text(placeholder="a number", continuous_update=False, layout={"width": "10em"})  # sent whole
    button = ipywidgets.Button(description="This is my guess", layout={"width": "auto"})
    tried, waiting = [], []

    def taken():
        waiting.clear()
        tried[:] = [field.value]
        take(field.value, lambda sign: setattr(button, "description", f"{sign} {field.value}"))

    def soon():
        """What was typed before may still be on its way."""
        waiting.append(asyncio.get_running_loop().call_later(A_MOMENT, lambda: waiting and taken()))

    field.on_msg(lambda _, content, buffers: content.get("event") == "submit" and soon())
    field.observe(lambda _: waiting and taken(), "value")
    button.on_click(lambda _: soon() if [field.value] == tried else taken())
    return ipywidgets.HBox([field, button])
