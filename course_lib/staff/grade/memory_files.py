"""What a student's code writes into files, kept in memory: where it runs nothing can be written to disk.

Standard library only, and no other module of the course: the file is copied beside the worker.
"""

import builtins
import errno
import functools
import io
import os
import stat
import sys
import tempfile

REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
LIMIT = 1 << 26  # bytes in one file
_files, _folders = {}, set()  # absolute path -> bytes; folders that were to be made
_open, _mkdir, _stat, _remove = io.open, os.mkdir, os.stat, os.remove


def install():
    """From now on, what writes files and looks for them does in memory what it is not allowed on disk."""
    builtins.open = io.open = opened
    os.mkdir, os.stat = made, looked_up
    os.remove = os.unlink = removed
    tempfile.NamedTemporaryFile = tempfile.TemporaryFile = temporary
    if torch := sys.modules.get("torch"):  # it writes and maps files without python
        torch.save = torch.serialization.save = _saved(torch.save)
        torch.load = torch.serialization.load = _loaded(torch.load)


def opened(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
    """As python's own; a file that may not be written lives in memory, and is read from there."""
    name = _name(file)
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
        if error.errno not in REFUSED and os.path.dirname(_name(path)) not in _folders:
            raise
        _folders.add(_name(path))


def looked_up(path, **how):
    """As python's own `os.stat`, and of what is in memory its kind and size."""
    name = _name(path)
    if name in _files:
        return os.stat_result((stat.S_IFREG | 0o600, 0, 0, 1, 0, 0, len(_files[name]), 0, 0, 0))
    try:
        return _stat(path, **how)
    except OSError:
        if name not in _folders:
            raise
        return os.stat_result((stat.S_IFDIR | 0o700, 0, 0, 2, 0, 0, 0, 0, 0, 0))


def removed(path, *, dir_fd=None):
    """As python's own; a file in memory is gone, too."""
    if _files.pop(_name(path), None) is None:
        _remove(path, dir_fd=dir_fd)


def temporary(mode="w+b", buffering=-1, encoding=None, newline=None, suffix=None, prefix=None, dir=None,
              delete=True, *, errors=None, delete_on_close=True):
    """As python's own, and always in memory, where nothing needs to be deleted."""
    name = tempfile.mktemp(suffix or "", prefix or "tmp", os.fspath(dir) if dir else None)
    binary = _File(name, mode)
    return binary if "b" in mode else _Text(binary, encoding or "utf-8", errors, newline)


def _name(file):
    """The absolute path of a file that is given by a path, else None."""
    return os.path.abspath(os.fsdecode(file)) if isinstance(file, str | bytes | os.PathLike) else None


def _saved(save):
    """`torch.save`, and into memory where it is given a path; folders that this machine lacks are as good as others."""
    @functools.wraps(save)
    def saved(obj, f, *args, **kwargs):
        name = _name(f)
        if name is None:
            return save(obj, f, *args, **kwargs)
        with _File(name, "w") as file:
            return save(obj, file, *args, **kwargs)

    return saved


def _loaded(load):
    """`torch.load`, which maps no file that is in memory already."""
    @functools.wraps(load)
    def loaded(f, *args, **kwargs):
        if _name(f) in _files:
            kwargs.pop("mmap", None)
        return load(f, *args, **kwargs)

    return loaded


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
