"""The predictions of a lesson: what the build makes of a cell tagged `predict`, and the file of all answers."""

import ast
import json

from course_lib.predictions import concepts
from course_lib.predictions.question import QuestionError, as_entry, question
from course_lib.staff.lesson_text import ROOT, LessonError

FILE = ROOT / "course_lib" / "predictions" / "questions.json"
LONGEST = 60  # characters of a choice: it stands on a button
TAG = "predict"


def of_lesson(lesson):
    """[(cell, Question)] of a lesson.

    raises: LessonError, with the line, for a cell that holds anything but one whole question
    """
    return [(cell, _question(cell, lesson.where(cell))) for cell in lesson.cells if TAG in cell.tags]


def blank(cell, where):
    """The source of the cell in a lesson: the question and its choices, without what is right."""
    of, call = _question(cell, where), _call(cell.source, where)
    lines = ["predict(", f"    {ast.get_source_segment(cell.source, call.args[0])},"]
    if not of.wants_a_number:
        lines += ["    [", *(f"        {json.dumps(answer, ensure_ascii=False)}," for answer in of.answers), "    ],"]
    return "\n".join([*lines, f"    concept={of.concept!r},".replace("'", '"'), ")"])


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
    """A line for each question that stands twice: a guess is kept under its words."""
    seen, lines = {}, []
    for lesson in lessons:
        for cell, of in of_lesson(lesson):
            if of.text in seen:
                lines.append(f"{lesson.where(cell)}: this question stands already at {seen[of.text]}")
            seen.setdefault(of.text, lesson.where(cell))
    return lines


def _question(cell, where):
    call = _call(cell.source, where)
    try:
        arguments = [ast.literal_eval(argument) for argument in call.args]
        named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}
        of = question(*arguments, **named)
    except QuestionError as error:
        raise LessonError(f"{where}: {error}") from None
    except (TypeError, ValueError):
        raise LessonError(f"{where}: predict takes a question, its answers as plain text or numbers, concept= and "
                          "within=") from None
    if of.concept not in {row["id"] for row in concepts.rows()}:
        raise LessonError(f"{where}: {of.concept!r} is no concept of course_lib/concepts.tsv")
    for answer in of.answers:
        if isinstance(answer, str) and len(answer) > LONGEST:
            raise LessonError(f"{where}: the choice “{answer}” is longer than {LONGEST} characters")
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
