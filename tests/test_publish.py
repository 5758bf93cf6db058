"""A version is released whole and up to date, or not at all."""

import inspect
import re
import shutil
import subprocess
from datetime import date

import pytest
import yaml

from course_lib.experiments import stored
from course_lib.experiments.tables import ResultsError
from course_lib.staff import publish
from course_lib.staff.lesson_text import ROOT

LOG = "# What is new\n\n## 0.2.0 (2030-01-02)\n\n- A lesson.\n\n## 0.1.0 (2029-01-02)\n\n- The first.\n"
CITED = "title: x\nversion: 0.2.0\ndate-released: 2030-01-02\n"
pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A committed course of version 0.2.0, of which nothing is stale."""
    monkeypatch.setattr(publish.build, "main", lambda arguments: 0)
    (tmp_path / "CHANGELOG.md").write_text(LOG)
    (tmp_path / "CITATION.cff").write_text(CITED)
    git(tmp_path, "init", "-q")
    commit(tmp_path)
    return tmp_path


def git(folder, *command):
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *command], cwd=folder, check=True)


def commit(folder):
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "x", "--allow-empty")


def test_what_is_up_to_date_is_not_refused(course):
    """A command that always finds something; a release that cannot be made a second time."""
    assert publish.stale(course, "0.2.0") == []
    git(course, "tag", "v0.2.0")
    assert publish.stale(course, "0.2.0") == []


@pytest.mark.parametrize("log, cited, says", [
    (LOG.replace("0.2.0 (2030", "0.1.9 (2030"), CITED,
     "CHANGELOG.md begins with 0.1.9: put a section `## 0.2.0 (2030-01-02)` before it"),
    (LOG.replace("- A lesson.\n", ""), CITED, "CHANGELOG.md says nothing of what is new in 0.2.0"),
    (LOG, CITED.replace("0.2.0", "0.1.0"), "CITATION.cff names another version: write the line `version: 0.2.0`"),
    (LOG, CITED.replace("2030", "2029"),
     "CITATION.cff does not name the day: write the line `date-released: 2030-01-02` below its version")])
def test_a_version_without_its_news_its_day_or_its_number_is_refused(course, log, cited, says):
    """A release that is cited as the one before, or of which nobody hears what is new."""
    (course / "CHANGELOG.md").write_text(log)
    (course / "CITATION.cff").write_text(cited)
    commit(course)
    (said,) = publish.stale(course, "0.2.0")
    assert said.startswith(says)


def test_a_version_that_was_not_released_yet_is_told_both_lines_and_their_places(course):
    """A refusal that sends its reader to look for what to write, and where."""
    (course / "CHANGELOG.md").write_text(LOG.replace(" (2030-01-02)", " (not released yet)"))
    (course / "CITATION.cff").write_text(CITED.replace("date-released: 2030-01-02\n", ""))
    commit(course)
    today = date.today().isoformat()
    said = publish.stale(course, "0.2.0")
    assert said == [
        f"CHANGELOG.md has no day for 0.2.0: write `## 0.2.0 ({today})` for `## 0.2.0 (not released yet)`",
        f"CITATION.cff does not name the day: write the line `date-released: {today}` below its version"]
    for name in ("CHANGELOG.md", "CITATION.cff"):
        text = (course / name).read_text()
        text = text.replace("## 0.2.0 (not released yet)", f"## 0.2.0 ({today})")
        (course / name).write_text(text.replace("version: 0.2.0\n", f"version: 0.2.0\ndate-released: {today}\n"))
    commit(course)
    assert publish.stale(course, "0.2.0") == [], "what it said to write is enough"


def test_the_course_is_cited_with_a_day_only_where_its_version_has_one():
    """A day in CITATION.cff of a release that nobody has made."""
    log, cited = ((publish.ROOT / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff"))
    heading = next(line for line in log.splitlines() if line.startswith(f"## {publish.VERSION} "))
    released = re.search(publish.RELEASED, heading)
    assert re.findall(r"^date-released: (.*)$", cited, re.M) == ([released[1]] if released else [])


def test_what_is_not_committed_or_was_released_before_is_refused(course):
    """A wheel of files that nobody else has; a second version of the same number."""
    git(course, "tag", "v0.2.0")
    (course / "new.txt").write_text("new")
    (said,) = publish.stale(course, "0.2.0")
    assert said == "what is not committed cannot be released: commit or take back new.txt"
    commit(course)
    (said,) = publish.stale(course, "0.2.0")
    assert said.startswith("version 0.2.0 is released already")


def test_stale_notebooks_and_results_are_refused(course, monkeypatch):
    """A release whose pages show numbers of older code."""
    def check(arguments):
        assert arguments == ["--check"]
        print("lessons/04_scaling.ipynb is older than its text", file=publish.sys.stderr)

    def fails(name):
        raise ResultsError(f"no {name}")

    monkeypatch.setattr(publish.build, "main", check)
    monkeypatch.setattr(stored, "MODULES", {"03-cells": "backwards", "04-scaling": "scaling"})
    really = stored.stored
    monkeypatch.setattr(stored, "stored", lambda name: really(name)[1:] if name == "03-cells" else fails(name))
    said = publish.stale(course, "0.2.0")
    assert said[0] == "lessons/04_scaling.ipynb is older than its text"
    assert said[1].startswith("the results 03-cells are of other points") and said[2:] == ["no 04-scaling"]


def test_what_cannot_be_made_leaves_no_folder(course, capsys, monkeypatch):
    """Half a release: a wheel without its site."""
    monkeypatch.setattr(publish, "stale", lambda: [])
    monkeypatch.setattr(publish, "ROOT", course)
    monkeypatch.setattr(publish.make, "__defaults__", (course,))
    assert publish.main(["-o", str(course / "new" / "release")]) == 1
    assert "the wheel cannot be made, and nothing was: " in capsys.readouterr().err
    assert list((course / "new").iterdir()) == []
    assert publish.main(["-o", str(course)]) == 1
    assert "is there already" in capsys.readouterr().err


def test_the_workflow_makes_a_release_of_a_tag_and_of_nothing_else():
    """A push to main, or a stranger's pull request, that releases; a release without its wheel or its hand-out."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    assert workflow[True] == {"push": {"tags": ["v*"]}}  # YAML reads `on` as True
    assert workflow["permissions"] == {"contents": "read"}
    job, = workflow["jobs"].values()
    assert job["permissions"] == {"contents": "write"}
    commands = " ".join(step.get("run", "") for step in job["steps"])
    assert "course_lib.staff.publish -o made" in commands and commands.endswith("made/*.whl made/*.zip")
    for name in ("handout", "site"):  # as `publish` names its folders
        assert f'made / "{name}"' in inspect.getsource(publish.make) and f".zip {name}" in commands
