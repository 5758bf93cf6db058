"""Exercises that leave a part of their answer to the learner: stubs, and a made-up lesson from the build to the grades.
"""

import csv
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from course_lib.staff import syllabus
from course_lib.staff.answers import MarkError, stub, without_marks
from course_lib.staff.nbgrader_export import with_regions
from tests import prepared_python
from tests.test_nbgrader import _cleared as cleared

ROOT = Path(__file__).parents[1]
MODULE = '''"""A made-up module."""

import torch


def sharpened(scores, sharpness):
    """Scores that lie farther apart, for a learner to call."""
    return scores * sharpness


def pick(query, inputs, sharpness=1.0):
    """Mix the inputs, those the most that suit a query.

    query:   (D,)
    inputs:  (N, D)
    returns: (D,), the mean of inputs, weighted by the softmax of their dot products with the query, times sharpness
    """
    # One number for each input
    scores = inputs @ query  # (N,)  # blank: how well each input suits the query, ü
    scores = sharpened(scores, sharpness)
    # What is left is a mix
    weights = (scores - scores.max()).exp()  # blank: positive weights ...
    # of which only the ratios count
    weights = weights / weights.sum()  # blank
    return weights @ inputs  # (D,)
'''
STUB = '''    # One number for each input
    # how well each input suits the query, ü
    raise NotImplementedError
    scores = sharpened(scores, sharpness)
    # What is left is a mix
    # positive weights ...
    raise NotImplementedError
    return weights @ inputs  # (D,)'''
CHECK = '''"""Lesson 20, made up."""

import torch

from course_lib import picking
from course_lib.checks.engine.exercise import Exercise


def by_torch(query, inputs, sharpness=1.0):
    return torch.softmax(sharpness * (inputs @ query), 0) @ inputs


def make(generator, N, D):
    return torch.randn(D, generator=generator), torch.randn(N, D, generator=generator), 2.0


EXERCISES = (Exercise(lesson="20", asked="the mix.", verified=picking.pick, oracle=by_torch,
                      examples=((torch.tensor([1.0, 0.0]), torch.tensor([[1.0, 5.0], [3.0, 0.0]])),),
                      sizes=((5, 3), (3, 7), (4, 4), (1, 3), (3, 1), (1, 1)), make=make),)
'''
MISTAKES = '''== pick

not_divided
    The weights were not divided by their sum. What do they add up to?
  - weights = weights / weights.sum()
  + pass
'''
TEXT = '''# %% [markdown]
# # 20 · Picking
#
# *5 minutes*

# %%
import torch
from course_lib import check
from course_lib.picking import sharpened

# %% tags=["exercise"]
from course_lib.picking import pick

# %%
mix = check(pick).verified
mix(torch.ones(2), torch.eye(2))
'''
HALF = STUB.replace("raise NotImplementedError", "scores = inputs @ query", 1)
FULL = HALF.replace("raise NotImplementedError", "weights = torch.softmax(scores, 0)")
WRONG = HALF.replace("raise NotImplementedError", "weights = (scores - scores.max()).exp()")
HEAD = "def pick(query, inputs, sharpness=1.0):\n"
VERDICTS = {"untouched": "missing", "unfilled": "missing", "half": "missing", "full": "pass", "wrong": "fail"}


def definition(body):
    """A function f with a docstring and some lines for its body."""
    return 'def f(x):\n    """Asked."""\n' + "".join(f"    {line}\n" for line in body.splitlines())


def body_of(made):
    return re.sub(r"^    ", "", made.split('"""Asked."""\n')[1], flags=re.M)


# Stubs


