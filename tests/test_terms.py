"""Every standard term of the field stands in bold with its meaning in a lesson, and in the glossary."""

import re
from pathlib import Path

from course_lib.staff.lesson_text import ROOT, notebook_stems, read_lesson

TERMS, MISSING = (Path(__file__).parent / "data" / f"{name}.txt" for name in ("terms", "terms_missing"))


def in_bold(text):
    """What stands in bold, in small letters and on one line."""
    return {" ".join(found.lower().split()) for found in re.findall(r"\*\*(.+?)\*\*", text, re.S)}


def missing():
    """The terms that no lesson has in bold, or that the glossary lacks."""
    texts = (cell.source for stem in notebook_stems() for cell in read_lesson(stem).cells if cell.kind == "markdown")
    bold = set().union(*map(in_bold, texts))
    listed = in_bold((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    return [term for term in TERMS.read_text(encoding="utf-8").splitlines()
            if not {term.lower(), f"{term.lower()}s"} & bold or term.lower() not in listed]


def test_the_terms_that_are_not_taught_yet_are_those_of_the_list():
    """A term that was lost from a lesson; a list that nobody shortens."""
    assert missing() == MISSING.read_text(encoding="utf-8").splitlines()
