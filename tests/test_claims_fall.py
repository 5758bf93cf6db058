"""A claim that cannot fail is worse than none: edits of the code above it, and the claim that falls."""

import ast
import contextlib
import functools
import io
import re
from pathlib import Path

import pytest

from course_lib.experiments import twins
from course_lib.staff.lesson_text import ROOT, lesson_stems, read_lesson
from course_lib.staff.notebooks import compose, without_magics
from course_lib.staff.syllabus import claims_of

FOLDER = Path(__file__).parent / "claims_that_fall"
EDIT = re.compile(r"^== (.+)\n((?:  [-+] ?.*\n)+)", re.M)
FITTED = functools.cache(twins.fitted)  # of the same reviews it is the same each time; to fit it takes 7 seconds


def edits():
    """(lesson's stem, claim, lines out, lines in) of every edit."""
    for path in sorted(FOLDER.glob("*.diff")):
        (stem,) = [stem for stem in lesson_stems() if stem.startswith(path.stem)]
        text = path.read_text(encoding="utf-8")
        for claim, lines in EDIT.findall(text):
            out, into = ([line[4:] for line in lines.splitlines() if line[2] == sign] for sign in "-+")
            yield pytest.param(stem, claim, "\n".join(out), "\n".join(into), id=f"{path.stem}: {claim}")


def cells_for(stem, claim):
    """The code of the cells that a claim needs, in order: those that bind a name it reads, and what these read."""
    sources = [without_magics(cell.source) for cell in compose(read_lesson(stem))[0].cells if cell.cell_type == "code"]
    (last,) = [n for n, source in enumerate(sources) if claim in claims_of(source)]
    needed, wanted = [sources[last]], _names(sources[last], ast.Load)
    for source in reversed(sources[:last]):
        if _bound(source) & wanted:
            needed.insert(0, source)
            wanted |= _names(source, ast.Load)
    return needed


def _names(source, context):
    nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name)]
    return {node.id for node in nodes if isinstance(node.ctx, context)}


def _bound(source):
    made = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef | ast.ClassDef | ast.alias)]
    return _names(source, ast.Store) | {(getattr(node, "asname", None) or node.name).split(".")[0] for node in made}


def claims_that_fall(sources, monkeypatch, folder):
    """The claims that do not hold when these cells are run."""
    import matplotlib.pyplot as plt

    import course_lib

    fallen = []
    monkeypatch.setattr(course_lib, "claim", lambda says, holds: None if holds else fallen.append(says))
    monkeypatch.setattr(twins, "fitted", FITTED)
    monkeypatch.chdir(folder)
    names = {"__name__": "__lesson__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for source in sources:
            exec(compile(source, "<a lesson>", "exec"), names)
    plt.close("all")
    return fallen


@pytest.mark.parametrize(("stem", "claim", "out", "into"), list(edits()))
def test_a_claim_falls_when_the_code_above_it_is_changed(stem, claim, out, into, monkeypatch, tmp_path):
    """A condition that no run of the experiment could have refuted."""
    sources = cells_for(stem, claim)
    places = [n for n, source in enumerate(sources) if out in source]
    assert len(places) == 1 and sources[places[0]].count(out) == 1, f"{out!r} stands in {len(places)} cells"
    sources[places[0]] = sources[places[0]].replace(out, into)
    assert claim in claims_that_fall(sources, monkeypatch, tmp_path)


def test_every_lesson_of_the_new_form_has_three_such_edits():
    """A lesson whose claims nobody has tried to refute."""
    found = [edit.values[0] for edit in edits()]
    for stem in lesson_stems():
        if "\nclaim(" in (ROOT / "solutions" / f"{stem}.py").read_text(encoding="utf-8"):
            assert found.count(stem) >= 3, stem