@pytest.mark.parametrize(("body", "left"), [
    ("y = x  # blank: a copy\nreturn y", "# a copy\nraise NotImplementedError\nreturn y"),
    ("y = x  # blank: one\nz = y  # blank: two\nreturn z",
     "# one\nraise NotImplementedError\n# two\nraise NotImplementedError\nreturn z"),
    ("y = x  # blank: one\n\n# a remark\ny += 1  # blank\nreturn y", "# one\nraise NotImplementedError\nreturn y"),
    ("y = f(\n    x,\n)  # blank: a call\nreturn y", "# a call\nraise NotImplementedError\nreturn y"),
    ("y = f(  # blank: a call\n    x,\n)\nreturn y", "# a call\nraise NotImplementedError\nreturn y"),
    ("for a in x:  # blank: a sum\n    y += a\nelse:\n    y = 0\nreturn y",
     "# a sum\nraise NotImplementedError\nreturn y"),
    ("for a in x:\n    y = 1\n    y += a  # blank: a sum\nreturn y",
     "for a in x:\n    y = 1\n    # a sum\n    raise NotImplementedError\nreturn y"),
    ("if x:\n    y = 1  # blank: for true\nelif y:\n    y = 2\nelse:\n    y = 3  # blank: for false\nreturn y",
     "if x:\n    # for true\n    raise NotImplementedError\nelif y:\n    y = 2\nelse:\n    # for false\n"
     "    raise NotImplementedError\nreturn y"),
    ("match x:\n    case 1:\n        y = 2  # blank: one\n    case _:\n        y = 3\nreturn y",
     "match x:\n    case 1:\n        # one\n        raise NotImplementedError\n    case _:\n        y = 3\nreturn y"),
    ("def inner(y):\n    return y + 1  # blank: the next\nreturn inner(x)",
     "def inner(y):\n    # the next\n    raise NotImplementedError\nreturn inner(x)"),
    ("s = '# blank: no mark'\nreturn s  # (N,)  # blank: ä\nx",
     "s = '# blank: no mark'\n# ä\nraise NotImplementedError\nx"),
    ("ä = 'ä'; return ä", "raise NotImplementedError"),
])
def test_a_stub_leaves_out_what_is_marked_and_nothing_else(body, left):
    """A marked line that is handed out, or a given one that is not."""
    assert body_of(stub(definition(body))) == left


def test_a_class_may_have_blanks_in_each_method():
    """A constructor that cannot have a blank, or a method that is given because another one has a mark."""
    text = '''class C(Base):
    """Asked."""

    kind = 1

    def __init__(self, x):
        super().__init__()
        self.x = x  # blank: keep x

    @property
    def whole(self):
        return self.x

    def part(self):
        """Given."""
        y = self.x
        return y + 1  # blank: the next
'''
    assert stub(text) == '''class C(Base):
    """Asked."""

    kind = 1

    def __init__(self, x):
        super().__init__()
        # keep x
        raise NotImplementedError

    @property
    def whole(self):
        raise NotImplementedError

    def part(self):
        """Given."""
        y = self.x
        # the next
        raise NotImplementedError'''


def test_a_solution_shows_no_mark_and_keeps_other_comments():
    """A shape lost with the mark behind it, or marks that a learner reads."""
    assert body_of(without_marks(definition("y = x  # (N,)  # blank: a copy\nz = '# blank'  # blank\nreturn y"))) \
        == "y = x  # (N,)\nz = '# blank'\nreturn y"


