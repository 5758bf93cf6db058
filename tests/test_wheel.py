"""The course as a package: built as a wheel, installed elsewhere, and opened in a folder of the learner's own."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from course_lib import __main__ as command

ROOT = Path(__file__).resolve().parents[1]


def python(*arguments, cwd, **variables):
    """Run this Python; what it did."""
    return subprocess.run([sys.executable, *map(str, arguments)], cwd=cwd, env=os.environ | variables, text=True,
                          capture_output=True)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder that a freshly built wheel was installed into, far from the course."""
    folder = tmp_path_factory.mktemp("wheel")
    ignored = shutil.ignore_patterns("__pycache__", "my_answers", ".ipynb_checkpoints")
    for name in ("course_lib", "lessons", "solutions", "docs"):
        shutil.copytree(ROOT / name, folder / "course" / name, ignore=ignored)
    for name in ("pyproject.toml", "requirements.txt", "README.md", "LICENSE", "LICENSE-CONTENT.md"):
        shutil.copy(ROOT / name, folder / "course")
    offline = "--no-deps", "--no-index", "--quiet"
    built = python("-m", "pip", "wheel", *offline, "--no-build-isolation", "--wheel-dir", folder, "./course",
                   cwd=folder)
    assert built.returncode == 0, built.stderr
    shutil.rmtree(folder / "course")
    (wheel,) = folder.glob("*.whl")
    target = python("-m", "pip", "install", *offline, "--target", folder / "packages", wheel, cwd=folder)
    assert target.returncode == 0, target.stderr
    return folder / "packages"


def test_a_wheel_brings_the_lessons_and_what_they_link_to(installed, tmp_path):
    """A package that installs, and has no lesson in it; or lessons whose links lead nowhere."""
    done = python("-m", "course_lib", "copy", cwd=tmp_path, PYTHONPATH=str(installed))
    assert done.returncode == 0, done.stderr
    mine = tmp_path / command.NAME
    for pattern in command.CARRIED:
        assert [path.name for path in sorted(mine.glob(pattern))] == [p.name for p in sorted(ROOT.glob(pattern))]
    count = sum(path.is_file() for path in mine.rglob("*"))
    assert count > 32 and f"{mine / 'lessons'}: {count} files copied." in done.stdout


def test_nothing_of_a_learners_is_overwritten(installed, tmp_path):
    """A second call, or a newer package, that puts an empty notebook over a day's work."""
    python("-m", "course_lib", "copy", "mine", cwd=tmp_path, PYTHONPATH=str(installed))
    worked_in, lost = tmp_path / "mine/lessons/04_scaling.ipynb", tmp_path / "mine/lessons/05_query_key_value.ipynb"
    worked_in.write_text("my answers")
    lost.unlink()
    done = python("-m", "course_lib", "copy", "mine", cwd=tmp_path, PYTHONPATH=str(installed))
    assert worked_in.read_text() == "my answers" and lost.exists()
    assert ": 1 file copied; " in done.stdout and "stay as they are" in done.stdout


def test_lab_opens_the_first_lesson_in_that_folder(tmp_path, monkeypatch):
    """JupyterLab opened in the folder the learner stood in, with nothing to see."""
    called = []
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    monkeypatch.setattr(subprocess, "call", lambda *words, **options: called.append((*words, options)) or 0)
    assert command.main(["lab", str(tmp_path / "mine"), "--no-browser"]) == 0
    lab = [sys.executable, "-m", "jupyter", "lab", "lessons/00_big_picture.ipynb"]
    root = f"--ServerApp.root_dir={tmp_path / 'mine'}"
    assert called == [([*lab, root, "--no-browser"], {"cwd": tmp_path / "mine"})]


@pytest.mark.parametrize("kept", ["no JSON", '{"notebook": "02_gone.ipynb"}', '{"notebook": "01_b.ipynb"}'])
def test_lab_opens_the_lesson_that_was_open_last(tmp_path, kept):
    """Who comes back stood before the first lesson again; or a damaged note kept JupyterLab shut."""
    (tmp_path / "my_answers").mkdir()
    for name in ("01_b.ipynb", "00_a.ipynb"):
        (tmp_path / name).touch()
    (tmp_path / "my_answers" / "last.json").write_text(kept)
    assert command.lesson_to_open(tmp_path) == ("01_b.ipynb" if "01" in kept else "00_a.ipynb")


def test_lab_opens_for_root_too(tmp_path, monkeypatch):
    """In a container, where everybody is root, JupyterLab said that it does not recommend that, and ended."""
    called = []
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    monkeypatch.setattr(subprocess, "call", lambda words, cwd: called.extend(words) or 0)
    assert command.main(["lab", str(tmp_path / "mine"), "--no-browser"]) == 0
    assert called[-2:] == ["--allow-root", "--no-browser"]


def test_without_a_command_it_says_which_there_are(capsys):
    """Two lines of usage, none of which says what happens."""
    assert command.main([]) == 0
    assert "course_lib lab [FOLDER]     copy the lessons" in capsys.readouterr().out


def test_what_cannot_be_done_is_one_sentence(tmp_path, monkeypatch, capsys):
    """A traceback for a name that is a file's, a package without lessons, or a Python without JupyterLab."""
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    assert command.main(["lab", "file"]) == 1
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert command.main(["lab", "mine"]) == 1
    monkeypatch.setattr(command, "__file__", str(tmp_path / "nowhere" / "course_lib" / "__main__.py"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(command.site, "getuserbase", lambda: str(tmp_path))
    assert command.main(["lab", "mine"]) == 1
    says = capsys.readouterr().err.splitlines()
    assert len(says) == 3 and "file" in says[0] and "name another folder" in says[0]
    assert "pip install jupyterlab" in says[1] and "install its wheel again" in says[2]


def test_the_name_and_what_travels_are_those_of_the_package():
    """A folder that is in the wheel and is not copied, or the other way round."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["name"] == command.NAME
    files = settings["tool"]["setuptools"]["data-files"]
    assert sorted(name for names in files.values() for name in names) == sorted(command.CARRIED)
    for folder, names in files.items():
        assert all(f"share/{command.NAME}/{name}".rpartition("/")[0] == folder for name in names)
