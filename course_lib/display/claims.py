"""A claim of a lesson: a sentence, and the condition that can refute it."""


def claim(sentence, condition):
    """Say that a sentence holds, or stop.

    sentence:  what is claimed, as a sentence of the lesson
    condition: a bool, or anything with a single truth value, such as a tensor of one element
    raises:    AssertionError, with the sentence, where the condition does not hold; TypeError where it is no claim
    """
    if not isinstance(sentence, str) or not sentence.strip():
        raise TypeError(f"claim needs a sentence first and then its condition, not {type(sentence).__name__}")
    if isinstance(condition, str) or callable(condition):
        raise TypeError(f"the condition of “{sentence}” is no truth value ({type(condition).__name__})")
    try:
        holds = bool(condition)
    except (ValueError, RuntimeError):
        raise TypeError(f"the condition of “{sentence}” has more than one truth value: use .all() or .any()") from None
    if not holds:
        raise AssertionError(f"this does not hold: {sentence}")
    print(f"✓ {sentence}")
