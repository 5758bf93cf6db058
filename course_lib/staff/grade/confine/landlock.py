"""Linux: Landlock, which says which files can be touched."""

import ctypes
import errno
import os
import struct

from .python_folders import SYSTEM, existing, python_paths
from .system_calls import LIBC

_NUMBERS = {"landlock_create_ruleset": 444, "landlock_add_rule": 445, "landlock_restrict_self": 446}

(_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE, _MAKE_CHAR, _MAKE_DIR, _MAKE_REG,
 _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM, _REFER, _TRUNCATE, _IOCTL_DEV) = (1 << n for n in range(16))
_READ = _READ_FILE | _READ_DIR
_WRITE = _READ | _WRITE_FILE | _TRUNCATE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG
_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV


def call(name, *arguments):
    """A Landlock call by number. Raises OSError."""
    numbers = [a if isinstance(a, ctypes.c_void_p | bytes | None) else ctypes.c_long(a) for a in arguments]
    result = LIBC.syscall(ctypes.c_long(_NUMBERS[name]), *numbers)
    if result < 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")
    return result


def version():
    """Which version of Landlock the kernel speaks; 0 where it has none or it is switched off."""
    try:
        return call("landlock_create_ruleset", None, 0, 1)
    except OSError:
        return 0


def grants(readable, scratch, hidden):
    """Which paths may be used how: (path, rights) pairs."""
    found = {}
    hidden = [os.path.realpath(h) for h in existing(hidden)]
    for path in [*python_paths(), *existing(SYSTEM), *existing(readable)]:
        for part, rights in _without(os.path.realpath(path), hidden):
            found[part] = found.get(part, 0) | rights
    found["/dev/null"] = _READ_FILE | _WRITE_FILE
    if scratch:
        found[os.path.realpath(scratch)] = _WRITE
    return found


def _without(path, hidden):
    """The path, or where something hidden lies inside it, all else in it: Landlock can only allow."""
    if path in hidden:
        return
    if not any(h.startswith(path + os.sep) for h in hidden):
        yield path, _READ
        return
    yield path, _READ_DIR
    for entry in os.scandir(path):
        if not entry.is_symlink():
            yield from _without(entry.path, hidden)


def open_ruleset(granted):
    """An open Landlock ruleset that handles all this kernel can handle and grants just this."""
    spoken = version()
    if spoken == 0:
        raise OSError(errno.ENOSYS, "this kernel has no Landlock")
    files = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(spoken, 16)) - 1
    attributes = struct.pack("=QQQ", files, 0b11, 0b11)[: 8 if spoken < 4 else 16 if spoken < 6 else 24]
    ruleset = call("landlock_create_ruleset", attributes, len(attributes), 0)
    for path, rights in granted.items():
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        allowed = rights & files if os.path.isdir(path) else rights & files & _OF_A_FILE
        try:
            if allowed:
                call("landlock_add_rule", ruleset, 1, struct.pack("=Qi", allowed, opened), 0)
        finally:
            os.close(opened)
    return ruleset


def restrict(ruleset):
    """Hold this process to a ruleset for good, and close it."""
    call("landlock_restrict_self", ruleset, 1 if version() >= 7 else 0)  # 1: no audit log
    os.close(ruleset)
