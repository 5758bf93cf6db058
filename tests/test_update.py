"""A new version comes under a learner's work, and nothing of it is lost."""

import errno
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from course_lib.upkeep import open_notebooks, update

ROOT = Path(__file__).parents[1]
STUB = "def {}(x):\n    raise NotImplementedError"
LIBRARY = "course_lib/attention.py"
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def cell(source, kind="code", name=None):
    """A cell as the build makes one: its id is made of its content, and an exercise has a tag."""
    of_code = {"outputs": [], "execution_count": None} if kind == "code" else {}
    tags = {"tags": ["exercise"]} if source.startswith("def ") else {}
    return {"cell_type": kind, "metadata": tags, "source": source, **of_code,
            "id": name or hashlib.sha256(f"{kind}\n{source}".encode()).hexdigest()[:8]}


def notebook(*sources, note="first"):
    cells = [cell(note, "markdown"), *(s if isinstance(s, dict) else cell(s) for s in sources)]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def git(folder, *command):
    return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *command], cwd=folder, check=True,
                          capture_output=True, text=True).stdout.strip()


ONE = (STUB.format("f"), STUB.format("g"), "f(1)")


@pytest.fixture
def course(tmp_path, monkeypatch):
    """The authors' repository and a learner's clone of it: two notebooks and a little library."""
    monkeypatch.setattr(update, "open_notebooks", lambda root: set())
    authors, learner = tmp_path / "authors", tmp_path / "learner"
    (authors / "lessons").mkdir(parents=True)
    git(tmp_path, "init", "-q", "-b", "main", str(authors))
    git(authors, "config", "uploadpack.allowAnySHA1InWant", "true")  # as on GitHub
    shutil.copytree(ROOT / "course_lib" / "upkeep", authors / "course_lib" / "upkeep",
                    ignore=shutil.ignore_patterns("__pycache__"))
    write(authors, {"lessons/01_a.ipynb": notebook(*ONE), "lessons/02_b.ipynb": notebook(STUB.format("h")),
                    LIBRARY: "scale = 1\n", "solutions/01_a.ipynb": notebook("1"), "lessons/old.ipynb": notebook("1"),
                    "course_lib/upkeep/versions.py": f'VERSION = "0.1.0"\nSOURCE = "{authors}"\n'})
    for name in (".gitignore", ".gitattributes", "start.py"):
        shutil.copy(ROOT / name, authors)
    git(authors, "add", ".")
    git(authors, "commit", "-qm", "one")
    git(tmp_path, "clone", "-q", str(authors), str(learner))
    return authors, learner


def write(folder, files):
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())


def new_version(authors, files):
    write(authors, files)
    git(authors, "add", ".")
    git(authors, "commit", "-qm", "two")


def cells(path):
    return ["".join(c["source"]) for c in json.loads(path.read_text(encoding="utf-8"))["cells"]]


def all_of(folder):
    """Every file that is the learner's to see."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and not {".git", "my_work"} & set(path.relative_to(folder).parts)}


def updated(learner, capsys):
    """What an update says that is done."""
    assert update.main(learner) == 0, capsys.readouterr().err
    assert not (learner / ".update").exists()
    assert git(learner, "status", "--porcelain", "--", "course_lib/upkeep") == ""
    return capsys.readouterr().out


def refused(learner, capsys):
    """The one sentence of an update that is not done; all is as it was, and git's own words are not quoted."""
    before = all_of(learner)
    assert update.main(learner) == 1
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert said.err.startswith("update: ") and said.err.endswith("Everything is as it was.\n")
    assert not any(word in said.err for word in ("fatal", "error:", "hint", "says", "Traceback"))
    assert all_of(learner) == before
    return said.err


# Notebooks


def test_answers_come_into_a_notebook_that_its_authors_have_changed(course, capsys):
    """`git pull` refuses, and a learner who forces it has nothing left."""
    authors, learner = course
    mine = learner / "lessons" / "01_a.ipynb"
    answer = {**cell("def f(x):\n    return x"), "id": cell(STUB.format("f"))["id"]}
    mine.write_text(notebook(answer, STUB.format("g"), "f(1)"))
    new = notebook("import torch", STUB.format("g"), STUB.format("f"), "f(2)", note="second")
    new_version(authors, {"lessons/01_a.ipynb": new})
    said = updated(learner, capsys)
    assert cells(mine) == ["second", "import torch", STUB.format("g"), "def f(x):\n    return x", "f(2)"]
    assert "lessons/01_a.ipynb: the new one has your 1 answer. All of yours is my_work/lessons/01_a.ipynb." in said
    assert cells(learner / "my_work" / "lessons" / "01_a.ipynb")[1] == "def f(x):\n    return x"


