"""The map of the course, concept -> lesson -> cell -> proof: is it complete, and do the pages say the same?"""

import ast
import functools
import json
import os
import re

from course_lib.predictions.concepts import rows as concepts
from course_lib.staff import exercise_table
from course_lib.staff.lesson_text import ROOT, SOLUTIONS
from course_lib.staff.notebooks import without_magics
from course_lib.upkeep.versions import SOURCE, VERSION

README, CONCEPTS, EXERCISES = ROOT / "README.md", ROOT / "docs" / "concepts.md", ROOT / "docs" / "exercises.md"
CITATION, ABSTRACT = ROOT / "CITATION.cff", ("one version at a time: ", '"\n')
REPOSITORY = SOURCE.removeprefix("https://github.com/")
BEGIN, END = "<!-- lessons: written by the build -->", "<!-- end of lessons -->"
A_NAME = re.compile(r"(?:not )?[A-Za-z]\w*_\w+")
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


@functools.cache
def claims_of(source):
    """The claims of one cell, in their order."""
    found = []
    for node in ast.walk(ast.parse(without_magics(source))):
        if isinstance(node, ast.Assert):
            found.append((node.lineno, ast.unparse(node.test)))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("claim", "intervene") and node.args:
            found.append((node.lineno, ast.literal_eval(node.args[0])))
    return [says for _, says in sorted(found)]


def proved_in(lesson):
    """[(cell, claim)] in the order of the lesson: the sentences of its folded proofs, and names that are asserted."""
    return [(cell, says) for cell in lesson.cells if cell.kind == "code" for says in claims_of(cell.source)
            if "claim" in cell.tags or A_NAME.fullmatch(says)]


def section(lessons):
    """The README's table of lessons."""
    lines = ["| lesson | minutes | exercises |", "|---|---|---|"]
    for lesson in lessons:
        lines.append(f"| [{lesson.title}](lessons/{lesson.stem}.ipynb) | {minutes(lesson) or '?'} "
                     f"| {len(lesson.exercises)} |")
    return "\n".join(lines)


def total(lessons):
    """How much the whole course is, in one sentence; all of it is counted."""
    from course_lib.checks import EXERCISES

    hours, exercises = round(sum(map(minutes, lessons)) / 60), sum(len(lesson.exercises) for lesson in lessons)
    mistakes = sum(len(EXERCISES[name].mistakes) for lesson in lessons for name in lesson.exercises)
    computed = sum(len(proved_in(lesson)) for lesson in lessons)
    return (f"{len(lessons)} lessons, {exercises} exercises, about {hours} hours; {mistakes:,} mistakes with a name, "
            f"{computed:,} claims, each computed, {sum(map(pictures, lessons)):,} pictures.")


def pictures(lesson):
    """How many pictures and instruments a solved lesson shows; 0 where it is not built yet."""
    path = SOLUTIONS / f"{lesson.stem}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"] if path.exists() else []
    shown = (output.get("data", {}) for cell in cells for output in cell.get("outputs", []))
    return sum("<img" in "".join(data.get("text/html", "")) for data in shown)


def minutes(lesson):
    """How long a lesson takes, as its first cell says; 0 where it does not."""
    said = re.search(r"(\d+) minutes", lesson.cells[0].source)
    return int(said[1]) if said else 0


def page(lessons):
    """docs/concepts.md: everything each lesson teaches, from the map of concepts."""
    lines = ["# Everything each lesson teaches", ""]
    for lesson in lessons:
        if taught := [row["concept"] for row in concepts() if row["lesson"] == lesson.number]:
            path = f"lessons/{lesson.stem}.ipynb"
            lines += [f"## [{lesson.title}](../{path})", "", f"[Open in Colab]({colab(path)})", "",
                      *(f"- {each}" for each in taught), ""]
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
    counted = total(lessons)
    readme = _between(_read(README), BEGIN, END, f"\n\n{section(lessons)}\n\n")
    readme = _between(readme, TOTAL, END_TOTAL, f"\n**{counted}**\n")
    pages = [(CONCEPTS, page(lessons)), (EXERCISES, exercise_table.page(lessons))]
    kept = [(README, readme), (CITATION, _between(_read(CITATION), *ABSTRACT, counted))]
    return pages + [(path, text) for path, text in kept if path.exists()]


def _between(text, begin, end, new):
    """A text with something new between two marks; as it is where it has none."""
    before, mark, rest = text.partition(begin)
    return before + mark + new + end + rest.partition(end)[2] if mark else text


def _read(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""
