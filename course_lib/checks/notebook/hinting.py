"""Hints for an exercise, out of the lesson's own notebook: they are written there, and only there."""

import json
import re
from pathlib import Path

LESSONS = Path(__file__).parents[3] / "lessons"


def hints(exercise):
    """What to say to somebody who is stuck, one step after the other, none of them the answer.

    exercise: an Exercise
    returns:  tuple of str: a question, where to look, the first step, all steps; empty where the lesson's notebook
              cannot be read
    """
    for path in (*Path().glob(f"{exercise.lesson}_*.ipynb"), *LESSONS.glob(f"{exercise.lesson}_*.ipynb")):
        try:
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        except (OSError, ValueError, KeyError, TypeError):
            continue
        for i, text in enumerate(texts):
            if re.search(rf"^### Exercise( \d+)?: `{exercise.name}`", text, re.MULTILINE):
                return _in_steps(re.findall(r"<details><summary>.*?</summary>\n+(.*?)\n+</details>", text, re.DOTALL),
                                 _section("\n".join(texts[: i + 1])))
    return ()


def _in_steps(folded, section):
    """The question, the section that the exercise stands in, the first step, and what else is folded."""
    where = [f"Look again at the section “{section}”, above the exercise."] if section else []
    steps = re.findall(r"^\d+\. (.+(?:\n(?!\d+\. ).+)*)", "".join(folded[-1:]), re.MULTILINE)
    first = [f"The first of {len(steps)} steps: {steps[0]}"] if len(steps) > 2 else []
    return (*folded[:1], *where, *first, *folded[1:])


def _section(text):
    """The last heading of a section before the exercise, without its markup."""
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    return re.sub(r"[*`]", "", headings[-1]) if headings else None
