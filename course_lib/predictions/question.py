"""A question with its answers: which one is right, and what is said to each guess."""

import json
import random
import re
import unicodedata
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

NEAR = 0.01  # of the right number: a guess as near as that is right
RIGHT = "Right. Run on, and see why."
SIGNS = str.maketrans({"−": "-", "–": "-", "—": "-", "’": "'", "‘": "'", "“": '"', "”": '"'})


class QuestionError(ValueError):
    """A question cannot be asked as it stands; the message is one sentence."""


class GuessError(QuestionError):
    """A guess that is no answer to its question; the message is one sentence."""


@dataclass(frozen=True)
class Question:
    """What is asked, {answer: what is said to whoever gives it}, and the answer that is right."""

    text: str
    answers: dict
    right: object
    concept: str | None = None
    within: float | None = None  # how near a number has to be; by default NEAR of it
    later: bool = False  # it is asked some time after its lesson, and not in it

    @property
    def wants_a_number(self):
        return not isinstance(self.right, str)

    @property
    def says_why(self):
        """Does the right answer have a sentence of its own?"""
        return self.answers[self.right] != RIGHT

    def find(self, guess):
        """The answer that a guess stands for, or None for a number that nobody foresaw.

        Of a choice, the first words are enough, as long as no other choice begins with them.
        raises: GuessError where the guess is no choice, or is no number
        """
        if self.wants_a_number:
            number = _number(guess)
            near = [answer for answer in self.answers if abs(number - answer) <= self.room(answer)]
            return min(near, key=lambda answer: abs(number - answer), default=None)
        meant = _plain(guess)
        found = ([answer for answer in self.answers if _plain(answer) == meant]
                 or [answer for answer in self.answers if meant and _plain(answer).startswith(meant)])
        if len(found) != 1:
            raise GuessError(f"“{guess}” is none of the choices: {' · '.join(self.answers)}.")
        return found[0]

    def reply(self, guess):
        """(is it right?, the sentence) for a guess."""
        answer = self.find(guess)
        if answer is None:
            return False, f"Too {'small' if _number(guess) < self.right else 'large'}. Run on, and compare."
        return answer == self.right, self.answers[answer]

    def room(self, answer):
        """How near a number has to be to an answer."""
        return NEAR * abs(answer) if self.within is None else self.within


def question(text, answers, concept=None, within=None, later=False):
    """A Question made of what an author wrote; its words shuffle its choices, the same way each time.

    answers: {answer: a sentence for whoever gives it}; the right one has True, or (True, a sentence)
    raises:  QuestionError that says what is missing
    """
    _text(text)
    if not isinstance(answers, dict) or not answers:
        raise QuestionError(f"predict needs answers as {{answer: True or a sentence}}: {_short(text)}")
    right = [answer for answer, says in answers.items() if says is True or _is_right_with_a_sentence(says)]
    if len(right) != 1:
        raise QuestionError(f"exactly one answer has to be True, or (True, a sentence): {_short(text)}")
    numbers = [isinstance(answer, int | float) and not isinstance(answer, bool) for answer in answers]
    if any(numbers) != all(numbers) or not all(isinstance(a, str) or n for a, n in zip(answers, numbers, strict=True)):
        raise QuestionError(f"the answers have to be all texts or all numbers: {_short(text)}")
    if not any(numbers) and len(answers) < 2:
        raise QuestionError(f"one choice is no choice: {_short(text)}")
    said = {answer: says[1] if answer == right[0] and says is not True else says for answer, says in answers.items()}
    said[right[0]] = RIGHT if said[right[0]] is True else said[right[0]]
    for answer, says in said.items():
        if not (isinstance(says, str) and says.strip()):
            raise QuestionError(f"the answer “{answer}” needs a sentence for whoever gives it: {_short(text)}")
    return Question(text, said if any(numbers) else _shuffled(said, text), right[0], concept, within, later)


def known(text):
    """A question of the course, found by its text.

    raises: QuestionError where the course has none like it
    """
    entry = _of_the_course().get(_text(text))
    if entry is None:
        raise QuestionError(f"the course has no answers to “{_short(text)}”: was the question edited? Take the text "
                            "from a fresh copy of the lesson.")
    return from_entry(entry)


def of_the_course():
    """{text: (number of its lesson, Question)} of all questions of all lessons, in their order."""
    return {text: (entry["lesson"], from_entry(entry)) for text, entry in _of_the_course().items()}


def as_entry(of):
    """A Question as JSON holds it; there, numbers cannot be keys."""
    return {"question": of.text, "concept": of.concept, "right": of.right,
            "answers": [list(pair) for pair in of.answers.items()],
            **({} if of.within is None else {"within": of.within}), **({"later": True} if of.later else {})}


def from_entry(entry):
    answers = {answer: says for answer, says in entry["answers"]}
    return Question(entry["question"], answers, entry["right"], entry["concept"], entry.get("within"),
                    entry.get("later", False))


@cache
def _of_the_course():
    text = files("course_lib.predictions").joinpath("questions.json").read_text(encoding="utf-8")
    return {entry["question"]: entry for entry in json.loads(text)}


def _is_right_with_a_sentence(says):
    return isinstance(says, tuple) and len(says) == 2 and says[0] is True


def _shuffled(answers, text):
    """No habit of place: the right one stands anywhere, and everywhere in the same order."""
    pairs = list(answers.items())
    random.Random(text).shuffle(pairs)
    return dict(pairs)


def _text(text):
    if not isinstance(text, str) or not text.strip():
        raise QuestionError("predict needs a question first, as a text.")
    return text


def _number(guess):
    try:
        return float(re.sub(r"[\s,\"']", "", str(guess).translate(SIGNS)))
    except ValueError:
        raise GuessError(f"“{guess}” is no number, and the question asks for one.") from None


def _plain(words):
    """Words as they are compared: case, spaces, quotes, emphasis and the kind of a dash do not matter."""
    words = unicodedata.normalize("NFKC", str(words)).translate(SIGNS).lower()
    return " ".join(re.sub(r"[\"'*`]", "", words).split()).rstrip(".… ")


def _short(text):
    return text if len(text) <= 60 else text[:57] + "…"
