"""The page of instruments: all figures of the lessons that can be held and moved, alive without a kernel."""

import json
import re

from course_lib.staff.lesson_text import ROOT, lesson_stems
from course_lib.staff.site import SiteError
from course_lib.staff.site.page import REFERENCE, Page

ABOUT = """\
# Instruments

Figures to hold: by mouse, by finger, or with Tab and the arrow keys. They need no Python here. In a lesson, those that
show an exercise run your own function."""
NAME = re.compile(r'data-instrument="([\w-]+)"')


def first_of(name, path):
    """An instrument as an executed notebook shows it first, for another page.

    raises: SiteError where the notebook has no such instrument
    """
    for html in outputs(path):
        if (found := NAME.search(html)) and found[1] == name:
            return f"```{{raw}} html\n{html}\n```"
    raise SiteError(f"{path}: it does not show the instrument {name}, which another page wants")


def page():
    """Every instrument of the executed lessons, once, as its lesson shows it."""
    text, made_of, seen = [ABOUT], [], set()
    for stem in lesson_stems():
        path = f"solutions/{stem}.ipynb"
        for html in outputs(path):
            name = NAME.search(html)
            if name and name[1] not in seen:
                seen.add(name[1])
                made_of.append(path)
                words = name[1].replace("-", " ").capitalize()
                text += [f"## {words}", f"From [lesson {stem[:2]}](lessons/{stem}.ipynb).",
                         f"```{{raw}} html\n{html}\n```"]
    return Page("instruments.md", "\n\n".join(text) + "\n", tuple(dict.fromkeys(made_of)), REFERENCE)


def outputs(path):
    """The HTML that an executed notebook shows."""
    cells = json.loads((ROOT / path).read_text(encoding="utf-8"))["cells"]
    made = [output.get("data", {}).get("text/html", "") for cell in cells for output in cell.get("outputs", [])]
    return ["".join(html) for html in made if html]
