"""How long grading takes, beside nbgrader on the same submissions (an extra: pip install -e ".[nbgrader]").

    python -m course_lib.staff.grade.bench [--students 200] [--nbgrader 10]

A student hands in four small exercises, one answer in four of them wrong. Counted is the CPU time of the command with
all its processes; nbgrader's is for fewer students, and both are given per submission.
Linux only.
"""

import argparse
import contextlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from course_lib.staff.grade.confine.system_calls import PR_SET_CHILD_SUBREAPER, prctl
from course_lib.staff.grade.sample import ANSWERS, cell, notebook, submission, write_class
from course_lib.staff.lesson_text import ROOT
from course_lib.staff.nbgrader_export import CONFIG, TEST, role, with_regions


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--nbgrader", type=int, default=10, metavar="STUDENTS", help="0 leaves nbgrader out")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        ours, one = _ours(Path(folder) / "all", options.students), _ours(Path(folder) / "one", 1)
        theirs = _nbgrader(Path(folder), options.nbgrader) if options.nbgrader else None
    print(f"\nisolation {ours.pop('isolation')}, {os.cpu_count()} cores\n")
    print("| grader | submissions | wall s | CPU s | CPU ms a submission | a minute |\n|---|---|---|---|---|---|")
    for name, found in (("this one", ours), ("nbgrader", theirs)):
        if found:
            n, wall, cpu = found["students"], found["wall"], found["cpu"]
            print(f"| {name} | {n} | {wall:.1f} | {cpu:.1f} | {1000 * cpu / n:.0f} | {60 * n / wall:.0f} |")
    print(f"\nStarting, and one submission: {one['cpu']:.1f} CPU s, {one['cpu'] / ours['cpu']:.0%} of the run.")
    if theirs:
        ratio = theirs["cpu"] / theirs["students"] / (ours["cpu"] / ours["students"])
        print(f"nbgrader takes {ratio:.0f} times the CPU time.")


def _ours(folder, students):
    write_class(folder / "submissions", students)
    found = _measured([sys.executable, "-m", "course_lib.staff.grade", str(folder / "submissions"), "-o",
                       str(folder / "report"), "--exercises", ",".join(ANSWERS)], ROOT)
    return found | {"students": students, "isolation": found["said"].splitlines()[0].split()[1].rstrip(":")}


def _nbgrader(folder, students):
    """nbgrader's autograde of the same answers; None where it is not installed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # it calls programs of its own by name
    program = shutil.which("nbgrader", path=path)
    if program is None:
        print('nbgrader is not installed: pip install -e ".[nbgrader]" puts it beside this grader.')
        return None
    course = folder / "course"
    (course / "source" / "four").mkdir(parents=True)
    (course / "nbgrader_config.py").write_text(CONFIG)
    cells = [cell("import torch")]
    for name, (right, _) in ANSWERS.items():
        cells.append(_marked(with_regions(right), name, solution=True))
        cells.append(_marked(TEST.format(name=name), f"test-{name}", grade=True, locked=True, points=1))
    (course / "source" / "four" / "four.ipynb").write_text(notebook(cells))
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PATH": path}
    subprocess.run([program, "generate_assignment", "four"], cwd=course, check=True, capture_output=True,
                   env=environment)
    released = json.loads((course / "release" / "four" / "four.ipynb").read_text())
    for student in range(students):
        answers = iter(submission(student)[1:])
        for blank in released["cells"]:
            if blank["metadata"].get("nbgrader", {}).get("solution"):
                blank["source"] = next(answers)
        place = course / "submitted" / f"student{student:05d}" / "four"
        place.mkdir(parents=True)
        (place / "four.ipynb").write_text(json.dumps(released))
    return _measured([program, "autograde", "four"], course, environment) | {"students": students}


def _marked(source, grade_id, **of_role):
    return cell(source) | {"metadata": {"nbgrader": role(grade_id, **of_role)}}


def _measured(command, folder, environment=None):
    """Wall and CPU seconds of a command with all it has started.

    Bubblewrap ends without waiting for what it has started: this process takes it in, or nobody would count its time.
    """
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    wall = time.monotonic() - began
    if done.returncode:
        sys.exit(f"bench: {' '.join(command[:4])} failed: {(done.stderr.strip().splitlines() or [done.stdout])[-1]}")
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": wall, "cpu": cpu, "said": done.stdout}


if __name__ == "__main__":
    main()
