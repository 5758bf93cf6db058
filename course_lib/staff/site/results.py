"""What the course's models do, as the executed notebooks and the stored results say it."""

import json
import re

from course_lib.experiments.stored import stored
from course_lib.staff import site
from course_lib.staff.lesson_text import ROOT
from course_lib.staff.site import moving

TRANSLATOR, ITS_TEXT = "solutions/11_transformer.ipynb", "solutions/11_transformer.py"
SENTENCE = re.compile(r"^(Jane visite .+) → (.+)$", re.M)
PROVED = re.compile(r"^claim\(\"at least (\d\d) of 100 fresh sentences", re.M)


def results():
    """A translation, what the lesson proves of others, and how many digits are read, as HTML."""
    french, english = _found(SENTENCE, outputs(TRANSLATOR), TRANSLATOR, "what “Jane visite …” becomes")
    share, = _found(PROVED, (ROOT / ITS_TEXT).read_text(encoding="utf-8"), ITS_TEXT,
                    "how many fresh sentences are right")
    digits = [point["right"] for point in stored("13-rivals") if point["model"] == "ViT, moved"]
    return (
        '<div class="results"><label class="moves"><input type="checkbox" checked> pictures move</label>'
        f'<div>{moving.translation(french, english)}'
        f'<p>Your Transformer, trained in <a href="lessons/11_transformer.html">lesson 11</a>, on a sentence that it '
        f'has not seen. Of other fresh sentences at least {share} in 100 come out without a mistake: the lesson '
        'asserts it.</p></div>'
        f'<div>{moving.looking()}<p>Where the heads of a real Vision Transformer look, laid over photos in '
        '<a href="lessons/13b_where_it_looks.html">lesson 13b</a>. Your own, from <a '
        'href="lessons/13_vision_transformer.html">lesson 13</a>, reads digits that it has not seen: '
        f'{100 * min(digits):.1f} % to {100 * max(digits):.1f} % of them in {len(digits)} runs. '
        f'<small>Photo: {moving.credit()}</small></p></div>'
        f'<div>{moving.hands()}<p>Hands of clocks: each position in a sentence has a setting of its own. It is '
        'the encoding that you write in <a href="lessons/09_positions.html">lesson 09</a>.</p></div>'
        '</div>')


def outputs(path):
    """All that an executed notebook has printed."""
    cells = json.loads((ROOT / path).read_text(encoding="utf-8"))["cells"]
    made = [output for cell in cells for output in cell.get("outputs", [])]
    return "\n".join("".join(output.get("text", "")).rstrip("\n") for output in made)


def _found(pattern, text, path, what):
    if found := pattern.search(text):
        return found.groups()
    raise site.SiteError(f"{path}: it does not say {what}, which the first page shows: mend site/results.py")