def test_answers_move_along_with_an_exercise_to_another_notebook(course, capsys):
    """A lesson that becomes two, and half of the answers gone; a blank stub put over what is answered there."""
    authors, learner = course
    mine = learner / "lessons" / "01_a.ipynb"
    answers = [{**cell(f"def {name}(x):\n    return x"), "id": cell(STUB.format(name))["id"]} for name in "fg"]
    mine.write_text(notebook(*answers, "f(1)"))
    new_version(authors, {"lessons/01_a.ipynb": notebook(STUB.format("f"), note="second"),
                          "lessons/01b_c.ipynb": notebook("import torch", STUB.format("g"), STUB.format("k")),
                          "lessons/02_b.ipynb": notebook(STUB.format("h"), STUB.format("f"), note="second")})
    said = updated(learner, capsys)
    assert cells(mine)[1] == "def f(x):\n    return x", "it stays where it is still asked"
    assert cells(learner / "lessons" / "01b_c.ipynb")[1:] == ["import torch", "def g(x):\n    return x",
                                                              STUB.format("k")]
    assert "lessons/01b_c.ipynb has your answers to g, which have moved there from lessons/01_a.ipynb." in said
    assert cells(learner / "lessons" / "02_b.ipynb")[1:] == [STUB.format("h"), STUB.format("f")] and "02_b" not in said


def test_an_exercise_that_nobody_answered_moves_without_a_word(course, capsys):
    """The old stub over the new one."""
    authors, learner = course
    (learner / "lessons" / "01_a.ipynb").write_text(notebook(STUB.format("f"), STUB.format("g"), "f(3)"))
    stub = "def g(x, y):\n    raise NotImplementedError"
    new_version(authors, {"lessons/01_a.ipynb": notebook(STUB.format("f"), note="second"),
                          "lessons/01b_c.ipynb": notebook(stub)})
    assert "moved" not in updated(learner, capsys) and cells(learner / "lessons" / "01b_c.ipynb")[1] == stub


def test_cells_that_a_learner_added_come_along_where_they_stood(course, capsys):
    """A page of notes and experiments that was only in the old copy, or all of it at the end."""
    authors, learner = course
    mine = learner / "lessons" / "01_a.ipynb"
    top, note = cell("Before all", "markdown", "top"), cell("What is g for?", "markdown", "9d0b7f3e-note")
    tried = {**cell("f(7)", name="5ad-tried"), "outputs": [1]}
    mine.write_text(notebook(top, ONE[0], note, tried, ONE[1], ONE[2], cell("", name="e")))
    new_version(authors, {"lessons/01_a.ipynb": notebook("import torch", *ONE, note="second")})
    said = updated(learner, capsys)
    assert cells(mine) == ["Before all", "second", "import torch", ONE[0], "What is g for?", "f(7)", *ONE[1:]]
    assert json.loads(mine.read_text())["cells"][5]["outputs"] == [1]
    assert "has your 3 cells of your own." in said


def test_what_a_learner_edited_or_deleted_is_told(course, capsys):
    """An experiment with other numbers undone without a word; a cell that is gone and missing in the next run."""
    authors, learner = course
    write(learner, {"lessons/02_b.ipynb": (learner / "lessons" / "02_b.ipynb").read_text()})
    new_version(authors, {"lessons/01_a.ipynb": notebook(*ONE, "a = 1", "b = 1")})
    git(learner, "pull", "-q")
    mine = learner / "lessons" / "01_a.ipynb"
    a, b = ({**cell(f"{name} = 2"), "id": cell(f"{name} = 1")["id"]} for name in "ab")
    mine.write_text(notebook(ONE[0], ONE[2], a, b))
    new_version(authors, {"lessons/01_a.ipynb": notebook(*ONE, "a = 1", "b = 3")})
    said = updated(learner, capsys)
    assert cells(mine) == ["first", *ONE, "a = 2", "b = 3"]
    assert ("has your 1 edited cell; where both of you changed a cell (1), it has the authors'; what you had deleted "
            "is there again (1).") in said


