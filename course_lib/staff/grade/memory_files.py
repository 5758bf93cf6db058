"""What a student's code writes into files, kept in memory: where it runs nothing can be written to disk.

Standard library only, and no other module of the course: the file is copied beside the worker.
"""

import builtins
import errno
import io
import os

REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
LIMIT = 1 << 26  # bytes in one file
_files, _folders = {}, set()  # absolute path -> bytes; folders that were to be made
_open, _mkdir = io.open, os.mkdir


def install():
    """From now on, `open` and `os.mkdir` do in memory what they are not allowed on disk."""
    builtins.open = io.open = opened
    os.mkdir = made


def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
    """As python's own; a file that may not be written lives in memory, and is read from there."""
    name = os.path.abspath(os.fsdecode(file)) if isinstance(file, str | bytes | os.PathLike) else None
    if name not in _files or set(mode) - set("rwaxbt+"):  # python says what is wrong with a mode
        try:
            return _open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        except OSError as error:
            can_be_made = error.errno in REFUSED or name and os.path.dirname(name) in _folders
            if name is None or not (can_be_made and set(mode) & set("wax")):
                raise
    if "x" in mode and name in _files:
        raise FileExistsError(errno.EEXIST, "File exists", file)
    binary = _File(name, mode)
    return binary if "b" in mode else _Text(binary, encoding or "utf-8", errors, newline)


def made(path, mode=0o777, *, dir_fd=None):
    """As python's own; a folder that may not be made is remembered, so that files can be opened in it."""
    try:
        _mkdir(path, mode, dir_fd=dir_fd)
    except OSError as error:
        if error.errno not in REFUSED and os.path.dirname(os.path.abspath(os.fsdecode(path))) not in _folders:
            raise
        _folders.add(os.path.abspath(os.fsdecode(path)))


def _stop_at_the_limit(size):
    if size > LIMIT:
        raise OSError(errno.ENOSPC, "No space left on device")


class _Text(io.TextIOWrapper):
    """Letters over bytes."""

    def write(self, text):
        _stop_at_the_limit(len(text))  # before they become bytes
        return super().write(text)


class _File(io.BytesIO):
    """One open file; what was written is there for the next one who opens it."""

    def __init__(self, name, mode):
        super().__init__(b"" if "w" in mode else _files.get(name, b""))
        self.name, self._writes = name, bool(set(mode) & set("wax+"))
        if "a" in mode:
            self.seek(0, io.SEEK_END)
        self.flush()

    def write(self, data):
        _stop_at_the_limit(self.tell() + memoryview(data).nbytes)
        return super().write(data)

    def flush(self):
        if self._writes and not self.closed:
            _files[self.name] = self.getvalue()

    def close(self):
        self.flush()
        super().close()
