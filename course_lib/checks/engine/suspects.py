"""Implementations without names: what a learner's own test is tried on."""

WITH_LETTERS = 5  # of a line: those that the learner gets


class Suspect:
    """A function that can be called, and that does not say what it is.

    letter:   what it is called on the card; empty where the learner does not have it
    function: what it does; a function of this package, or a small one of its arguments
    """

    def __init__(self, letter, function):
        self.letter, self.function = letter, function

    def __call__(self, *args, **named):
        return self.function(*args, **named)

    def __repr__(self):
        return f"implementation {self.letter}" if self.letter else "an implementation without a letter"


def line_up(*functions):
    """A Suspect for each function; the first ones have the letters A, B, C, ..."""
    letters = [chr(ord("A") + i) for i in range(WITH_LETTERS)] + [""] * (len(functions) - WITH_LETTERS)
    return tuple(map(Suspect, letters, functions))
