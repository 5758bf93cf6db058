"""Opening the course with one click: on Colab a notebook comes by itself, Codespaces and Binder bring all of it."""

import json
import os
import re
import shutil
import subprocess
import sysconfig
import tomllib
import venv
from pathlib import Path

import nbformat
import pytest
from packaging.specifiers import SpecifierSet

import course_lib
from course_lib import check, made_for
from course_lib.staff.first_cell import TAG
from course_lib.staff.lesson_text import LESSONS, ROOT, SOLUTIONS, lesson_stems, number_of
from course_lib.upkeep import versions

NOTEBOOKS = [folder / f"{stem}.ipynb" for folder in (LESSONS, SOLUTIONS) for stem in lesson_stems()]

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}-{number_of(path.stem)}")
def test_every_notebook_begins_with_its_version(path):
    """A badge that opens a notebook without the course, or with another one."""
    first = next(cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code")
    assert first.metadata["tags"] == [TAG] and f'made_for("{course_lib.__version__}")' in first.source
    assert f"{versions.SOURCE}@v{course_lib.__version__}" in first.source


def test_the_version_is_the_same_everywhere():
    """A release whose citation is of the last one, or that nobody has a note of."""
    assert f"version: {versions.VERSION}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {versions.VERSION} " in (ROOT / "CHANGELOG.md").read_text()


def test_every_address_is_the_one_in_versions():
    """A course that moved, and badges that stayed."""
    repository = versions.SOURCE.removeprefix("https://github.com/")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"https://codespaces.new/{repository})" in readme and f"https://mybinder.org/v2/gh/{repository}/" in readme
    colab = f"https://colab.research.google.com/github/{repository}/blob/v{versions.VERSION}/lessons/"
    listed = (ROOT / "docs/concepts.md").read_text(encoding="utf-8")
    assert [stem for stem in lesson_stems() if f"{colab}{stem}.ipynb)" not in listed] == []
    urlpath = re.search(r"urlpath=lab/tree/([\w/.]+)", readme)[1]
    assert (ROOT / urlpath).exists()


def test_codespaces_and_binder_install_what_start_py_installs():
    """A second list of packages, a Python the course does not allow, a script that cannot be run."""
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    assert container["postCreateCommand"].startswith("python3 start.py ")
    assert (ROOT / container["customizations"]["codespaces"]["openFiles"][0]).exists()
    assert "\n-r ../requirements.txt\n" in (ROOT / ".binder/requirements.txt").read_text()
    allowed = SpecifierSet(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"])
    assert (ROOT / ".binder/runtime.txt").read_text().strip().removeprefix("python-") in allowed
    assert container["image"].rpartition(":")[2] in allowed
    script = ROOT / ".binder/postBuild"
    assert "pip install --no-deps -e ." in script.read_text()
    runs = os.name == "nt" or os.access(script, os.X_OK)
    assert runs or not (ROOT / ".git").exists()  # whoever unpacks a ZIP may lose that


@pytest.fixture
def elsewhere(tmp_path):
    """A python that has all packages and not the course, in a folder that is not the course's."""
    venv.create(tmp_path / "venv", with_pip=False)
    place = Path(sysconfig.get_path("purelib", vars={"base": str(tmp_path / "venv")}))
    (place / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    course = tmp_path / "course"
    course.mkdir()
    for name in ("pyproject.toml", "requirements.txt", "README.md", "LICENSE", "LICENSE-CONTENT.md"):
        shutil.copy(ROOT / name, course)
    shutil.copytree(ROOT / "course_lib", course / "course_lib", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def run_cells(elsewhere, course, cells, **more):
    """Run a lesson's code cells in a Python of their own, which installs the course from where is said.

    more: variables of the environment
    """
    cells[0], count = re.subn(r'git\+[^"]+', course, cells[0])
    assert count == 1
    (elsewhere / "run.py").write_text(
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "import importlib.util\n"
        "assert importlib.util.find_spec('course_lib') is None\n"
        "shell = InteractiveShell.instance()\n"
        f"for source in {cells!r}:\n"
        "    if not shell.run_cell(source).success:\n"
        "        raise SystemExit(1)\n"
        "import course_lib\n"
        "print('ran with', course_lib.__version__, 'of', course_lib.__file__)\n")
    python = elsewhere / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    variables = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")} | {"MPLBACKEND": "agg"}
    return subprocess.run([python, "run.py"], cwd=elsewhere, env=variables | more, capture_output=True, text=True)


def code_cells(stem):
    notebook = nbformat.read(LESSONS / f"{stem}.ipynb", as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def test_a_lesson_by_itself_installs_the_course_and_runs_to_its_end(elsewhere):
    """A badge whose notebook ends in ModuleNotFoundError, or a package that leaves a file at home."""
    course = f"--no-index --no-build-isolation {elsewhere / 'course'}"
    done = run_cells(elsewhere, course, code_cells("01_attention_before_networks"))
    assert f"ran with {versions.VERSION} of {elsewhere / 'venv'}" in done.stdout, done.stdout[-2000:] + done.stderr


@needs_git
def test_a_lesson_that_cannot_install_the_course_ends_in_one_sentence(elsewhere):
    """A wall of pip's words, and then ModuleNotFoundError."""
    done = run_cells(elsewhere, f"git+{(elsewhere / 'nowhere').as_uri()}", code_cells("01_attention_before_networks"))
    said = [line for line in (done.stdout + done.stderr).splitlines() if line and not line.startswith("Note: you may")]
    assert done.returncode == 1 and len(said) == 1, said
    assert said[0].startswith("The course could not be installed. Is there a network? %pip install ")


@pytest.mark.skipif(os.name == "nt", reason="there, programs are looked for elsewhere, too")
def test_a_lesson_that_finds_no_git_says_so(elsewhere):
    """FileNotFoundError: 'git', with a traceback, for somebody who has one notebook."""
    (elsewhere / "no_git").mkdir()
    (elsewhere / "no_git" / "sh").symlink_to(shutil.which("sh"))  # IPython runs pip by it, where $SHELL is not set
    done = run_cells(elsewhere, f"git+{(elsewhere / 'nowhere').as_uri()}", code_cells("01_attention_before_networks"),
                     PATH=str(elsewhere / "no_git"))
    said = done.stdout + done.stderr
    assert done.returncode == 1 and "Traceback" not in said
    assert "The course could not be installed. Git is not installed. %pip install " in said


@needs_git
def test_a_version_that_is_not_released_is_told_so(elsewhere):
    """“Is there a network?”, to somebody who has one, of a tag that is not there."""
    repository = elsewhere / "repository"
    subprocess.run(["git", "init", "-q", repository], check=True)
    by_somebody = ["-c", "user.name=a", "-c", "user.email=a@b"]
    empty = ["commit", "-q", "--allow-empty", "-m", "nothing"]
    subprocess.run(["git", "-C", repository, *by_somebody, *empty], check=True)
    done = run_cells(elsewhere, f"git+{repository.as_uri()}@v9.9.9", code_cells("01_attention_before_networks"))
    assert "There is no tag v9.9.9: it is not released. %pip install" in done.stdout + done.stderr


def test_nothing_is_said_where_they_match(capsys):
    """A word in every notebook that nobody needs."""
    made_for(versions.VERSION)
    assert capsys.readouterr().out == "" and versions.mismatch() == ""


def test_another_version_is_told_at_once_and_on_every_card(capsys):
    """An old notebook whose exercise is checked by a newer library's rules."""
    made_for("0.0.9")
    try:
        assert "from version 0.0.9 of the course, and the library is " + versions.VERSION in capsys.readouterr().out
        message = check(lambda x: x, "reweight").message
    finally:
        made_for(versions.VERSION)
    assert "Version" in message and "start.py update" in message
    assert "0.0.9" not in check(lambda x: x, "reweight").message
