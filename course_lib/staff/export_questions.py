"""All predictions of the course as a test for a learning platform, before and after it.

    python -m course_lib.staff.export_questions quiz.gift      Moodle
    python -m course_lib.staff.export_questions quiz.zip       Canvas and others: QTI 1.2
    python -m course_lib.staff.export_questions --without      concepts that no question is about
"""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

from course_lib.predictions import concepts
from course_lib.predictions.question import from_entry
from course_lib.staff.questions import FILE

TITLE = "Transformers from Version 0"


def main(arguments=None):
    """Write the file, or list the concepts without a question; the exit status is 0 where that could be done."""
    options = _options(arguments)
    entries = [entry for entry in json.loads(FILE.read_text(encoding="utf-8")) if entry["concept"]]  # not the primer's
    if options.without:
        print(*(f"{row['id']} (lesson {row['lesson']}): {row['concept']}" for row in without(entries)), sep="\n")
        return 0
    write = {".gift": lambda: as_gift(entries).encode(), ".zip": lambda: as_qti(entries)}.get(options.file.suffix)
    if write is None:
        print(f"{options.file} has to end in .gift (Moodle) or .zip (QTI)", file=sys.stderr)
        return 1
    try:
        options.file.write_bytes(write())
    except OSError as error:
        print(f"{options.file} cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        print(f'QTI needs {error.name}: run python3 start.py python -m pip install -e ".[quiz]"', file=sys.stderr)
        return 1
    print(f"{len(entries)} questions in {options.file}")
    return 0


def without(entries):
    """The rows of the map of concepts that no question is about."""
    asked = {entry["concept"] for entry in entries}
    return [row for row in concepts.rows() if row["id"] not in asked]


def as_gift(entries):
    """The questions in Moodle's GIFT format, one category per lesson, with what is said to each answer."""
    parts, lesson = [], None
    for entry in entries:
        if entry["lesson"] != lesson:
            lesson = entry["lesson"]
            parts.append(f"$CATEGORY: {TITLE}/Lesson {lesson}")
        parts.append(_gift(from_entry(entry)))
    return "\n\n".join(parts) + "\n"


def _gift(of):
    name = f"::{_escaped(of.concept + ' ' + of.text[:40])}::{_escaped(of.text)} "
    answers = []
    for answer, says in of.answers.items():
        sign, feedback = "=" if answer == of.right else "~", f"#{_escaped(says)}"
        if of.wants_a_number:
            sign = "=" if answer == of.right else "=%0%"
            answers.append(f"{sign}{answer}:{of.room(answer):g}{feedback}")
        else:
            answers.append(f"{sign}{_escaped(answer)}{feedback}")
    return name + ("{#\n" if of.wants_a_number else "{\n") + "\n".join(answers) + "\n}"


def _escaped(text):
    """Text whose signs mean nothing to GIFT."""
    return re.sub(r"([~=#{}:\\])", r"\\\1", _one_line(text))


def as_qti(entries):
    """The questions as the bytes of a QTI 1.2 package, by text2qti."""
    from text2qti.config import Config
    from text2qti.qti import QTI
    from text2qti.quiz import Quiz

    config = Config()
    config["latex_render_url"] = ""
    text = f"Quiz title: {TITLE}\n\n" + "\n\n".join(
        _for_text2qti(n, from_entry(entry)) for n, entry in enumerate(entries, 1))
    package = QTI(Quiz(text, config=config, source_name=str(FILE)))
    with tempfile.TemporaryDirectory() as folder:
        package.save(path := Path(folder) / "quiz.zip")
        return path.read_bytes()


def _for_text2qti(n, of):
    lines = [f"Title: {of.concept}", f"{n}. {_plain(of.text)}"]
    if of.wants_a_number:
        return "\n".join([*lines, f"= {of.right} +- {of.room(of.right):g}"])
    for letter, (answer, says) in zip("abcdefgh", of.answers.items(), strict=False):
        lines += [f"{'*' if answer == of.right else ''}{letter}) {_plain(answer)}", f"... {_plain(says)}"]
    return "\n".join(lines)


def _plain(text):
    """Text in which Markdown finds nothing to do."""
    return re.sub(r"([*_`$<>\[\]#])", r"\\\1", _one_line(text))


def _one_line(text):
    """Without line breaks and emphasis."""
    return re.sub(r"\*(\w[^*]*)\*", r"\1", " ".join(text.split()))


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.export_questions", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?", default=Path("quiz.gift"))
    parser.add_argument("--without", action="store_true", help="list the concepts that no question is about")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
