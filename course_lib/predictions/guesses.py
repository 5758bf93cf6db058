"""What a learner has guessed, kept beside the notebooks: the first guess, the last one, and how it went later."""

import datetime
from dataclasses import dataclass

from course_lib.display.live import somebody_is_looking
from course_lib.predictions import concepts
from course_lib.predictions.question import of_the_course
from course_lib.upkeep import remembered

NAME = "predictions.json"
READ_AGAIN = "What surprised you, and where to read again:"
A_WEEK = datetime.timedelta(days=7)
THREE = 3  # questions at a time come back


def keep(of, guess, right):
    """Remember a guess. The first one says what surprised; the last one is shown again."""
    if somebody_is_looking():
        known = read()
        first = known.get(of.text, {"concept": of.concept, "right": right, "on": _today().isoformat()})
        remembered.write(NAME, known | {of.text: first | {"guess": str(guess)}})


def keep_again(of, guess, right):
    """Remember how it went when an old question came back. It counts for nothing."""
    if somebody_is_looking():
        known = read()
        first = known.get(of.text, {"concept": of.concept, "right": right, "guess": str(guess), "later": True})
        again = {"again": {"on": _today().isoformat(), "right": right}}
        remembered.write(NAME, known | {of.text: first | again})


def recall(of):
    """The last guess, or None."""
    return read().get(of.text, {}).get("guess") if somebody_is_looking() else None


def read():
    """{question: {"concept": id, "right": was the first guess right, "guess": the last one, "on": day of the first one,
    "again": the same of the last time that it came back, "later": True where no lesson has asked it}}."""
    return remembered.read(NAME, lambda kept: isinstance(kept["right"], bool) and isinstance(kept["guess"], str))


def due():
    """Three questions, or fewer, that come back a lesson or a week after they were answered.

    In each lesson those in other clothes come first, then what surprised; what came back rests for a week.
    """
    known, course = read(), of_the_course()
    in_order = {text: number for number, text in enumerate(course)}
    asked = [text for text in known if text in course and not known[text].get("later")]
    newest = max((course[text][0] for text in asked), default="")
    old = {course[text][0] for text in asked if course[text][0] < newest or _rests_since(known[text]) >= A_WEEK}
    found = [text for text, (lesson, of) in course.items()
             if lesson in old and (of.later or text in asked)
             and _rests_since(known.get(text, {}).get("again", {})) >= A_WEEK]
    found.sort(key=lambda text: (not course[text][1].later, known.get(text, {}).get("right", False), in_order[text]))
    return [course[text][1] for text in found[:THREE]]


@dataclass(frozen=True)
class Summary:
    """What was predicted, in a sentence, and the rows of the concepts that surprised."""

    says: str
    surprising: list


def summary():
    """The Summary of all guesses in lessons; None where nothing was predicted."""
    known = [kept for kept in read().values() if not kept.get("later")]
    if not known:
        return None
    rows = {row["id"]: row for row in concepts.rows()}
    surprising = dict.fromkeys(kept.get("concept") for kept in known if not kept["right"])
    one = "1 prediction made" if len(known) == 1 else f"{len(known)} predictions made"
    return Summary(f"{one}, {sum(kept['right'] for kept in known)} came out as you said",
                   [rows[concept] for concept in surprising if concept in rows])


def _rests_since(kept):
    """How long ago something was; where no day is known, long ago."""
    try:
        return _today() - datetime.date.fromisoformat(kept["on"])
    except (KeyError, TypeError, ValueError):
        return datetime.timedelta.max


def _today():
    return datetime.date.today()
