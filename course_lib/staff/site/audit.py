"""Sentences about Transformers that go round, and what the experiment of their lesson said."""

import re

from course_lib.staff.lesson_text import read_lesson
from course_lib.staff.site.markup import as_html
from course_lib.staff.site.results import outputs

LESSON = "14_general_purpose"
SAID = re.compile(r'^\| `(\w+)` \| "(.+)" \|$', re.M)
VERDICT = re.compile(r"^(\w+): (True|False) \(", re.M)
ABOUT = """\
## Said of Transformers, and put to the test

{count} sentences in circulation. Predict, then open; the experiments and the reasons are in
[lesson 14](lessons/14_general_purpose.ipynb#the-audit)."""
HOLDS = {"True": "It holds.", "False": "It does not hold as it stands."}


def section(stems):
    """The section's paragraphs; none where the audit's lesson is not among these."""
    if LESSON not in stems:
        return []
    text = "\n".join(cell.source for cell in read_lesson(LESSON).cells if cell.kind == "markdown")
    verdicts = dict(VERDICT.findall(outputs(f"solutions/{LESSON}.ipynb")))
    said = SAID.findall(text)
    folds = [f"<details><summary>{as_html(sentence)}</summary><p>{HOLDS[verdicts[name]]}</p></details>"
             for name, sentence in said]
    return [ABOUT.format(count=len(said)), "\n".join(folds)]
