"""What a learner has solved: a small file beside the notebooks, and the map of the course drawn from it."""

from course_lib.checks.notebook import remembered
from course_lib.display.live import somebody_is_looking

NAME = "progress.json"
MARKS = {"right": "✓", "wrong": "✗", None: "·"}


def note(name, status):
    """Remember how a check ended: "right" stays, whatever comes later. A stub that is still empty is not noted."""
    if status not in MARKS or not somebody_is_looking():
        return
    known = read()
    if known.get(name) != "right":
        remembered.write(NAME, known | {name: status})


def read():
    """What is remembered, as {exercise: "right" or "wrong"}."""
    return remembered.read(NAME, lambda status: status in ("right", "wrong"))


def as_map(exercises):
    """All exercises by lesson, each with its mark.

    exercises: dict of Exercise by name
    """
    known, lessons = read(), {}
    for name, exercise in exercises.items():
        lessons.setdefault(exercise.lesson, []).append(f"{MARKS[known.get(name)]} {name}")
    solved = sum(known.get(name) == "right" for name in exercises)
    lines = [f"{lesson}   {'   '.join(names)}" for lesson, names in sorted(lessons.items())]
    head = f"{solved} of {len(exercises)} exercises solved   (✓ right, ✗ not right yet, · not tried)"
    foot = f"Remembered in {remembered.FOLDER}/ beside your notebooks; delete it to begin anew."
    return "\n".join([head, "", *lines, "", foot])
