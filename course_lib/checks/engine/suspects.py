"""Implementations without names: what a learner's own test is tried on."""


class Suspect:
    """A function that can be called, and that does not say what it is.

    letter:   what it is called on the card
    function: what it does; a function of this package, or a small one of its arguments
    """

    def __init__(self, letter, function):
        self.letter, self.function = letter, function

    def __call__(self, *args, **named):
        return self.function(*args, **named)

    def __repr__(self):
        return f"implementation {self.letter}"


def line_up(*functions):
    """A Suspect for each function, with the letters A, B, C, ..."""
    return tuple(Suspect(chr(ord("A") + i), function) for i, function in enumerate(functions))
