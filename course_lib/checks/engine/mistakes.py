"""Mistakes: small edits of a right answer, kept as text, each with the sentence that a learner reads.

In `checks/mistakes/NN.diff`, for lesson NN:

    == layer_norm

    unbiased_variance
        The variance was divided by D - 1. Here it is the plain mean of D squared deviations. Which argument decides?
        seen: https://github.com/owner/name/issues/1
      - variance = (centred ** 2).mean(dim=-1, keepdim=True)
      + variance = centred.var(dim=-1, keepdim=True)

A mistake is its name, its sentences, and lines to take out of the answer (`-`) and to put in their place (`+`). What
is edited is the exercise's verified source without docstrings and comments, one statement a line; or, where that hides
a step, the reference `checks/mistakes/EXERCISE.py`, which spells it out. `python -m course_lib.staff.mistakes EXERCISE`
prints it. Neighbouring `-` lines are one place, and have to stand there exactly once; new lines are indented as the
first of them is, relative to each other as they are written here. `#` begins a comment line. A line `  or` begins the
same mistake once more, where other words for the same thought reply differently: another number, another kind of error.

`HOLE(8)` in an edit is 8, and stands for any number as well: the one is looked for that an answer's replies fit.
`{c}` in its sentences is that number.
It may be 1e12 as well, so it stands for no length and no number of things.

The classic mistakes stand first: where two have been made at once, those are tried together before the others.
"""

import ast
import base64
import difflib
import inspect
import json
import linecache
import re
import sys
import textwrap
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pathlib import Path

HOLE = re.compile(r"HOLE\(([^()]*)\)")
FOLDER = Path(__file__).parents[1] / "mistakes"


class MistakesError(ValueError):
    """A file of mistakes is wrong: the message says in one line where and what."""


class Mistake:
    """A way to get an exercise wrong.

    name: its id, with dashes
    says: what a learner reads: what was done, why it matters, and a question; not the answer
    seen: an address where a real person made it, or empty
    ways: this Mistake and the same one in other words, as Mistakes
    """

    def __init__(self, name, says, of, make_source, seen="", right="", others=()):
        self.name, self._says, self.seen, self.ways = name.replace("_", "-"), says, seen, (self, *others)
        self.of, self._make_source, self._right = of, make_source, right
        self.told = ""  # what is told of its number, where that is not known

    @property
    def says(self):
        """Its sentence, with the number in it where it has one."""
        return self._says.replace("{c}", self.told or self.constant) if self.tells_a_number else self._says

    @property
    def tells_a_number(self):
        """Is there a place in its sentence for the number that may be any?"""
        return "{c}" in self._says

    @property
    def right(self):
        """The text that it is an edit of."""
        return self._right or plain_source(self.of)

    @cached_property
    def template(self):
        """The text of the wrong answer, a number that may be any as `HOLE(8)`."""
        return self._make_source()

    @property
    def source(self):
        """The text of the wrong answer."""
        return HOLE.sub(r"\1", self.template)

    @property
    def constant(self):
        """The number that may be any, as text; None where there is none."""
        found = HOLE.search(self.template)
        return found and found[1]

    def with_constant(self, number):
        """The same mistake with another number, as text."""
        template = HOLE.sub(f"HOLE({number})", self.template)
        return Mistake(self.name, self._says, self.of, lambda: template, self.seen, self._right)

    @cached_property
    def answer(self):
        """The wrong answer itself, a function or a class: its source, run where the right one was defined."""
        wrong = run_beside(self.of, self.source, f"<{self.name}, a mistake of {self.of.__name__}>")
        wrong.__doc__ = self.says
        return wrong

    def __repr__(self):
        return f"<mistake {self.name}>"


class ByHand(Mistake):
    """A mistake that is no edit of the right answer but an implementation of its own; its docstring is its sentence."""

    def __init__(self, wrong):
        super().__init__(wrong.__name__, " ".join(wrong.__doc__.split()), wrong, None)

    @property
    def answer(self):
        """The wrong answer itself."""
        return self.of


