"""What a learner has guessed, kept beside the notebooks: the first guess, and the last one."""

from dataclasses import dataclass

from course_lib.checks.notebook import remembered
from course_lib.display.live import somebody_is_looking
from course_lib.predictions import concepts

NAME = "predictions.json"
READ_AGAIN = "What surprised you, and where to read again:"


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


@dataclass(frozen=True)
class Summary:
    """What was predicted, in a sentence, and the rows of the concepts that surprised."""

    says: str
    surprising: list


def summary():
    """The Summary of all guesses; None where nothing was predicted."""
    known = read().values()
    if not known:
        return None
    rows = {row["id"]: row for row in concepts.rows()}
    surprising = dict.fromkeys(kept.get("concept") for kept in known if not kept["right"])
    one = "1 prediction made" if len(known) == 1 else f"{len(known)} predictions made"
    return Summary(f"{one}, {sum(kept['right'] for kept in known)} came out as you said",
                   [rows[concept] for concept in surprising if concept in rows])
