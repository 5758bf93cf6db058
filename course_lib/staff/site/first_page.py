"""The first page: what the course is, attention to hold, a card to try, what one will have built, and the way there."""

from course_lib.checks import EXERCISES
from course_lib.predictions.question import question
from course_lib.predictions.showing import as_plain
from course_lib.staff import site
from course_lib.staff.site.facts import counted, facts_of
from course_lib.staff.site.instruments import first_of
from course_lib.staff.site.lesson_map import lesson_map
from course_lib.staff.site.machine import machine
from course_lib.staff.site.page import Page
from course_lib.staff.site.preview import NAME, preview
from course_lib.staff.site.results import results
from course_lib.staff.site.trying import trying

GUESS = ("You make the query three times as long. Its direction stays. Whose weight grows?", {
    "tea's alone": (True, "All scores become three times as large, and so does tea's lead. The weights sum to 1: what "
                          "tea wins, the others lose."),
    "tea's and soup's": "Soup's score grows, too. But tea's lead over it grows as well, and the weights sum to 1.",
    "everybody's": "Stone's score is below zero, and falls further. And the weights sum to 1: not all can grow.",
    "nobody's: the direction is the same": "The direction says who is first. The length says by how much."})
SENTENCE = ("Write attention seven times, each version a line or two away from the last, and end with a whole "
            "Transformer that is your own code.")
HELD = "query-among-keys", "solutions/04_scaling.ipynb"  # an instrument, and the notebook that shows it
PAGE = """\
---
hide-toc: true
"og:description": "{sentence} {words}."
---

# Transformers from Version 0

<p class="lead">{sentence}</p>
<p class="for-whom">For you if you can read Python and know what a matrix product is. You guess before you see, and
write the code yourself; each answer is checked at once, and a wrong one is told <em>which</em> thought was behind it.
All of it runs on a laptop.</p>
<div class="begin"><p class="start"><a class="first" href="{first}.html">Start lesson {number}</a>
<a href="README.html">Set it up on your machine</a>
<a href="https://github.com/{repository}">Source on GitHub</a></p>
<ul class="numbers">{numbers}</ul></div>

<div class="hero">
<div>

{instrument}

<p>The query is compared with each key, the scores become weights, and the weights mix the values. You write each of
these steps in lessons 00 to 05.</p>
</div>
<div>

<h2>Guess, and then try it</h2>

{guess}

<h2>A card in ten seconds</h2>

{trying}

<p>Each exercise has such a check. Its cards name {mistakes}: <a href="misconceptions/index.html">the catalogue</a>.</p>
</div>
</div>

## What you will have built

{results}

{machine}

## The path

{map}

Every [claim](claims.md) of the lessons is computed and asserted. Words and symbols are in the
[glossary](docs/glossary.md). Some figures can be [held and moved](instruments.md).
"""


def page(lessons):
    """The page that everybody sees first, with numbers counted from these lessons."""
    facts = [facts_of(lesson) for lesson in lessons]
    words = numbers(facts)
    text = PAGE.format(
        sentence=SENTENCE, words=", ".join(words), repository=site.REPOSITORY,
        first=facts[0]["page"], number=facts[0]["number"],
        numbers="".join(f"<li>{word}</li>" for word in words), mistakes=counted(mistakes(facts), "mistake"),
        instrument=first_of(*HELD), guess=guess(), trying=trying(), results=results(), machine=machine(facts),
        map=lesson_map(facts))
    made_of = (*(path for lesson in lessons for path in lesson.made_of), HELD[1],
               "course_lib/experiments/results/13-rivals.tsv")
    picture = preview([" · ".join(words[:2]), " · ".join(words[2:])])
    return Page("index.md", text, made_of, published=((NAME, picture),))


def guess():
    """A question about the instrument, answered by its own length; as in lessons, it needs no script."""
    return as_plain(question(*GUESS))[0]


def numbers(facts):
    """How much there is, in the fewest words; all of it is counted."""
    hours = round(sum(fact["minutes"] for fact in facts) / 60)
    return (counted(len(facts), "lesson"), counted(hours, "hour"),
            counted(sum(fact["exercises"] for fact in facts), "exercise"),
            f"{mistakes(facts):,} named mistakes", "no GPU")


def mistakes(facts):
    """How many mistakes the checks of these lessons know by name."""
    lessons = {fact["number"] for fact in facts}
    return sum(len(e.mistakes) for e in EXERCISES.values() if e.lesson in lessons)
