"""The map of the course, concept -> lesson -> cell -> proof: is it complete, and do the pages say the same?"""

import ast
import os
import re

from course_lib.predictions.concepts import rows as concepts
from course_lib.staff import exercise_table
from course_lib.staff.lesson_text import ROOT
from course_lib.staff.notebooks import without_magics
from course_lib.upkeep.versions import SOURCE, VERSION

README, CONCEPTS, EXERCISES = ROOT / "README.md", ROOT / "docs" / "concepts.md", ROOT / "docs" / "exercises.md"
REPOSITORY = SOURCE.removeprefix("https://github.com/")
BEGIN, END = "<!-- lessons: written by the build -->", "<!-- end of lessons -->"
TOTAL, END_TOTAL = "<!-- total: written by the build -->", "<!-- end of total -->"


def gaps(lessons):
    """One line for each concept of an existing lesson that the map cannot follow to a cell and a proof."""
    lines = []
    for lesson in lessons:
        cells = {cell.metadata.get("name") for cell in lesson.cells}
        proofs = set(lesson.exercises) | claims(lesson)
        for row in concepts():
            if row["lesson"] == lesson.number:
                where = f"course_lib/concepts.tsv: {row['id']}"
                if row["cell"] not in cells or not row["cell"]:
                    lines.append(f"{where}: solutions/{lesson.stem}.py has no cell named {row['cell']!r}")
                if row["proof"] not in proofs:
                    lines.append(f"{where}: solutions/{lesson.stem}.py has no exercise or claim: {row['proof']}")
    return lines


def claims(lesson):
    """The claims of a lesson: the sentences of `claim("…", …)` and `intervene("…", …)`, the names in `assert name`."""
    return {says for cell in lesson.cells if cell.kind == "code" for says in claims_of(cell.source)}


def claims_of(source):
    """The claims of one cell, in their order."""
    found = []
    for node in ast.walk(ast.parse(without_magics(source))):
        if isinstance(node, ast.Assert):
            found.append((node.lineno, ast.unparse(node.test)))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("claim", "intervene") and node.args:
            found.append((node.lineno, ast.literal_eval(node.args[0])))
    return [says for _, says in sorted(found)]


def section(lessons):
    """The README's table of lessons."""
    lines = [BEGIN, "", "| lesson | minutes | exercises | in a browser |", "|---|---|---|---|"]
    for lesson in lessons:
        name = f"{lesson.stem}.ipynb"
        lines.append(f"| [{lesson.title}](lessons/{name}) | {minutes(lesson) or '?'} | {len(lesson.exercises)} "
                     f"| [Colab]({colab(f'lessons/{name}')}) |")
    return "\n".join([*lines, "", END])


def total(lessons):
    """How much the whole course is, in one line."""
    hours, exercises = round(sum(map(minutes, lessons)) / 60), sum(len(lesson.exercises) for lesson in lessons)
    return f"{TOTAL}\n**{len(lessons)} lessons, {exercises} exercises, about {hours} hours.**\n{END_TOTAL}"


def minutes(lesson):
    """How long a lesson takes, as its first cell says; 0 where it does not."""
    said = re.search(r"(\d+) minutes", lesson.cells[0].source)
    return int(said[1]) if said else 0


def page(lessons):
    """docs/concepts.md: everything each lesson teaches, from the map of concepts."""
    lines = ["# Everything each lesson teaches", ""]
    for lesson in lessons:
        if taught := [row["concept"] for row in concepts() if row["lesson"] == lesson.number]:
            lines += [f"## [{lesson.title}](../lessons/{lesson.stem}.ipynb)", "", *(f"- {each}" for each in taught), ""]
    return "\n".join(lines)


def colab(path, repository=REPOSITORY):
    """The address that opens a notebook of this version in Google Colab."""
    return f"https://colab.research.google.com/github/{repository}/blob/v{VERSION}/{path}"


def what_is_stale(lessons):
    """One line for each gap in the map, and one for each file that is behind it."""
    lines = gaps(lessons)
    if not README.exists() or BEGIN not in README.read_text(encoding="utf-8"):
        lines.append(f"README.md: it has no line {BEGIN} for the map of lessons")
    return lines + [f"{path.relative_to(ROOT).as_posix()}: its map of lessons is out of date: "
                    "run python -m course_lib.staff.build" for path, text in _files(lessons) if _read(path) != text]


def write(lessons):
    """Bring the README and the pages under docs up to date; two builds at once find them whole."""
    for path, text in _files(lessons):
        if text != _read(path):
            path.parent.mkdir(exist_ok=True)
            partial = path.with_suffix(f".{os.getpid()}.partial")
            partial.write_text(text, encoding="utf-8", newline="\n")
            os.replace(partial, path)


def _files(lessons):
    """What the build writes beside notebooks: (path, text)."""
    readme = _read(README)
    for begin, end, new in ((BEGIN, END, section(lessons)), (TOTAL, END_TOTAL, total(lessons))):
        before, _, rest = readme.partition(begin)
        readme = before + new + rest.partition(end)[2] if rest else readme
    pages = [(CONCEPTS, page(lessons)), (EXERCISES, exercise_table.page(lessons))]
    return pages + [(README, readme)] * README.exists()


def _read(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""
