"""How a notebook begins: with a word for whoever was here before, of what is solved, where to go on, what surprised."""

import os
from html import escape
from pathlib import Path

from course_lib.checks import EXERCISES
from course_lib.checks.notebook import course_map
from course_lib.display.live import show, somebody_is_looking
from course_lib.predictions import ask_again, guesses
from course_lib.upkeep import remembered, versions

LAST = "last.json"  # which notebook was opened last; `start.py lab` opens it again


def made_for(version):
    """Begin a notebook that was built from this version of the course; where somebody looks, they are welcome."""
    versions.built_from(version)
    if somebody_is_looking():
        welcome()


def welcome():
    """Note which notebook is open; greet whoever has solved or guessed something, and ask three old questions where
    this lesson is new to them."""
    notebook = _open_notebook()
    remembered.write(LAST, {"notebook": notebook})
    course, guessed = course_map.lessons(EXERCISES), guesses.summary()
    here = lesson_of(course, notebook)
    if not (guessed or course_map.counts(course)[0]):
        return
    show(*greeting(course, here, guessed))
    if here and not any(here.exercises.values()):
        ask_again()


def greeting(course, here, guessed):
    """(HTML, text): how much is solved, where to go on, and what surprised last.

    course:  every Lesson of the map
    here:    the one that is open, or None
    guessed: the Summary of all guesses, or None
    """
    rows = [_solved(course, here), *_on(course, here), *_surprised(course, guessed)]
    html, text = (" ".join(row[i] for row in rows) for i in (0, 1))
    return f'<p style="margin:4px 0;line-height:1.5"><strong>Welcome back.</strong> {html}</p>', f"Welcome back. {text}"


def lesson_of(course, notebook):
    """The lesson of a course whose notebook it is; None where it is none of them."""
    return next((lesson for lesson in course if lesson.at_hand and lesson.at_hand.path.name == notebook), None)


def _open_notebook():
    """The file name of the notebook that this kernel belongs to, in VS Code, in JupyterLab and its kin."""
    from IPython import get_ipython  # there is one: somebody is looking

    return Path(get_ipython().user_ns.get("__vsc_ipynb_file__") or os.environ["JPY_SESSION_NAME"]).name


def _solved(course, here):
    done, of = course_map.counts(course)
    ours = f", {here.solved} of {len(here.exercises)} in this lesson" if here else ""
    return (f"{done} of {of} exercises are solved{ours}.",) * 2


def _on(course, here):
    """Where to go on: in this lesson, or where the course goes on."""
    lesson, name = course_map.next_of([here] if here else [])
    if lesson is None:
        lesson, name = course_map.next_of(course)
    if lesson is None:
        return
    where = "" if lesson is here else f" in lesson {lesson.number}"
    link = course_map.linked(lesson.link(name), escape(name))
    yield f"Go on at {link}{where}.", f"Go on at {name}{where}."


def _surprised(course, guessed):
    """What surprised, in the last lesson where something did."""
    for row in sorted(guessed.surprising, key=lambda row: row["lesson"])[-1:] if guessed else ():
        yield (f"What surprised you: {course_map.to_concept(course, row)} (lesson {row['lesson']}).",
               f"What surprised you: {row['concept']} (lesson {row['lesson']}).")
