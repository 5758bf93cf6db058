"""The command line of a template."""

import os
import shutil
import sys

from .identity import TEMPLATE_CAPABILITIES, is_full_root
from .python_folders import MAC_SYSTEM, SYSTEM, environment, existing, library_path, python_prefixes, site_folders


def wrapped(command, level, readable=(), scratch="", hidden=(), variables=None):
    """The command line that runs `command` as a template at this level.

    readable:  files and folders it sees besides python's own
    scratch:   the one folder in which it may write, or ""
    hidden:    folders inside what it sees that it must not (the course's own code, where that is installed)
    variables: its whole environment, whatever the caller's is; `environment(scratch)` where None
    An open socket passed with `pass_fds` reaches the command.
    """
    variables = environment(scratch) if variables is None else variables
    line = ["/usr/bin/env", "-i", *(f"{name}={value}" for name, value in variables.items())]
    if level == "A":
        line += [*_bwrap(readable, scratch, hidden), "--"]
    if level == "M":
        line += ["/usr/bin/sandbox-exec", "-p", _mac_profile(command[0], readable, scratch)]
    return [*line, *command]


def _bwrap(readable, scratch, hidden):
    line = [shutil.which("bwrap") or "/usr/bin/bwrap", "--die-with-parent", "--cap-drop", "ALL"]
    root = is_full_root()
    for kind in ("pid", "net", "ipc", "uts", "cgroup-try", *([] if root else ["user"])):
        line.append("--unshare-" + kind)
    for capability in TEMPLATE_CAPABILITIES if root else ():
        line += ["--cap-add", capability]
    line += ["--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev"]  # first: what is bound below may lie inside /tmp
    for path in ("/usr", "/lib", "/lib64"):
        line += _shown(path)
    seen = [p for p in SYSTEM if p.startswith(("/etc", "/sys", "/nix"))] + library_path() + site_folders()
    for path in sorted(existing([*python_prefixes(), *seen, *readable]), key=len):  # an outer folder before an inner
        line += ["--ro-bind", path, path]
    for path in existing(hidden):
        line += ["--tmpfs", path, "--remount-ro", path]
    if scratch:
        line += ["--bind", scratch, scratch]
    return line + ["--remount-ro", "/", "--chdir", "/"]


def _shown(path):
    """/lib is a link on most machines: the link is made again, or the loader would not be found."""
    if os.path.islink(path):
        return ["--symlink", os.readlink(path), path]
    return ["--ro-bind", path, path] if os.path.exists(path) else []


def _mac_profile(program, readable, scratch):
    """Seatbelt's language: all that is not allowed is denied."""
    def names(kind, paths):
        real = dict.fromkeys(p for path in paths for p in (path, os.path.realpath(path)))
        return " ".join(f"({kind} {_quoted(p)})" for p in real)

    rules = ["(version 1)", "(deny default)", "(allow process-fork)", "(allow signal (target same-sandbox))",
             "(allow sysctl-read)", "(allow file-read-metadata)", "(allow file-ioctl (literal \"/dev/null\"))",
             f"(allow process-exec {names('literal', [program, sys.executable])})",
             f"(allow file-read* {names('subpath', [*python_prefixes(), *site_folders(), *MAC_SYSTEM, *readable])})",
             "(allow file-read-data (literal \"/\"))", "(allow file-write-data (literal \"/dev/null\"))"]
    if scratch:
        rules.append(f"(allow file-read* file-write* {names('subpath', [scratch])})")
    return "\n".join(rules)


def _quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