def mistakes_of(lesson, answer):
    """The mistakes of one exercise, in the order of their file.

    lesson:  its number, such as "08"
    answer:  the right answer, a function or a class named as the exercise
    returns: tuple of Mistake; each is edited and compiled when it is first asked
    raises:  MistakesError
    """
    coded = FOLDER / f"{lesson}.json"  # in a hand-out, which has neither the verified source nor the edits
    if coded.exists():
        (_, _, right), *rows = json.loads(coded.read_text(encoding="utf-8")).get(answer.__name__, [("", "", "")])
        return tuple(_in_all_ways(name, says, answer, codes, _read_code, right=_read_code(right))
                     for name, says, *codes in rows)
    path = FOLDER / f"{lesson}.diff"
    written = _read(path).get(answer.__name__, ()) if path.exists() else ()
    return tuple(_in_all_ways(w.name, w.says, answer, w.ways, partial(_edited, path, w, answer), seen=w.seen)
                 for w in written)


def _in_all_ways(name, says, answer, ways, source_of, **more):
    """A Mistake with its other ways; `source_of` makes the source of each."""
    others = [Mistake(name, says, answer, partial(source_of, way), **more) for way in ways[1:]]
    return Mistake(name, says, answer, partial(source_of, ways[0]), others=others, **more)


def in_code(exercises):
    """The mistakes of a lesson's exercises as `NN.json`: complete, and coded so that nobody reads one by accident.

    What they edit stands before them, for two of them to be made at once.
    """
    answers = {e.name: e.verified for e in exercises}

    def coded(source, answer):
        source = "\n\n".join([*map(plain_source, _run_on(HOLE.sub(r"\1", source), answer, answers)), source])
        return base64.b64encode(source.encode()).decode()

    rows = {e.name: [["", "", coded(plain_source(e.verified), e.verified)]]
            + [[m.name, m._says, *(coded(way.template, e.verified) for way in m.ways)]
               for m in e.mistakes if not isinstance(m, ByHand)] for e in exercises}
    return json.dumps(rows, indent=1, sort_keys=True) + "\n"


def _read_code(code):
    return base64.b64decode(code).decode()


def _run_on(source, answer, right):
    """The right answers of the same module that a source names, and what these name, the innermost first."""
    found = []
    for name in sorted({n.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name)} & right.keys()):
        other = right[name]
        if other is not answer and other.__module__ == answer.__module__:
            found += [*_run_on(plain_source(other), other, right), other]
    return list(dict.fromkeys(found))


def parts(lesson):
    """The names of the exercises that the file of a lesson has a part for."""
    path = FOLDER / f"{lesson}.diff"
    return tuple(_read(path)) if path.exists() else ()


@cache
def plain_source(answer):
    """What is edited: a right answer without docstrings and comments, one statement a line."""
    reference = FOLDER / f"{answer.__name__}.py"
    source = reference.read_text(encoding="utf-8") if reference.exists() else inspect.getsource(answer)
    tree = ast.parse(textwrap.dedent(source))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.unparse(tree)


def run_beside(answer, source, file):
    """What `source` defines under the name of `answer`, with what its module knows; `file` is for tracebacks."""
    import math

    import torch
    import torch.nn.functional as F

    names = {"math": math, "torch": torch, "nn": torch.nn, "F": F} | vars(sys.modules[answer.__module__])
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), names)
    return names[answer.__name__]


# Reading


@dataclass(frozen=True)
class _Written:
    """A mistake as it stands in its file. A way is its places: pairs of numbered lines, to take out and to put in."""

    name: str
    line: int
    says: str
    seen: str
    ways: tuple


