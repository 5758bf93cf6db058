"""What an instructor gets as pages: one for each student, and one for the cohort."""

import hashlib
import json
import re
import unicodedata
from functools import cache
from itertools import groupby
from pathlib import Path

from course_lib.checks import EXERCISES
from course_lib.checks.notebook.hinting import hints
from course_lib.staff.grade.cohort import Cohort
from course_lib.staff.grade.failed_cells import FAILED
from course_lib.staff.grade.feedback import write_feedback
from course_lib.staff.grade.markup import (
    Html,
    code,
    columns,
    name_of,
    page,
    shown,
    tag,
    together,
    verdict_in_words,
    with_code,
)
from course_lib.staff.grade.policy import PolicyError, everybody, manual_scores
from course_lib.staff.grade.tables import number, rows, whole_file

OURS = re.compile(r"[a-z0-9-]*-[0-9a-f]{12}\.html|\.[a-z0-9-]*-[0-9a-f]{12}\.html\.\d+")  # the second: left unfinished
MOST_CELLS = 20  # that failed, on a page
TRIED = ("fail", "error", "timeout", "crash")


def write_pages(connection, settings, folder, manual=None, similar=()):
    """Write index.html, the cohort, and students/…html, one for each student who handed something in.

    folder:  every page takes its place when it is finished; pages of students who are gone are removed
    manual:  path of a CSV with scores given by hand, or None
    similar: [(exercise, student, other student, share of what is the same)]
    raises:  PolicyError, for what is wrong with that CSV, or where a file cannot be written
    """
    folder, students = Path(folder), everybody(connection, settings)
    scores, worth = manual_scores(manual, students, settings)
    inside = folder / "students"
    if inside.is_symlink():
        raise PolicyError(f"{inside} is a link to somewhere else: remove it, so that pages are written only in "
                          f"{folder}.")
    cohort = Cohort(connection, students, settings, similar, lambda student: file_name(student, students[student]))
    pages, judged = {}, {}
    for student, group in groupby(rows(connection, settings), lambda row: row.student):
        of_student, given = list(group), scores.get(student, {})
        problems = cohort.add(student, of_student, sum(points for points, _ in given.values()))
        by_hand = {item: (*given.get(item, (None, "")), most) for item, most in worth.items()}
        name, answers = (students[student] or {}).get("name"), _answers(connection, student)
        pages[student] = inside / file_name(student, students[student])
        _write(pages[student], _student_page(student, name, of_student, by_hand, answers, problems))
        judged[student] = of_student, by_hand
    _write(folder / "index.html", cohort.page())
    write_feedback(connection, folder, pages, judged)
    written = {page.name for page in pages.values()}
    for old in inside.iterdir() if inside.is_dir() else ():
        if OURS.fullmatch(old.name) and old.name not in written and not old.is_dir():
            old.unlink()


