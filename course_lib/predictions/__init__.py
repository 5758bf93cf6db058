"""Predictions: a learner commits to a guess before the result is seen, and each guess is told its thought."""

from course_lib.display.live import show, somebody_is_looking
from course_lib.predictions import guesses
from course_lib.predictions.buttons import show_buttons
from course_lib.predictions.question import GuessError, QuestionError, known, question
from course_lib.predictions.showing import as_plain, as_reply, how_to_type

__all__ = ["ask_again", "predict"]
COME_BACK = "Questions from what you did. They count for nothing."


def predict(text, answers=None, concept=None, *, within=None, guess=None):
    """Ask for a prediction. It is kept beside the notebook, and counts for nothing.

    text:    the question
    answers: {answer: a sentence for whoever gives it}; exactly one is right and has True, or (True, a sentence); all
             are texts (choices) or all are numbers. In a lesson the choices alone, or nothing: the course knows more
    concept: the id of the concept that it is about, such as "C034"
    within:  how near a number has to be; by default a hundredth of it
    guess:   your answer, where there are no buttons; the first words of a choice are enough

    It never raises: what cannot be asked is said in one sentence.
    """
    try:
        _predict(text, answers, concept, within, guess)
    except GuessError as error:
        print(error)
    except QuestionError as error:
        print(f"This question cannot be asked or answered: {error}")
    except Exception as error:  # a notebook goes on without its question
        print(f"This question could not be shown ({type(error).__name__}: {error}); the lesson goes on without it.")


def ask_again():
    """Ask old questions once more, three at most, a lesson or a week after they were answered."""
    questions = guesses.due()
    if questions:
        show(f"<p><strong>{COME_BACK}</strong></p>", f"\n{COME_BACK}")
    for of in questions:
        if not show_buttons(of, _answering(of, guesses.keep_again)):
            show(*as_plain(of))


def _predict(text, answers, concept, within, guess):
    of = question(text, answers, concept, within) if isinstance(answers, dict) else known(text)
    answering = _answering(of, guesses.keep)
    given = guesses.recall(of) if guess is None else guess
    if given is not None:
        show(*as_reply(of, *answering(given)))
    elif not show_buttons(of, answering):
        show(*as_plain(of, how_to_type(of) if somebody_is_looking() else ""))


def _answering(of, keep):
    """A function from a guess to (the answer it stands for, is it right?, the sentence), which keeps the guess."""
    def answered(given):
        right, says = of.reply(given)
        given = given if of.wants_a_number else of.find(given)  # the whole choice
        keep(of, given, right)
        return given, right, says

    return answered