def test_a_notebook_without_ids_is_carried_over_as_well(course, capsys):
    """What comes back from Colab has no ids, and no cell of the course is found in it."""
    authors, learner = course
    mine = learner / "lessons" / "01_a.ipynb"
    edited = json.loads(notebook("def f(x):\n    return x", *ONE[1:], "mine = 3"))
    for made in edited["cells"]:
        del made["id"]
    mine.write_text(json.dumps(edited))
    new_version(authors, {"lessons/01_a.ipynb": notebook(*ONE, "more = 1")})
    updated(learner, capsys)
    assert cells(mine) == ["first", "def f(x):\n    return x", *ONE[1:], "mine = 3", "more = 1"]
    ids = [c["id"] for c in json.loads(mine.read_text())["cells"]]
    assert len(set(ids)) == len(ids)


def test_a_notebook_that_nobody_else_has_changed_stays_as_it_is(course, capsys):
    """An update of lesson 01 takes the work of lesson 02."""
    authors, learner = course
    mine = notebook("def h(x):\n    return 2", "h(1)")
    write(learner, {"lessons/02_b.ipynb": mine})
    new_version(authors, {"lessons/01_a.ipynb": notebook(*ONE, note="second")})
    said = updated(learner, capsys)
    assert (learner / "lessons" / "02_b.ipynb").read_text() == mine
    assert cells(learner / "lessons" / "01_a.ipynb")[0] == "second"
    assert "As you left them: lessons/02_b.ipynb.\n" in said and "This is the newest version now" in said
    assert not (learner / "my_work").exists()
    assert "This is the newest version already" in updated(learner, capsys)


def test_a_notebook_that_is_torn_is_kept_and_named(course, capsys):
    """A traceback of the merge, and the new notebook missing as well."""
    authors, learner = course
    write(learner, {"lessons/01_a.ipynb": "{torn"})
    new_version(authors, {"lessons/01_a.ipynb": notebook(*ONE, note="second")})
    said = updated(learner, capsys)
    assert cells(learner / "lessons" / "01_a.ipynb")[0] == "second"
    assert (learner / "my_work" / "lessons" / "01_a.ipynb").read_text() == "{torn"
    assert "cannot be read as a notebook" in said


def test_a_second_update_replaces_no_copy_of_the_first(course, capsys):
    """The only copy of last month's work is written over."""
    authors, learner = course
    for version in ("one", "two"):
        write(learner, {"lessons/01_a.ipynb": notebook(f"def f(x):\n    return '{version}'")})
        new_version(authors, {"lessons/01_a.ipynb": notebook(STUB.format("f"), note=version)})
        updated(learner, capsys)
    kept = [cells(path)[1] for path in sorted((learner / "my_work" / "lessons").iterdir())]
    assert kept == ["def f(x):\n    return 'two'", "def f(x):\n    return 'one'"]


def test_a_lesson_that_is_no_longer_there_is_kept(course, capsys):
    """Its authors gave it another name, and the work in it went with the old one."""
    authors, learner = course
    write(learner, {"lessons/old.ipynb": notebook("2")})
    git(authors, "rm", "-q", "lessons/old.ipynb")
    git(authors, "commit", "-qm", "two")
    said = updated(learner, capsys)
    assert "lessons/old.ipynb is no longer part of the course: yours is my_work/lessons/old.ipynb." in said
    assert not (learner / "lessons" / "old.ipynb").exists()
    assert cells(learner / "my_work" / "lessons" / "old.ipynb")[1] == "2"


def test_an_open_notebook_is_not_changed_under_its_reader(course, capsys, monkeypatch):
    """JupyterLab asks “overwrite or revert?”, and either answer loses something."""
    authors, learner = course
    new_version(authors, {"lessons/01_a.ipynb": notebook(*ONE, note="second")})
    monkeypatch.setattr(update, "open_notebooks", lambda root: {"lessons/01_a.ipynb", "lessons/02_b.ipynb"})
    assert "update: lessons/01_a.ipynb is open in Jupyter" in refused(learner, capsys)


# Other files


