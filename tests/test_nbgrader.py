"""nbgrader takes our lessons for its own: it makes the students' version, and grades what comes back."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from course_lib.staff import release
from course_lib.staff.answers import as_written, source_and_stub
from course_lib.staff.lesson_text import lesson_stems, read_lesson
from course_lib.staff.nbgrader_export import assignment, with_regions

LESSON = "04_scaling"
WRONG = {"dot_product_attention": "return torch.softmax(inputs @ query, 0) @ inputs * 2",
         "is_version_2": "return torch.ones(3)"}


@pytest.mark.parametrize("stem", lesson_stems())
def test_the_regions_of_an_assignment_leave_the_stub_of_the_lesson(stem):
    """An answer, or a part of one, outside its region: it would be handed to the students."""
    lesson = read_lesson(stem)
    for cell in lesson.cells:
        if cell.answer:
            assert _cleared(with_regions(as_written(*cell.answer, stem))) == source_and_stub(*cell.answer, stem)[1]


@pytest.mark.parametrize("stem", lesson_stems())
def test_every_exercise_has_one_test_cell_and_every_cell_its_own_id(stem):
    """nbgrader refuses a notebook in which a name stands twice, and grades no exercise without a test."""
    roles = [cell.metadata.nbgrader for cell in assignment(read_lesson(stem)).cells if "nbgrader" in cell.metadata]
    assert len({role.grade_id for role in roles}) == len(roles)
    assert [role.grade_id for role in roles if role.solution] == read_lesson(stem).exercises
    assert [role.grade_id for role in roles if role.grade] == [f"test-{name}" for name in read_lesson(stem).exercises]


def _cleared(source):
    """What nbgrader makes of a cell: every region becomes the stub."""
    lines, inside = [], False
    for line in source.splitlines():
        if line.strip() == "### BEGIN SOLUTION":
            lines.append(line.replace("### BEGIN SOLUTION", "raise NotImplementedError"))
        inside = (inside or line.strip() == "### BEGIN SOLUTION") and line.strip() != "### END SOLUTION"
        if not inside and not line.strip().startswith("### "):
            lines.append(line)
    return "\n".join(lines)


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course in which nbgrader has made the students' version of one lesson."""
    pytest.importorskip("nbgrader")
    folder = tmp_path_factory.mktemp("nbgrader") / "course"
    assert release.main([LESSON[:2], "-o", str(folder), "--nbgrader"]) == 0
    _nbgrader(folder, "generate_assignment")
    return folder


def test_the_students_version_has_the_stubs_and_no_test(course):
    """The answers reach the students, or the hidden tests do."""
    cells = _read(course / "release" / LESSON / f"{LESSON}.ipynb").cells
    blanks = [cell.source for cell in cells if cell.metadata.get("nbgrader", {}).get("solution")]
    stubs = [source_and_stub(*cell.answer, LESSON)[1] for cell in read_lesson(LESSON).cells if cell.answer]
    assert blanks == stubs
    assert not any("passed" in cell.source for cell in cells if cell.metadata.get("nbgrader", {}).get("grade"))
    module = (course / "release" / LESSON / "course_lib" / "attention.py").read_text(encoding="utf-8")
    assert "dot_product_attention.stands_in = False" in module


def test_nbgrader_gives_each_exercise_its_point(course):
    """A blank with points, a right answer without, a wrong one that takes others down with it."""
    both = {cell.answer[1]: source_and_stub(*cell.answer, LESSON) for cell in read_lesson(LESSON).cells if cell.answer}
    right = {name: source for name, (source, _) in both.items()}
    wrong = {name: both[name][1].replace("raise NotImplementedError", body) for name, body in WRONG.items()}
    _hand_in(course, "perfect", right)
    _hand_in(course, "blank", {})
    _hand_in(course, "mixed", right | wrong)
    _nbgrader(course, "autograde")
    assert _points(course) == {"perfect": (4, 4), "blank": (0, 4), "mixed": (2, 4)}
    graded = _read(course / "autograded" / "mixed" / LESSON / f"{LESSON}.ipynb")
    shown = [output for cell in graded.cells for output in cell.get("outputs", [])]
    said = [output.evalue for output in shown if output.output_type == "error"]
    assert any("dot_product_attention: not right yet" in words for words in said), said


def _hand_in(course, student, answers):
    """Submit the released notebook with these answers, and without the cells that only show something."""
    folder = course / "submitted" / student / LESSON
    shutil.copytree(course / "release" / LESSON, folder)
    notebook = _read(folder / f"{LESSON}.ipynb")
    installs, set_up = [cell for cell in notebook.cells if cell.cell_type == "code"][:2]
    notebook.cells = [installs, set_up, *(cell for cell in notebook.cells if "nbgrader" in cell.metadata)]
    for cell in notebook.cells[2:]:
        cell.source = answers.get(cell.metadata.nbgrader.grade_id, cell.source)
    nbformat.write(notebook, folder / f"{LESSON}.ipynb")


def _nbgrader(course, command):
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", os.defpath)])  # where alembic lies
    done = subprocess.run([sys.executable, "-m", "nbgrader", command, LESSON], cwd=course, env={**kept, "PATH": path},
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


def _points(course):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course}/gradebook.db") as book:
        return {s.student.id: (s.score, s.max_score) for s in book.assignment_submissions(LESSON)}


def _read(path):
    return nbformat.read(path, as_version=4)
