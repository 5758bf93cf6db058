"""What a process gives away before it runs a student's code, and the probe of what this machine can enforce.

Standard library and ctypes only, and no other module of the course: the folder is copied beside the worker, where it
is imported as `confine`. So its modules name each other relative to it.

    template:  ready = prepare(level, readable)            once, before it forks
    child:     ready.apply(memory)                         first thing after the fork, in its only thread

Landlock says which files can be touched, a seccomp filter which system calls can be made, rlimits how much can
be used; each closes what the others leave open. Bubblewrap, where it works, hides the rest of the machine.
"""

from .child import confine, prepare, undumpable
from .command_line import wrapped
from .probing import missing, probe
from .python_folders import environment

__all__ = ["LEVELS", "confine", "environment", "missing", "prepare", "probe", "undumpable", "wrapped"]

LEVELS = {
    "A": "bubblewrap + Landlock + seccomp + rlimits",
    "B": "Landlock + seccomp + rlimits",
    "M": "macOS sandbox",
    "C": "rlimits and kill only",
}
