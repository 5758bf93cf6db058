"""Hints for an exercise, out of the lesson's own notebook: they are written there, and only there."""

import json
import re
from pathlib import Path

LESSONS = Path(__file__).parents[3] / "lessons"
ENOUGH = 2  # words that a step has to share with a cause
COMMON = {word[:5] for word in """what which where when does here that this with from have each than then there their
          into were once only other after before instead should would could many much they these""".split()}


def hints(exercise, cause=""):
    """What to say to somebody who is stuck, one step after the other, none of them the answer.

    exercise: an Exercise
    cause:    the sentences of the mistake that was recognised; the step of the lesson's hints that speaks of the same
              things then comes first, and where none does, the section to read again
    returns:  tuple of str: a question, where to look, the steps; empty where the lesson's notebook cannot be read
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
                                 _section("\n".join(texts[: i + 1])), cause)
    return ()


def _in_steps(folded, section, cause):
    """The first hint of the lesson, the section to look at, and the lesson's other hints; what fits a cause first."""
    where = [f"Look again at the section “{section}”, above the exercise."] if section else []
    if not cause:
        return (*folded[:1], *where, *folded[1:])
    step = _step_about(cause, folded)
    return (*([step] if step else []), *where, *folded)


def _step_about(cause, folded):
    """The sentence or numbered step of the hints that shares most with a cause; nothing where it shares too little."""
    steps = (step.strip() for hint in folded for step in re.split(r"\n+\d+\. |(?<=[.?!])\s+|^\d+\. ", hint))
    words = {step: _words(step) for step in steps if step}

    def shared(step):  # a word that many steps have says little
        return sum(1 / sum(word in others for others in words.values()) for word in words[step] & _words(cause))

    best = max(words, key=shared, default="")
    return best if best and len(words[best] & _words(cause)) >= ENOUGH else ""


def _words(text):
    """What a text speaks of: its longer words without their endings, and its code."""
    return {word[:5].lower() for word in re.findall(r"[^\W\d]{4,}", text)} - COMMON


def _section(text):
    """The last heading of a section before the exercise, without its markup."""
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    return re.sub(r"[*`]", "", headings[-1]) if headings else None
