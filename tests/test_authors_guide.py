"""The author's guide, followed to the letter in a copy of the repository."""

import re
import shutil
from pathlib import Path

from course_lib.staff.answers import stub
from tests import prepared_python

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "authors.md").read_text(encoding="utf-8")
FILES = re.findall(r"^`([\w/]+\.(?:py|diff))`\n\n```(?:python|diff)\n(.+?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
PYTHON = [path for path, _ in FILES if path.endswith(".py")]


def test_a_new_lesson_stands_after_following_the_guide(tmp_path):
    """A guide that was right a year ago."""
    for folder in ("course_lib", "tests", "solutions", "lessons"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "my_answers"))
    for name in ("README.md", "requirements.txt"):
        shutil.copy(ROOT / name, tmp_path)
    assert len(FILES) == 6 and len(PYTHON) == 4
    for path, text in FILES:
        assert not (tmp_path / path).exists()
        (tmp_path / path).write_text(text, encoding="utf-8")
    said = [_run(tmp_path, command) for command in re.findall(r"^python3 start\.py python (-m .+)$", GUIDE, re.M)]
    assert "20_hard_attention: executed in" in said[0]
    assert "| `hard_attention` | 2 of 2 | 1 of 1 | 1 of 1 |" in said[1]
    lesson = (tmp_path / "lessons" / "20_hard_attention.ipynb").read_text(encoding="utf-8")
    assert "raise NotImplementedError" in lesson and "argmax" not in lesson
    assert "20 · Hard attention" in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert 'up = ...  # yours' in lesson and "because the best" not in lesson and "every weight moves" not in lesson
    falls = "from course_lib.staff import refuting as r; print([r.falls(e) for e in r.edits() if e.stem[:2] == '20'])"
    assert prepared_python.run(tmp_path, "-c", falls).stdout.strip() == "[True]"
    shown = re.search(r"`python3 start\.py python (-m course_lib\.staff\.mistakes .+?)`", GUIDE)[1]
    assert "the-least-suitable: The input with the smallest" in _run(tmp_path, shown)
    _run(tmp_path, f"-m ruff check --config {ROOT / 'pyproject.toml'} {' '.join(PYTHON)}")


def test_the_blank_that_the_guide_shows_is_what_becomes_of_its_mark():
    """An example of a stub that no build has made."""
    marked, left = re.findall(r"^```text\n(    .+?)^```$", GUIDE, re.MULTILINE | re.DOTALL)
    head = 'def attend(query, inputs):\n    """Asked."""\n'
    assert stub(head + marked) == (head + left).rstrip()


def _run(folder, command):
    done = prepared_python.run(folder, *command.split())
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout
