"""The same files get the same report: at another level, in more lanes, on a busy machine, and killed at any moment.

More often by hand: python -m tests.test_grade_again TIMES FILES FOLDER
"""

import csv
import math
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib.checks.engine.time_limit import HAD, TookTooLong, time_limit
from course_lib.staff.grade import confine, frames
from course_lib.staff.grade.failed_cells import FAILED, what_failed
from course_lib.staff.grade.marking import UNWATCHED, _Student
from course_lib.staff.grade.own_code import Piece
from tests.awkward import POOL, batch
from tests.test_grade_awkward import hand_in

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(confine.probe() == "C", reason="this machine cannot confine anything")
COUNT = 10  # of the awkward files
BUSY = [sys.executable, "-c", "while True:\n    pass"]


def start(folder, report, *more):
    """The command, as the leader of a group that can be killed at once."""
    command = [sys.executable, "-m", "course_lib.staff.grade", str(folder), "-o", str(report), "--seed", "3",
               "--exercises", ",".join(POOL), *more]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def whole(folder, report, *more):
    run = start(folder, report, *more)
    _, errors = run.communicate(timeout=600)
    assert run.returncode == 0, errors
    return contents(report)


def killed_until_done(folder, report, chance, longest, most=100):
    """Kill all of it at a random moment and start it again, until once it is done; how often it was killed.

    longest: seconds until it is killed; most: after so many times it may end
    """
    kills = 0
    while True:
        run, ends = start(folder, report), time.monotonic() + chance.uniform(0.2, longest)
        while run.poll() is None and (time.monotonic() < ends or kills == most):
            time.sleep(0.02)
        if run.poll() is not None:
            assert run.returncode == 0, run.communicate()[1]
            run.communicate()
            return kills
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        kills += 1


def contents(report):
    """Every file of a report, {path: what it says}, but for how long things took."""
    found = {}
    for path in sorted(p for p in report.rglob("*") if p.is_file() and p.name != ".lock"):
        name = str(path.relative_to(report))
        if name == "results.csv":
            with path.open(encoding="utf-8", newline="") as file:
                found[name] = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]
        elif name == "grades.sqlite":
            found |= {f"{name}: {table}": rows for table, rows in _tables(path).items()}
        elif not name.startswith("grades.sqlite-"):
            found[name] = path.read_bytes()
    return found


def _tables(path):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        connection.row_factory = sqlite3.Row
        names = [name for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: sorted([tuple(row[k] for k in row.keys() if k != "seconds")  # noqa: SIM118  a Row is no dict
                              for row in connection.execute(f"SELECT * FROM {name}")], key=repr) for name in names}


def differences(one, other):
    """What is not the same in two reports: names, and of tables the lines."""
    return {name: [line for line in one.get(name, ()) if line not in other.get(name, ())]
            if isinstance(one.get(name), list) else "another text" for name in sorted({*one, *other})
            if one.get(name) != other.get(name)}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """(folder, the report of one lane on its own)."""
    folder = tmp_path_factory.mktemp("batch")
    hand_in(folder, batch(COUNT))
    return folder, whole(folder, tmp_path_factory.mktemp("report"), "--lanes", "1", "--isolation", confine.probe())


def test_two_lanes_beside_a_busy_process_give_the_same_report(graded, tmp_path):
    """A grade depends on who else uses the machine, or on who was graded before."""
    folder, expected = graded
    busy = subprocess.Popen(BUSY)
    try:
        found = whole(folder, tmp_path, "--lanes", "2", "--isolation", confine.probe())
    finally:
        busy.kill()
        busy.wait()
    assert differences(expected, found) == {}


def test_a_cell_that_was_stopped_is_told_alike_on_a_busy_machine():
    """The card of a right answer says for how long the machine was busy, and is another in the next run."""
    with pytest.raises(TookTooLong) as stopped, time_limit(0.02):
        time.sleep(60)
    assert HAD in str(stopped.value)
    cell = Piece(notebook=0, number=8, source="", is_own=True, defines=frozenset())
    assert what_failed({cell: ("TookTooLong", str(stopped.value), None)}, {}) == (
        (FAILED, "Code cell 8 raised TookTooLong: it did not end within 0.02 seconds."),)


def test_an_answer_that_had_no_processor_says_so_in_the_grader_too(tmp_path):
    """It is asked once more where it is checked. Where it is graded that took longer than anybody waits, and whoever
    is stopped from outside gets no second chance."""
    (tmp_path / "asleep").mkdir()
    (tmp_path / "asleep" / "one.py").write_text("import time\ndef reweight(x):\n    time.sleep(60)\n")
    row, = whole(tmp_path / "asleep", tmp_path / "report", "--isolation", confine.probe(), "--exercises", "reweight",
                 "--call-seconds", "2.5")["results.csv"]
    assert row["verdict"] == "timeout" and HAD in row["reason"]


STUBBORN = """import torch
def message_passing(x, adjacency, message, update):
    def heard(receiver, sender):
        try:
            return message(receiver, sender)
        except:
            return message(receiver, sender)
    rows = [[heard(i, j) * a for j, a in zip(x, row)] for i, row in zip(x, adjacency)]
    return update(x, torch.stack([sum(row) for row in rows]))"""


