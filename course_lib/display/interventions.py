"""An experiment whose control is left to the learner: they choose, it runs, and what comes out answers."""

from html import escape

from course_lib.display.live import show

COLOURS = {"✓": "#2e7d32", "✗": "#b3541e", "·": "#5b5b66"}


def intervene(goal, choice, run, holds, *, among=None, shows="{result}", otherwise="Try another one."):
    """Run an experiment with the learner's choice, and say whether it brings about what was asked for.

    goal:      what to bring about, a sentence of the lesson
    choice:    the learner's; `...` until they have chosen
    run:       run(choice) -> the result
    holds:     holds(result) -> does it do what the goal says?
    among:     what can be chosen: a container, or a function from the choice to True or False
    shows:     the result in words, with {choice} and {result}
    otherwise: a sentence for a choice that does not do it, or a function (choice, result) -> sentence

    A result of `...` says that the choice is not written yet, as a function may be that has a blank in it. It never
    raises: a choice that cannot be run is told why in one sentence.
    """
    if choice is ...:
        return _say("·", goal, "Not chosen yet: write your choice in the place of the three dots.")
    if not _can_be(choice, among):
        return _say("✗", goal, f"{_short(choice)} cannot be chosen{_of(among)}.")
    try:
        result = run(choice)
        if result is ...:
            return _say("·", goal, "Not written yet: write it in the place of the three dots.")
        right = bool(holds(result))
        said = shows.format(choice=choice, result=result)
        more = "" if right else otherwise(choice, result) if callable(otherwise) else otherwise
    except Exception as error:  # whatever a choice may do
        says = str(error).split("\n")[0]
        return _say("✗", goal, f"With {_short(choice)} it cannot be run ({type(error).__name__}: {says}).")
    _say("✓" if right else "✗", goal, " ".join(filter(None, (said + "." * (not said.endswith(".")), more))))


def _can_be(choice, among):
    try:
        return among is None or bool(among(choice) if callable(among) else choice in among)
    except Exception:  # a choice of another kind
        return False


def _short(choice):
    """On one line, and at most a line long."""
    words = " ".join(repr(choice).split())
    return words if len(words) <= 60 else words[:57] + "…"


def _of(among):
    if callable(among):
        return ": the comment on its line says what can"
    few = list(among)
    return ": it has to be one of " + ", ".join(map(str, few[:12])) + " …" * (len(few) > 12)


def _say(mark, goal, says):
    html = (f'<div role="status" style="border-left:4px solid {COLOURS[mark]};padding:6px 12px;margin:4px 0">'
            f"<strong>Yours: {escape(goal)}</strong><br>{mark} {escape(says)}</div>")
    show(html, f"Yours: {goal}\n{mark} {says}")
