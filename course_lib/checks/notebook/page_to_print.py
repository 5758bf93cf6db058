"""What somebody knows, as a page to print: concepts with their questions, formulas, and their own code."""

from html import escape
from pathlib import Path

from course_lib.checks.notebook import course_map, solved
from course_lib.display.markup import typeset
from course_lib.predictions import concepts, guesses
from course_lib.predictions.question import of_the_course
from course_lib.predictions.showing import escape as emphasised
from course_lib.upkeep import remembered

HEADING = "<h1>What I know of Transformers</h1>"
NOTHING = "<p>Nothing is solved or predicted yet.</p>"
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>What I know of Transformers</title>
<style>
body {{ max-width: 46rem; margin: 2rem auto; padding: 0 1rem; color: #1f2328; background: #fff;
       font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif }}
h2 {{ margin: 2rem 0 .5rem; border-bottom: 1px solid #8c959f }}
h3 {{ font-size: 1rem; margin: 1rem 0 0 }}
p {{ margin: .25rem 0 }}
pre {{ font-size: .8rem; line-height: 1.4; padding: .5rem; border: 1px solid #d0d7de; white-space: pre-wrap;
      overflow-wrap: anywhere }}
section, pre {{ break-inside: avoid }}
h2, h3 {{ break-after: avoid }}
@media print {{ body {{ margin: 0; max-width: none; font-size: 10.5pt }} }}
</style></head><body>
{heading}
<p>{summary}</p>
{lessons}
</body></html>
"""


def write(exercises, path):
    """Write the page to a file, and say so in a sentence; a file that is something else stays as it is."""
    path = Path(path)
    try:
        if path.exists() and HEADING not in path.read_text(encoding="utf-8", errors="replace"):
            return f"{path} is something else, and stays as it is: give the page another name."
        path.write_text(page(exercises), encoding="utf-8")
    except OSError as error:
        return f"{path} cannot be written ({error.strerror or error}): give the page another name."
    return f"{path}: open it in a browser, and print it from there."


def page(exercises):
    """The page, as HTML that needs nothing beside it. exercises: dict of Exercise by name."""
    course = course_map.lessons(exercises)
    titles = {lesson.number: lesson.name for lesson in course}
    parts = {}
    for number, html in [*_concepts(), *_exercises(exercises, course)]:
        parts.setdefault(number, []).append(html)
    lessons = "\n".join(f"<h2>{escape(titles.get(number, f'Lesson {number}'))}</h2>\n" + "\n".join(parts[number])
                        for number in sorted(parts))
    done, of = course_map.counts(course)
    guessed = guesses.summary()
    says = [f"{done} of {of} exercises solved.", *([f"{guessed.says}."] if guessed else [])]
    return PAGE.format(heading=HEADING, summary=" ".join(says), lessons=lessons or NOTHING)


def _concepts():
    """(lesson, HTML) of each concept that was asked about: its questions, what is so, and what was guessed."""
    known, named, found = guesses.read(), {row["id"]: row["concept"] for row in concepts.rows()}, {}
    for text, (lesson, of) in of_the_course().items():
        if text in known:
            found.setdefault((lesson, named.get(of.concept, "")), []).append(_answered(of, known[text]))
    for (lesson, concept), questions in found.items():
        yield lesson, f"<section><h3>{escape(concept)}</h3>{''.join(questions)}</section>"


def _answered(of, known):
    told = f" {emphasised(of.answers[of.right])}" if of.says_why else ""
    first = "I knew it." if known["right"] else "It surprised me."
    last = "" if known["guess"] == str(of.right) else f" My last guess: <em>{emphasised(known['guess'])}</em>."
    return f"<p>{emphasised(of.text)} <strong>{emphasised(str(of.right))}</strong>.{told} {first}{last}</p>"


def _exercises(exercises, course):
    """(lesson, HTML) of each exercise that is solved: what is right, and the learner's own code."""
    known = solved.read()
    for lesson in course:
        for name in lesson.exercises:
            if known.get(name) == "right":
                asked = f"<p>Asked: {typeset(exercises[name].asked).html}</p>"
                yield lesson.number, f"<section><h3><code>{name}</code></h3>{asked}{_code(name)}</section>"


def _code(name):
    try:
        return f"<pre>{escape((remembered.FOLDER / f'{name}.py').read_text(encoding='utf-8').strip())}</pre>"
    except (OSError, ValueError):
        return ""  # the answer was not kept
