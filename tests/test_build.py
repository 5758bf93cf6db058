"""The build: what is committed is what it writes, and every bad text is one clear line."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.staff import syllabus
from course_lib.versions import VERSION

ROOT = Path(__file__).parents[1]
TEXT = '''# %% [markdown]
# # 04 · A small lesson
#
# *5 minutes*

# %% name="one"
one = 1
print(one)

# %% tags=["exercise"]
from course_lib.attention import dot_product_attention

# %%
import torch
print(dot_product_attention(torch.ones(2), torch.ones(3, 2)))
'''


@pytest.fixture
def course(tmp_path):
    """A copy of the course with one small lesson, not built yet."""
    return copy_of_the_course(tmp_path)


@pytest.fixture(scope="module")
def built_once(tmp_path_factory):
    course = copy_of_the_course(tmp_path_factory.mktemp("built"))
    assert build(course)[0] == 0
    return course


@pytest.fixture
def built(built_once, tmp_path):
    """A copy of the course with one small lesson and its two notebooks."""
    return shutil.copytree(built_once, tmp_path, dirs_exist_ok=True)


def copy_of_the_course(tmp_path):
    shutil.copytree(ROOT / "course_lib", tmp_path / "course_lib", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "solutions").mkdir()
    (tmp_path / "lessons").mkdir()
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    (tmp_path / "README.md").write_text(f"# A course\n\n{syllabus.BEGIN}\n{syllabus.END}\n")
    (tmp_path / "solutions" / "04_small.py").write_text(TEXT)
    header, *rows = (tmp_path / "course_lib" / "concepts.tsv").read_text().splitlines()
    other = [row for row in rows if row.split("\t")[1] != "04"]
    (tmp_path / "course_lib" / "concepts.tsv").write_text("\n".join([header, *other]) + "\n")
    return tmp_path


def build(course, *arguments):
    process = subprocess.run([sys.executable, "-m", "course_lib.staff.build", *arguments], cwd=course, text=True,
                             capture_output=True, env={**os.environ, "PYTHONPATH": str(course)})
    assert "Traceback" not in process.stderr, process.stderr
    return process.returncode, process.stdout, process.stderr.strip()


def notebooks(course):
    return {p.relative_to(course).as_posix(): p.read_bytes() for p in course.glob("*/*.ipynb")}


def rewrite(course, old, new):
    path = course / "solutions" / "04_small.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_what_is_committed_is_what_the_build_writes():
    """A lesson that differs from its text, or outputs of code that has changed."""
    process = subprocess.run([sys.executable, "-m", "course_lib.staff.build", "--check"], cwd=ROOT, text=True,
                             capture_output=True)
    assert process.returncode == 0, process.stderr


def test_a_build_writes_both_notebooks_and_a_second_one_the_same_bytes(course):
    """Random cell ids, timestamps, or a needless second execution."""
    assert build(course)[0] == 0
    first = notebooks(course)
    assert sorted(first) == ["lessons/04_small.ipynb", "solutions/04_small.ipynb"]
    solution = json.loads(first["solutions/04_small.ipynb"])
    lesson = json.loads(first["lessons/04_small.ipynb"])
    assert "weights @ inputs" in "".join(solution["cells"][3]["source"])
    assert "".join(lesson["cells"][3]["source"]).endswith("raise NotImplementedError")
    assert solution["cells"][2]["outputs"][0]["text"] == "1\n"
    code, said, _ = build(course)
    assert code == 0 and "outputs kept" in said and notebooks(course) == first
    assert build(course, "--check") == (0, "", "")
    for path in course.glob("*/*.ipynb"):
        path.unlink()
    build(course)
    assert notebooks(course) == first


def test_prose_is_rebuilt_without_running_anything(built):
    """An hour of training for a comma."""
    before = notebooks(built)
    rewrite(built, "A small lesson", "A little lesson")
    rewrite(built, "print(one)\n", "print(one)\n\n# %% [markdown]\n# More prose.\n")
    code, said, _ = build(built)
    assert code == 0 and "outputs kept" in said and notebooks(built) != before


def test_a_new_version_is_written_into_every_notebook_and_runs_nothing(built):
    """An hour of training for a version number."""
    module = built / "course_lib" / "versions.py"
    module.write_text(module.read_text().replace(f'VERSION = "{VERSION}"', 'VERSION = "99.0"'))
    assert "outputs kept" in build(built)[1]
    assert all(b'made_for(\\"99.0\\")' in notebook for notebook in notebooks(built).values())


def test_changed_code_anywhere_below_a_lesson_is_run_again(built):
    """Outputs that an older course_lib made."""
    module = built / "course_lib" / "attention.py"
    module.write_text(module.read_text().replace("scores = inputs @ query  # (N,)", "scores = inputs @ (1 * query)"))
    code, _, said = build(built, "--check")
    assert code == 1 and said.startswith("solutions/04_small.ipynb is older")
    assert "executed" in build(built)[1]
    assert build(built, "--check")[0] == 0


def test_a_comment_in_course_lib_runs_nothing_again(built):
    """Outputs redone for a comment nobody runs."""
    module = built / "course_lib" / "attention.py"
    module.write_text(module.read_text() + "\n# a remark\n")
    assert build(built, "--check")[0] == 0


def test_a_new_mistake_runs_nothing_again(built):
    """Sixteen lessons executed anew, for a sentence that no solution shows."""
    module = built / "course_lib" / "checks" / "engine" / "judging.py"
    module.write_text(module.read_text() + "\nNEW = 1\n")
    assert build(built, "--check")[0] == 0


@pytest.mark.parametrize(("old", "new", "said"), [
    ("import dot_product_attention", "import no_such_function",
     "solutions/04_small.py:10: course_lib.attention has no function or class named no_such_function"),
    ("course_lib.attention import", "course_lib.nowhere import",
     "solutions/04_small.py:10: there is no module course_lib.nowhere"),
    ("from course_lib.attention import dot_product_attention", "def dot_product_attention(): pass",
     "solutions/04_small.py:10: an exercise cell holds one line: from course_lib.MODULE import NAME"),
    ("import dot_product_attention", "import additive_attention",
     "solutions/04_small.py:10: additive_attention has no check in course_lib/checks/lesson_04.py"),
    ("# %%\nimport torch", '# %% tags=["exercise"]\nfrom course_lib.attention import dot_product_attention\n\n'
     "# %%\nimport torch",
     "solutions/04_small.py:13: the exercise dot_product_attention stands already at solutions/04_small.py:10"),
    ("print(one)", "print(two)",
     "solutions/04_small.py:6: this cell raises NameError: name 'two' is not defined"),
    ("# %% [markdown]\n# # 04 · A small lesson", "# # 04 · A small lesson",
     "solutions/04_small.py:1: text outside a cell: the file must begin with a `# %%` line"),
    ("# # 04", "# 04",
     "solutions/04_small.py:1: the first cell must be markdown with the lesson's title"),
    ("print(one)", "import os\nos._exit(1)",
     "solutions/04_small.py:6: this cell kills the kernel"),
])
def test_a_bad_text_is_one_line_and_nothing_is_overwritten(built, old, new, said):
    """A traceback for an author's slip, or one notebook new and the other old."""
    before = notebooks(built)
    rewrite(built, old, new)
    assert build(built)[::2] == (1, said)
    assert notebooks(built) == before
    assert not list(built.glob("*/*.partial"))


