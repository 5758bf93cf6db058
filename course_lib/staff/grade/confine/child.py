"""A child, before it runs anything of a student's: what it gives up, in this order and for good."""

import os
import signal
import sys
import tempfile

from . import identity, landlock, seccomp
from .system_calls import PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_PDEATHSIG, prctl

try:
    import resource
except ImportError:  # not a Unix: level C, and no limit is set
    resource = None

MIB = 2**20
FILE_SIZE, OPEN_FILES, CPU_SECONDS, THREADS = 64 * MIB, 64, 3600, 64


def prepare(level, readable=(), scratch="", hidden=()):
    """All that can be done once in a template; its `apply` is what each child pays for.

    readable, scratch, hidden: as in `wrapped`. Raises OSError where the level cannot be enforced here.
    """
    return Confinement(level, readable, scratch, hidden)


def confine(level, readable, scratch, memory):
    """`prepare` and `apply` at once, where a process is confined only one time."""
    prepare(level, readable, scratch).apply(memory)


class Confinement:
    """What one template's children give away."""

    def __init__(self, level, readable, scratch, hidden):
        self.kernel = level in ("A", "B")
        tempfile.tempdir = scratch or "/tmp"  # or python tries to write in all of them, and torch.optim cannot be used
        self.threads = _own_tasks() + 4 * THREADS if self.kernel else None
        if self.kernel:
            self.filter, self.own_pid_at = seccomp.program()
            self.ruleset = landlock.open_ruleset(landlock.grants(readable, scratch, hidden))

    def apply(self, memory):
        """Confine this process for good: it must have one thread. memory: bytes it may take beyond what it has.

        Raises OSError where any part fails; the caller must then end without running anything.
        """
        if self.kernel:
            threads = THREADS if identity.become_nobody() else self.threads
            identity.give_up_capabilities()
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            undumpable()
            _limit(memory, threads)
            prctl(PR_SET_NO_NEW_PRIVS, 1)
            landlock.restrict(self.ruleset)
            seccomp.install(self.filter, self.own_pid_at)
        elif resource:
            _limit(memory, None)


def undumpable():
    """Close this process's memory, environment and core dump to others of the same user (Linux; elsewhere nothing)."""
    if sys.platform == "linux":
        prctl(PR_SET_DUMPABLE, 0)


def _limit(memory, threads):
    limits = {"RLIMIT_AS": _size() + memory, "RLIMIT_CPU": CPU_SECONDS, "RLIMIT_FSIZE": FILE_SIZE,
              "RLIMIT_NOFILE": OPEN_FILES, "RLIMIT_MEMLOCK": MIB, "RLIMIT_CORE": 0, "RLIMIT_NPROC": threads}
    for name, value in limits.items():
        kind = getattr(resource, name, None)
        if kind is None or value is None or sys.platform == "darwin" and name == "RLIMIT_AS":
            continue
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _size():
    """Bytes of address space this process has now."""
    try:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _own_tasks():
    """How many threads this user has: RLIMIT_NPROC counts them all."""
    count, user = 0, os.geteuid()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.stat("/proc/" + name).st_uid == user:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue
    return count
