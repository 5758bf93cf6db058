"""The page of all claims: what each lesson proves, where and how; and what is said elsewhere, put to the test."""

import re
from html import escape

from course_lib.staff.lesson_text import lesson_stems, read_lesson
from course_lib.staff.site import audit
from course_lib.staff.site.facts import counted
from course_lib.staff.site.page import REFERENCE, Page
from course_lib.staff.syllabus import proved_in

ABOUT = """\
# Claims

What the lessons claim, they compute: each of these {claims} is a condition that could fail. Every build runs it again,
and the weekly sweep runs it with other seeds. Where a lesson states a claim as a sentence, its proof is here, folded;
where it names it in its code, the name is here, in words. A heading leads to the place where the claims are proved."""
HEADING = re.compile(r"^##+ (.+)$", re.M)


def pages(stems=None):
    """One page with the claims of all lessons."""
    stems = stems or lesson_stems()
    text, made_of, number = [], [], 0
    for lesson in map(read_lesson, stems):
        parts, of_lesson = _parts(lesson), 0
        for (title, anchor), found in parts.items():
            of_lesson += sum(len(says) for _, says in found)
            where = f"{lesson.stem}.html{anchor}"
            parts[title, anchor] = "\n\n".join([f'### <a href="lessons/{where}">{escape(title)}</a>',
                                                *(_proof(cell, says) for cell, says in found)])
        if parts:
            number += of_lesson
            made_of.append(f"solutions/{lesson.stem}.py")
            text += [f"## {lesson.title}", *parts.values()]
    text = [ABOUT.format(claims=counted(number, "claim")), *audit.section(stems), *text]
    return [Page("claims.md", "---\ntocdepth: 2\n---\n\n" + "\n\n".join(text) + "\n", tuple(made_of), REFERENCE)]


def _parts(lesson):
    """{(heading, its anchor): [(cell, its claims)]}: which claims are proved below which heading."""
    from docutils.nodes import make_id  # what makes the site's own anchors, and comes with it

    proved = {}
    for cell, says in proved_in(lesson):
        proved.setdefault(cell.line, (cell, []))[1].append(says)
    parts, headings, here = {}, [], (lesson.title, "")
    for cell in lesson.cells:
        if cell.kind == "markdown":
            for heading in HEADING.findall(re.sub(r"```.*?```", "", cell.source, flags=re.S)):
                words = re.sub(r"[*`]", "", heading)
                anchor = make_id(words)
                plain = anchor and "$" not in words and anchor not in headings
                headings.append(anchor)
                here = words, f"#{anchor}" if plain else ""
        elif cell.line in proved:
            parts.setdefault(here, []).append(proved[cell.line])
    return parts


def _proof(cell, sentences):
    """Its sentences, and its code behind a click where they are sentences."""
    listed = "\n".join(f"- ✓ {says if 'claim' in cell.tags else says.replace('_', ' ')}" for says in sentences)
    if "claim" not in cell.tags:
        return listed
    return f"{listed}\n\n<details><summary>The proof</summary>\n\n```python\n{cell.source}\n```\n\n</details>"
