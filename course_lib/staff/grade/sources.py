"""What was handed in, as named bytes from a folder or a zip: no link is followed and nothing is written to disk."""

import contextlib
import errno
import hashlib
import io
import itertools
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from course_lib.staff.grade.names import ZIP, is_skipped
from course_lib.staff.grade.platforms import is_sent
from course_lib.staff.grade.without_outputs import WithoutOutputs

MIB = 2**20
NOTEBOOK_BYTES = 32 * MIB
SUBMISSION_BYTES = 256 * MIB
OUTPUT_BYTES = 2048 * MIB  # of one submission, with what its cells have shown
FILES = 500  # notebooks of one submission
ENTRIES = 20_000  # names of any kind in one submission
DEPTH = 20
RATIO, RATIO_FROM = 200, 4 * MIB  # a larger member that unpacks to more than so many times its size is a bomb
DIRECTORY_BYTES = 4 * MIB  # of a student's zip: its table of contents
BATCH_DIRECTORY_BYTES = 256 * MIB
CHUNK = MIB

FILE_FLAGS = (os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
              | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0))
FOLDER_FLAGS = FILE_FLAGS | getattr(os, "O_DIRECTORY", 0)
BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.scandir in os.supports_fd  # not on Windows
BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, OSError, OverflowError,
          RuntimeError, ValueError, LookupError)


class Unreadable(Exception):
    """Why something was not read: the rest of a sentence that begins with its name."""


@dataclass(frozen=True)
class Entry:
    """One thing that was handed in. `open` gives a context with its bytes as a file, or raises Unreadable."""

    path: str  # with slashes, as it was named
    open: Callable
    modified: str | None = None
    seekable: bool = False
    refused: str = ""  # why it will never be opened


@dataclass
class Allowance:
    """What reading one submission may still cost; whatever would exceed it raises Unreadable."""

    files: int = FILES
    size: int = SUBMISSION_BYTES
    entries: int = ENTRIES
    outputs: int = OUTPUT_BYTES

    def one_more_file(self):
        self.files -= 1
        if self.files < 0:
            raise Unreadable(f"was not read, because the submission has more than {FILES} notebooks")

    def one_more_entry(self):
        self.entries -= 1
        if self.entries < 0:
            raise Unreadable(f"was not read to its end, because the submission has more than {ENTRIES} files")

    def pass_over(self, size):
        self.outputs -= size
        if self.outputs < 0:
            raise Unreadable(f"was not read, because the submission is larger than {OUTPUT_BYTES >> 30} GiB")

    def spend(self, size):
        self.size -= size
        if self.size < 0:
            raise Unreadable(f"was not read, because the submission is larger than {SUBMISSION_BYTES // MIB} MiB")


def read(entry, allowance, limit=NOTEBOOK_BYTES):
    """All bytes of an entry, or Unreadable."""
    parts, size = [], 0
    with entry.open() as file:
        while part := file.read(CHUNK):
            size += len(part)
            if size > limit:
                raise Unreadable(f"is larger than {limit // MIB} MiB")
            allowance.spend(len(part))
            parts.append(part)
    return b"".join(parts)


def read_notebook(entry, allowance):
    """The bytes of a notebook without what its cells have shown, and the sha256 of all of it; or Unreadable."""
    parts, size, digest, without = [], 0, hashlib.sha256(), WithoutOutputs()
    with entry.open() as file:
        while part := file.read(CHUNK):
            digest.update(part)
            allowance.pass_over(len(part))
            kept = without.fed(part)
            size += len(kept)
            if size > NOTEBOOK_BYTES:
                raise Unreadable(f"is larger than {NOTEBOOK_BYTES // MIB} MiB without its outputs")
            allowance.spend(len(kept))
            parts.append(kept)
    return b"".join([*parts, without.rest()]), digest.hexdigest()


class Folder:
    """A folder with one file or folder per student, or a single file of it."""

    def __init__(self, path, only=None):
        self._path, self._only = path, only

    def close(self):
        """A folder is only open while it is read."""

    def tops(self):
        """(name, is_folder) of what lies there."""
        if self._only:
            return [(self._only, False)]
        with os.scandir(self._path) as found:
            return [(e.name, e.is_dir(follow_symlinks=False)) for e in found if not is_skipped(e.name)]

    def entries(self, top, allowance):
        """Everything below one (name, is_folder); each entry has to be used before the next is asked for."""
        name, is_folder = top
        with _folder(None, self._path) as parent:
            yield from _below(parent, name, name, allowance, 0) if is_folder else [_file(parent, name, name)]


