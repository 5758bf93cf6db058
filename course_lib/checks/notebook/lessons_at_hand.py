"""The lessons that lie where the course is: title, minutes, and where in them something stands."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

FOLDERS = (Path("../lessons"), Path(), Path(__file__).parents[3] / "lessons")  # the nearest comes first


@dataclass(frozen=True)
class LessonAtHand:
    """One lesson's notebook."""

    title: str
    minutes: int
    path: Path
    exercises: dict  # {name: the id of the cell that it begins with}, from top to bottom
    named: dict  # {name of a cell: its id}

    def link(self, cell=None):
        """The way from the folder of the running notebook to the lesson, or to a cell of it by its id."""
        way = quote(Path(os.path.relpath(self.path)).as_posix())
        return f"{way}#cell-id={cell}" if cell else way


def lessons_at_hand():
    """{number: LessonAtHand}; without those that are not there or cannot be read."""
    found = {}
    of_lessons = re.compile(r"\d\d[a-z]?_")
    for path in (path for folder in FOLDERS for path in sorted(folder.glob("*.ipynb")) if of_lessons.match(path.name)):
        try:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            first = "".join(cells[0]["source"])
            title, minutes = (re.search(what, first, re.M)[1] for what in (r"^# (.+)$", r"(\d+) minutes"))
            lesson = LessonAtHand(title, int(minutes), path, *_ids(cells))
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
            continue
        found.setdefault(path.name.split("_")[0], lesson)
    return found


def _ids(cells):
    """The ids of the cells that exercises begin with, and of those that have names."""
    exercises, named = {}, {}
    for cell in cells:
        if cell["cell_type"] == "markdown":
            begun = re.findall(r"^### Exercise(?: \d+)?: `(\w+)`", "".join(cell["source"]), re.M)
            exercises |= dict.fromkeys(begun, cell.get("id"))
            if name := cell["metadata"].get("name"):
                named[name] = cell.get("id")
    return exercises, named