def file_name(student, about=None):
    """A file name for a student's page: safe everywhere, and its own for every student whoever else there is.

    about: what the roster says, or None; with it the name begins with the last name and the first, and the id
    """
    who = [about["last_name"], about["first_name"] or about["name"], about["id"]] if about else [student]
    plain = unicodedata.normalize("NFKD", " ".join(who)).encode("ascii", "ignore").decode().lower()
    digest = hashlib.sha256(student.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    return f"{re.sub(r'[^a-z0-9]+', '-', plain).strip('-')[:47].strip('-') or 'student'}-{digest}.html"


def _write(path, text):
    with whole_file(path) as file:
        file.write(text)


def _answers(connection, student):
    """{exercise: (code, card)}: what stands in the book besides the row."""
    found = connection.execute("SELECT exercise, code, card FROM verdict WHERE student = ?", (student,))
    return {exercise: (source or "", json.loads(card or "[]")) for exercise, source, card in found}


def _student_page(student, name, rows, by_hand, answers, problems):
    given = sum(points or 0 for points, _, _ in by_hand.values())
    points, most = sum(r.points for r in rows) + given, sum(r.max_points for r in rows) + sum(
        most for _, _, most in by_hand.values())
    right = sum(row.verdict == "pass" for row in rows)
    body = [tag("h1", name_of(name or student, 200)),
            tag("p", *([name_of(student, 200), " · "] if name else []),
                f"{right} of {len(rows)} exercises right · {number(points)} of {number(most)} points", class_="soft"),
            *_problems(problems), tag("h2", "At a glance"), _glance(rows, answers)]
    if by_hand:
        body += [tag("h2", "Scored by hand"), _by_hand(by_hand)]
    body += _failed_cells(answers)
    for lesson, of_lesson in groupby((row for row in rows if row.exercise in answers), lambda row: row.lesson):
        body += [tag("h2", f"Lesson {lesson}"), *(_exercise(row, *answers[row.exercise]) for row in of_lesson)]
    return page(f"{name or student}: exercises", *(together([part, Html("\n")]) for part in body))


def _problems(problems):
    if not problems:
        return []
    lines = tag("ul", *(tag("li", shown(problem, 1000)) for problem in problems))
    return [tag("h2", "What could not be read"), tag("div", lines, class_="notice")]


def _failed_cells(answers):
    """What failed beside the right answers; each cell once."""
    sentences = dict.fromkeys(says for _, card in answers.values() for label, says in card if label == FAILED)
    if not sentences:
        return []
    lines = tag("ul", *(tag("li", shown(says, 1000)) for says in list(sentences)[:MOST_CELLS]),
                *[tag("li", f"And {len(sentences) - MOST_CELLS} more.")] * (len(sentences) > MOST_CELLS))
    return [tag("h2", "Cells that failed"), tag("p", "The right answers below are right all the same.", class_="soft"),
            tag("div", lines, class_="notice")]


def _glance(rows, answers):
    lines = [[tag("th", tag("a", row.exercise, href=f"#{row.exercise}") if row.exercise in answers else row.exercise,
                  scope="row"),
              tag("td", row.lesson), tag("td", verdict_in_words(row.verdict)),
              tag("td", f"{number(row.points)} / {number(row.max_points)}", class_="number"),
              tag("td", "" if row.verdict == "missing" else shown(row.reason, 300), class_="said")] for row in rows]
    return columns("Every exercise, and how the answer to it was judged",
                   ["Exercise", "Lesson", "Verdict", "Points", "Remark"], lines, "list fold")


def _by_hand(by_hand):
    lines = [[tag("th", name_of(item), scope="row"),
              tag("td", "not scored" if points is None else f"{number(points)} / {number(most)}", class_="number"),
              tag("td", shown(comment, 2000), class_="said")] for item, (points, comment, most) in by_hand.items()]
    return columns("What a person has read", ["Item", "Points", "Comment"], lines, "list fold")


def _exercise(row, source, card):
    parts = [tag("h3", tag("code", row.exercise), id=row.exercise), _card(row, card)]
    if source.strip():
        parts += [tag("h4", "The code"), code(source)]
    steps = _hints(row.exercise) if row.verdict in TRIED else ()
    if steps:
        parts += [tag("h4", "Hints"), *steps]
    return tag("section", *parts, aria_labelledby=row.exercise)


def _card(row, card):
    """The card as the learner saw it; where there is none, the verdict and its reason."""
    lines = [(str(label), str(text)) for label, text in card if label and label != FAILED]
    headline = next((str(text) for label, text in card if not label), None)
    if row.verdict not in ("pass", "fail") or headline is None:
        headline, lines = verdict_in_words(row.verdict), lines or [("Why", row.reason)] * bool(row.reason)
    body = tag("table", *(tag("tr", tag("th", label, scope="row"), tag("td", shown(text, 5000)))
                          for label, text in lines))
    return tag("div", tag("strong", headline), *[body] * bool(lines), class_=f"card {row.verdict}")


@cache
def _hints(exercise):
    steps = hints(EXERCISES[exercise]) if exercise in EXERCISES else ()
    return tuple(tag("details", tag("summary", f"Hint {i}"), tag("p", with_code(step)))
                 for i, step in enumerate(steps, 1))
