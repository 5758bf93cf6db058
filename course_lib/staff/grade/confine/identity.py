"""Linux: which user a process is, and what that user may do."""

import ctypes
import os
import struct
import sys

from .system_calls import LIBC, PR_SET_KEEPCAPS, prctl

NOBODYS = 2**31  # user ids from here on belong to nobody
TEMPLATE_CAPABILITIES = ("CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH")
_SETUID, _SETGID, _KILL, DAC_OVERRIDE, DAC_READ_SEARCH, _SYS_ADMIN = (1 << n for n in (7, 6, 5, 1, 2, 21))


def _capabilities():
    """The capabilities in effect and those permitted, of the first 32."""
    data = ctypes.create_string_buffer(24)
    LIBC.capget(struct.pack("=Ii", 0x20080522, 0), data)
    return struct.unpack_from("=II", data.raw)


def _set_capabilities(bits):
    half = struct.pack("=III", bits & 0xFFFFFFFF, bits & 0xFFFFFFFF, 0)
    if LIBC.capset(struct.pack("=Ii", 0x20080522, 0), half + bytes(12)) != 0:
        raise OSError(ctypes.get_errno(), "capset: " + os.strerror(ctypes.get_errno()))


def is_full_root():
    """Is this process root, with root's rights?"""
    return sys.platform == "linux" and os.geteuid() == 0 and bool(_capabilities()[0] & _SYS_ADMIN)


def become_nobody():
    """As root, become a user that nobody is: RLIMIT_NPROC does not bind root. Say whether that was possible.

    What root could read stays readable (Landlock says what that is), for an environment may lie in root's home.
    """
    needed = _SETUID | _SETGID | _KILL | DAC_OVERRIDE
    if os.geteuid() != 0 or _capabilities()[0] & needed != needed:
        return False
    number = int.from_bytes(os.urandom(4), "little") % 2**30 + NOBODYS
    prctl(PR_SET_KEEPCAPS, 1)
    try:
        os.setgroups([])
        os.setresgid(number, number, number)
        os.setresuid(number, number, number)
    except OSError:  # a container that maps few users
        return False
    return True


def give_up_capabilities():
    """Keep none, but for reading on as somebody that was root."""
    kept = DAC_OVERRIDE | DAC_READ_SEARCH if os.getuid() >= NOBODYS else 0
    _set_capabilities(_capabilities()[1] & kept)
