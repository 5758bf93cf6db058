"""What of all that a student hands in is their own: not the course that came along, nor a test of their answer."""

import inspect
import json

from course_lib import attention
from course_lib.staff.grade.notebook_cells import script_cells
from course_lib.staff.grade.own_code import is_imported, left_blank, pieces
from course_lib.staff.grade.reading import Notebook, Submission
from course_lib.staff.lesson_text import LESSONS, SOLUTIONS

ANSWER = "import torch\ndef reweight(x):\n    return torch.softmax(x @ x.T, -1) @ x"
STUB = 'def {}(x):\n    """Mix."""\n    raise NotImplementedError'


def handed_in(files):
    notebooks = tuple(Notebook(path, tuple(cells), None) for path, cells in files.items())
    return Submission("ada", notebooks, (), "")


def own(files):
    """{path: cells} of what is run as the student's own."""
    submission, found = handed_in(files), {}
    for piece in pieces(submission):
        if piece.is_own:
            found.setdefault(submission.notebooks[piece.notebook].path, []).append(piece.source)
    return found


def cells_of(path):
    return ["".join(c["source"]) for c in json.loads(path.read_text(encoding="utf-8"))["cells"]
            if c["cell_type"] == "code"]


def test_a_course_that_comes_along_is_nobody_s_answer():
    """Whoever zips the whole folder has every exercise right by the course's own code, or wrong by its stubs."""
    course = {"ada/course_lib/attention.py": script_cells(inspect.getsource(attention).encode()),
              "ada/course_lib/layers.py": ["import torch", STUB.format("layer_norm")],
              "ada/solutions/02_x.ipynb": cells_of(next(SOLUTIONS.glob("02_*.ipynb"))),
              "ada/tests/test_grade.py": script_cells((SOLUTIONS.parent / "tests/test_grade.py").read_bytes())}
    lesson = next(LESSONS.glob("02_*.ipynb"))
    files = course | {"ada/lessons/02_x.ipynb": [*cells_of(lesson), ANSWER]}
    assert own(files) == {"ada/lessons/02_x.ipynb": [ANSWER]}
    assert "reweight" in left_blank(handed_in(files))


def test_an_answer_that_is_written_into_the_course_counts():
    """A student fills the stub where it lies, in course_lib, and has handed in nothing."""
    files = {"ada/course_lib/attention.py": ["import torch", ANSWER.split("\n", 1)[1], STUB.format("self_attention")]}
    assert ANSWER.split("\n", 1)[1] in own(files)["ada/course_lib/attention.py"]
    assert set(own({"ada/tests/mine.py": [ANSWER]})) == {"ada/tests/mine.py"}


def test_what_is_imported_from_one_s_own_module_is_no_second_answer():
    """A repository with tests of its own answers is flagged as one with two of them."""
    files = {"answers.py": [ANSWER], "test_answers.py": ["from answers import reweight", "assert reweight"],
             "other.py": ["from answers import reweight\ndef reweight(x):\n    return x"]}
    found = {(p.notebook, p.number): is_imported("reweight", p, {"answers"}) for p in pieces(handed_in(files))}
    assert found == {(0, 1): False, (1, 1): True, (1, 2): False, (2, 1): False}
