"""The predictions of a lesson: what the build makes of a cell tagged `predict`, and the file of all answers."""

import ast
import json

from course_lib.predictions import concepts
from course_lib.predictions.question import QuestionError, as_entry, question
from course_lib.staff.lesson_text import LATER, PRIMER, ROOT, LessonError

FILE = ROOT / "course_lib" / "predictions" / "questions.json"
LONGEST = 60  # characters of a choice: it stands on a button
LONGER = 1.5  # times as long as any other choice: a right one that gives itself away
TAG = "predict"
FIRST_LINE = "# A question. Without buttons: write guess=… into the call below, and run it."


def of_lesson(lesson):
    """[(cell, Question)] of a lesson, at last those that come back after it.

    raises: LessonError, with the line, for a cell that holds anything but one whole question
    """
    return [(cell, _question(cell, lesson.where(cell))) for cell in (*lesson.cells, *lesson.later)
            if TAG in cell.tags]


def blank(cell, where):
    """The source of the cell in a lesson: the question and its choices, without what is right. JupyterLab folds it, and
    shows its first line."""
    of, call = _question(cell, where), _call(cell.source, where)
    lines = [FIRST_LINE, "predict(", f"    {ast.get_source_segment(cell.source, call.args[0])},"]
    if not of.wants_a_number:
        lines += ["    [", *(f"        {json.dumps(answer, ensure_ascii=False)}," for answer in of.answers), "    ],"]
    lines += [f'    concept="{of.concept}",'] * bool(of.concept)
    return "\n".join([*lines, ")"])


def file_of(lessons):
    """The text of the file that holds all questions of all lessons."""
    entries = [{"lesson": lesson.number} | as_entry(of) for lesson in lessons for _, of in of_lesson(lesson)]
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


def what_is_stale(lessons):
    """A line if the file of answers is behind the lessons."""
    kept = FILE.read_text(encoding="utf-8") if FILE.exists() else ""
    return [] if kept == file_of(lessons) else [
        f"{FILE.relative_to(ROOT).as_posix()} is older than the lessons: run python -m course_lib.staff.build"]


def write(lessons):
    """Bring the file of answers up to date."""
    if what_is_stale(lessons):
        FILE.write_text(file_of(lessons), encoding="utf-8", newline="\n")


def problems(lessons):
    """A line for each lesson with a question that cannot be asked, and for each question that stands twice: a guess is
    kept under its words."""
    seen, lines = {}, []
    for lesson in lessons:
        try:
            found = of_lesson(lesson)
        except LessonError as error:
            lines.append(str(error))
            continue
        for cell, of in found:
            if of.text in seen:
                lines.append(f"{lesson.where(cell)}: this question stands already at {seen[of.text]}")
            seen.setdefault(of.text, lesson.where(cell))
    return lines


def _question(cell, where):
    call = _call(cell.source, where)
    try:
        arguments = [ast.literal_eval(argument) for argument in call.args]
        named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        of = question(*arguments, **named, later=LATER in cell.tags)
    except QuestionError as error:
        raise LessonError(f"{where}: {error}") from None
    except (TypeError, ValueError):
        raise LessonError(f"{where}: predict takes a question, its answers as plain text or numbers, concept= and "
                          "within=") from None
    if of.concept not in {row["id"] for row in concepts.rows()} and not where.startswith(f"solutions/{PRIMER}.py"):
        raise LessonError(f"{where}: {of.concept!r} is no concept of course_lib/concepts.tsv")
    if not of.says_why:
        raise LessonError(f"{where}: the right answer “{of.right}” says (True, a sentence): why it is right")
    for answer in of.answers:
        if isinstance(answer, str) and len(answer) > LONGEST:
            raise LessonError(f"{where}: the choice “{answer}” is longer than {LONGEST} characters")
    if not of.wants_a_number and len(of.right) > LONGER * max(len(a) for a in of.answers if a != of.right):
        raise LessonError(f"{where}: the right answer “{of.right}” is the longest by far, and so gives itself away")
    return of


def _call(source, where):
    """The call of predict, the only statement of the cell."""
    try:
        (statement,) = ast.parse(source).body
        if statement.value.func.id == "predict" and statement.value.args:
            return statement.value
    except (SyntaxError, ValueError, AttributeError):
        pass
    raise LessonError(f"{where}: a cell tagged predict holds one call: predict(\"…\", {{…}}, concept=\"C…\")")
