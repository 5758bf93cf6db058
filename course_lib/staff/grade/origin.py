"""Where the command begins: torch is imported once, for the judges and for the template of students' processes.

Importing torch takes as long as grading thirty students. So the command begins anew, on Linux, as a process with the
clean environment of a template; it imports torch and nothing else, and forks. One of the two waits to become the
template. The other takes its caller's environment back and goes on as the command: what it imports, reads and draws
from then on has never been in the template's memory.

Standard library only, and no other module of the course, until the two have parted.
"""

import contextlib
import gc
import io
import json
import os
import runpy
import socket
import sys

STREAM = ("encoding", "errors", "line_buffering", "write_through")


def begin():
    """Run the command: where processes can be forked with a clean environment, in one that begins anew, else here."""
    if sys.platform == "linux":
        from course_lib.staff.grade import confine

        streams = {name: {key: getattr(getattr(sys, name), key) for key in STREAM} for name in ("stdout", "stderr")
                   if isinstance(getattr(sys, name), io.TextIOWrapper)}
        descriptor = os.memfd_create("caller", 0)
        os.write(descriptor, json.dumps([sys.argv, sys.path, dict(os.environ), streams]).encode())
        clean = confine.environment() | {"PYTHONDONTWRITEBYTECODE": "1" if sys.dont_write_bytecode else ""}
        with contextlib.suppress(OSError):
            os.execve(sys.executable, [sys.executable, "-P", __file__, str(descriptor)], clean)
    _command()


def _command():
    from course_lib.staff.grade import command

    sys.exit(command.main())


def _part(descriptor):
    """Import torch, fork, and go on as the command; descriptor: of the file that its caller's things lie in."""
    import torch  # noqa: F401  both have it then

    gc.collect()
    gc.freeze()  # torch stays: to look through it for garbage takes longer than to grade a student
    ours, theirs = socket.socketpair()
    process = os.fork()
    if not process:
        try:
            ours.close()
            os.close(descriptor)
            _become(theirs)
        finally:
            os._exit(70)
    theirs.close()
    with open(descriptor, encoding="utf-8") as file:
        file.seek(0)
        sys.argv, sys.path[:], environment, streams = json.load(file)
    os.environ.clear()
    os.environ.update(environment)
    for name, settings in streams.items():
        getattr(sys, name).reconfigure(**settings)
    from course_lib.staff.grade import template

    template.keep(template.Template(process, ours))
    _command()


def _become(control):
    """Wait, and run the file that one is told to; end where nobody can say so any more."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    words, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 64)
    if words:
        control.close()
        sys.dont_write_bytecode = True
        arguments, environment, folder = json.loads(words)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        sys.argv = [*arguments, *map(str, descriptors)]
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    _part(int(sys.argv[1]))
