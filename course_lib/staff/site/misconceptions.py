"""The catalogue of misconceptions: of each mistake its sentences, and the smallest input that shows it."""

import contextlib
import re
import warnings
from dataclasses import replace
from functools import cache
from html import escape

import torch

from course_lib.checks import EXERCISES
from course_lib.checks.engine.asking import ask, undisturbed
from course_lib.checks.engine.comparing import compare
from course_lib.checks.engine.exercise import truth
from course_lib.checks.engine.judging import Verdict, judge
from course_lib.checks.engine.questioning import questions
from course_lib.checks.notebook.card import card_rows
from course_lib.display.markup import as_html, typeset
from course_lib.staff import site
from course_lib.staff.site.facts import counted, facts_of
from course_lib.staff.site.page import REFERENCE, Page

ROWS = "Example", "Expected", "Got", "What failed"  # of a card: what says how an answer was wrong


def pages(lessons):
    """A page with every mistake's name, and a page for each lesson that has exercises."""
    every = [(facts, exercises) for facts in map(facts_of, lessons)
             if (exercises := [e for e in EXERCISES.values() if e.lesson == facts["number"]])]
    return [_contents(every), *(_page(facts, exercises) for facts, exercises in every)]


def _contents(every):
    """Where everything is: by lesson and exercise, the names folded."""
    exercises = [e for _, of_lesson in every for e in of_lesson]
    text = ["# Misconceptions", f"""\
When an answer is wrong, its check names the thought behind it, where it knows one. This is all that the checks know:
{_counted(exercises)} in {len(exercises)} exercises. Each is an edit of a verified answer, and each is tested: its check
refuses it, and calls it by its name. An entry has the words that a learner reads, and the smallest of the check's
questions on which the mistake shows. The edits hold lines of the answers, so they are not shown here; instructors and
authors find them in `course_lib/checks/mistakes`."""]
    for facts, exercises in every:
        page = _name(facts)
        text += [f"## [{facts['number']} · {facts['title']}]({page}.md)", *(_names(page, e) for e in exercises)]
    names = [f"Lesson {facts['number']} <{_name(facts)}>" for facts, _ in every]
    tree = "\n".join(["```{toctree}", ":hidden:", "", *names, "```"])
    made_of = tuple(path for facts, exercises in every for path in _made_of(facts))
    return Page("misconceptions/index.md", "\n\n".join([*text, tree]) + "\n", made_of, REFERENCE)


def _names(page, exercise):
    links = "".join(f'<li><a href="{page}.html#{anchor(exercise, m)}">{_in_words(m)}</a></li>'
                    for m in exercise.mistakes)
    return (f'<details class="names"><summary><code>{exercise.name}</code>: {_counted([exercise])}</summary>\n'
            f'<ul>{links}</ul></details>')


def _page(facts, exercises):
    """All mistakes of a lesson."""
    text = ["---\ntocdepth: 2\n---", f"# Misconceptions of lesson {facts['number']}",
            f"{_counted(exercises)} in the exercises of [{facts['title']}](../{facts['page']}.ipynb). "
            "[About these pages](index.md)"]
    with _quietly():
        for exercise in exercises:
            text += [f"({exercise.name})=\n## `{exercise.name}`",
                     f"<p>Asked: {typeset(exercise.asked).html}</p>"]
            text += [_entry(exercise, mistake) for mistake in exercise.mistakes]
    return Page(f"misconceptions/{_name(facts)}.md", "\n\n".join(text) + "\n", _made_of(facts))


@contextlib.contextmanager
def _quietly():
    """For asking: without torch's warnings of a mistake, and on one thread, since many wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with undisturbed(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch.set_num_threads(threads)


def _entry(exercise, mistake):
    """One mistake, without its edit: that holds lines of the answer."""
    table = "".join(f"<dt>{label}</dt><dd>{getattr(text, 'html', '') or as_html(text)}</dd>\n"
                    for label, text in example(exercise, mistake))
    text = [f"({exercise.name}-{mistake.name})=\n### {_in_words(mistake)}", f"<p>{as_html(mistake.says)}</p>"]
    if mistake.seen:
        words = escape(mistake.seen.partition("://")[2])
        text += [f'<p>Seen in <a href="{escape(mistake.seen)}">{words}</a></p>']
    # A blank line would end the HTML, and let Markdown have the rest
    return "\n\n".join([*text, re.sub(r"\n\s*\n", "\n", f'<div class="shown"><dl>\n{table}</dl></div>')])


def example(exercise, mistake):
    """The rows (label, text) of its card that show a mistake; numbers that stand one below the other are said once."""
    failure = shown(exercise, mistake)
    rows = [row for row in card_rows(Verdict(exercise, "wrong", failure=failure)) if row[0] in ROWS]
    return rows[:-1] if failure.kind == "values" and ", got " in failure.says else rows


@cache
def shown(exercise, mistake):
    """How the smallest call on which a mistake is wrong shows it, a Failure; examples made for it go before others."""
    for call in _from_the_smallest(exercise):
        # Which line of the answer raised an error is not to be read here
        reply = replace(ask(mistake.answer, call), where="")
        if failure := compare(truth(exercise, call), reply, call):
            return failure
    if failure := judge(exercise, mistake.answer).failure:  # of what is drawn at random, frequencies are wrong
        return failure
    raise site.SiteError(f"course_lib/checks/mistakes/{exercise.lesson}.diff: {exercise.name} accepts {mistake.name}")


@cache
def _from_the_smallest(exercise):
    """The questions: examples as they stand, then all others by size, ordinary ones first."""
    def size(call):
        return bool(call.special), sum(a.numel() for a in call.args if isinstance(a, torch.Tensor))

    asked, examples = questions(exercise), len(exercise.examples)
    return (*asked[:examples], *sorted(asked[examples:], key=size))


def anchor(exercise, mistake):
    """Where a mistake stands on its page."""
    return re.sub(r"[^a-z0-9]+", "-", f"{exercise.name}-{mistake.name}".lower())


def _in_words(mistake):
    return mistake.name.replace("-", " ")


def _counted(exercises):
    return counted(sum(len(e.mistakes) for e in exercises), "mistake")


def _name(facts):
    return facts["page"].split("/")[1]


def _made_of(facts):
    number = facts["number"]
    return f"course_lib/checks/mistakes/{number}.diff", f"course_lib/checks/lesson_{number}.py"
