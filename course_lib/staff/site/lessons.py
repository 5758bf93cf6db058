"""Lesson pages: the executed solution, its answers folded, and three ways to begin the lesson."""

import ast
import base64
import json
import re
import struct

from course_lib.staff import site
from course_lib.staff.first_cell import TAG
from course_lib.staff.lesson_text import ROOT, WAYS_ON, lesson_stems, number_of
from course_lib.staff.notebooks import FURTHER, without_magics
from course_lib.staff.site.page import LESSONS, Page
from course_lib.staff.syllabus import colab

FOLDED = {"exercise": ("hide-input", "Answer"), "claim": ("hide-input", "The proof"), "predict": ("remove-input", "")}
PICTURE_CODE = ("hide-input", "The code of this picture")
BEGIN_FURTHER = '<details class="further"><summary>Optional: read on</summary>'
WIDE = 800  # pixels: a wider picture is not squeezed on a phone, it scrolls
PICTURE = re.compile(r'<img src="data:image/(png|svg\+xml);base64,([A-Za-z0-9+/]+=*)"( width="(\d+)")?')


def pages(stems=None):
    """One page for each lesson."""
    return [page(stem) for stem in stems or lesson_stems()]


def page(stem, part=LESSONS):
    """The page of one lesson, or of the primer, with outputs and figures as they are in the repository.

    part: the heading it stands under in the sidebar
    """
    files = f"solutions/{stem}.ipynb", f"lessons/{stem}.ipynb"
    for path in files:
        if not (ROOT / path).exists():
            raise site.SiteError(f"{path} is missing: run python -m course_lib.staff.build {number_of(stem)}")
    notebook = json.loads((ROOT / files[0]).read_text(encoding="utf-8"))
    of_the_page = {TAG, WAYS_ON}  # the site has buttons and a menu of its own
    notebook["cells"] = [c for c in notebook["cells"] if not of_the_page & set(c["metadata"].get("tags", []))]
    for cell in notebook["cells"]:
        for tag in FOLDED.keys() & set(cell["metadata"].get("tags", [])):
            _fold(cell, *FOLDED[tag])
        if cell["cell_type"] == "code" and _only_shows("".join(cell["source"])):
            _fold(cell, *PICTURE_CODE)
        for output in cell.get("outputs", []):
            _mark_wide_pictures(output)
    notebook["cells"] = _folded_sections(notebook["cells"])
    first = notebook["cells"][0]
    first["source"] = re.sub(r"^# .+$", rf"\g<0>\n\n{buttons(stem)}", "".join(first["source"]), count=1, flags=re.M)
    return Page(files[1], json.dumps(notebook), files, part, tuple((path, ROOT / path) for path in files))


def buttons(stem):
    """Where to open a lesson, and what to download."""
    links = {
        "Open in Colab": colab(f"lessons/{stem}.ipynb", site.REPOSITORY),
        "Open in Codespaces": f"https://codespaces.new/{site.REPOSITORY}?quickstart=1",
        "Download the notebook": f"{stem}.ipynb",
        "Download it solved": f"../solutions/{stem}.ipynb",
    }
    made = (f'<a href="{url}"{"" if ":" in url else " download"}>{words}</a>' for words, url in links.items())
    return f'<p class="buttons">{" ".join(made)}</p>'


def _fold(cell, how, prompt):
    """The code of a cell is hidden until somebody asks for it, or for good."""
    cell["metadata"]["tags"] = [*cell["metadata"].get("tags", []), how]
    cell["metadata"]["mystnb"] = {"code_prompt_show": prompt, "code_prompt_hide": prompt}


def _only_shows(source):
    """Does a cell do nothing but show pictures and instruments?"""
    body = ast.parse(without_magics(source)).body
    shown = [ast.unparse(node.value.func) for node in body
             if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)]
    return bool(body) and len(shown) == len(body) and set(shown) <= {"plots.show", "instruments.show"}


def _folded_sections(cells):
    """Optional sections behind a click, each below its heading."""
    made, inside = [], False
    for cell in cells:
        source = "".join(cell["source"]) if cell["cell_type"] == "markdown" else ""
        if inside and source.startswith("## "):
            made.append(_raw("</details>", len(made)))
            inside = False
        if not FURTHER.match(source):
            made.append(cell)
            continue
        heading, _, rest = source.partition("\n")
        made += [cell | {"source": heading}, _raw(BEGIN_FURTHER, len(made))]
        made.append(_raw(rest, len(made)))
        inside = True
    return made


def _raw(text, number):
    return {"cell_type": "markdown", "id": f"of-the-site-{number}", "metadata": {}, "source": text}


def _mark_wide_pictures(output):
    html = "".join(output.get("data", {}).get("text/html", ""))
    if html:
        output["data"]["text/html"] = PICTURE.sub(_marked, html)


def _marked(match):
    return match[0].replace("<img", '<img class="wide"', 1) if _width(*match.groups()) > WIDE else match[0]


def _width(kind, data, _, stated):
    """How many pixels wide a picture is shown: as stated, or as wide as it is."""
    if stated:
        return int(stated)
    if kind == "png":
        return struct.unpack(">I", base64.b64decode(data[:32])[16:20])[0]
    return int(re.search(r'<svg [^>]*?width="(\d+)"', base64.b64decode(data[:400]).decode("ascii", "ignore"))[1])
