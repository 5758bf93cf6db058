"""The page of all claims: each sentence that a lesson proves, with the cell that proves it."""

from course_lib.staff.claims import claims_in
from course_lib.staff.lesson_text import lesson_stems, read_lesson
from course_lib.staff.site.page import REFERENCE, Page

ABOUT = """\
# Claims

What the lessons claim, they compute: each sentence stands over the condition that could refute it, every build runs it
again, and the weekly sweep runs it with other seeds. The code of a proof is folded. Lessons that are not here yet prove
their claims beside the text."""


def pages(stems=None):
    """One page with the claims of all lessons that state them as sentences."""
    text, made_of = [ABOUT], []
    for lesson in (read_lesson(stem) for stem in stems or lesson_stems()):
        proofs = {}
        for cell, says in claims_in(lesson):
            if "claim" in cell.tags:
                proofs.setdefault(cell.line, (cell, []))[1].append(says)
        if proofs:
            made_of.append(f"solutions/{lesson.stem}.py")
            text.append(f"## [{lesson.title}](lessons/{lesson.stem}.ipynb)")
            text += [_proof(cell, sentences) for cell, sentences in proofs.values()]
    return [Page("claims.md", "\n\n".join(text) + "\n", tuple(made_of), REFERENCE)] if made_of else []


def _proof(cell, sentences):
    """Its sentences, and its code behind a click."""
    listed = "\n".join(f"- ✓ {says}" for says in sentences)
    return f"{listed}\n\n<details><summary>The proof</summary>\n\n```python\n{cell.source}\n```\n\n</details>"
