"""The code keeps to its linter, and the workflow to what it promises."""

import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_the_linter_has_nothing_to_say():
    """Among others a comparison that nobody asserts (B015), which no other test would notice."""
    said = subprocess.run([sys.executable, "-m", "ruff", "check", "."], cwd=ROOT, text=True, capture_output=True)
    assert said.returncode == 0, said.stdout


def test_the_workflow_runs_everywhere_and_keeps_forks_off_the_gpu():
    """A platform dropped from the matrix, a GPU job that is green without a GPU, or one that runs anybody's code."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    assert matrix == {"os": ["ubuntu-latest", "macos-latest", "windows-latest"], "python": ["3.11", "3.13"]}
    gpu = jobs["gpu"]
    assert "vars.GPU_RUNNER != ''" in gpu["if"] and "head.repo.full_name == github.repository" in gpu["if"]
    assert "vars.GPU_RUNNER" in gpu["runs-on"]
    steps = [step["run"] for step in gpu["steps"] if "run" in step]
    assert "torch.cuda.is_available()" in steps[0]
    assert any("test -m gpu" in step for step in steps[1:])
    writes = [name for name, job in jobs.items() if "write" in str(job.get("permissions", ""))]
    assert writes == ["newest-torch"] and "schedule" in jobs["newest-torch"]["steps"][-1]["if"]
