"""The code keeps to its linter, and the workflow to what it promises."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from course_lib.upkeep import versions
from tests.conftest import LONG

ROOT = Path(__file__).parents[1]
ONE_MACHINE = re.compile(r"(?<![\w.:~})/-])/(?:data|home|media|mnt|opt|root|scratch|srv|tmp|Users|work|workspaces?)/\w"
                         r"|[A-Z]:\\+Users\\")
THIS = Path(__file__).name


def test_the_linter_has_nothing_to_say():
    """Among others a comparison that nobody asserts (B015), which no other test would notice."""
    said = subprocess.run([sys.executable, "-m", "ruff", "check", "."], cwd=ROOT, text=True, capture_output=True)
    assert said.returncode == 0, said.stdout


def test_the_long_files_of_tests_are_there():
    """A file that was renamed, and that one worker begins when the other one has nothing more to do."""
    assert [name for name in LONG if not (ROOT / name).is_file()] == [] and len(set(LONG)) == len(LONG)


def test_nothing_names_a_folder_of_one_machine():
    """A test that is skipped for everybody but its author, or a notebook that shows whose desk it was run on."""
    if not (ROOT / ".git").exists():
        pytest.skip("only git knows which files are the course's")
    files = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True,
                           capture_output=True, check=True).stdout.split("\0")
    texts = {name: (ROOT / name).read_text(encoding="utf-8", errors="ignore") for name in files
             if name and not name.endswith(THIS) and (ROOT / name).is_file()}
    assert len(texts) > 200
    assert {name: found[0] for name, text in texts.items() if (found := ONE_MACHINE.search(text))} == {}


@pytest.mark.parametrize("text, named", [
    ('Path("/work/shared/data/pairs.tsv")', True), ("cd /home/ann/course", True), (r"C:\Users\ann", True),
    ("open('/tmp/x')", True), ("https://example.org/data/pairs.tsv", False), ("carol.zip/work/04.ipynb", False),
    ("/proc/self/status", False), ("build/tmp/x", False)])
def test_a_folder_of_one_machine_is_seen(text, named):
    """A pattern that finds nothing, and one that finds every slash."""
    assert bool(ONE_MACHINE.search(text)) is named


def test_the_workflow_runs_everywhere_and_keeps_forks_off_the_gpu():
    """A platform dropped from the matrix, a GPU job that is green without a GPU, or one that runs anybody's code."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    assert matrix["os"] == ["ubuntu-latest", "macos-latest", "windows-latest"]
    gpu = jobs["gpu"]
    assert "vars.GPU_RUNNER != ''" in gpu["if"] and "head.repo.full_name == github.repository" in gpu["if"]
    assert "vars.GPU_RUNNER" in gpu["runs-on"]
    assert any(step.get("run", "").startswith(".ci/gpu") for step in gpu["steps"])
    script = (ROOT / ".ci/gpu").read_text(encoding="utf-8")
    order = ["torch.cuda.is_available()", "exit 1", "test -m gpu", "--nbval-lax", "staff.bench --device cuda"]
    assert "set -euo pipefail" in script
    assert [script.index(part) for part in order] == sorted(script.index(part) for part in order)
    writes = [name for name, job in jobs.items() if "write" in str(job.get("permissions", ""))]
    assert writes == ["weekly"] and "schedule" in jobs["weekly"]["steps"][-1]["if"]
    weekly = " ".join(row["run"] for row in jobs["weekly"]["strategy"]["matrix"]["include"])
    assert "--upgrade torch" in weekly and "course_lib.staff.seeds" in weekly
    runs = [step["run"] for step in jobs["weekly"]["steps"] if "run" in step]
    assert [run.split(" #")[0] for run in runs[:2]] == ["python start.py install test", "${{ matrix.run }}"], (
        "start.py test would bring the pinned torch back")


@pytest.mark.skipif(os.name == "nt", reason="a shell script")
@pytest.mark.parametrize("fails, says", [
    ("is_available", "torch sees no CUDA device here"), ("-m gpu", ""), ("nbval", ""), ("staff.bench", ""), (None, "")])
