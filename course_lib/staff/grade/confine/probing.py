"""The probe: which level holds on this machine, found by trying, and what to do for a better one."""

import errno
import os
import platform
import socket
import subprocess
import sys
import tempfile
import threading

from . import landlock
from .child import MIB, prepare
from .command_line import wrapped
from .system_calls import ARCHITECTURES

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # in which this package lies
TRIAL = "import sys; sys.path.append(sys.argv.pop(1)); from confine import probing; sys.exit(probing.main())"


def probe():
    """The best level this machine enforces, found by trying in a process of its own: "A", "B", "M" or "C"."""
    for level in {"linux": "AB", "darwin": "M"}.get(sys.platform, ""):
        if holds(level):
            return level
    return "C"


def holds(level):
    """Does a process at this level fail at all it must fail at, and succeed at what honest code needs?"""
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as server:
        canary = os.path.join(folder, "canary")
        with open(canary, "w") as file:
            file.write("not for you")
        command = [sys.executable, "-I", "-S", "-c", TRIAL, FOLDER, level, canary,
                   str(server.getsockname()[1])]
        try:
            done = subprocess.run(wrapped(command, level, [FOLDER]), stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=30)
        except (OSError, subprocess.TimeoutExpired):
            return False
        with open(canary) as file:
            return done.returncode == 0 and done.stdout == b"held\n" and file.read() == "not for you"


def trial(level, canary, port):
    """What `holds` starts: all the attempts, in a confined child of its own; exit status 0 where level holds."""
    if level == "A" and not _is_alone(canary):
        return 1
    if level == "M":
        return 0 if _all_refused(canary, port, level) else 1
    ready = prepare(level, [FOLDER])
    child = os.fork()
    if child == 0:
        status = 1
        try:
            ready.apply(512 * MIB)
            status = 0 if _all_refused(canary, port, level) and _honest_work_goes_on() else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _is_alone(canary):
    """Are the files, the processes and the network of the machine out of sight?"""
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    return not os.path.exists(canary) and len(processes) < 8 and [n for _, n in socket.if_nameindex()] in (["lo"], [])


def _all_refused(canary, port, level):
    attempts = [lambda: open(canary), lambda: open(canary, "w"), lambda: os.listdir(os.path.dirname(canary)),
                lambda: socket.create_connection(("127.0.0.1", int(port)), timeout=5),
                lambda: os.open(canary, os.O_RDONLY | os.O_TRUNC), lambda: os.mkdir(canary + ".d"),
                lambda: os.execv("/bin/sh", ["sh", "-c", "exit 1"])]
    if level != "M":
        import resource  # Windows has none

        attempts += [socket.socket, lambda: os.fork() or os._exit(1), lambda: os.kill(os.getppid(), 0),
                     lambda: os.kill(0, 0), lambda: os.kill(-1, 0), lambda: os.chmod(canary, 0o600),
                     lambda: open(f"/proc/{os.getppid()}/environ"), lambda: open("/proc/self/mem"),
                     lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE), os.setsid]
    return all(map(_refused, attempts))


def _refused(attempt):
    try:
        attempt()
    except OSError as error:
        return error.errno in (errno.EPERM, errno.EACCES, errno.ENOENT, errno.EROFS, errno.ESRCH)
    return False


def _honest_work_goes_on():
    """Threads, signals to itself, late imports, /dev/null; and memory ends in MemoryError."""
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    os.kill(os.getpid(), 0)
    import wave  # noqa: F401  the standard library is readable
    with open(os.devnull, "w") as null:
        null.write("nothing")
    try:
        bytearray(1024 * MIB)
    except MemoryError:
        return True
    return False


def missing(level):
    """One sentence: what to install or allow for a better level; "" where there is none."""
    if sys.platform == "darwin":
        return "" if level == "M" else ("The macOS sandbox does not hold here: make sure that /usr/bin/sandbox-exec "
                                        "exists and that this process is not itself inside a sandbox.")
    if sys.platform != "linux":
        return "Grade on Linux (5.13 or newer), in WSL 2 or on a Mac: this system has no sandbox the grader knows."
    if level == "B":
        return ("For level A install bubblewrap (apt install bubblewrap) and allow unprivileged user namespaces, "
                "for instance by an AppArmor profile for /usr/bin/bwrap.")
    return "" if level == "A" else _missing_on_linux()


def _missing_on_linux():
    if platform.machine() not in ARCHITECTURES:
        return f"For level B grade on x86_64 or aarch64: the list of system calls does not cover {platform.machine()}."
    try:
        landlock.call("landlock_create_ruleset", None, 0, 1)
    except OSError as error:
        return {
            errno.ENOSYS: "For level B use Linux 5.13 or newer: this kernel has no Landlock.",
            errno.EOPNOTSUPP: "For level B add landlock to the lsm= list on the kernel's command line and boot again.",
        }.get(error.errno, "For level B let the container's seccomp profile pass the three landlock_* system calls.")
    return "For level B let this process install a seccomp filter and fork: what encloses it refuses one of them."


def main():
    """One trial of the level that the command line names."""
    status = trial(*sys.argv[1:])
    if status == 0:
        print("held", flush=True)
    return status
