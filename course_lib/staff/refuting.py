"""Edits under which the claims of a lesson fall: code that is broken, and rivals, the explanations of a good critic.

They stand in `tests/claims_that_fall/NN.diff`:

    == the claim, a sentence of the lesson
      - lines that stand once above it
      + what stands there instead
    rival: the other explanation, in one line
      - lines
      + other lines
    said: words of the lesson, where it cannot tell the two apart
"""

import ast
import contextlib
import io
import re
from functools import cache
from typing import NamedTuple
from unittest import mock

import numpy
import torch

from course_lib.staff.lesson_text import ROOT, lesson_stems, number_of, read_lesson
from course_lib.staff.notebooks import compose, digest, dumped, imported_files, without_magics
from course_lib.staff.syllabus import claims_of

FOLDER = ROOT / "tests" / "claims_that_fall"
SEEN = FOLDER / "seen.tsv"  # which edits did what they are to do, as code and data were
DATA = "experiments/results", "shipped/files"  # folders of course_lib
BLOCKS = ("body", "handlers", "orelse", "finalbody")
SHOWN = {"print", "plots.show", "instruments.show", "predict"}
TRAINS = re.compile(r"\b(stored|fit|train|trained|treated|losses_of|keep_the_best|read_twins|echo\.echo)\(")


class RefutingError(Exception):
    """An edit cannot be made; the message is one line: which, and why."""


class Edit(NamedTuple):
    """One edit of the code above a claim."""

    stem: str
    claim: str
    out: str
    into: str
    rival: str | None = None  # the other explanation; None where the code is just broken
    said: str | None = None  # the lesson's words that it cannot tell the rival apart

    def __str__(self):
        return f"{number_of(self.stem)}: {self.claim}" + (f" | {self.rival}" if self.rival else "")


class Seen(NamedTuple):
    """An edit that did what it is to do, or could not, as it is said: under which fingerprint, and how soon."""

    mark: str
    edit: str
    pace: str  # "slow" or "quick"


def seen():
    """{edit: Seen} of all that were tried."""
    lines = SEEN.read_text(encoding="utf-8").splitlines()
    return {found.edit: found for found in (Seen(*line.split("\t")) for line in lines)}


def edits(folder=FOLDER):
    """All edits, in the order of their files."""
    found = []
    for path in sorted(folder.glob("*.diff")):
        (stem,) = [stem for stem in lesson_stems() if number_of(stem) == path.stem]
        for section in re.split(r"^== ", path.read_text(encoding="utf-8"), flags=re.M)[1:]:
            claim, _, rest = section.partition("\n")
            for head, lines, said in re.findall(
                    r"^(?:rival: (.+)\n)?((?:  [-+] ?.*\n?)+)(?:said: (.+)\n?)?", rest, re.M):
                out, into = ([line[4:] for line in lines.splitlines() if line[2] == sign] for sign in "-+")
                found.append(Edit(stem, claim, "\n".join(out), "\n".join(into), head or None, said or None))
    return found


def falls(edit):
    """Does the claim fall under this edit? raises: RefutingError where it cannot be made."""
    return edit.claim in claims_that_fall(_edited(edit))


def fingerprint(edit):
    """A fingerprint of all that decides whether a claim falls, and may stand: code, data, torch, NumPy, what is said.

    raises: RefutingError where the edit cannot be made
    """
    sources = _edited(edit)
    code = {path.relative_to(ROOT).as_posix(): _syntax(path) for path in imported_files(map(ast.parse, sources))}
    may_stand = ["said"] if edit.said else []
    return digest([edit.claim, sources, code, _data(), torch.__version__, numpy.__version__, *may_stand])


@cache
def _syntax(path):
    return digest(dumped(path))


@cache
def _data():
    files = (path for folder in DATA for path in sorted((ROOT / "course_lib" / folder).iterdir()))
    return {path.relative_to(ROOT).as_posix(): digest(path.read_bytes()) for path in files}


def _edited(edit):
    """The code of the cells that the claim needs, with the edit made in it."""
    sources = list(cells_for(edit.stem, edit.claim))
    places = [n for n, source in enumerate(sources) if edit.out in source]
    if len(places) != 1 or sources[places[0]].count(edit.out) != 1:
        raise RefutingError(f"{edit}: {edit.out!r} stands in {len(places)} of the cells that the claim needs, "
                            "and has to stand once")
    sources[places[0]] = sources[places[0]].replace(edit.out, edit.into)
    return sources