def test_an_edited_file_of_the_library_is_kept_under_another_name(course, capsys):
    """“Your local changes would be overwritten by merge. Aborting.”"""
    authors, learner = course
    write(learner, {LIBRARY: "scale = 2\n", "solutions/01_a.ipynb": notebook("run")})
    new_version(authors, {LIBRARY: "scale = 3\n"})
    said = updated(learner, capsys)
    assert (learner / LIBRARY).read_text() == "scale = 3\n"
    assert (learner / "my_work" / LIBRARY).read_text() == "scale = 2\n"
    assert f"{LIBRARY} has been changed by its authors, too: the new one is in place, and yours is my_work/" in said
    assert "As you left them: solutions/01_a.ipynb." in said and cells(learner / "solutions" / "01_a.ipynb")[1] == "run"


def test_a_file_of_the_learners_where_a_new_one_comes_is_kept(course, capsys):
    """A notebook of one's own is called like the next lesson."""
    authors, learner = course
    write(learner, {"lessons/03_c.ipynb": notebook("mine"), "my_work/lessons/03_c.ipynb": "older", "same.txt": "same"})
    new_version(authors, {"lessons/03_c.ipynb": notebook("new"), "same.txt": "same"})
    assert "yours is my_work/lessons/03_c-2.ipynb" in updated(learner, capsys)
    assert cells(learner / "lessons" / "03_c.ipynb")[1] == "new"
    assert cells(learner / "my_work" / "lessons" / "03_c-2.ipynb")[1] == "mine"
    assert (learner / "my_work" / "lessons" / "03_c.ipynb").read_text() == "older"
    assert not (learner / "my_work" / "same.txt").exists()


def test_a_folder_of_the_learners_where_a_new_file_comes_is_left_alone(course, capsys):
    """A whole folder moved away to make room for a file."""
    authors, learner = course
    write(learner, {"notes/a.txt": "mine"})
    new_version(authors, {"notes": "new", LIBRARY: "scale = 3\n"})
    assert "has a file notes where you have a folder" in refused(learner, capsys)


def test_packages_that_have_changed_are_told(course, capsys):
    """The next start fetches for minutes, and nobody said so."""
    authors, learner = course
    new_version(authors, {"requirements.txt": "torch==9\n"})
    assert "The packages that the course needs have changed, too" in updated(learner, capsys)


@pytest.mark.parametrize("authors_change", [True, False])
def test_windows_line_ends_are_no_edit(course, capsys, authors_change):
    """Each file of the course counted as edited, and was copied; or the new files came with other line ends."""
    authors, learner = course
    git(learner, "config", "core.autocrlf", "true")
    (learner / LIBRARY).unlink()
    git(learner, "checkout", "--", LIBRARY)
    assert (learner / LIBRARY).read_bytes() == b"scale = 1\r\n"
    new_version(authors, {LIBRARY: "scale = 3\n"} if authors_change else {"lessons/01_a.ipynb": notebook(*ONE, "x")})
    said = updated(learner, capsys)
    assert (learner / LIBRARY).read_bytes() == (b"scale = 3\r\n" if authors_change else b"scale = 1\r\n")
    assert said.count("\n") == 1 and not (learner / "my_work").exists()
    assert git(learner, "status", "--porcelain") == ""


# The state of git


def test_committed_notebooks_are_carried_over_and_stay_in_the_history(course, capsys):
    """“Not possible to fast-forward, aborting.”"""
    authors, learner = course
    mine = learner / "lessons" / "01_a.ipynb"
    write(learner, {"lessons/01_a.ipynb": notebook("def f(x):\n    return x", *ONE[1:]), "notes.txt": "mine"})
    git(learner, "add", ".")
    git(learner, "commit", "-qm", "mine")
    own = git(learner, "rev-parse", "HEAD")
    write(learner, {"lessons/02_b.ipynb": notebook("not committed")})
    for word in ("second", "third"):
        new_version(authors, {"lessons/01_a.ipynb": notebook(*ONE, note=word)})
        assert "lessons/01_a.ipynb: the new one has your 1 answer." in updated(learner, capsys)
        assert cells(mine) == [word, "def f(x):\n    return x", *ONE[1:]]
    git(learner, "merge-base", "--is-ancestor", own, "HEAD")
    git(learner, "merge-base", "--is-ancestor", git(authors, "rev-parse", "HEAD"), "HEAD")
    assert git(learner, "status", "--porcelain") == "M lessons/02_b.ipynb"
    assert (learner / "notes.txt").read_text() == "mine" and git(learner, "ls-files", "notes.txt")
    assert git(learner, "symbolic-ref", "--short", "HEAD") == "main"