@cache
def _read(path):
    """{exercise: [_Written]} of a file."""
    found, exercise, block = {}, None, []
    for number, line in enumerate([*path.read_text(encoding="utf-8").splitlines(), "=="], 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith(" "):
            if not block:
                raise MistakesError(f"{_at(path, number)}: `{line.strip()}` belongs to no mistake")
            block.append((number, line))
            continue
        if block:
            found[exercise].append(_written(path, found[exercise], *block))
            block = []
        if not line.startswith("=="):
            if exercise is None:
                raise MistakesError(f"{_at(path, number)}: `{line}` stands before the first `== EXERCISE`")
            block = [(number, line)]
            continue
        exercise = line[2:].strip()
        if exercise in found:
            raise MistakesError(f"{_at(path, number)}: {exercise} has a part already")
        found[exercise] = []
    return {name: written for name, written in found.items() if name}


def _written(path, before, head, *lines):
    """One mistake out of its lines."""
    number, name = head
    where = f"{_at(path, number)}: {name}"
    if not re.fullmatch(r"[A-Za-z]\w*", name):
        raise MistakesError(f"{where}: a mistake's name is written like_this, alone on its line")
    if any(other.name == name for other in before):
        raise MistakesError(f"{where}: this exercise has a mistake of that name already")
    says, seen, ways = [], "", [[]]
    for n, line in lines:
        edit = re.fullmatch(r"  ([-+]) (.*)", line)
        if edit:
            _add(ways[-1], edit[1], (n, edit[2]), f"{_at(path, n)}: {name}")
        elif ways[-1] and line.rstrip() == "  or":
            ways.append([])
        elif ways != [[]] or not line.startswith("    "):
            raise MistakesError(f"{_at(path, n)}: {name}: `{line.strip()}` is no sentence (four spaces, before the "
                                "edits) and no edit (two spaces, `-` or `+`, a space; or two spaces and `or`)")
        elif line.strip().startswith("seen: "):
            seen = line.strip().removeprefix("seen: ")
        else:
            says.append(line.strip())
    if not says or not ways[-1]:
        behind = " behind its last `or`" * (len(ways) > 1)
        raise MistakesError(f"{where}: it has no {'edit' + behind if says else 'sentence'}")
    return _Written(name, number, " ".join(says), seen, tuple(ways))


def _add(places, sign, line, where):
    """One more line of an edit; a `-` after a `+` begins another place."""
    if sign == "-" and (not places or places[-1][1]):
        places.append(([], []))
    if not places:
        raise MistakesError(f"{where}: a `+` line needs a `-` line before it, to say where")
    places[-1][sign == "+"].append(line)


def _at(path, number):
    return f"course_lib/checks/mistakes/{path.name}:{number}"


# Editing


def _edited(path, written, answer, places):
    """The source with all places of a way changed."""
    lines, changes = plain_source(answer).splitlines(), []
    for minus, plus in places:
        first = _only_place(lines, [text.strip() for _, text in minus], answer,
                            f"{_at(path, minus[0][0])}: {written.name}")
        changes.append((first, first + len(minus), _indented(plus, minus[0][1], lines[first])))
    for first, last, new in sorted(changes, reverse=True):
        lines[first:last] = new
    source, where = "\n".join(lines), f"{_at(path, written.line)}: {written.name}"
    try:
        ast.parse(HOLE.sub(r"\1", source))
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise MistakesError(f"{where}: what is left is no Python: {error.msg} in `{line}`") from None
    if _without_spaces(source) == _without_spaces(plain_source(answer)):
        raise MistakesError(f"{where}: the edit changes nothing")
    return source


def _without_spaces(source):
    """The lines of a source without the spaces in them, and how deep each stands."""
    return [(len(line) - len(line.lstrip()), "".join(line.split())) for line in source.splitlines()]


def _only_place(lines, wanted, answer, where):
    """Where some lines stand one behind the other; there has to be just one such place."""
    stripped = [line.strip() for line in lines]
    at = [i for i in range(len(lines)) if stripped[i : i + len(wanted)] == wanted]
    if len(at) == 1:
        return at[0]
    if at:
        raise MistakesError(f"{where}: `{wanted[0]}` stands {len(at)} times in {answer.__name__}: "
                            "name the line before or after it as well")
    near = difflib.get_close_matches(wanted[0], stripped, n=1, cutoff=0.3)
    raise MistakesError(f"{where}: `{wanted[0]}` does not stand in {answer.__name__}"
                        + (f"; near it is `{near[0]}`" if near else ""))


def _indented(plus, first, line):
    """New lines, indented as the line they replace, and deeper where their own indentation says so."""
    shift = len(line) - len(line.lstrip()) - (len(first) - len(first.lstrip()))
    return [" " * (shift + len(text) - len(text.lstrip())) + text.lstrip() for _, text in plus]
