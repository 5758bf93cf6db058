"""A question with its answers: what is right, and the thought behind each wrong guess."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

NEAR = 0.01  # of the right number: a guess as near as that is right


class QuestionError(ValueError):
    """A question cannot be asked as it stands; the message is one sentence."""


class GuessError(QuestionError):
    """A guess that is no answer to its question; the message is one sentence."""


@dataclass(frozen=True)
class Question:
    """What is asked, the concept it is about, and {answer: True, or a sentence for whoever gives it}."""

    text: str
    answers: dict
    concept: str | None = None
    within: float | None = None  # how near a number has to be; by default NEAR of it

    @property
    def right(self):
        return next(answer for answer, says in self.answers.items() if says is True)

    @property
    def wants_a_number(self):
        return not isinstance(self.right, str)

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
            return False, "That is not it. Run on, and compare."
        says = self.answers[answer]
        return says is True, "Right. Run on, and see why." if says is True else says

    def room(self, answer):
        """How near a number has to be to an answer."""
        return NEAR * abs(answer) if self.within is None else self.within


def question(text, answers, concept=None, within=None):
    """A Question made of what an author wrote.

    raises: QuestionError that says what is missing
    """
    _text(text)
    if not isinstance(answers, dict) or not answers:
        raise QuestionError(f"predict needs answers as {{answer: True or a sentence}}: {_short(text)}")
    if sum(says is True for says in answers.values()) != 1:
        raise QuestionError(f"exactly one answer has to be True: {_short(text)}")
    numbers = [isinstance(answer, int | float) and not isinstance(answer, bool) for answer in answers]
    if any(numbers) != all(numbers) or not all(isinstance(a, str) or n for a, n in zip(answers, numbers, strict=True)):
        raise QuestionError(f"the answers have to be all texts or all numbers: {_short(text)}")
    if not any(numbers) and len(answers) < 2:
        raise QuestionError(f"one choice is no choice: {_short(text)}")
    for answer, says in answers.items():
        if says is not True and not (isinstance(says, str) and says.strip()):
            raise QuestionError(f"the wrong answer “{answer}” needs a sentence for whoever gives it: {_short(text)}")
    return Question(text, answers, concept, within)


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
    """All questions of all lessons, in their order."""
    return [from_entry(entry) for entry in _of_the_course().values()]


def as_entry(of):
    """A Question as JSON holds it; there, numbers cannot be keys."""
    return {"question": of.text, "concept": of.concept, "answers": [list(pair) for pair in of.answers.items()],
            **({} if of.within is None else {"within": of.within})}


def from_entry(entry):
    answers = {answer: says for answer, says in entry["answers"]}
    return Question(entry["question"], answers, entry["concept"], entry.get("within"))


@cache
def _of_the_course():
    text = files("course_lib.predictions").joinpath("questions.json").read_text(encoding="utf-8")
    return {entry["question"]: entry for entry in json.loads(text)}


def _text(text):
    if not isinstance(text, str) or not text.strip():
        raise QuestionError("predict needs a question first, as a text.")
    return text


def _number(guess):
    try:
        return float(str(guess).replace(",", ""))
    except ValueError:
        raise GuessError(f"“{guess}” is no number, and the question asks for one.") from None


def _plain(words):
    return " ".join(str(words).lower().split()).rstrip(".")


def _short(text):
    return text if len(text) <= 60 else text[:57] + "…"