def test_an_answer_that_is_stopped_while_it_asks_the_judge_is_no_forger(tmp_path):
    """“It wrote into the channel that its answers go through”, of whoever calls a lent function in a loop, where the
    machine is slow: what they said was cut off in the middle, and all that followed came too late by one."""
    (tmp_path / "slow").mkdir()
    for n in range(3):
        (tmp_path / "slow" / f"{n}.py").write_text(STUBBORN)
    rows = whole(tmp_path / "slow", tmp_path / "report", "--isolation", confine.probe(), "--exercises",
                 "message_passing", "--call-seconds", "0.35")["results.csv"]
    assert {row["verdict"] for row in rows} <= {"pass", "timeout"}


SLOW_UNDER_WATCH = """import torch
def reweight(x):
    while torch._C._len_torch_dispatch_stack() > OTHERS:
        x + 0
    return torch.softmax(x @ x.T, -1) @ x"""


@pytest.mark.parametrize(("others", "verdict"), [(0, "pass"), (-1, "timeout")])
def test_an_answer_that_only_the_watch_makes_slow_is_asked_without_it(tmp_path, others, verdict):
    """A right softmax, number by number, that takes two seconds in the lesson takes ten while each operation is
    watched. And a loop without an end is none that passes."""
    (tmp_path / "busy").mkdir()
    (tmp_path / "busy" / "one.py").write_text(SLOW_UNDER_WATCH.replace("OTHERS", str(others)))
    row, = whole(tmp_path / "busy", tmp_path / "report", "--isolation", confine.probe(), "--exercises", "reweight",
                 "--call-seconds", "6")["results.csv"]  # in which a slow machine, too, does many operations
    assert (row["verdict"], UNWATCHED in row["flags"]) == (verdict, verdict == "pass")
    assert frames.BUSY not in row["reason"], "the last attempt was watched, too"


@pytest.mark.skipif(confine.probe() != "A", reason="only one level can be enforced here")
def test_level_b_gives_the_verdicts_of_level_a(graded, tmp_path):
    """Whoever is graded in a container gets other grades."""
    folder, expected = graded
    found = whole(folder, tmp_path, "--isolation", "B")["results.csv"]
    assert [r | {"isolation": "A"} for r in found] == expected["results.csv"]


def test_a_run_that_is_killed_at_any_moment_gives_the_same_report(graded, tmp_path):
    """A student is lost, graded by half or twice; or a half-written page stays behind."""
    folder, expected = graded
    assert killed_until_done(folder, tmp_path, random.Random(0), longest=15, most=2)
    assert differences(expected, contents(tmp_path)) == {}


def main(times, files, base):
    """Say of each time how often it was killed and what was not the same; exit status 1 where something was not."""
    base, wrong = Path(tempfile.mkdtemp(dir=base)), 0
    (base / "batch").mkdir()
    hand_in(base / "batch", batch(files))
    began = time.monotonic()
    expected = whole(base / "batch", base / "whole", "--lanes", "1")
    took = time.monotonic() - began
    for seed in range(times):
        kills = killed_until_done(base / "batch", base / "report", random.Random(seed), took)
        found = differences(expected, contents(base / "report"))
        wrong += bool(found)
        print(f"{seed}: killed {kills} times, {found or 'the same report'}", flush=True)
        shutil.rmtree(base / "report")
    shutil.rmtree(base)
    return int(wrong > 0)


STARVED = SimpleNamespace(verdict="timeout", reason=f"It was stopped{HAD} 2.6.")
IN_VAIN = SimpleNamespace(verdict="timeout", reason="It was stopped.")
WATCHED = SimpleNamespace(verdict="timeout", reason=f"It was stopped{frames.BUSY}.")
RIGHT = SimpleNamespace(verdict="pass", reason="")


@pytest.mark.parametrize(("mark", "alone", "tried"), [
    (STARVED, None, 1), (STARVED, STARVED, 1), (STARVED, IN_VAIN, 0), (IN_VAIN, None, 0)])
def test_what_never_had_its_time_is_tried_until_it_had(mark, alone, tried):
    """A right answer of a few milliseconds that is too slow, since the machine was asleep twice, or for half a minute
    on end."""
    student, limits = object.__new__(_Student), []
    student.run, student.deadline, student.end = [], math.inf, lambda: None
    student.mark = lambda *asked: limits.append(student.patience)
    student.another_chance("causal_mask", mark, {}, (), alone)
    assert limits == [3] * tried and student.patience == 1


@pytest.mark.parametrize("alone", [None, WATCHED])
@pytest.mark.parametrize("last", [RIGHT, IN_VAIN])
def test_what_had_its_time_only_while_it_was_watched_is_asked_unwatched(alone, last):
    """On a busy machine the first attempt does too little to be known as watched; the second has its time, and each
    of its operations is watched: a right answer is too slow, and a loop without an end is told of the watch."""
    student, asked, says = object.__new__(_Student), [], iter([WATCHED, last])
    student.run, student.deadline, student.end, student.endless = [], math.inf, lambda: None, 0
    student.mark = lambda *_: asked.append((student.patience, student.watched)) or next(says)
    assert student.another_chance("causal_mask", STARVED, {}, (), alone) is last
    assert asked == [(3, True), (1, False)]


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
