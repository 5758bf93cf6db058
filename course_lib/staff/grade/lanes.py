"""Several judges side by side, forked from this process, all with one template."""

import contextlib
import os
import pickle
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time

import torch

from course_lib.staff.grade import confine
from course_lib.staff.grade.confine.system_calls import PR_SET_PDEATHSIG, prctl
from course_lib.staff.grade.lane import Lane, LaneError, start_template
from course_lib.staff.grade.marking import Marker

LENGTH = struct.Struct("<Q")


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
        yield from _in_turn(waiting, list(judges))
    finally:
        for ends, process in judges.items():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            ends.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            template.wait(5)  # with nobody left to speak to it ends by itself
        template.kill()
        template.wait()


def _in_turn(waiting, free):
    """Give every free judge a submission, and take what it found."""
    doing = {}
    with selectors.DefaultSelector() as selector:
        while True:
            while free and (submission := next(waiting, None)):
                judge = free.pop()
                doing[judge] = submission
                _send(judge, submission)
                selector.register(judge, selectors.EVENT_READ)
            if not doing:
                return
            for key, _ in selector.select():
                judge = key.fileobj
                selector.unregister(judge)
                found = _receive(judge)
                if not isinstance(found, tuple):
                    raise LaneError(found or "a judge has ended by itself; the same command goes on from here.")
                yield (doing.pop(judge), *found)
                free.append(judge)


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
