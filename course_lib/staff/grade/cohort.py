"""The page of the cohort: which exercise, which misconception, how many, and what a person should look at."""

import json
import re
from collections import Counter, defaultdict
from itertools import groupby

from course_lib.checks import EXERCISES
from course_lib.staff.grade.items import FEW, SAYS_LITTLE, items
from course_lib.staff.grade.markup import (
    MARKS,
    Html,
    called,
    columns,
    field,
    name_of,
    page,
    shown,
    tag,
    together,
    with_code,
)
from course_lib.staff.grade.tables import in_scope, number
from course_lib.staff.grade.weeks import mistakes_by_week

PARTS = {"pass": ("pass",), "fail": ("fail",), "error": ("error", "timeout", "crash"), "missing": ("missing",),
         "unreadable": ("unreadable",)}  # of a bar, from left to right
IN_A_BAR = {"pass": "right", "fail": "wrong", "error": "stopped", "missing": "missing", "unreadable": "unreadable"}
ABOUT = {"started": "graded", "library": "with", "isolation": "isolation", "seed": "seed", "version": "version"}
MOST_WEEKS = 12  # on the page: the last ones
FIRST, MOST_NAMES, MOST_LINES = 5, 25, 200  # of a list on the page; everything stands in results.csv
MEASURED = {"exercise": "Every exercise that was answered", "question": "Every question, by the first guess"}
FIND = """
const plain = text => text.normalize("NFD").replace(/\\p{M}/gu, "").toLowerCase();
const rows = [...document.querySelectorAll(".wide tbody tr")].map(row => [row, plain(row.cells[0].textContent)]);
const name = document.getElementById("name");
name.addEventListener("input", () => {
  const wanted = plain(name.value.trim());
  for (const [row, who] of rows) row.hidden = !who.includes(wanted);
  document.getElementById("found").textContent = `${rows.filter(([row]) => !row.hidden).length} of ${rows.length}`;
});
document.getElementById("find").hidden = false;
"""  # shows the students whose names have what is typed; without scripts there is no field
CELLS = {verdict: Html(f'<td class="{verdict}">{mark}<i>{IN_A_BAR[verdict] if verdict == "fail" else words}</i></td>')
         for verdict, (mark, words) in MARKS.items()}