def test_the_gpu_script_does_all_its_steps_or_fails(fails, says, tmp_path):
    """A step that fails behind a pipe or before another one, and a job that is green."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/gpu", tmp_path / ".ci")
    python3 = tmp_path / "bin" / "python3"
    python3.parent.mkdir()
    python3.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\ncase "$*" in *"{fails}"*) exit 1;; esac\n')
    python3.chmod(0o755)
    path = f"{python3.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run([tmp_path / ".ci/gpu"], env={"PATH": path}, text=True, capture_output=True)
    assert (done.returncode == 0) == (fails is None) and says in done.stderr
    calls = (tmp_path / "calls").read_text().splitlines()
    assert len(calls) == 5 if fails is None else fails in calls[-1]


TEMPLATES = ROOT / ".github/ISSUE_TEMPLATE"


@pytest.mark.parametrize("name", ["right-answer-refused", "wrong-cause-named"])
def test_a_report_of_a_check_brings_what_it_takes_to_repeat_it(name):
    """A form that GitHub cannot read and does not show, or "it says I am wrong", without the answer or its card."""
    form = yaml.safe_load((TEMPLATES / f"{name}.yml").read_text(encoding="utf-8"))
    assert form.keys() >= {"name", "description", "body"}
    fields = {field["id"]: field for field in form["body"] if field["type"] != "markdown"}
    assert len(fields) == len(form["body"]) - 1, "an id twice, or none"
    for wanted in ("exercise", "card", "answer", "version"):
        assert fields[wanted]["validations"]["required"] is True, wanted
    assert all(field["type"] in ("input", "textarea") and field["attributes"]["label"] for field in fields.values())
    assert "check(your_answer).message" in fields["card"]["attributes"]["description"]


@pytest.mark.parametrize("name", ["right-answer-refused", "wrong-cause-named", "bug"])
def test_a_report_says_of_which_version_it_is_by_a_line_that_runs(name, capsys):
    """`from course_lib import versions`, which ends in an ImportError for whoever wants to report something."""
    form = yaml.safe_load((TEMPLATES / f"{name}.yml").read_text(encoding="utf-8"))
    (asked,) = [field["attributes"] for field in form["body"] if field.get("id") == "version"]
    assert asked["placeholder"] == versions.VERSION
    exec(re.search("`(.+?)`", asked["description"])[1], {})
    assert capsys.readouterr().out == f"{versions.VERSION}\n"


def test_every_merge_brings_its_news_and_new_packages_are_proposed():
    """A changelog that is written from memory; packages that grow old, or come twenty times a week."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert "CHANGELOG.md" in jobs["news"]["steps"][-1]["run"] and "'no news'" in jobs["news"]["if"]
    links = [row["run"] for row in jobs["weekly"]["strategy"]["matrix"]["include"] if "lychee" in row["run"]]
    assert len(links) == 1 and '"docs/*.md"' in links[0]
    updates = yaml.safe_load((ROOT / ".github/dependabot.yml").read_text(encoding="utf-8"))["updates"]
    assert {update["package-ecosystem"] for update in updates} == {"pip", "github-actions"}
    assert all(update["groups"] for update in updates)


def test_links_beside_the_forms_lead_to_this_repository():
    """A fork whose readers are sent elsewhere; a policy that is linked and not there."""
    config = yaml.safe_load((TEMPLATES / "config.yml").read_text(encoding="utf-8"))
    links = [link["url"] for link in config["contact_links"]]
    assert links == [f"{versions.SOURCE}#readme", f"{versions.SOURCE}/security/policy"]
    assert all(link["name"] and link["about"] for link in config["contact_links"])
    assert f"{versions.SOURCE}/security)" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "open an issue" in " ".join(text.lower().split()), "a way to reach somebody which works"
        for target in re.findall(r"\]\((?!https://)([^)#]+)", text):
            assert (ROOT / target).exists(), target
