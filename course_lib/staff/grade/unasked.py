"""What a worker has in the place of course_lib.predictions: questions that nobody is asked."""


def predict(*question, **named):
    """Nothing is asked where nobody looks."""