class Cohort:
    """Collects the rows of one student after the other, and makes the page of them."""

    def __init__(self, connection, students, settings, similar, file_name):
        self._connection, self._students, self._similar = connection, students, similar
        self._exercises, self._roster, self._file_name = in_scope(connection), settings.roster, file_name
        self._measured, self._weeks = items(connection), mistakes_by_week(connection, settings)
        self._verdicts = defaultdict(Counter)  # exercise: verdict: how many
        self._mistakes = defaultdict(lambda: defaultdict(list))  # exercise: mistake: students
        self._pages = set()  # of students
        self._flags = {True: [], False: []}  # of right answers, and of others
        self._lines, self._stopped, self._problems = [], [], []

    def add(self, student, rows, points_by_hand):
        """Count in what one student handed in; returns the sentences about what could not be read."""
        self._pages.add(student)
        for row in rows:
            self._verdicts[row.exercise][row.verdict] += 1
            if row.verdict == "fail":
                self._mistakes[row.exercise][row.mistake].append(student)
            if row.flags:
                self._flags[row.verdict == "pass"].append((student, row.exercise, row.flags))
            if row.verdict in ("timeout", "crash"):
                self._stopped.append((student, row.exercise, f"{MARKS[row.verdict][1]}. {row.reason}"))
        self._lines.append((student, [row.verdict for row in rows], points_by_hand + sum(r.points for r in rows)))
        found = self._connection.execute("SELECT problems FROM submission WHERE student = ?", (student,)).fetchone()
        problems = json.loads(found[0] or "[]")
        self._problems += [(student, problem) for problem in problems]
        return problems

    def page(self):
        """The page as text."""
        run = dict(self._connection.execute("SELECT key, value FROM run"))
        where = {"#exercises": "Exercises", "#items": "How they measure", "#look": "For a person to look at",
                 "#students": "Students"}
        about = [f"{len(self._lines)} students, {len(self._exercises)} exercises", *(
            f"{word} {run[key]}" for key, word in ABOUT.items() if run.get(key))]
        body = [tag("h1", "The cohort"), tag("p", " · ".join(about), class_="soft"), *self._warning(run),
                tag("nav", *(tag("a", text, href=to) for to, text in where.items()), aria_label="On this page"),
                tag("h2", "Exercises", id="exercises"), _legend_of_bars(), *self._bars(),
                tag("h2", "How they measure", id="items"), *self._items(),
                tag("h2", "For a person to look at", id="look"), *self._to_look_at(),
                tag("h2", "Students", id="students"), *self._table()]
        return page("The cohort", *(together([part, Html("\n")]) for part in body), script=FIND)

    def _warning(self, run):
        if "unsandboxed" not in run.get("isolation", ""):
            return []
        return [tag("p", "These answers ran without a sandbox: whoever handed one in could have changed what stands "
                         "here.", class_="notice")]

    def _bars(self):
        for lesson, exercises in groupby(self._exercises, lambda e: EXERCISES[e].lesson if e in EXERCISES else ""):
            yield tag("h3", f"Lesson {lesson}" if lesson else "No lesson")
            for exercise in exercises:
                yield self._bar(exercise)

    def _bar(self, exercise):
        counts, total = self._verdicts[exercise], len(self._lines) or 1
        sums = {part: sum(counts[v] for v in verdicts) for part, verdicts in PARTS.items()}
        words = ", ".join(f"{n} {IN_A_BAR[part]}" for part, n in sums.items() if n)
        at, rects = 0, []
        for part, n in sums.items():
            rects += [tag("rect", class_=part, x=f"{at:.2f}", width=f"{100 * n / total:.2f}", height="8")] * bool(n)
            at += 100 * n / total
        bar = tag("svg", *rects, class_="bar", viewBox="0 0 100 8", preserveAspectRatio="none", role="img",
                  aria_label=f"{exercise}: {words}")
        answered = total - sums["missing"] - sums["unreadable"]
        return tag("section", tag("div", tag("h4", tag("code", exercise)), tag("p", words, class_="soft")),
                   tag("div", bar, self._misconceptions(exercise, answered)), class_="exercise")

    def _misconceptions(self, exercise, answered):
        """Which mistakes were made, the most frequent first, in percent of those who answered."""
        found = sorted(self._mistakes[exercise].items(), key=lambda item: (-len(item[1]), item[0]))
        lines = [tag("li", tag("strong", f"{100 * len(who) / answered:.0f} % {_in_words(mistake)}"),
                     _said_of(exercise, mistake), self._who(who)) for mistake, who in found]
        rest = tag("details", tag("summary", f"{len(lines) - FIRST} other mistakes"), tag("ul", *lines[FIRST:]))
        return together([*[tag("ul", *lines[:FIRST])] * bool(lines), *[rest] * (len(lines) > FIRST)])

    def _items(self):
        """What everybody has right, or nobody, and what the weak have right as often as the strong."""
        yield tag("p", "Right: the share of those who answered. Discrimination: the correlation of being right here "
                       "with the share of the others of its kind that the same student has right. Near 0 or below, "
                       f"look at what it asks. Of fewer than {FEW} students it says nothing.", class_="soft")
        for kind, caption in MEASURED.items():
            lines = [_measure(item) for item in self._measured if item.kind == kind]
            names = ["Lesson", kind.capitalize(), "Answered", "Right", "Discrimination"]
            if lines:
                yield tag("details", tag("summary", f"{len(lines)} {kind}{'s' * (len(lines) > 1)}"),
                          columns(caption, names, lines, "list fold"))
        weeks = sorted(set().union(*self._weeks.values()))
        if len(weeks) > 1:
            lines = [[tag("td", lesson), tag("th", exercise, scope="row"), tag("td", _in_words(mistake)),
                      *(tag("td", counts[week] or "·", class_="number") for week in weeks[-MOST_WEEKS:])]
                     for (lesson, exercise, mistake), counts in sorted(self._weeks.items())]
            names = ["Lesson", "Exercise", "Mistake", *(f"{week:%d %b}" for week in weeks[-MOST_WEEKS:])]
            yield tag("details", tag("summary", "Mistakes over the weeks"), columns(
                "How many handed in each mistake in the week from", names, lines, "list fold"))

    def _who(self, students):
        names = [part for student in students[:MOST_NAMES] for part in (name_of(self._called(student)), ", ")][:-1]
        more = f" and {len(students) - MOST_NAMES} more" if len(students) > MOST_NAMES else ""
        return tag("details", tag("summary", f"{len(students)} student{'s' * (len(students) > 1)}"),
                   tag("p", *names, more))

    def _to_look_at(self):
        absent = [student for student in self._students if student not in self._pages]
        unlisted = [s for s, about in self._students.items() if self._roster and about is None]
        what = "What may be somebody else's work, by a built-in or the course's own code; a flag costs no points"
        yield from self._list("Flags of right answers", what, ["Student", "Exercise", "Flag"], self._flags[True])
        yield from self._list("Flags of other answers", "The same where the answer got no pass anyway",
                              ["Student", "Exercise", "Flag"], self._flags[False])
        yield from self._list("Near-identical answers", "Answers of two students that are almost the same",
                              ["Student", "Exercise", "The same as"],
                              [(a, exercise, Html(f"{self._link(b)}, {100 * share:.0f} %"))
                               for exercise, a, b, share in sorted(self._similar, key=lambda s: (-s[3], s[:3]))])
        yield from self._list("Took too long or crashed", "Answers that were stopped or stopped the process",
                              ["Student", "Exercise", "What happened"], self._stopped)
        yield from self._list("Could not be read", "Files that were left out, and why", ["Student", "Problem"],
                              self._problems)
        yield from self._list("Handed nothing in", "On the roster, with zero points in grades.csv", ["Student"],
                              [(student,) for student in absent])
        yield from self._list("Not on the roster", "Handed something in, and counted like everybody", ["Student"],
                              [(student,) for student in unlisted])
        if not any((*self._flags.values(), self._similar, self._stopped, self._problems, absent, unlisted)):
            yield tag("p", "Nothing.")

    def _list(self, heading, caption, names, lines):
        """A heading and a table, of which the first column is a student and the last is text; none without lines."""
        if not lines:
            return
        yield tag("h3", f"{heading} ({len(lines)})")
        yield columns(caption, names, [
            [tag("th", self._link(student), scope="row"),
             *(tag("td", text if isinstance(text, Html) else shown(text, 300),
                   class_="said" if i == len(others) else None) for i, text in enumerate(others, 1))]
            for student, *others in lines[:MOST_LINES]], "list fold")
        if len(lines) > MOST_LINES:
            yield tag("p", f"And {len(lines) - MOST_LINES} more, in results.csv.", class_="note")

    def _link(self, student):
        """A student's name, with the page where there is one."""
        if student not in self._pages:
            return name_of(self._called(student))
        return tag("a", name_of(self._called(student)), href=f"students/{self._file_name(student)}")

    def _called(self, student):
        """The name and id of the roster, else what was handed in under."""
        return called(student, self._students.get(student))

    def _table(self):
        yield tag("p", "; ".join(f"{mark} {words}" for mark, words in MARKS.values()) + ".", class_="soft")
        yield tag("p", tag("label", "Students whose name has: ", field(type="search", id="name")), " ",
                  tag("span", id="found", role="status"), id="find", hidden="")
        lessons = [(lesson, list(group)) for lesson, group in groupby(
            self._exercises, lambda e: EXERCISES[e].lesson if e in EXERCISES else "")]
        first = tag("tr", tag("th", "Student", scope="col", rowspan="2"),
                    *(tag("th", lesson, scope="colgroup", colspan=len(group)) for lesson, group in lessons),
                    tag("th", "Right", scope="col", rowspan="2"), tag("th", "Points", scope="col", rowspan="2"))
        second = tag("tr", *(tag("th", tag("div", exercise, class_="up"), scope="col") for exercise in self._exercises))
        lines = (tag("tr", tag("th", self._link(student), scope="row"),
                     *(CELLS.get(v) or tag("td", v) for v in verdicts),
                     tag("td", verdicts.count("pass"), class_="number"), tag("td", number(points), class_="number"))
                 for student, verdicts, points in self._lines)
        groups = [tag("colgroup", span=n) for n in (1, *(len(group) for _, group in lessons), 2)]
        table = tag("table", tag("caption", "Every student and every exercise, by lesson"), *groups,
                    tag("thead", first, second), tag("tbody", *(together([line, Html("\n")]) for line in lines)))
        yield tag("div", table, class_="wide", tabindex="0", role="region", aria_label="Students and exercises")


def _measure(item):
    shows = "—" if item.discrimination is None else f"{item.discrimination:.2f}".replace("-", "−")
    look = item.discrimination is not None and item.discrimination < SAYS_LITTLE
    return [tag("td", item.lesson), tag("th", with_code(item.name), scope="row"),
            tag("td", item.answered, class_="number"), tag("td", f"{100 * item.right:.0f} %", class_="number"),
            tag("td", tag("strong", f"{shows}: look at it") if look else shows, class_="number")]


def _legend_of_bars():
    return tag("p", "A bar is everybody who handed something in. The percentages of a misconception are of those who "
                    "answered the exercise.", class_="soft")


def _in_words(mistake):
    return mistake.replace("-", " ") if mistake else "wrong in a way that has no name"


def _said_of(exercise, mistake):
    """What the check says of a mistake, up to the end of its first sentence."""
    for wrong in EXERCISES[exercise].mistakes if exercise in EXERCISES else ():
        if wrong.name == mistake:
            return with_code(": " + re.split(r"(?<=[.?!])\s", wrong.says)[0])
    return ""
