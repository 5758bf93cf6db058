"""A class that a learner wrote in the middle of a lesson, or the course's as long as it is not right."""


def right_or(known, own, beside, room=1e-4):
    """The learner's class where it computes what the course's does; otherwise the course's, which is said.

    known, own: two classes
    beside:     beside(own) -> how far its answers are from the course's, or `...` as long as it has none
    room:       how far they may be
    """
    try:
        off = beside(own)
    except Exception:  # whatever was written
        off = ...
    if off is ... or not off < room:
        print(f"Your {own.__name__} is not right yet: the course's is run.")
        return known
    return own
