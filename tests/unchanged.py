"""Which verdicts on answers are asked for again: all where a check has changed; else a tenth, another one each day.

    python -m tests.unchanged     ask for all, and write down for which code and which torch they were green

Who names these files alone, or sets COURSE_ALL_VERDICTS, asks for all; each week they are asked for.
"""

import os
import subprocess
import sys
import zlib
from datetime import date
from pathlib import Path

import pytest
import torch

from course_lib.staff.lesson_text import ROOT
from course_lib.staff.notebooks import digest

FILES = [f"tests/test_{name}.py" for name in ("checks", "second_spellings", "bent_outputs", "locating", "combinations",
                                           "own_parts", "own_names", "moulds")]
DECIDE = ("course_lib/*.py", "course_lib/checks/**/*", "course_lib/display/*.py", "course_lib/upkeep/*.py",
          "course_lib/pretrained/*.py", "tests/conftest.py", "tests/right_answers/*.py", "tests/second_spellings/*.py",
          "tests/table_of_checks.py", *FILES)
GREEN = "tests/green_verdicts.txt"  # the fingerprint of what decides them, as it was when all were right
PARTS = 10
REASON = "nothing that decides it has changed since it was green; a tenth is run all the same, another one each day"


def fingerprint(root=ROOT):
    """A fingerprint of all that decides these verdicts: checks, answers, tests, Python and torch."""
    files = {path for pattern in DECIDE for path in root.glob(pattern) if path.is_file() and path.suffix != ".pyc"}
    read = {path.relative_to(root).as_posix(): digest(path.read_bytes()) for path in sorted(files)}
    return digest([read, sys.version_info[:2], torch.__version__])


def left_out(nodeids, day=None, root=ROOT):
    """Those of some tests that need not run on a day; by default, today."""
    green = root / GREEN
    if os.environ.get("COURSE_ALL_VERDICTS") or not green.exists() or green.read_text().strip() != fingerprint(root):
        return []
    of_an_answer = [nodeid for nodeid in nodeids if nodeid.partition("::")[0] in FILES]
    if len(of_an_answer) == len(nodeids):  # somebody wants these
        return []
    return [nodeid for nodeid in of_an_answer if "[" in nodeid and not is_due(nodeid, day)]


def is_due(name, day=None):
    """Is this the day, of ten, on which something is run though nothing has changed?"""
    return (zlib.crc32(name.encode()) + (date.today().toordinal() if day is None else day)) % PARTS == 0


def skip_what_is_unchanged(items):
    """Mark what pytest need not run today."""
    known = set(left_out([item.nodeid for item in items]))
    for item in items:
        if item.nodeid in known:
            item.add_marker(pytest.mark.skip(reason=REASON))


def main():
    """Run all of them; the exit status is pytest's."""
    found = subprocess.run([sys.executable, "-m", "pytest", "-q", *FILES], cwd=ROOT,
                           env=os.environ | {"COURSE_ALL_VERDICTS": "1"}).returncode
    if not found:
        Path(ROOT / GREEN).write_text(f"{fingerprint()}\n", encoding="utf-8")
    return found


if __name__ == "__main__":
    sys.exit(main())