def _below(parent, name, path, allowance, depth):
    """The entries of a folder, its files before those in its folders."""
    try:
        if depth > DEPTH:
            raise Unreadable(f"was not read, because it lies in more than {DEPTH} folders")
        with _folder(parent, name) as here:
            files, folders = _listed(here, allowance)
            for file in files:
                yield _file(here, file, f"{path}/{file}")
            for folder in folders:
                yield from _below(here, folder, f"{path}/{folder}", allowance, depth + 1)
    except Unreadable as error:
        yield _refused(path, str(error))


def _listed(here, allowance):
    """The names in an open folder: (files and others, folders), sorted."""
    with _explained(), os.scandir(here) as found:
        names = [(e.name, e.is_dir(follow_symlinks=False)) for e in itertools.islice(found, ENTRIES + 1)]
    names = sorted(name for name in names if not is_skipped(name[0]))
    for _ in names:
        allowance.one_more_entry()
    return [name for name, is_folder in names if not is_folder], [name for name, is_folder in names if is_folder]


@contextlib.contextmanager
def _folder(parent, name):
    """A folder to list and to open files in: a descriptor, so that nobody can put a link in its place meanwhile."""
    if not BY_DESCRIPTOR:
        yield name if parent is None else os.path.join(parent, name)
        return
    with _explained():
        # The folder that the instructor named may be a link.
        flags = FOLDER_FLAGS if parent is not None else FOLDER_FLAGS & ~os.O_NOFOLLOW
        descriptor = os.open(name, flags, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _file(parent, name, path):
    """One name that is no folder, with what can be known before it is opened."""
    try:
        with _explained():
            status = _status(parent, name)
    except Unreadable as error:
        return _refused(path, str(error))
    if not stat.S_ISREG(status.st_mode):
        return _refused(path, "is a link, which is never followed" if stat.S_ISLNK(status.st_mode)
                        else "is not a regular file")
    return Entry(path, lambda: _opened(parent, name), _iso(status.st_mtime), seekable=True)


def _status(parent, name):
    if BY_DESCRIPTOR:
        return os.stat(name, dir_fd=parent, follow_symlinks=False)
    return os.stat(os.path.join(parent, name), follow_symlinks=False)


@contextlib.contextmanager
def _opened(parent, name):
    """A regular file that stays as it is while it is read."""
    with _explained(), contextlib.ExitStack() as stack:
        descriptor = (os.open(name, FILE_FLAGS, dir_fd=parent) if BY_DESCRIPTOR
                      else os.open(os.path.join(parent, name), FILE_FLAGS))
        file = stack.enter_context(os.fdopen(descriptor, "rb"))
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise Unreadable("is not a regular file")
        yield file
        after = os.fstat(descriptor)
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise Unreadable("changed while it was read; grade it again when it is complete")


@contextlib.contextmanager
def _explained():
    """Says what the system refused, in words that are the same on every machine."""
    try:
        yield
    except FileNotFoundError:
        raise Unreadable("vanished before it was read") from None
    except PermissionError:
        raise Unreadable("may not be read by you; change its permissions") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise Unreadable("became a link or another kind of file before it was read") from None
        raise Unreadable(f"cannot be read ({errno.errorcode.get(error.errno, 'unknown error')})") from None


def _refused(path, why):
    def never():
        raise Unreadable(why)
    return Entry(path, never, refused=why)


class Zip:
    """A zip with one file, folder or zip per student.

    A single top folder is looked through if nothing else lies beside it; one that has the zip's own name, always.
    """

    def __init__(self, path):
        self._file = open(path, "rb")  # noqa: SIM115
        try:
            self._archive = _archive(self._file, BATCH_DIRECTORY_BYTES)
        except Unreadable:
            self._file.close()
            raise
        self._members = {}
        members = [(_parts(info), info) for info in self._archive.infolist()]
        members = [(parts, info) for parts, info in members if parts and not any(map(is_skipped, parts))]
        wrapper = _wrapper(members, ZIP.sub("", os.path.basename(path)))
        for parts, info in members:
            below = parts[1:] if parts[0] == wrapper else parts
            if below:
                top = (below[0], len(below) > 1 or _is_folder(info))
                self._members.setdefault(top, []).append(("/".join(below), info))

    def close(self):
        self._archive.close()
        self._file.close()

    def tops(self):
        """(name, is_folder) of what lies there."""
        return list(self._members)

    def entries(self, top, allowance):
        """Everything below one (name, is_folder)."""
        return _members(self._archive, self._members[top], allowance)


def entries_of_zip(entry, allowance):
    """Everything in a student's zip; each entry has to be used before the next is asked for."""
    with entry.open() as file:
        if not entry.seekable:
            file = io.BytesIO(read(entry, allowance, SUBMISSION_BYTES))
        with _archive(file, DIRECTORY_BYTES) as archive:
            members = [(_parts(info), info) for info in archive.infolist()]
            members = [(f"{entry.path}/{'/'.join(parts)}", info) for parts, info in members
                       if parts and not any(map(is_skipped, parts))]
            for member in _members(archive, members, allowance):
                yield replace(member, modified=entry.modified)  # a student's own clock says nothing


def _archive(file, directory_bytes):
    """A zip with a table of contents that is no larger than allowed."""
    try:
        return zipfile.ZipFile(_InSmallReads(file, directory_bytes))
    except BROKEN:
        raise Unreadable("is damaged, or not a zip") from None


class _InSmallReads(io.RawIOBase):
    """A file of which nobody reads more at once than a limit, whatever sizes its content announces."""

    def __init__(self, file, limit):
        self._file, self._limit, self._end = file, limit, file.seek(0, os.SEEK_END)

    def seekable(self):
        return True

    def seek(self, *to):
        return self._file.seek(*to)

    def tell(self):
        return self._file.tell()

    def read(self, size=-1):
        left = max(self._end - self._file.tell(), 0)
        size = left if size is None or size < 0 else min(size, left)
        if size > self._limit:
            raise zipfile.BadZipFile("announces more than may be read at once")
        return self._file.read(size)


def _parts(info):
    """The parts of a member's name. Windows' separator counts, and UTF-8 that is not declared as such is seen."""
    name = info.orig_filename
    if not info.flag_bits & 0x800:
        with contextlib.suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return [part for part in name.replace("\\", "/").split("/") if part not in ("", ".", "..")]


def _is_folder(info):
    return info.orig_filename.endswith(("/", "\\"))


def _wrapper(members, own_name):
    """The name of the one folder that holds all students, or None."""
    tops = {parts[0] for parts, _ in members}
    files = {parts[0] for parts, info in members if len(parts) == 1 and not _is_folder(info)}
    if len(tops) == 1 and not files and not any(map(is_sent, tops)):
        return tops.pop()
    return own_name if own_name in tops - files else None


def _members(archive, members, allowance):
    """Entries of a zip: the last of those that share a name, those in few folders first."""
    newest = {path: info for path, info in members if not _is_folder(info)}
    for path in sorted(newest, key=lambda path: (path.count("/"), path)):
        try:
            allowance.one_more_entry()
        except Unreadable as error:
            yield _refused(path.split("/")[0], str(error))
            return
        info = newest[path]
        yield Entry(path, lambda info=info: _member(archive, info), _time(info), refused=_objection(info))


def _objection(info):
    """Why a member is not unpacked, or an empty text."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    name = info.orig_filename.replace("\\", "/")
    if name.startswith("/") or name[1:2] == ":" or ".." in name.split("/"):
        return "has a name that leads out of the zip"
    if kind == stat.S_IFLNK:
        return "is a link, which is never followed"
    if kind not in (0, stat.S_IFREG):
        return "is not a regular file"
    if info.flag_bits & 1:
        return "is protected by a password"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is compressed by an unusual method; zip it again with the usual one"
    if info.file_size > max(RATIO_FROM, RATIO * info.compress_size):
        return f"would unpack to more than {RATIO} times its size"
    return ""


@contextlib.contextmanager
def _member(archive, info):
    """A member of a zip, unpacked as it is read."""
    objection = _objection(info)
    if objection:
        raise Unreadable(objection)
    try:
        with archive.open(info) as file:
            yield file
    except BROKEN:
        raise Unreadable("is damaged inside the zip") from None


def _time(info):
    """When a member was written: from the extra field that knows the time zone, else as it stands there."""
    extra = info.extra
    while len(extra) >= 4:
        kind, size = struct.unpack("<HH", extra[:4])
        if kind == 0x5455 and size >= 5 and len(extra) >= 9 and extra[4] & 1:
            return _iso(struct.unpack("<i", extra[5:9])[0])
        extra = extra[4 + size:]
    try:
        return datetime(*info.date_time, tzinfo=UTC).isoformat(timespec="seconds")
    except ValueError:
        return None


def _iso(seconds):
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (OverflowError, OSError, ValueError):
        return None