@pytest.mark.parametrize(("text", "line", "says"), [
    (definition("return x").replace("(x):", "(x):  # blank: f"), 1, "`def f(x):` cannot be left out"),
    (definition("return x").replace('"""\n', '"""  # blank: f\n'), 2, '`"""Asked."""` cannot be left out'),
    (definition("y = x\nreturn y  # blank:"), 4, "a mark is written `# blank: what is left out, in words`"),
    (definition("y = x\nreturn y  # Blank: all"), 4, "a mark is written `# blank: what is left out, in words`"),
    (definition("y = x\nreturn y  # blank the rest"), 4, "a mark is written `# blank: what is left out, in words`"),
    (definition("y = x  # blank\nreturn y"), 3, "there is no blank above that this one could carry on"),
    (definition("y = x  # blank: one\nif x:\n    y = 2  # blank\nreturn y"), 5, "there is no blank above"),
    (definition("# blank: all\nreturn x"), 3, "a mark stands at the end of a line of code, not on a line of its own"),
    (definition("y = f(\n    # (N,)  # blank: x\n    x)\nreturn y"), 4, "not on a line of its own"),
    (definition("if x:\n    y = 1\nelse:  # blank: two\n    y = 2\nreturn y"), 5, "`else:` cannot be left out"),
    (definition("if x:\n    y = 1\nelif y:  # blank: two\n    y = 2\nreturn y"), 5, "`elif y:` cannot be left out"),
    (definition("y = 1; z = 2  # blank: two\nreturn y"), 3, "`y = 1; z = 2` cannot be left out"),
    (definition("def g():  # blank: g\n    pass\nreturn g"), 3, "`def g():` cannot be left out"),
    (definition("for a in x:  # blank: a loop\n    y = a  # blank: a\nreturn y"), 4, "is left out by another one"),
    (definition("y = f(  # blank: one\n    x)  # blank: two\nreturn y"), 4, "is left out by another one already"),
    (definition("y = x  # blank: one\nreturn y  # blank: two"), 3, "nothing of f is left but blanks"),
    (definition("y = 1  # blank: one\ndef g():\n    nonlocal y\nreturn g"), 3, "the rest is no Python: no binding"),
    ('class C:\n    """Asked."""\n    a = 1  # blank: one\n', 3, "`a = 1` cannot be left out"),
])
def test_a_mark_of_which_nothing_can_be_made_is_one_line(text, line, says):
    """A blank that its author believes to be there, or a traceback."""
    with pytest.raises(MarkError) as raised:
        stub(text)
    assert raised.value.line == line and says in str(raised.value) and "\n" not in str(raised.value)


def test_nbgrader_s_regions_leave_the_stub():
    """An assignment that gives other lines than the lesson does."""
    written = MODULE[MODULE.index("def pick") :].rstrip()
    assert cleared(with_regions(written)) == stub(written)
    assert with_regions(written).count("### BEGIN SOLUTION") == 2 and "# blank" not in with_regions(written)


# A made-up lesson


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A copy of the course with one lesson, made up and built, whose exercise leaves a part to the learner."""
    folder = tmp_path_factory.mktemp("course")
    shutil.copytree(ROOT / "course_lib", folder / "course_lib", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("requirements.txt", "LICENSE", "LICENSE-CONTENT.md", "pyproject.toml", "start.py"):
        shutil.copy(ROOT / name, folder)
    for path, text in {"course_lib/picking.py": MODULE, "course_lib/checks/lesson_20.py": CHECK,
                       "course_lib/checks/mistakes/20.diff": MISTAKES, "solutions/20_picking.py": TEXT,
                       "README.md": f"{syllabus.BEGIN}\n{syllabus.END}\n"}.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    assert "20_picking: executed" in run(folder, "-m", "course_lib.staff.build")
    return folder


def run(folder, *command):
    done = prepared_python.run(folder, *command)
    assert done.returncode == 0, done.stderr
    return done.stdout


def cell_of(path):
    """The source of the exercise's cell in a notebook."""
    return next("".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
                if "exercise" in cell["metadata"].get("tags", []))


def test_the_lesson_has_the_stub_and_the_solution_no_mark(course):
    """A lesson with the answer, or a solution with the author's notes."""
    blank, solved = (cell_of(course / folder / "20_picking.ipynb") for folder in ("lessons", "solutions"))
    assert blank.startswith(HEAD) and blank.endswith('"""\n' + STUB)
    assert "weights / weights.sum()" in solved and "# blank" not in solved and "@ query  # (N,)\n" in solved
    assert run(course, "-m", "course_lib.staff.build", "--check") == ""


JUDGE = """
import json, sys
from course_lib import check
from course_lib.checks import EXERCISES
from course_lib.checks.engine.judging import judge
from course_lib.checks.engine.mistakes import run_beside
pick = EXERCISES["pick"]
for body in json.loads(sys.argv[1]):
    verdict = judge(pick, run_beside(pick.verified, sys.argv[2] + body, "answer"))
    print(verdict.status, verdict.mistake, sep="|")
for mistake in pick.mistakes:
    print(judge(pick, mistake.answer).mistake)
"""


