"""What students have predicted, out of the predictions.json that some hand in: it counts for nothing."""

import json

from course_lib.staff.grade.tables import table
from course_lib.staff.questions import FILE

MOST = 1000  # questions of one student; the course has fewer
LONGEST = 1 << 20  # bytes of one file


def guesses(files):
    """{question: (last guess, was the first one right?)} of the files of one student; what is no guess is left out."""
    found = {}
    for data in files:
        try:
            kept = json.loads(data) if len(data) <= LONGEST else None
        except (ValueError, RecursionError):
            continue
        for question, said in kept.items() if isinstance(kept, dict) else ():
            said = said if isinstance(said, dict) else {}
            if isinstance(said.get("guess"), str) and isinstance(said.get("right"), bool):
                found[question] = said["guess"], said["right"]
    return dict(list(found.items())[:MOST])


def write_predictions(connection, path):
    """Write a line for each prediction, by student and in the order of the course; none handed in, no file."""
    asked = {entry["question"]: (place, entry["lesson"], entry["concept"] or "")
             for place, entry in enumerate(json.loads(FILE.read_text(encoding="utf-8")))}
    lines = sorted((student, asked.get(question, (len(asked), "", "")), question, guess, right) for
                   student, question, guess, right in connection.execute("SELECT * FROM prediction"))
    if not lines:
        path.unlink(missing_ok=True)
        return
    with table(path) as write:
        write(["student", "lesson", "concept", "question", "last_guess", "first_guess_right"])
        for student, (_, lesson, concept), question, guess, right in lines:
            write([student, lesson, concept, question, guess, "yes" if right else "no"])
