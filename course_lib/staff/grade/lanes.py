"""Several judges side by side, forked from this process, all with one template."""

import contextlib
import os
import pickle
import resource
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import torch

from course_lib.checks import EXERCISES
from course_lib.staff.grade import confine
from course_lib.staff.grade.book import Mark
from course_lib.staff.grade.confine.system_calls import PR_SET_PDEATHSIG, prctl
from course_lib.staff.grade.lane import Lane, LaneError, start_template
from course_lib.staff.grade.marking import Marker

LENGTH = struct.Struct("<Q")
MARGIN = 60  # seconds that a judge may take beyond what it gives a submission
MEMORY = 8 << 30  # bytes that a judge may take beyond what it has when it begins


def cores():
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def graded(waiting, recipe, lanes):
    """Grade submissions, so many at a time: yields (Submission, Marks, seconds) as they are done.

    waiting: an iterator of Submissions, of which one for each lane is held at once
    recipe:  what `marker` makes a Marker of
    """
    torch.set_num_threads(1)  # a process with more of them cannot be forked safely
    controls = [socket.socketpair() for _ in range(lanes)]
    template = start_template(recipe[0], recipe[1], [theirs for _, theirs in controls])
    judges = {}
    try:
        for ours, _ in controls:
            ends, process = _fork_judge(recipe, ours, [*judges, *(c for c, _ in controls)])
            judges[ends] = process
        for ours, _ in controls:
            ours.close()
        yield from _in_turn(waiting, recipe, judges)
    finally:
        for ends in list(judges):
            _ended(judges, ends)
        with contextlib.suppress(subprocess.TimeoutExpired):
            template.wait(5)  # with nobody left to speak to it ends by itself
        template.kill()
        template.wait()


def _in_turn(waiting, recipe, judges):
    """Give every free judge a submission, and take what it found. One that dies or hangs costs that submission."""
    _, _, exercises, _, stamp, limits = recipe
    patience = limits.submission + limits.share * len(exercises) + MARGIN
    free, doing = list(judges), {}
    with selectors.DefaultSelector() as selector:
        while True:
            while free and (submission := next(waiting, None)):
                judge = free.pop()
                doing[judge] = submission, time.monotonic()
                _send(judge, submission)
                selector.register(judge, selectors.EVENT_READ)
            if not doing:
                return
            ready = [key.fileobj for key, _ in selector.select(min(patience, MARGIN))]
            late = [judge for judge, (_, began) in doing.items() if time.monotonic() - began > patience]
            for judge in {*ready, *late}:
                submission, began = doing.pop(judge)
                selector.unregister(judge)
                found = None if judge in late else _receive(judge)
                if isinstance(found, str):
                    raise LaneError(found)
                if found is None:
                    _ended(judges, judge)
                    judge, process = _fork_judge(recipe, None, list(judges))
                    judges[judge] = process
                    found = _lost(exercises, stamp), round(time.monotonic() - began, 3)
                free.append(judge)
                yield (submission, *found)


def _ended(judges, ends):
    """Make sure that a judge has ended."""
    process = judges.pop(ends)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    ends.close()


def _lost(exercises, stamp):
    """The Marks of a submission that its judge did not survive."""
    return [Mark(name, EXERCISES[name].lesson, "crash", isolation=stamp, reason="The grader itself ended while it "
                 "judged this submission, so nothing of it is judged, and a person has to look.") for name in exercises]


def marker(recipe, control=None):
    """The judge of one lane. recipe: root, level, exercises, seed, stamp, limits."""
    root, level, exercises, seed, stamp, limits = recipe
    return Marker(Lane(root, level, control), exercises, seed, stamp, limits)


def timed(judge, submission):
    """The Marks of one submission and the seconds it took."""
    began = time.monotonic()
    marks = judge.mark(submission)
    return marks, round(time.monotonic() - began, 3)


def _fork_judge(recipe, control, not_its_own):
    """A judge as a process of its own: (the socket to it, its number)."""
    ours, theirs = socket.socketpair()
    process = os.fork()
    if process:
        theirs.close()
        return ours, process
    try:
        ours.close()
        for other in not_its_own:
            if other is not control:
                other.close()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the keyboard interrupts the command alone
        confine.undumpable()
        if sys.platform == "linux":
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            resource.setrlimit(resource.RLIMIT_AS, 2 * (pages * resource.getpagesize() + MEMORY,))
        _judge(theirs, marker(recipe, control))
    finally:
        os._exit(1)


def _judge(sock, judge):
    while submission := _receive(sock):
        try:
            _send(sock, timed(judge, submission))
        except LaneError as error:
            _send(sock, str(error))


def _send(sock, value):
    """Between the command and its judges, where no student's code has ever run."""
    data = pickle.dumps(value)
    sock.sendall(LENGTH.pack(len(data)) + data)


def _receive(sock):
    """What the other side has sent, or None where it is gone."""
    with sock.dup().makefile("rb") as file:
        head = file.read(LENGTH.size)
        if len(head) < LENGTH.size:
            return None
        return pickle.loads(file.read(LENGTH.unpack(head)[0]))
