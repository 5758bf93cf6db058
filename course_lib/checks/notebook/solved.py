"""What a learner has solved: a small file beside the notebooks, and the map of the course drawn from it."""

import json
import os
from contextlib import suppress

from course_lib.checks.notebook.kept import FOLDER
from course_lib.display.live import somebody_is_looking

NAME = "progress.json"
MARKS = {"right": "✓", "wrong": "✗", None: "·"}


def note(name, status):
    """Remember how a check ended: "right" stays, whatever comes later. A stub that is still empty is not noted."""
    if status not in MARKS or not somebody_is_looking():
        return
    with suppress(OSError):  # no place to write: the check is worth the same
        known = read()
        if known.get(name) != "right":
            FOLDER.mkdir(exist_ok=True)
            new = FOLDER / f"{NAME}.{os.getpid()}"
            new.write_text(json.dumps(known | {name: status}, indent=1, sort_keys=True), encoding="utf-8")
            os.replace(new, FOLDER / NAME)


def read():
    """What is remembered, as {exercise: "right" or "wrong"}; a file that is something else is set aside."""
    path = FOLDER / NAME
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        if not all(status in ("right", "wrong") for status in known.values()):
            raise ValueError
        return known
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, AttributeError, TypeError):  # TypeError: a status that is a list
        with suppress(OSError):
            os.replace(path, aside := path.with_suffix(".damaged"))
            print(f"{path} could not be read and was set aside as {aside}; your answers beside it are untouched.")
        return {}


def as_map(exercises):
    """All exercises by lesson, each with its mark.

    exercises: dict of Exercise by name
    """
    known, lessons = read(), {}
    for name, exercise in exercises.items():
        lessons.setdefault(exercise.lesson, []).append(f"{MARKS[known.get(name)]} {name}")
    solved = sum(known.get(name) == "right" for name in exercises)
    lines = [f"{lesson}   {'   '.join(names)}" for lesson, names in sorted(lessons.items())]
    return "\n".join([f"{solved} of {len(exercises)} exercises solved   (✓ right, ✗ not right yet, · not tried)", "",
                      *lines, "", f"Remembered in {FOLDER}/ beside your notebooks; delete it to begin anew."])
