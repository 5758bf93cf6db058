"""Which answers are so alike that a person should look at them: fingerprints of their syntax, names left out."""

import ast
import functools
import keyword
import re
from array import array
from collections import Counter
from hashlib import blake2b
from itertools import combinations

from course_lib.checks import EXERCISES
from course_lib.staff.answers import source_and_stub
from course_lib.staff.grade.bindings import parsed

GRAM = 8  # tokens in a fingerprint
WINDOW = 4  # of so many fingerprints in a row one is kept
LONGEST = 100_000  # letters of an answer
ALIKE = 0.8  # the share from which two answers are reported
ENOUGH = 15  # fingerprints that few others have; below, everybody may have thought of it alone
FEW, FEW_IN_A_HUNDRED = 8, 1  # students who may share what does not count as common
OWN = 300  # letters beyond the stub that nobody writes twice with the same names, comments and layout
OURS = "the course's solution"
CROWD = 60  # different answers that may share what leads to a comparison


def similar(answers):
    """Pairs of answers that are nearly the same: a list of (exercise, student, other student, share), sorted.

    answers: any iterable of (student, exercise, code)
    share:   how much of the shorter answer the other one has, of what neither the stub nor many others have

    Other names, comments, docstrings, annotations and layout make no difference. Where several students have the very
    same answer, each of them is paired with the first; the same long text is told however many have it. Time grows with
    the number of answers, not of their pairs.
    """
    kinds = {}  # exercise -> fingerprints as bytes -> students
    texts = {}  # (exercise, digest of the text) -> students
    for student, exercise, code in answers:
        found = fingerprints(code)
        if len(found) >= ENOUGH:
            kinds.setdefault(exercise, {}).setdefault(array("Q", sorted(found)).tobytes(), []).append(student)
        lines = [line.rstrip() for line in code.strip().splitlines()]
        if sum(len(line) for line in lines if line not in _stub(exercise)) >= OWN:
            text = "\n".join(lines)
            texts.setdefault((exercise, blake2b(text.encode("utf-8", "replace")).digest()), set()).add(student)
    copies = {(exercise, first, other, 1.0) for (exercise, _), students in texts.items()
              for first, *others in [sorted(students)] for other in others}
    return sorted(copies.union(pair for exercise, kind in kinds.items() for pair in _pairs(exercise, kind)))


def similar_to_anybody(answers, earlier):
    """The same pairs with answers of earlier years and with the course's own, each as another student.

    answers, earlier: iterables of (student, exercise, code); a pair of two earlier ones is nobody's business
    """
    now, before = list(answers), list(earlier)
    exercises = {exercise for _, exercise, _ in now if exercise in EXERCISES}
    before += [(OURS, exercise, _source_and_stub(exercise)[0]) for exercise in sorted(exercises)]
    students = {student for student, _, _ in now}
    found = similar([*now, *before])
    return [(e, *((a, b) if a in students else (b, a)), share) for e, a, b, share in found if {a, b} & students]


def _pairs(exercise, kinds):
    """The pairs of one exercise. kinds: fingerprints as bytes -> the students who have just these"""
    groups = [(set(array("Q", key)), sorted(set(students))) for key, students in kinds.items()]
    groups.sort(key=lambda group: group[1])
    students_with, groups_with = Counter(), {}
    for number, (found, students) in enumerate(groups):
        for one in found:
            students_with[one] += len(students)
            groups_with.setdefault(one, []).append(number)
    few = max(FEW, sum(len(students) for _, students in groups) * FEW_IN_A_HUNDRED // 100)
    given = fingerprints(_stub(exercise))
    own = [{one for one in found if students_with[one] <= few} - given for found, _ in groups]
    together = Counter()
    for one, numbers in groups_with.items():
        if 1 < len(numbers) <= CROWD and students_with[one] <= few and one not in given:
            together.update(combinations(numbers, 2))
    for (a, b), shared in together.items():
        shorter = min(len(own[a]), len(own[b]))
        if shared >= max(ENOUGH, ALIKE * shorter):
            yield (exercise, groups[a][1][0], groups[b][1][0], round(shared / shorter, 3))
    for found, (_, students) in zip(own, groups, strict=True):
        if len(found) >= ENOUGH:
            for other in students[1:]:
                yield (exercise, students[0], other, 1.0)


def _stub(exercise):
    """What everybody was given."""
    return _source_and_stub(exercise)[1]


@functools.cache
def _source_and_stub(exercise):
    if exercise not in EXERCISES:
        return "", ""
    verified = EXERCISES[exercise].verified
    return source_and_stub(verified.__module__, verified.__name__, exercise)


def fingerprints(code):
    """A set of 64-bit numbers, some of those of every few tokens in a row: equal where the code is the same."""
    tokens = _tokens(code)
    grams = [int.from_bytes(blake2b("\0".join(tokens[i : i + GRAM]).encode("utf-8", "replace"),
                                    digest_size=8).digest()) for i in range(len(tokens) - GRAM + 1)]
    return {min(grams[i : i + WINDOW]) for i in range(max(len(grams) - WINDOW + 1, min(len(grams), 1)))}


@functools.lru_cache(maxsize=100_000)
def but_for_names(code):
    """Equal for answers that differ in their own names, comments, docstrings, annotations and layout only."""
    order, tree = {}, parsed(code)
    own = set() if tree is None else {node.arg if isinstance(node, ast.arg) else node.id for node in ast.walk(tree)
                                      if isinstance(node, ast.arg)
                                      or isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}

    def word(node, attributes):
        name = getattr(node, "id", None) if isinstance(node, ast.Name) else getattr(node, "arg", None) if isinstance(
            node, ast.arg) else node.attr if isinstance(node, ast.Attribute) and node.attr in attributes else None
        number = order.setdefault(name, len(order)) if name in own or name in attributes else name
        return _word(node, attributes) if name is None else f"{_word(node, attributes)} {number}"

    return code if tree is None else tuple(_tokens(code, word)) or code


def _tokens(code, word=None):
    """The syntax of an answer as a list of words; of one that is no valid Python, its words and signs."""
    if len(code) > LONGEST:
        return []
    tree = parsed(code)
    if tree is None:
        return [word if keyword.iskeyword(word) or not word.isidentifier() else "n"
                for word in re.findall(r"\w+|[^\w\s]", re.sub(r"#.*", "", code))]
    own = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    tokens, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        if _says_nothing(node):
            continue
        tokens.append((word or _word)(node, own))
        if not isinstance(node, ast.arg):
            waiting += reversed([child for field, value in ast.iter_fields(node) if field not in ("returns", "ctx")
                                 for child in (value if isinstance(value, list) else [value])
                                 if isinstance(child, ast.AST)])
    return tokens


def _says_nothing(node):
    """Is it an import, or a text that stands alone, such as a docstring?"""
    return (isinstance(node, ast.Import | ast.ImportFrom)
            or isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _word(node, own):
    """A node without the names that its author chose."""
    kind = type(node).__name__
    if isinstance(node, ast.Attribute):
        return kind if node.attr in own else f".{node.attr}"
    if isinstance(node, ast.keyword):
        return f"{node.arg}="
    if isinstance(node, ast.Constant):
        return repr(node.value)[:50]
    return kind
