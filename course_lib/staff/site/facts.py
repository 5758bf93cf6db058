"""What a lesson's first cell says of it: number, title, minutes, exercises, and what it needs."""

import json
import re

from course_lib.staff.lesson_text import number_of

ABOUT = re.compile(r"^\*((?:[^*\n]|\n(?!\n))*?\d+ minutes(?:[^*\n]|\n(?!\n))*)\*$", re.M)  # it may run over two lines


def facts_of(lesson):
    """Number, title, minutes, exercises and needed lessons of a lesson's page."""
    cells = json.loads(lesson.text)["cells"]
    head = "".join(cells[0]["source"])
    about = ABOUT.search(head)
    minutes, needs, *_ = " ".join(about[1].split()).split(" · ") if about else ("", "")
    return {
        "page": lesson.name,
        "number": number_of(lesson.name.split("/")[1]),
        "title": re.search(r"^# (?:\d\d[a-z]? · )?(.+)$", head, re.M)[1],
        "minutes": int(re.match(r"\d+", minutes)[0]) if minutes else 0,
        "exercises": sum("exercise" in cell["metadata"].get("tags", []) for cell in cells),
        "needs": re.findall(r"\b\d\d[a-z]?\b", needs),
    }


def counted(number, noun):
    """A number with its noun: 1 exercise, 1,723 mistakes."""
    return f"{number:,} {noun}" + "s" * (number != 1)
