"""What a learner has guessed, kept beside the notebooks: the first guess, and the last one."""

from course_lib.checks.notebook import remembered
from course_lib.display.live import somebody_is_looking
from course_lib.predictions import concepts

NAME = "predictions.json"


def keep(of, guess, right):
    """Remember a guess. The first one says what surprised; the last one is shown again."""
    if somebody_is_looking():
        known = read()
        first = known.get(of.text, {"concept": of.concept, "right": right})
        remembered.write(NAME, known | {of.text: first | {"guess": str(guess)}})


def recall(of):
    """The last guess, or None."""
    return read().get(of.text, {}).get("guess") if somebody_is_looking() else None


def read():
    """{question: {"concept": id, "right": was the first guess right, "guess": the last one}}."""
    return remembered.read(NAME, lambda kept: isinstance(kept["right"], bool) and isinstance(kept["guess"], str))


def summary():
    """What was predicted, and what surprised, in a few lines; nothing where nothing was predicted."""
    known = read().values()
    if not known:
        return ""
    rows = {row["id"]: row for row in concepts.rows()}
    surprising = dict.fromkeys(kept.get("concept") for kept in known if not kept["right"])
    lines = [f"{len(known)} predictions made, {sum(kept['right'] for kept in known)} came out as you said"]
    if surprising:
        lines += ["What surprised you, and where to read again:"]
        lines += [f"  lesson {rows[c]['lesson']}: {rows[c]['concept']}" for c in surprising if c in rows]
    return "\n".join(lines)