@pytest.mark.parametrize("state", ["detached", "another branch", "shallow", "branch gone"])
def test_whatever_branch_the_folder_is_on_the_newest_version_comes(course, capsys, tmp_path, state):
    """“You are not currently on a branch. Please specify which branch you want to merge with.”"""
    authors, learner = course
    if state == "detached":
        git(learner, "checkout", "-q", "--detach")
    elif state == "another branch":
        git(learner, "checkout", "-q", "-b", "mine", "--no-track")
    elif state == "shallow":
        learner = tmp_path / "shallow"
        git(tmp_path, "clone", "-q", "--depth=1", f"file://{authors}", str(learner))
    else:
        git(learner, "config", "branch.main.merge", "refs/heads/gone")
    write(learner, {"lessons/01_a.ipynb": notebook("def f(x):\n    return x", *ONE[1:])})
    new_version(authors, {"lessons/01_a.ipynb": notebook(*ONE, note="second")})
    updated(learner, capsys)
    assert cells(learner / "lessons" / "01_a.ipynb")[:2] == ["second", "def f(x):\n    return x"]
    assert git(learner, "rev-parse", "HEAD") == git(authors, "rev-parse", "HEAD")


@pytest.mark.parametrize("name", ["MERGE_HEAD", "rebase-merge", "index.lock"])
def test_what_git_has_under_way_comes_first(course, capsys, name):
    """A conflict that somebody is in the middle of, made worse."""
    authors, learner = course
    new_version(authors, {LIBRARY: "scale = 3\n"})
    (learner / ".git" / name).write_text("")
    assert "in this folder" in refused(learner, capsys)


def test_no_network_and_a_course_that_moved(course, capsys):
    """“Could not read from remote repository”, and the answers are gone."""
    authors, learner = course
    write(learner, {"lessons/01_a.ipynb": notebook("def f(x):\n    return x")})
    authors.rename(authors.with_name("moved"))
    said = refused(learner, capsys)
    assert f"nothing can be fetched from {authors}: check the connection" in said
    assert "git remote set-url origin ADDRESS" in said
    git(learner, "remote", "remove", "origin")
    assert "`git remote add origin " in refused(learner, capsys)


def test_without_git_it_says_what_to_do(course, capsys, monkeypatch):
    """A learner who has never heard of git gets a traceback."""
    _, learner = course
    monkeypatch.setenv("PATH", "")
    assert "git is not installed: install it" in refused(learner, capsys)


# A course out of a ZIP


@pytest.fixture
def unpacked(course, tmp_path):
    """What GitHub packs."""
    authors, _ = course
    folder = tmp_path / "unpacked"
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=authors, capture_output=True, check=True).stdout
    tarfile.open(fileobj=io.BytesIO(packed)).extractall(folder, filter="data")
    return authors, folder


@pytest.mark.parametrize("known_by", ["its stamp", "its version"])
def test_a_course_out_of_a_zip_is_brought_up_to_date(unpacked, capsys, known_by):
    """“fatal: not a git repository”"""
    authors, learner = unpacked
    if known_by == "its version":
        git(authors, "tag", "v0.1.0")
        shutil.copy(ROOT / "course_lib/upkeep/commit.txt", learner / "course_lib/upkeep")
    write(learner, {"lessons/01_a.ipynb": notebook("def f(x):\n    return x", *ONE[1:]), LIBRARY: "scale = 2\n"})
    if known_by == "its stamp":
        assert "newest version already" in updated(learner, capsys)
    new_version(authors, {"lessons/01_a.ipynb": notebook(*ONE, note="second"), "lessons/03_c.ipynb": notebook("3")})
    said = updated(learner, capsys)
    assert f"As you left them: {LIBRARY}.\n" in said
    assert cells(learner / "lessons" / "01_a.ipynb")[:2] == ["second", "def f(x):\n    return x"]
    assert cells(learner / "lessons" / "03_c.ipynb")[1] == "3"
    assert git(learner, "rev-parse", "HEAD") == git(authors, "rev-parse", "HEAD")


def test_a_zip_of_a_version_that_nobody_knows_is_left_alone(unpacked, capsys):
    """Every file of it taken for the learner's."""
    authors, learner = unpacked
    (learner / "course_lib/upkeep/commit.txt").unlink()
    assert "it is not known which version" in refused(learner, capsys)


