"""The first page: the README, with a map where its table of lessons stands."""

import json
import re
from html import escape

from course_lib.staff import site, syllabus
from course_lib.staff.lesson_text import ROOT
from course_lib.staff.site.page import Page

ROW, LINE = 68, 46  # pixels: the height of a lesson on the map, and where the line of lessons runs
MISTAKES = "What can go wrong in an exercise is in the [catalogue of misconceptions](misconceptions/index.md)."
PICTURES = ("docs/*.png", "docs/*.svg")


def page(lessons):
    """The page that everybody sees first, with a map of these lessons."""
    text = syllabus.README.read_text(encoding="utf-8")
    before, begin, rest = text.partition(syllabus.BEGIN)
    _, end, after = rest.partition(syllabus.END)
    if not (begin and end):
        raise site.SiteError(f"README.md: it has no lines {syllabus.BEGIN} and {syllabus.END}, "
                             "between which the site puts its map of lessons")
    facts = [facts_of(lesson) for lesson in lessons]
    made_of = "README.md", "course_lib/concepts.tsv", *(lesson.made_of[0] for lesson in lessons)
    pictures = [path for pattern in PICTURES for path in sorted(ROOT.glob(pattern))]
    return Page("index.md", before + "\n\n".join([lesson_map(facts), MISTAKES, _taught(facts)]) + after, made_of,
                extra=tuple((path.relative_to(ROOT).as_posix(), path) for path in pictures))


def facts_of(lesson):
    """Number, title, minutes, exercises and needed lessons, as the lesson's first cell says them."""
    cells = json.loads(lesson.text)["cells"]
    head = "".join(cells[0]["source"])
    about = re.search(r"^\*(.*minutes.*)\*$", head, re.M)
    minutes, needs, *_ = about[1].split(" · ") if about else ("", "")
    return {
        "page": lesson.name,
        "number": lesson.name.split("/")[1][:2],
        "title": re.search(r"^# (?:\d\d · )?(.+)$", head, re.M)[1],
        "minutes": minutes,
        "exercises": sum("exercise" in cell["metadata"].get("tags", []) for cell in cells),
        "needs": re.findall(r"\b\d\d\b", needs),
    }


def lesson_map(facts):
    """Lessons from top to bottom, and a line to each from every lesson that it needs."""
    numbers = [fact["number"] for fact in facts]
    lines = [_line(numbers.index(needed), i) for i, fact in enumerate(facts)
             for needed in fact["needs"] if needed in numbers]
    dots = [f'<circle cx="{LINE}" cy="{_middle(i)}" r="6"/>' for i in range(len(facts))]
    drawing = (f'<svg width="60" height="{ROW * len(facts)}" aria-hidden="true">'
               f'{"".join(lines)}{"".join(dots)}</svg>')
    return f'<div class="lesson-map">{drawing}<ol>{"".join(map(_row, facts))}</ol></div>'


def _middle(i):
    return ROW * i + ROW // 2


def _line(start, end):
    """A straight line to the next lesson; an arc past those in between, the wider the more they are."""
    bend = LINE - min(56, 14 * (end - start - 1))
    y1, y2 = _middle(start), _middle(end)
    return f'<path d="M{LINE} {y1} C{bend} {y1 + ROW // 2} {bend} {y2 - ROW // 2} {LINE} {y2}"/>'


def _row(fact):
    exercises = f"{fact['exercises']} exercise" + "s" * (fact["exercises"] != 1)
    needs = f"needs {' and '.join(fact['needs'])}" if fact["needs"] else ""
    about = " · ".join(filter(None, (fact["minutes"], exercises, needs)))
    return (f'<li><a href="{fact["page"]}.html"><b>{fact["number"]}</b> {escape(fact["title"])}</a>'
            f'<small>{about}</small></li>')


def _taught(facts):
    """What each lesson teaches, folded, from the map of concepts."""
    rows = syllabus.concepts()
    folds = []
    for fact in facts:
        taught = "".join(f"<li>{escape(row['concept'])}</li>" for row in rows if row["lesson"] == fact["number"])
        if taught:
            folds.append(f"<details><summary>{fact['number']} · {escape(fact['title'])}</summary>"
                         f"<ul>{taught}</ul></details>")
    return "**Everything each lesson teaches**\n\n" + "\n".join(folds) if folds else ""
