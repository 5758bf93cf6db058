"""Lessons as assignments of an nbgrader course: answers in marked regions, a hidden test behind each exercise.

A folder `source/LESSON/` holds the notebook and the course_lib that the class gets, so that a released assignment is
whole by itself; before nbgrader grades, it puts its own copy of course_lib over the one that came back.
"""

from course_lib.staff.answers import as_written, blanks, without_marks
from course_lib.staff.notebooks import compose, to_bytes
from course_lib.staff.quick import nbformat

POINTS = 1  # of each exercise; nbgrader's formgrader can weigh them
TEST = '''# For grading: leave this cell as it is.
### BEGIN HIDDEN TESTS
from course_lib import check

_result = check({name}, "{name}")
assert _result.passed, _result.message
### END HIDDEN TESTS'''
CONFIG = '''"""The settings of this nbgrader course: run nbgrader in this folder."""

c = get_config()  # noqa: F821: nbgrader defines it
c.CourseDirectory.course_id = "transformers-from-version-0"
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
c.ExecutePreprocessor.timeout = 300  # seconds for one cell: some train a network
'''


def course_files(lessons, package):
    """The files of an nbgrader course, as {path: bytes}.

    package: course_lib as the class gets it, as {path: bytes}
    """
    files = {"nbgrader_config.py": CONFIG.encode()}
    for lesson in lessons:
        files[f"source/{lesson.stem}/{lesson.stem}.ipynb"] = to_bytes(assignment(lesson))
        files |= {f"source/{lesson.stem}/{path}": data for path, data in package.items()}
    return files


def assignment(lesson):
    """The instructor's notebook of a lesson: what `nbgrader generate_assignment` makes the students' of."""
    notebook, cells = compose(lesson)[0], []
    for cell, written in zip(notebook.cells, lesson.cells, strict=True):
        cells.append(cell)
        if written.answer:
            name = written.answer[1]
            cell.source = with_regions(as_written(*written.answer, lesson.where(written)))
            cell.metadata["nbgrader"] = role(name, solution=True)
            test = nbformat.v4.new_code_cell(TEST.format(name=name), id=f"test-{name}"[:64])
            test.metadata["nbgrader"] = role(f"test-{name}", grade=True, locked=True, points=POINTS)
            cells.append(test)
    notebook.cells = cells
    nbformat.validate(notebook)
    return notebook


def with_regions(definition):
    """A definition with the lines that its stub leaves out between nbgrader's marks."""
    lines = without_marks(definition).splitlines()
    for blank in reversed(blanks(definition)):
        left_out = slice(blank.first - 1, blank.last)
        lines[left_out] = [*blank.hint, f"{blank.indent}### BEGIN SOLUTION", *lines[left_out],
                           f"{blank.indent}### END SOLUTION"]
    return "\n".join(lines)


def role(grade_id, grade=False, solution=False, locked=False, **more):
    """What a cell is to nbgrader, in version 3 of its schema."""
    return {"schema_version": 3, "grade_id": grade_id, "grade": grade, "solution": solution, "locked": locked,
            "task": False, **more}