@pytest.mark.parametrize("folder", ["lessons", "solutions"])
def test_a_notebook_edited_by_hand_is_named_and_kept(built, folder):
    """An author's edit in the wrong file, silently lost."""
    path = built / folder / "04_small.ipynb"
    path.write_text(path.read_text().replace("A small lesson", "A hand-made lesson"))
    edited = notebooks(built)
    said = (f"{folder}/04_small.ipynb was edited by hand: move the edit to solutions/04_small.py, then "
            "run python -m course_lib.staff.build --overwrite 04")
    assert build(built, "--check")[::2] == (1, said)
    assert build(built)[::2] == (1, said)
    assert notebooks(built) == edited
    assert build(built, "--overwrite", "04")[0] == 0
    assert build(built, "--check")[0] == 0


def test_outputs_edited_by_hand_are_noticed(built):
    """A result that no run has ever printed."""
    path = built / "solutions" / "04_small.ipynb"
    path.write_text(path.read_text().replace('"1\\n"', '"2\\n"'))
    code, _, said = build(built, "--check")
    assert code == 1 and "edited by hand" in said


def test_what_is_missing_stray_or_unknown_is_one_line(built):
    """A lesson whose text is gone, still handed out."""
    (built / "lessons" / "04_small.ipynb").rename(built / "lessons" / "05_other.ipynb")
    code, _, said = build(built, "--check")
    assert code == 1
    assert said.splitlines() == [
        "lessons/04_small.ipynb is missing or older than its text: run python -m course_lib.staff.build 04",
        "lessons/05_other.ipynb has no text solutions/05_other.py"]
    assert build(built, "99")[::2] == (1, "there is no lesson 99 in solutions/")


def test_a_gap_in_the_map_fails_the_check(built):
    """A concept whose cell was renamed and is taught nowhere now."""
    rows = (built / "course_lib" / "concepts.tsv").read_text()
    (built / "course_lib" / "concepts.tsv").write_text(rows + "C200\t04\tone\tdot_product_attention\tfine\n"
                                                        "C201\t04\ttwo\tno_claim\tnot fine\n")
    code, _, said = build(built, "--check")
    assert code == 1
    assert said.splitlines() == [
        "course_lib/concepts.tsv: C201: solutions/04_small.py has no cell named 'two'",
        "course_lib/concepts.tsv: C201: solutions/04_small.py has no exercise or `assert no_claim`",
        "README.md: its map of lessons is out of date: run python -m course_lib.staff.build"]


def test_a_readme_without_the_map_of_lessons_fails_the_check(built):
    """A README that has lost its syllabus, with a green build."""
    readme = built / "README.md"
    assert "[04 · A small lesson](lessons/04_small.ipynb)" in readme.read_text()
    readme.write_text("# A course\n")
    said = build(built, "--check")[2]
    assert said == "README.md: it has no line <!-- lessons: written by the build --> for the map of lessons"
