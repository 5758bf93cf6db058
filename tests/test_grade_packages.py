"""Packages by the instructor's leave: installed once, written down, and nothing else changes."""

import sqlite3
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from course_lib.staff.grade import book, packages
from tests.test_grade import REWEIGHT, notebook
from tests.test_grade_command import needs_confinement, run


@pytest.fixture
def pip(monkeypatch):
    """What pip was asked, and the constraints it got; it fails where `says` holds a sentence."""
    class Pip(list):
        constraints, says = "", ""

    asked = Pip()

    def called(*arguments):
        asked.append(arguments)
        asked.constraints = Path(arguments[arguments.index("--constraint") + 1]).read_text()
        return subprocess.CompletedProcess(arguments, bool(asked.says), "", asked.says)

    monkeypatch.setattr(packages, "_pip", called)
    return asked


def test_what_is_there_is_not_installed_again(pip):
    """A grading run that asks the network for what lies beside it."""
    assert packages.installed(["tqdm", "numpy"]) == \
        f"numpy {metadata.version('numpy')}, tqdm {metadata.version('tqdm')}" and pip == []


def test_what_is_installed_changes_nothing_that_is_there(pip):
    """A package for students that brings another torch, and other verdicts."""
    packages.installed(["tqdm>=1"])
    assert pip[0][-1] == "tqdm>=1" and f"torch=={metadata.version('torch')}" in pip.constraints.splitlines()


@pytest.mark.parametrize("name", ["--index-url=x", "a b", "git+https://x", "./here", "einops; rm", ""])
def test_what_is_no_name_of_a_package_never_reaches_pip(pip, name):
    with pytest.raises(packages.PackagesError, match="is no name of a package"):
        packages.installed([name])
    assert pip == []


def test_what_cannot_be_had_is_one_sentence(pip):
    pip.says = "WARNING: x\nERROR: Could not find a version\nERROR: No matching distribution found for nosuch\n"
    with pytest.raises(packages.PackagesError) as error:
        packages.installed(["nosuch"])
    assert str(error.value) == "nosuch cannot be installed: No matching distribution found for nosuch."


@needs_confinement
def test_a_report_knows_what_it_was_graded_with(tmp_path, capsys, pip):
    """Regraded a year later without the package, and everybody who used it fails."""
    (tmp_path / "batch").mkdir()
    (tmp_path / "batch" / "ada.ipynb").write_text(notebook("import torch", REWEIGHT))
    report = tmp_path / "report"
    asked = [str(tmp_path / "batch"), "-o", str(report), "--exercises", "reweight"]
    assert run([*asked, "--with", "tqdm"]) == 0
    assert f"with tqdm {metadata.version('tqdm')}" in (report / "pages" / "index.html").read_text()
    assert run(asked) == 0
    with sqlite3.connect(report / book.NAME) as connection:
        connection.execute("UPDATE run SET value = 'tqdm 0.0.1' WHERE key = 'library'")
    capsys.readouterr()
    for again in (asked, ["regrade", "-o", str(report), "--yes"]):
        assert run(again) == 2
        assert "begun with tqdm 0.0.1, which is not installed here: say --with." in capsys.readouterr().err
