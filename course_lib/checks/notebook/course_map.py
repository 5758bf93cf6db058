"""The map of the course: what is solved, what is open, what surprised, and where to go on."""

from dataclasses import dataclass
from html import escape

from course_lib.checks.notebook import solved
from course_lib.checks.notebook.lessons_at_hand import lessons_at_hand
from course_lib.display.live import somebody_is_looking
from course_lib.predictions import guesses
from course_lib.upkeep import remembered

MARKS = {"right": "✓", "wrong": "✗", None: "·"}
LEGEND = "✓ right, ✗ not right yet, · not tried"


@dataclass(frozen=True)
class Lesson:
    """A lesson on the map: its exercises with what is known of each."""

    number: str
    exercises: dict  # name: "right", "wrong" or None
    at_hand: object  # LessonAtHand, or None where its notebook is not there

    @property
    def name(self):
        return self.at_hand.title if self.at_hand else f"Lesson {self.number}"

    @property
    def solved(self):
        return sum(status == "right" for status in self.exercises.values())

    @property
    def minutes_left(self):
        """The minutes of the lesson, by the share of its exercises that is open."""
        return self.at_hand.minutes * (1 - self.solved / len(self.exercises)) if self.at_hand else 0

    def link(self, exercise=None, section=None):
        """Where the lesson is, or a part of it, for somebody who can follow a link; else ""."""
        if not (self.at_hand and somebody_is_looking()):
            return ""
        return self.at_hand.link(self.at_hand.exercises.get(exercise) or self.at_hand.named.get(section))


def lessons(exercises):
    """All lessons that have exercises, in their order. exercises: dict of Exercise by name."""
    known, at_hand, found = solved.read(), lessons_at_hand(), {}
    order = [name for lesson in at_hand.values() for name in lesson.exercises]
    for name in sorted(exercises, key=lambda name: order.index(name) if name in order else len(order)):
        found.setdefault(exercises[name].lesson, {})[name] = known.get(name)
    return [Lesson(number, of_it, at_hand.get(number)) for number, of_it in sorted(found.items())]


def map_of(exercises):
    """The map: (HTML, text)."""
    course, guessed = lessons(exercises), guesses.summary()
    return _as_html(course, guessed), _as_text(course, guessed)


def next_of(course):
    """(lesson, exercise) that comes next: the first that is not solved, in a lesson that is there; at the end None."""
    left = [(lesson, name) for lesson in course for name, status in lesson.exercises.items() if status != "right"]
    return next((pair for pair in left if pair[0].at_hand), (left or [(None, None)])[0])


def counts(course):
    return sum(lesson.solved for lesson in course), sum(len(lesson.exercises) for lesson in course)


def _time_left(course):
    """Whole hours, or minutes where it is less than two; "" where no lesson says how long it takes."""
    minutes = round(sum(lesson.minutes_left for lesson in course))
    if not minutes:
        return ""
    return f"about {minutes} minutes left" if minutes < 120 else f"about {round(minutes / 60)} hours left"


def _kept():
    return f"Remembered in {remembered.FOLDER}/ beside your notebooks; delete it to begin anew."


def _as_text(course, guessed):
    done, of = counts(course)
    head = f"{done} of {of} exercises solved   ({LEGEND})"
    rows = [f"{lesson.number}   {'   '.join(f'{MARKS[how]} {name}' for name, how in lesson.exercises.items())}"
            for lesson in course]
    lesson, name = next_of(course)
    on = f"Next: {name}, in lesson {lesson.number}" if lesson else "All exercises are solved"
    parts = ["\n".join([head, "", *rows]), "; ".join(filter(None, (on, _time_left(course)))) + "."]
    if guessed:
        surprised = [f"  lesson {row['lesson']}: {row['concept']}" for row in guessed.surprising]
        parts.append("\n".join([guessed.says, *([guesses.READ_AGAIN] if surprised else []), *surprised]))
    return "\n\n".join([*parts, _kept()])


def _as_html(course, guessed):
    """Words and marks alone carry the meaning, in the page's own colours; names break where a page is narrow."""
    done, of = counts(course)
    lesson, name = next_of(course)
    on = (f"Next: {linked(lesson.link(name), escape(name))} in {escape(lesson.name)}" if lesson
          else "All exercises are solved")
    rows = "".join(_row(lesson) for lesson in course)
    return (
        '<div style="overflow-wrap:anywhere;line-height:1.5">'
        f'<p style="margin:4px 0"><strong>{done} of {of} exercises solved</strong> '
        f'<progress max="{of}" value="{done}" aria-label="exercises solved" style="max-width:100%"></progress> '
        f"{_time_left(course)}<br>{on}</p>"
        f'<p style="margin:4px 0">{LEGEND}</p>'
        f'<ul style="list-style:none;padding:0;margin:8px 0">{rows}</ul>'
        f"{_surprises(course, guessed) if guessed else ''}"
        f'<p style="margin:4px 0">{_kept()}</p></div>')


def _row(lesson):
    left = f", about {round(lesson.minutes_left)} minutes left" if lesson.minutes_left else ""
    names = "".join(
        f'<li style="display:inline-block;margin-right:14px">{MARKS[how]}&nbsp;'
        f"{linked(lesson.link(name), escape(name))}</li>" for name, how in lesson.exercises.items())
    return (f'<li style="border-left:3px solid;padding:0 0 0 10px;margin:6px 0">'
            f"<strong>{linked(lesson.link(), escape(lesson.name))}</strong>: {lesson.solved} of "
            f'{len(lesson.exercises)} solved{left}<ul style="list-style:none;padding:0;margin:0">{names}</ul></li>')


def _surprises(course, guessed):
    rows = "".join(f"<li>{to_concept(course, row)} (lesson {row['lesson']})</li>" for row in guessed.surprising)
    listed = f'<br>{guesses.READ_AGAIN}</p><ul style="margin:4px 0">{rows}</ul>' if rows else "</p>"
    return f'<p style="margin:4px 0">{guessed.says}{listed}'


def to_concept(course, row):
    """The name of a concept, a row of the map of concepts, as a link to where it is taught, if that is at hand."""
    lesson = next((lesson for lesson in course if lesson.number == row["lesson"]), None)
    return linked(lesson.link(section=row["cell"]) if lesson else "", escape(row["concept"]))


def linked(address, html):
    return f'<a href="{escape(address)}" style="text-decoration:underline">{html}</a>' if address else html
