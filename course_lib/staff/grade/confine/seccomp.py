"""Linux: seccomp, which says which system calls can be made."""

import ctypes
import errno
import os
import platform
import struct

from . import system_calls

_LOAD, _EQUAL, _GREATER, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
_ALLOW, _REFUSE, _NO_SUCH = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_OWN_PID = object()


def program():
    """The BPF program as bytes, and the offsets at which a child puts its own process id."""
    if platform.machine() not in system_calls.ARCHITECTURES or struct.calcsize("P") != 8:
        raise OSError(errno.ENOSYS, f"no list of system calls for {platform.machine()}")
    architecture, column = system_calls.ARCHITECTURES[platform.machine()]
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _REFUSE),
             (_LOAD, 0, 0, 0), (_GREATER, 0, 1, system_calls.NEWEST),  # x32's numbers are above, too
             (_RETURN, 0, 0, _NO_SUCH)]
    rules = _rules(column)
    for number in sorted(rules):
        steps += [(_EQUAL, 0, len(rules[number]), number), *rules[number]]
    steps.append((_RETURN, 0, 0, _ALLOW))
    own = [8 * i + 4 for i, (*_, value) in enumerate(steps) if value is _OWN_PID]
    return b"".join(struct.pack("=HBBI", *step, 0 if value is _OWN_PID else value)
                    for *step, value in steps), own


def _rules(column):
    """What follows the number of a system call, each ending in a verdict."""
    rules = {}
    for entry in system_calls.DENIED.replace("\n", " ").split(","):
        number = entry.split()[1 + column]
        if number != "-":
            rules[int(number)] = [(_RETURN, 0, 0, _REFUSE)]
    rules |= {numbers[column]: [(_RETURN, 0, 0, _NO_SUCH)] for numbers in system_calls.UNKNOWN.values()}
    for *numbers, argument, values in system_calls.ALLOWED_FOR:
        rules[numbers[column]] = _among(argument, values)
    for *numbers, process in system_calls.ALLOWED_ON_ITSELF:
        rules[numbers[column]] = [*_load(0), (_EQUAL, 1, 0, process), (_RETURN, 0, 0, _REFUSE),
                                  *_among(1, ("self", 0))]
    rules[(72, 25)[column]] = _among(1, system_calls.DENIED_FCNTL, then=_REFUSE, otherwise=_ALLOW)
    rules[(56, 220)[column]] = [*_load(0), (_ANY_BIT, 2, 0, system_calls.CLONE_NEW_ANYTHING),
                                (_ANY_BIT, 0, 1, system_calls.CLONE_THREAD), (_RETURN, 0, 0, _ALLOW),
                                (_RETURN, 0, 0, _REFUSE)]
    rules[(257, 56)[column]] = _no_truncation(2)  # openat
    if column == 0:
        rules[2] = _no_truncation(1)  # open
    return rules


def _load(argument, high=False):
    return [(_LOAD, 0, 0, 16 + 8 * argument + 4 * high)]


def _among(argument, values, then=_ALLOW, otherwise=_REFUSE):
    """One verdict where the argument's low half is one of the values, another where not.

    The kernel reads these arguments as 32 bits, but for sendto's address: there the high half must be 0 as well.
    """
    values = [_OWN_PID if v == "self" else v for v in values]
    tests = [(_EQUAL, len(values) - i, 0, v) for i, v in enumerate(values)]
    verdicts = [(_RETURN, 0, 0, otherwise), (_RETURN, 0, 0, then)]
    if argument == 4:
        return [*_load(4, high=True), (_EQUAL, 1, 0, 0), (_RETURN, 0, 0, otherwise), *_load(4), *tests, *verdicts]
    return [*_load(argument), *tests, *verdicts]


def _no_truncation(argument):
    """Refuse O_RDONLY | O_TRUNC, which empties a file and which older Landlocks take for reading."""
    return [*_load(argument), (_AND, 0, 0, system_calls.O_ACCMODE | system_calls.O_TRUNC),
            (_EQUAL, 0, 1, system_calls.O_TRUNC), (_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]


def install(code, own_pid_at):
    """Put a `program` between this process and the kernel for good."""
    code = bytearray(code)
    for offset in own_pid_at:
        struct.pack_into("=I", code, offset, os.getpid())
    code = bytes(code)
    text = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(text)))
    system_calls.prctl(system_calls.PR_SET_SECCOMP, 2, header)