def judged(folder):
    return run(folder, "-c", JUDGE, json.dumps([STUB, HALF, FULL, WRONG]), HEAD).splitlines()


def test_an_answer_is_unanswered_until_its_last_blank_is_filled(course):
    """A learner half-way who is told that the answer is wrong; a mistake that the marks make unknown."""
    assert judged(course) == ["unanswered|None", "unanswered|None", "right|None", "wrong|not-divided", "not-divided"]


def test_a_hand_out_leaves_out_what_is_marked_and_judges_as_the_course_does(course, tmp_path):
    """An answer in a hand-out; a given line whose helper was left out; a mistake that is not recognised there."""
    said = run(course, "-m", "course_lib.staff.release", "20", "-o", str(tmp_path / "class"))
    assert "withheld  20 pick" in said
    module = (tmp_path / "class" / "course_lib" / "picking.py").read_text(encoding="utf-8")
    missing = "pick has no stand-in in this hand-out: your own answer to the exercise of lesson 20 is needed first"
    left = STUB.replace("NotImplementedError", f'NotImplementedError(\n        "{missing}")')
    assert left in module and "pick.stands_in = False" in module and "def sharpened" in module
    assert cell_of(tmp_path / "class" / "lessons" / "20_picking.ipynb").endswith(STUB)
    assert judged(tmp_path / "class") == judged(course)


def test_a_stand_in_and_an_answer_that_is_kept_have_no_marks(course):
    """Marks of an exercise that is over, in the hands of a class; a stand-in that is the stub."""
    code = """if True:
        from course_lib.staff.withheld import Fate, cut
        text = open("course_lib/picking.py", encoding="utf-8").read()
        for what in ("kept", "stand-in"):
            left = cut("course_lib.picking", text, [Fate("20", "course_lib.picking", "pick", what, "")])
            assert "# blank" not in left and ("weights.sum()" in left) == (what == "kept")
            names = {}
            exec(left, names)
            import torch
            print(names["pick"](torch.ones(2), torch.eye(2)).tolist())
    """
    assert run(course, "-c", code).splitlines() == ["[0.5, 0.5]"] * 2


@pytest.mark.skipif(os.name == "nt", reason="the grader needs fork")
def test_the_grader_tells_what_is_open_from_what_is_wrong(course, tmp_path):
    """Half an answer that fails where it is missing; a student whose notebook reads the answer."""
    bodies = {"unfilled": STUB + "  # later", "half": HALF, "full": FULL, "wrong": WRONG}
    handed_in = {student: HEAD + body for student, body in bodies.items()}
    handed_in["untouched"] = cell_of(course / "lessons" / "20_picking.ipynb")
    blank = json.loads((course / "lessons" / "20_picking.ipynb").read_text(encoding="utf-8"))
    (tmp_path / "class").mkdir()
    for student, source in handed_in.items():
        for cell in blank["cells"]:
            if "exercise" in cell["metadata"].get("tags", []):
                cell["source"] = source
        (tmp_path / "class" / f"{student}.ipynb").write_text(json.dumps(blank), encoding="utf-8")
    run(course, "-m", "course_lib.staff.grade", str(tmp_path / "class"), "-o", str(tmp_path / "report"),
        "--exercises", "pick")
    with (tmp_path / "report" / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert {student: row["verdict"] for student, row in rows.items()} == VERDICTS
    assert rows["half"]["reason"].startswith("It raises NotImplementedError: it is not finished, or it calls ")
    assert rows["unfilled"]["reason"] == "It is not answered: it raises NotImplementedError."
    assert rows["wrong"]["mistake"] == "not-divided"


def test_what_a_student_s_notebook_can_read_of_the_course_is_the_stub(course, tmp_path):
    """The marked lines, in the folder that the grader runs notebooks in."""
    run(course, "-c", "import sys, pathlib; from course_lib.staff.grade.lane import write_root\n"
                      "write_root(pathlib.Path(sys.argv[1]))", str(tmp_path))
    module = (tmp_path / "course_lib" / "picking.py").read_text(encoding="utf-8")
    assert module.rstrip().endswith(STUB) and "weights.sum()" not in module
