"""Sentences about Transformers that go round, and what the lesson that puts them to the test says of each."""

import re

from course_lib.display.markup import as_html
from course_lib.staff import questions
from course_lib.staff.lesson_text import read_lesson

LESSON = "14b_audit"
SAID = re.compile(r"\d+\. “(.+)” True or false\?")
ABOUT = """\
## Said of Transformers, and put to the test

{count} sentences in circulation. Predict, then open; the experiments are in
[lesson 14b](lessons/14b_audit.ipynb#the-audit)."""
HOLDS = {"true": "It holds.", "false": "It does not hold as it stands."}


def section(stems):
    """The section's paragraphs; none where the audit's lesson is not among these."""
    if LESSON not in stems:
        return []
    asked = [of for _, of in questions.of_lesson(read_lesson(LESSON)) if SAID.fullmatch(of.text)]
    folds = [f"<details><summary>{as_html(SAID.fullmatch(of.text)[1])}</summary>"
             f"<p>{HOLDS[of.right]} {as_html(of.answers[of.right])}</p></details>" for of in asked]
    return [ABOUT.format(count=len(folds)), "\n".join(folds)]
