"""A new version comes under a learner's work, and nothing of it is lost."""

import json
import subprocess

import pytest

from course_lib.upkeep import update

STUB = "def {}(x):\n    raise NotImplementedError"


def notebook(*cells, note="first"):
    made = [{"cell_type": "markdown", "metadata": {}, "source": note}]
    made += [{"cell_type": "code", "metadata": {"tags": ["exercise"]} if "def " in c else {}, "source": c,
              "outputs": [], "execution_count": None} for c in cells]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def git(folder, *command):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *command], cwd=folder, check=True,
                   capture_output=True)


@pytest.fixture
def course(tmp_path):
    """The authors' repository and a learner's clone of it: two notebooks."""
    authors, learner = tmp_path / "authors", tmp_path / "learner"
    (authors / "lessons").mkdir(parents=True)
    git(tmp_path, "init", "-q", "-b", "main", str(authors))
    (authors / "lessons" / "01_a.ipynb").write_text(notebook(STUB.format("f"), STUB.format("g"), "f(1)"))
    (authors / "lessons" / "02_b.ipynb").write_text(notebook(STUB.format("h")))
    (authors / ".gitignore").write_text("my_work/\n")
    git(authors, "add", ".")
    git(authors, "commit", "-qm", "one")
    git(tmp_path, "clone", "-q", str(authors), str(learner))
    return authors, learner


def new_version(authors, text, name="01_a"):
    (authors / "lessons" / f"{name}.ipynb").write_text(text)
    git(authors, "commit", "-qam", "two")


def cells(path):
    return ["".join(c["source"]) for c in json.loads(path.read_text())["cells"]]


def test_answers_come_into_a_notebook_that_its_authors_have_changed(course, capsys):
    """`git pull` refuses, and a learner who forces it has nothing left."""
    authors, learner = course
    mine = learner / "lessons" / "01_a.ipynb"
    mine.write_text(notebook("def f(x):\n    return x", STUB.format("g"), "f(1)", "my_own = 3"))
    new_version(authors, notebook("import torch", STUB.format("g"), STUB.format("f"), "f(2)", note="second"))
    assert update.main(learner) == 0
    assert cells(mine) == ["second", "import torch", STUB.format("g"), "def f(x):\n    return x", "f(2)"]
    assert "my_own = 3" in cells(learner / "my_work" / "01_a.ipynb")
    assert "01_a.ipynb was changed by its authors: your 1 answer is in the new one" in capsys.readouterr().out


def test_a_notebook_that_nobody_else_has_changed_stays_as_it_is(course, capsys):
    """An update of lesson 01 takes the work of lesson 02."""
    authors, learner = course
    mine = notebook("def h(x):\n    return 2", "h(1)")
    (learner / "lessons" / "02_b.ipynb").write_text(mine)
    new_version(authors, notebook(STUB.format("f"), note="second"))
    assert update.main(learner) == 0
    assert (learner / "lessons" / "02_b.ipynb").read_text() == mine
    assert cells(learner / "lessons" / "01_a.ipynb")[0] == "second"
    assert "02_b.ipynb is as you left it." in capsys.readouterr().out


def test_where_the_new_version_cannot_be_had_everything_is_as_it_was(course, capsys):
    """No network in the middle, and the answers are gone."""
    authors, learner = course
    mine = notebook("def f(x):\n    return x")
    (learner / "lessons" / "01_a.ipynb").write_text(mine)
    authors.rename(authors.with_name("moved"))
    assert update.main(learner) == 1
    assert (learner / "lessons" / "01_a.ipynb").read_text() == mine
    assert "git pull says: " in capsys.readouterr().err


def test_a_notebook_that_is_torn_is_kept_and_named(course, capsys):
    """A traceback of the merge, and the new notebook missing as well."""
    authors, learner = course
    (learner / "lessons" / "01_a.ipynb").write_text("{torn")
    new_version(authors, notebook(STUB.format("f"), note="second"))
    assert update.main(learner) == 0
    assert cells(learner / "lessons" / "01_a.ipynb")[0] == "second"
    assert (learner / "my_work" / "01_a.ipynb").read_text() == "{torn"
    assert "cannot be read as a notebook" in capsys.readouterr().out


def test_a_second_update_replaces_no_copy_of_the_first(course):
    """The only copy of last month's work is written over."""
    authors, learner = course
    for version in ("one", "two"):
        (learner / "lessons" / "01_a.ipynb").write_text(notebook(f"def f(x):\n    return '{version}'"))
        new_version(authors, notebook(STUB.format("f"), note=version))
        assert update.main(learner) == 0
    kept = [cells(path)[1] for path in sorted((learner / "my_work").iterdir())]
    assert kept == ["def f(x):\n    return 'two'", "def f(x):\n    return 'one'"]


def test_without_git_it_says_what_to_do(tmp_path, capsys):
    """A folder out of a zip file."""
    assert update.main(tmp_path) == 1
    assert "update: git rev-parse says: " in capsys.readouterr().err
