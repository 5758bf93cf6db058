"""What "right" means: one module per lesson, and the small engine under them."""

import inspect
import pkgutil
from collections import Counter
from difflib import get_close_matches
from importlib import import_module

from course_lib.checks.engine.judging import judge
from course_lib.checks.notebook import course_map, page_to_print, solved
from course_lib.checks.notebook.card import card_rows
from course_lib.checks.notebook.hinting import hints
from course_lib.checks.notebook.kept import keep, recall
from course_lib.checks.notebook.result import Result, Waiting
from course_lib.display.live import show
from course_lib.predictions import ask_again
from course_lib.upkeep import versions

MODULES = [m.name for m in pkgutil.iter_modules(__path__) if m.name.startswith("lesson_")]
_THE_COURSE_S_OWN = ("right, but this is the course's own, which stands in for yours. To check your answer, run the "
                     "cell that defines it again, and then this one.")
_wrong_in_a_row = Counter()  # by exercise: who goes from one mistake to another is stuck as well
EXERCISES = {e.name: e for module in MODULES for e in import_module(f"{__name__}.{module}").EXERCISES}


def check(answer, name=None, *, record=True):
    """Is this answer to an exercise right, and if not, which thought was behind it?

    answer:  the function or class itself
    name:    the exercise; by default the name the answer was defined with
    record:  False for a demonstration: it counts as no attempt of yours
    returns: a Result, already shown: passed, mistake, message, and verified, which is your own code once it is
             right and the course's until then

    A wrong or missing answer is never an exception: the card says what is wrong and where.
    """
    name = name or getattr(answer, "__name__", None)
    exercise = EXERCISES.get(name) if isinstance(name, str) else None
    if exercise is None:
        result = _refused(_no_such_exercise(name), None)
    elif not callable(answer) or inspect.isclass(answer) != inspect.isclass(exercise.verified):
        result = _refused(_wrong_kind(exercise, answer), exercise.verified)
    elif answer is exercise.verified:
        result = Result("right", None, [("", f"✓ {name}: {_THE_COURSE_S_OWN}")], answer)
    else:
        result = _judged(exercise, answer, record)
    result.show()
    return result


def _judged(exercise, answer, record):
    """The Result for an answer of the right kind; if it counts, what is right is kept, and how it ended is noted."""
    waiting = Waiting()
    verdict = judge(exercise, answer, look_inside=True, waiting=waiting.begin)
    waiting.end()
    again = _counted(verdict, answer) if record else 0
    rows = card_rows(verdict, hints(exercise)[:again] if again else ())
    rows += [("Version", says)] if (says := versions.mismatch()) else []
    return Result(verdict.status, verdict.mistake, rows, answer if verdict.is_used else exercise.verified)


def _counted(verdict, answer):
    """Note how an attempt ended, and keep what is right; returns how many wrong ones in a row came before this one."""
    name = verdict.exercise.name
    if verdict.status == "right":
        keep(name, answer)
    solved.note(name, verdict.status)
    _wrong_in_a_row[name] = _wrong_in_a_row[name] + 1 if verdict.status == "wrong" else 0
    return max(0, _wrong_in_a_row[name] - 1)


def progress(page=None):
    """Show the map of the course: what is solved, what comes next, how long it takes, and what surprised you; below it
    stand three old questions.

    page: a file, such as "what_i_know.html": what you know is written there, to print
    """
    if page is None:
        show(*course_map.map_of(EXERCISES))
        ask_again()
    else:
        print(page_to_print.write(EXERCISES, page))


def suspects(name):
    """The implementations without names that an exercise's test is to tell apart, as a list of functions."""
    return [call[0] for call in EXERCISES[name].examples]


def mine(name):
    """Your own answer to an exercise of an earlier lesson, kept when its card said right; until then the course's.

    name:    the exercise, such as "MultiHeadAttention"
    returns: the function or class; it prints which of the two it is
    raises:  ValueError where there is no such exercise
    """
    exercise = EXERCISES.get(name)
    if exercise is None:
        raise ValueError(_no_such_exercise(name))
    lesson = f"lesson {exercise.lesson}"
    try:
        own = recall(name, EXERCISES)
        says = f"the course's own, until yours is right in {lesson}" if own is None else "your own, from " + lesson
    except Exception as error:  # whatever the kept code does
        own, says = None, f"the course's own, since yours cannot be run ({type(error).__name__}: {error})"
    verdict = own and judge(exercise, own)
    if verdict and verdict.status != "right":
        own, says = None, f"the course's own, since yours needs another cell of {lesson}: put all of it into one cell"
    elif verdict and verdict.other_layout:
        own, says = None, "the course's own, since later lessons load weights by its names, and yours has others"
    print(f"{name}: {says}.")
    return own or exercise.verified


def _refused(says, verified):
    return Result("wrong", None, [("", "✗ " + says)], verified)


def _no_such_exercise(name):
    if name is None or name == "<lambda>":
        return 'This answer has no name: say which exercise it is for, as in check(answer, "reweight").'
    near = get_close_matches(str(name), EXERCISES, n=1)
    return f"There is no exercise named {name!r}." + (f" Did you mean {near[0]!r}?" if near else
                                                     " Its names are: " + ", ".join(EXERCISES) + ".")


def _wrong_kind(exercise, answer):
    wanted = "class" if inspect.isclass(exercise.verified) else "function"
    got = "class" if inspect.isclass(answer) else "function" if callable(answer) else "value"
    return (f"{exercise.name} is to be a {wanted}, and this is a {got} ({type(answer).__name__}): "
            f"hand over the {wanted} itself, without calling it.")
