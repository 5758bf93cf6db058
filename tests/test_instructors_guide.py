"""The instructor's guide, followed command by command by somebody who has never seen the repository."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.staff.grade import confine
from course_lib.staff.grade.policy import settings

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^python3 start\.py python (-m .+)$", GUIDE, re.MULTILINE)


@pytest.mark.skipif(confine.probe() == "C", reason="this machine cannot confine anything")
def test_the_guide_leads_from_a_hand_out_to_grades(tmp_path):
    """A guide whose third command needs what its second one does not make."""
    assert len(COMMANDS) == 5
    for command in COMMANDS:
        done = subprocess.run([sys.executable, *command.replace("../", f"{tmp_path}/").split()], cwd=ROOT,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=300)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
    assert (tmp_path / "handout" / "lessons" / "02_self_attention_untrained.ipynb").exists()
    with (tmp_path / "report" / "results.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 30 and {row["verdict"] for row in rows} == {"pass", "fail"}
    assert all(row["mistake"] for row in rows if row["verdict"] == "fail")
    assert (tmp_path / "report" / "pages" / "index.html").exists()
    assert len(list((tmp_path / "report" / "pages" / "students").glob("*.html"))) == 30
    assert "0 of " in done.stdout and "verdicts change" in done.stdout, "the last command grades again"


def test_the_settings_of_the_guide_are_settings(tmp_path):
    """An example that is refused."""
    example, = re.findall(r"```toml\n(.+?)```", GUIDE, re.DOTALL)
    (tmp_path / "course.toml").write_text(example, encoding="utf-8")
    (tmp_path / "times.csv").write_text("student,time,lesson\nada,2027-03-01T23:59:00Z,02\n", encoding="utf-8")
    (tmp_path / "roster.csv").write_text("id,name,email,section\nada,Ada,ada@example.org,A\n", encoding="utf-8")
    found = settings(tmp_path / "course.toml")
    assert (found.max_points("MultiHeadAttention"), found.max_points("reweight")) == (5, 1)
    assert (found.free_days, found.days, found.percent_per_day) == (2, 3, 10)
    assert found.extensions == {"ada": {"all": 7}, "bo": {"02": 3}} and found.roster["ada"]["section"] == "A"
    assert found.partial == {"causal_mask": {"upside-down": 0.5}} and found.time("ada", "02")


def test_every_option_the_guide_names_exists():
    """An option that was renamed."""
    helped = subprocess.run([sys.executable, "-m", "course_lib.staff.grade", "--help"], cwd=ROOT, capture_output=True,
                            text=True, check=True).stdout
    for option in set(re.findall(r"`(--[a-z-]+)", GUIDE)) - {"--nbgrader"}:
        assert option in helped, option
