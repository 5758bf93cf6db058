"""Put a process's memory into large pages, of which a fork has five hundred times fewer to note.

Standard library only, and no other module of the course: the file is copied beside the worker.
"""

import contextlib
import ctypes
from pathlib import Path

MADV_COLLAPSE = 25  # Linux 6.1 and later; others refuse it, and all stays as it is


def collapse():
    """Do it now, for the memory that belongs to no file."""
    with contextlib.suppress(OSError):
        libc = ctypes.CDLL(None)
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            places, rights, _, _, _, *name = line.split(maxsplit=5)
            if rights == "rw-p" and name in ([], ["[heap]"]):
                begin, end = (int(place, 16) for place in places.split("-"))
                libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), MADV_COLLAPSE)
