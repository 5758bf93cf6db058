"""Implementations without names: what a learner's own test is tried on."""


class Suspect:
    """A function that can be called, and that does not say what it is.

    letter:   what it is called on the card
    function: what it does; a function of this package, or a small one of its arguments
    names:    of the arguments, for who passes them by name
    """

    def __init__(self, letter, function, names=()):
        self.letter, self.function, self.names = letter, function, names

    def __call__(self, *args, **named):
        return self.function(*args, *(named.pop(name) for name in self.names[len(args):] if name in named), **named)

    def __repr__(self):
        return f"implementation {self.letter}"


def line_up(*functions):
    """A Suspect for each function, with the letters A, B, C, ..."""
    return tuple(Suspect(chr(ord("A") + i), function) for i, function in enumerate(functions))
