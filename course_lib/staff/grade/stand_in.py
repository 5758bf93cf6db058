"""What a student's notebook finds as `course_lib.checks` while it is graded: names that do nothing, or their own code.

It takes the place of the real package in the process that runs the notebook, which holds no checks.
"""

import importlib
import inspect
import sys

EXERCISES = {}
own = {}  # exercise -> what the student's cells have defined so far
handed = {}  # exercise -> what was handed to `check` under its name
given = {}  # exercise -> the course's own, where the student's is not right and another answer needs it
modules = {}  # exercise -> the module of course_lib with its stub


class Result:
    """What `check` returns here: the answer itself, and not a word about it."""

    passed, mistake, message, status = False, None, "", "not checked here"

    def __init__(self, verified):
        self.verified = verified

    def show(self):
        """Nothing."""


def check(answer, name=None):
    """Nobody is told a verdict while it is made."""
    name = name if isinstance(name, str) else getattr(answer, "__name__", None)
    if isinstance(name, str) and name in modules:
        handed[name] = answer
    return Result(given.get(name, answer))


def mine(name):
    """The course's own where it is given, else the student's own, else a stub."""
    if name in given or name in own:
        return given.get(name) or own[name]
    if name not in modules:
        raise ValueError(f"There is no exercise named {name!r}.")
    return getattr(importlib.import_module(modules[name]), name)


def suspects(name):
    """None of them is here."""
    return []


def progress():
    """Nothing."""


def give(name, source):
    """Put the course's own implementation where the stub was, in every module that has imported it."""
    module = importlib.import_module(modules[name])
    stub = getattr(module, name)
    exec(compile(source, f"{modules[name]}.{name}", "exec"), vars(module))
    given[name] = vars(module)[name]
    for other in list(sys.modules.values()):
        if getattr(other, "__name__", "").startswith("course_lib") and inspect.ismodule(other):
            for key, value in list(vars(other).items()):
                if value is stub:
                    setattr(other, key, given[name])