def test_a_folder_inside_another_repository_is_left_alone(unpacked, capsys, tmp_path):
    """The learner's own repository, pulled or filled with the course."""
    _, learner = unpacked
    git(tmp_path, "init", "-q")
    assert f"this folder lies inside another repository of git ({tmp_path})" in refused(learner, capsys)


def test_a_hand_out_does_not_become_the_whole_course_with_its_solutions(unpacked, capsys):
    """A class that gets all answers by one command."""
    _, learner = unpacked
    write(learner, {"handout.json": "{}"})
    assert "its newer versions come from your instructor" in refused(learner, capsys)


# In the middle of it


def test_a_disk_that_is_full_at_any_step_leaves_everything_as_it_was(course, capsys, monkeypatch):
    """Half of the new version, half of the old one, and a torn notebook."""
    authors, learner = course
    write(learner, {"lessons/01_a.ipynb": notebook("def f(x):\n    return x"), "lessons/03_c.ipynb": "mine"})
    git(authors, "rm", "-q", "lessons/old.ipynb")
    new_version(authors, {"lessons/01_a.ipynb": notebook(*ONE, note="second"), LIBRARY: "scale = 3\n",
                          "lessons/03_c.ipynb": notebook("3"), "more/new.txt": "new"})
    really, head = os.replace, git(learner, "rev-parse", "HEAD")
    for step in range(100):
        left = iter([*[None] * step, OSError(errno.ENOSPC, "No space left on device")])

        def replace(one, other, left=left):
            if error := next(left, None):
                raise error
            really(one, other)

        monkeypatch.setattr(update.os, "replace", replace)
        before = all_of(learner)
        if update.main(learner) == 0:
            break
        monkeypatch.undo()
        monkeypatch.setattr(update, "open_notebooks", lambda root: set())
        assert all_of(learner) == before and git(learner, "rev-parse", "HEAD") == head, step
        assert "is full: make room" in capsys.readouterr().err
    assert step > 8
    assert (learner / "my_work" / "lessons" / "03_c.ipynb").read_text() == "mine"
    assert sorted(p.name for p in (learner / "my_work" / "lessons").iterdir()) == ["01_a.ipynb", "03_c.ipynb"]


def test_an_update_that_was_killed_is_taken_back_by_the_next_one(course, capsys):
    """A notebook that lay nowhere but in a folder of the update's own, which the next one cleared away."""
    authors, learner = course
    mine = notebook("def f(x):\n    return x")
    write(learner, {".update/old/lessons/01_a.ipynb": mine})
    (learner / "lessons" / "01_a.ipynb").unlink()
    new_version(authors, {LIBRARY: "scale = 3\n"})
    updated(learner, capsys)
    assert (learner / "lessons" / "01_a.ipynb").read_text() == mine


def test_it_runs_before_there_is_an_environment(course):
    """A version that cannot be installed any more kept the one that can from coming."""
    authors, learner = course
    new_version(authors, {LIBRARY: "scale = 3\n"})
    done = subprocess.run([sys.executable, "start.py", "update"], cwd=learner, capture_output=True, text=True)
    assert done.returncode == 0 and "newest version now" in done.stdout, done.stderr
    assert (learner / LIBRARY).read_text() == "scale = 3\n" and not (learner / ".venv").exists()


def test_what_is_open_is_asked_of_the_servers_that_run(tmp_path, monkeypatch):
    """A notebook of another folder that is open, or a server that does not answer, stands in the way."""
    from jupyter_server import serverapp

    (tmp_path / "sessions").mkdir()
    answers = tmp_path / "api"
    answers.mkdir()
    (answers / "sessions").write_text(json.dumps([{"path": "course/lessons/01_a.ipynb"}, {"path": "other.ipynb"}]))
    with served(tmp_path) as address:
        servers = [{"url": address, "token": "", "root_dir": str(tmp_path)},
                   {"url": "http://127.0.0.1:9/", "token": "", "root_dir": str(tmp_path)}, {}]
        monkeypatch.setattr(serverapp, "list_running_servers", lambda: servers)
        assert open_notebooks.open_notebooks(tmp_path / "course") == {"lessons/01_a.ipynb"}


def served(folder):
    """A folder served on this machine; gives its address."""
    from contextlib import contextmanager
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    @contextmanager
    def serving():
        server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=folder))
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()

    return serving()
