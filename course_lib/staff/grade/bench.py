"""How long grading takes, beside nbgrader on the same submissions (an extra: pip install -e ".[nbgrader]").

    python -m course_lib.staff.grade.bench [--students 200] [--nbgrader 10] [--isolation B]

A student hands in four small exercises, one answer in four of them wrong. Counted is the CPU time of the command with
all its processes; nbgrader's is for fewer students, and both are given per submission. Then, one lane at a time, where
that time goes: starting, the judge, a fork, the student's cells, and putting the questions; and the solutions of the
whole course as one submission, beside its cells alone, run once. Linux only.
"""

import argparse
import contextlib
import json
import math
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import islice
from pathlib import Path

from course_lib.staff.grade import confine
from course_lib.staff.grade.confine.system_calls import PR_SET_CHILD_SUBREAPER, prctl
from course_lib.staff.grade.lane import Lane, start_template, write_root
from course_lib.staff.grade.marking import Marker
from course_lib.staff.grade.own_code import pieces
from course_lib.staff.grade.reading import submissions
from course_lib.staff.grade.sample import ANSWERS, cell, notebook, submission, write_class
from course_lib.staff.lesson_text import ROOT
from course_lib.staff.nbgrader_export import CONFIG, TEST, role, with_regions

PARTS = 200  # submissions, for which each part is measured
CELL = 60  # seconds for one cell of the whole course


def main(arguments=None):
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--nbgrader", type=int, default=10, metavar="STUDENTS", help="0 leaves nbgrader out")
    parser.add_argument("--isolation", choices=["A", "B"], default=confine.probe(), help="the best there is by default")
    options = parser.parse_args(arguments)
    level = options.isolation
    with tempfile.TemporaryDirectory() as folder:
        ours, one = _ours(Path(folder) / "all", options.students, level), _ours(Path(folder) / "one", 1, level)
        parts = _parts(Path(folder), level)
        course, further, cells = _whole_course(Path(folder), level)
        theirs = _nbgrader(Path(folder), options.nbgrader) if options.nbgrader else None  # last: it leaves some running
    print(f"\nisolation {level}, {os.cpu_count()} cores\n")
    print("| grader | submissions | wall s | CPU s | CPU ms a submission | a minute |\n|---|---|---|---|---|---|")
    for name, found in (("this one", ours), ("nbgrader", theirs)):
        if found:
            n, wall, cpu = found["students"], found["wall"], found["cpu"]
            print(f"| {name} | {n} | {wall:.1f} | {cpu:.1f} | {1000 * cpu / n:.0f} | {60 * n / wall:.0f} |")
    print(f"\nStarting, and one submission: {one['cpu']:.1f} CPU s, {one['cpu'] / ours['cpu']:.0%} of the run.")
    print("Of a submission, CPU ms: " + ", ".join(f"{part} {1000 * cpu:.1f}" for part, cpu in parts.items()) + ".")
    floor = parts["fork"] + parts["the student's cells"]
    print(f"The floor, a fork with the student's cells and nothing else: {1000 * floor:.1f} ms; a submission in all: "
          f"{ours['cpu'] / options.students / floor:.1f} times that.")
    print(f"The whole course as one submission: {course:.1f} CPU s, a further one {further:.1f}, its cells alone "
          f"{cells:.1f}: {further / cells:.1f} times that.")
    if theirs:
        ratio = theirs["cpu"] / theirs["students"] / (ours["cpu"] / ours["students"])
        print(f"nbgrader takes {ratio:.0f} times the CPU time.")


def _ours(folder, students, level):
    write_class(folder / "submissions", students)
    return _measured([sys.executable, "-m", "course_lib.staff.grade", str(folder / "submissions"), "-o",
                      str(folder / "report"), "--isolation", level, "--exercises", ",".join(ANSWERS)],
                     ROOT) | {"students": students}


def _parts(folder, level):
    """CPU seconds of the parts of a submission: the worker's are differences between runs that do one thing more."""
    answers = list(islice(submissions(folder / "all" / "submissions"), PARTS))
    marker = Marker(None, tuple(ANSWERS), 1, level)

    def fork(lane, _):
        lane.child().end()

    def run(lane, answer):
        with lane.child() as child:
            _run_cells(child, answer)
            child.find(math.inf)

    def mark(lane, answer):
        marker.lane = lane
        marker.mark(answer)

    mark_once = partial(_worker, folder, level, mark)
    mark_once(answers[:1])  # the judge has its questions and their truths ready then
    nothing, forks, runs = (_worker(folder, level, doing, answers) for doing in (None, fork, run))
    began = time.process_time()
    marks, judge = mark_once(answers), time.process_time() - began
    parts = {"fork": forks - nothing, "the student's cells": runs - forks, "its answers to questions": marks - runs,
             "the judge": judge}
    return {part: cpu / len(answers) for part, cpu in parts.items()}


def _whole_course(folder, level):
    """CPU seconds to grade the solutions of all lessons as one submission and as a second one, and of their cells."""
    class_ = folder / "course"
    graded = []
    for student in ("first", "second"):
        shutil.copytree(ROOT / "solutions", class_ / student, ignore=shutil.ignore_patterns("*.py", "*.txt"))
        graded.append(_measured([sys.executable, "-m", "course_lib.staff.grade", str(class_), "-o",
                                 str(folder / f"course-{student}"), "--isolation", level, "--lanes", "1"],
                                ROOT)["cpu"])

    def run(lane, answer):
        with lane.child() as child:
            _run_cells(child, answer)

    one = list(islice(submissions(class_), 1))
    return graded[0], graded[1] - graded[0], _worker(folder, level, run, one) - _worker(folder, level, None, one)


def _run_cells(child, submission):
    for piece in pieces(submission):
        child.run(piece.notebook, piece.name, piece.source, CELL, math.inf, piece.module)


def _worker(folder, level, doing, answers):
    """CPU seconds of a worker and its children while something is done with each of some submissions."""
    with tempfile.TemporaryDirectory(dir=folder) as root, _counted() as found:
        write_root(Path(root))
        ours, theirs = socket.socketpair()
        worker, lane = start_template(root, level, [theirs]), Lane(root, level, ours)
        for answer in answers if doing else ():
            doing(lane, answer)
        lane.close()
        worker.wait()
    return found["cpu"]


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
    """Wall and CPU seconds of a command with all it has started."""
    with _counted() as found:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"bench: {' '.join(command[:4])} failed: {(done.stderr.strip().splitlines() or [done.stdout])[-1]}")
    return found


@contextlib.contextmanager
def _counted():
    """Count wall and CPU seconds of what is started in the block and has ended with it.

    Bubblewrap ends without waiting for what it has started: this process takes it in, or nobody would count its time.
    """
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    found, before, began = {}, resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    yield found
    found["wall"] = time.monotonic() - began
    with contextlib.suppress(ChildProcessError):
        while True:
            os.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found["cpu"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
