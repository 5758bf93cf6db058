"""Predictions: a learner commits to a guess before the result is seen, and a wrong one is told its thought."""

from course_lib.predictions import guesses, showing
from course_lib.predictions.question import GuessError, QuestionError, known, question

__all__ = ["predict"]


def predict(text, answers=None, concept=None, *, within=None, guess=None):
    """Ask for a prediction. It is kept beside the notebook, and counts for nothing.

    text:    the question
    answers: {answer: True, or a sentence for whoever gives it}; exactly one is True, and all are texts (choices) or
             all are numbers. In a lesson the choices alone, or nothing: the course knows the rest
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


def _predict(text, answers, concept, within, guess):
    of = question(text, answers, concept, within) if isinstance(answers, dict) else known(text)

    def answered(given):
        right, says = of.reply(given)
        given = given if of.wants_a_number else of.find(given)  # the whole choice
        guesses.keep(of, given, right)
        return showing.as_reply(of, given, right, says)

    given = guesses.recall(of) if guess is None else guess
    if given is not None:
        showing.show(*answered(given))
    elif not showing.show_buttons(of, answered):
        showing.show(*(showing.as_folded(of) if isinstance(answers, dict) else showing.as_typed(of)))