def cells_for(stem, claim):
    """The code of the cells that a claim needs, in order: those that bind a name it reads, and what these read."""
    sources = _sources(stem)
    last = next((n for n, source in enumerate(sources) if claim in claims_of(source)), None)
    if last is None:
        raise RefutingError(f"solutions/{stem}.py has no claim “{claim}”")
    cells = [*sources[:last], _without(sources[last], lambda call: call == "claim", but=claim)]
    needed, at = set(), last
    while at is not None:
        needed.add(at)
        wanted = set(_read_and_bound(cells[at])[0])
        for n in reversed(range(at)):
            read, bound = _read_and_bound(cells[n])
            if bound & wanted:
                needed.add(n)
                wanted = wanted - bound | read
        at = _late(cells, needed)
    return [cells[n] for n in sorted(needed)]


def _late(cells, needed):
    """The last cell that binds a name which needed cells read and none of them binds, as a function may read what is
    bound below it; or None."""
    read, bound = (set().union(*(_read_and_bound(cells[n])[part] for n in needed)) for part in (0, 1))
    return next((n for n in reversed(range(len(cells))) if n not in needed
                 and _read_and_bound(cells[n])[1] & (read - bound)), None)


def is_a_verdict_of_training(stem, claim):
    """Does a claim stand on a network that is trained, today or in a stored result?"""
    return any(TRAINS.search(source) for source in cells_for(stem, claim))


def claims_that_fall(sources):
    """The claims that do not hold when these cells are run; no file is read but those of the course."""
    import matplotlib.pyplot as plt

    import course_lib

    fallen, names = [], {"__name__": "__lesson__"}

    def claim(says, holds):
        if not holds:
            fallen.append(says)

    def intervene(goal, choice, run, holds, **_):
        claim(goal, holds(run(choice)))

    with mock.patch.object(course_lib, "claim", claim, create=True), \
            mock.patch.object(course_lib, "intervene", intervene, create=True), \
            contextlib.redirect_stdout(io.StringIO()):
        for source in sources:
            exec(compile(source, "<a lesson>", "exec"), names)
    plt.close("all")
    return fallen


def blind():
    """[(edit, why)] of all rivals under which a claim stands; what has not changed since it was tried is looked up."""
    known = seen()
    return [(edit, f"the lesson says: “{edit.said}”" if edit.said else "and the lesson does not say so")
            for edit in edits() if edit.rival and _stands(edit, known.get(str(edit)))]


def _stands(edit, before):
    """Does the claim stand under this edit?"""
    if before and before.mark == fingerprint(edit):
        return edit.said is not None
    return not falls(edit)


@cache
def _sources(stem):
    """The code of a lesson, without what is only looked at."""
    return [_without(without_magics(cell.source), SHOWN.__contains__) for cell in compose(read_lesson(stem))[0].cells
            if cell.cell_type == "code"]


@cache
def _parsed(source):
    return ast.parse(source).body


def _without(source, unwanted, but=None):
    """A cell without its statements that are nothing but a call of an unwanted name; one with the text `but` stays."""
    lines = source.split("\n")
    for node in _parsed(source):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and unwanted(ast.unparse(node.value.func)):
            says = [part.value for part in node.value.args[:1] if isinstance(part, ast.Constant)]
            if but is None or says != [but]:
                lines[node.lineno - 1:node.end_lineno] = [""] * (node.end_lineno - node.lineno + 1)
    return "\n".join(lines)


@cache
def _read_and_bound(source):
    """(names that a cell reads before it binds them, names that it binds)."""
    read, bound = set(), set()
    _walk(_parsed(source), read, bound)
    return read, bound


def _walk(body, read, bound):
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):  # what it reads is looked up when it is called
            own = {arg.arg for arg in ast.walk(node) if isinstance(arg, ast.arg)} | _names(node, ast.Store)
            read |= _names(node, ast.Load) - own - bound
            bound.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bound |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        else:
            inside, stored = [child for block in BLOCKS for child in getattr(node, block, [])], set()
            for part in (part for part in ast.iter_child_nodes(node) if part not in inside):
                loops = {name for c in ast.walk(part) if isinstance(c, ast.comprehension)
                         for name in _names(c.target, ast.Store)}
                more = _names(node.target, ast.Store) if isinstance(node, ast.AugAssign) else set()
                read |= (_names(part, ast.Load) | more) - loops - bound
                stored |= _names(part, ast.Store) - loops
            bound |= stored
            for child in inside:
                _walk(child.body if isinstance(child, ast.ExceptHandler) else [child], read, bound)


def _names(node, context):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}
