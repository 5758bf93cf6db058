"""The map of the course, concept -> lesson -> cell -> proof: is it complete, and does the README say the same?"""

import ast
import os
import re

from course_lib.predictions.concepts import rows as concepts
from course_lib.staff.lesson_text import ROOT
from course_lib.staff.notebooks import without_magics
from course_lib.upkeep.versions import SOURCE, VERSION

README = ROOT / "README.md"
REPOSITORY = SOURCE.removeprefix("https://github.com/")
BEGIN, END = "<!-- lessons: written by the build -->", "<!-- end of lessons -->"


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
    """The claims of a lesson: the sentences of `claim("…", …)`, and the names in `assert name`."""
    return {says for cell in lesson.cells if cell.kind == "code" for says in claims_of(cell.source)}


def claims_of(source):
    """The claims of one cell, in their order."""
    found = []
    for node in ast.walk(ast.parse(without_magics(source))):
        if isinstance(node, ast.Assert):
            found.append((node.lineno, ast.unparse(node.test)))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "claim" and node.args:
            found.append((node.lineno, ast.literal_eval(node.args[0])))
    return [says for _, says in sorted(found)]


def section(lessons):
    """The README's map of lessons, from the map of concepts."""
    lines = [BEGIN, "", "| lesson | minutes | exercises |", "|---|---|---|"]
    for lesson in lessons:
        minutes = re.search(r"(\d+) minutes", lesson.cells[0].source)
        exercises = ", ".join(f"`{name}`" for name in lesson.exercises) or "none"
        name = f"{lesson.stem}.ipynb"
        links = f"[{lesson.title}](lessons/{name}) ([solved](solutions/{name}), [Colab]({colab(f'lessons/{name}')}))"
        lines.append(f"| {links} | {minutes[1] if minutes else '?'} | {exercises} |")
    lines += ["", "<details><summary>Everything each lesson teaches</summary>", ""]
    for lesson in lessons:
        taught = [row["concept"] for row in concepts() if row["lesson"] == lesson.number]
        if taught:  # lesson 15 adds no concept: it uses all of them
            lines += [f"**{lesson.title}**", "", *(f"- {concept}" for concept in taught), ""]
    return "\n".join([*lines, "</details>", "", END])


def colab(path, repository=REPOSITORY):
    """The address that opens a notebook of this version in Google Colab."""
    return f"https://colab.research.google.com/github/{repository}/blob/v{VERSION}/{path}"


def what_is_stale(lessons):
    """One line for each gap in the map, and one if the README is behind it."""
    lines = gaps(lessons)
    if not README.exists() or BEGIN not in README.read_text(encoding="utf-8"):
        return [*lines, f"README.md: it has no line {BEGIN} for the map of lessons"]
    if _with_section(lessons) != README.read_text(encoding="utf-8"):
        lines.append("README.md: its map of lessons is out of date: run python -m course_lib.staff.build")
    return lines


def write(lessons):
    """Bring the README's map of lessons up to date; two builds at once find it whole."""
    if README.exists() and (text := _with_section(lessons)) != README.read_text(encoding="utf-8"):
        partial = README.with_suffix(f".{os.getpid()}.partial")
        partial.write_text(text, encoding="utf-8", newline="\n")
        os.replace(partial, README)


def _with_section(lessons):
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + section(lessons) + after if rest else text
