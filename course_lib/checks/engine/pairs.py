"""Two mistakes at once: the edits of two mistakes of an exercise, made in one and the same answer.

Most wrong answers have one cause, and are asked for it first. One that has two replies as neither of them. Since a
mistake is an edit, two that change different words of the source can be made together, and then the replies compared.
"""

import difflib
import re
import warnings
from functools import cache, lru_cache
from itertools import pairwise, takewhile

from course_lib.checks.engine.mistakes import Mistake


class Pair(Mistake):
    """Two mistakes made at once; `both` are the Mistakes."""

    def __init__(self, one, other, of, source):
        super().__init__(f"{one.name}+{other.name}", f"{one.says} {other.says}", of, lambda: source)
        self.both = one, other


@lru_cache(maxsize=50_000)
def pairs(answer, one, other):
    """The Pairs that two mistakes of a right answer make: none where they change the same words, or where what is left
    is no Python; two where both put something at the same place, and either order is Python."""
    found = {}
    for changes in (_changes(one), _changes(other)), (_changes(other), _changes(one)):
        source = _both(_words(one.right), *changes)
        if source and source not in found:
            found[source] = _if_python(Pair(one, other, answer, source))
    return tuple(filter(None, found.values()))


def _if_python(both):
    """The Pair, or None where it cannot be compiled, or where Python warns of it: `v.shape[0] ** 0.5[:, None]`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", SyntaxWarning)
            return both if both.answer else None
    except (SyntaxError, NameError):
        return None


@cache
def _changes(mistake):
    """[(first, last, new words)]: what a mistake puts in the place of words of the right answer."""
    right, wrong = _words(mistake.right), _words(mistake.source)
    same = _same_at_the_start(right, wrong)
    rest = _same_at_the_start(right[same:][::-1], wrong[same:][::-1])
    middles = right[same : len(right) - rest], wrong[same : len(wrong) - rest]
    matcher = difflib.SequenceMatcher(None, *middles, autojunk=False)
    return [(same + a, same + b, middles[1][c:d]) for kind, a, b, c, d in matcher.get_opcodes() if kind != "equal"]


def _same_at_the_start(one, other):
    """How many words two texts begin with alike; what is left takes less time to compare."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


@cache
def _words(source):
    """A source in words and signs, which joined are the source again."""
    return re.findall(r"\w+|\n *| +|[^\w\s]", source)


def _both(right, ones, others):
    """The source with the changes of both, at the same place those of the first before; empty where they overlap, or
    where one puts there what the other does."""
    changes, end = sorted([*ones, *others], key=lambda change: change[:2]), 0
    for first, last, _ in changes:
        if first < end:
            return ""
        end = last
    for (first, last, new), (again, _, more) in pairwise(changes):
        if first == last == again and ("".join(new) in "".join(more) or "".join(more) in "".join(new)):
            return ""
    words = list(right)
    for first, last, new in reversed(changes):
        words[first:last] = new
    return "".join(words)
