"""Files in memory, while a student's code runs: they do what python's own do, and leave nothing on disk."""

import builtins
import errno
import io
import json
import os
import tempfile
from pathlib import Path

import pytest
import torch

from course_lib.staff.grade import memory_files

real_open, real_mkdir = io.open, os.mkdir


def refused(path):
    """What a disk says that can be read only."""
    there = os.path.isdir(os.path.dirname(os.path.abspath(path)))
    raise OSError(errno.EROFS if there else errno.ENOENT, "No", path)


@pytest.fixture
def read_only(monkeypatch):
    """A disk that nobody can write to, and `install` done; all is put back."""
    def only_reads(file, mode="r", *rest):
        return refused(file) if set(mode) & set("wax+") else real_open(file, mode, *rest)

    monkeypatch.setattr(memory_files, "_open", only_reads)
    monkeypatch.setattr(memory_files, "_mkdir", lambda path, mode=0o777, dir_fd=None: refused(path))
    monkeypatch.setattr(memory_files, "_files", {})
    monkeypatch.setattr(memory_files, "_folders", set())
    for module, names in ((builtins, ["open"]), (io, ["open"]), (os, ["mkdir", "stat", "remove", "unlink"]),
                          (tempfile, ["NamedTemporaryFile", "TemporaryFile"]),
                          (torch, ["save", "load"]), (torch.serialization, ["save", "load"])):
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name))
    memory_files.install()


def a_students_files():
    """What honest code does with files, and what it sees."""
    seen = []
    with open("log.txt", "w") as file:
        seen.append(file.write("one\n"))
    with open("log.txt", "a") as file:
        file.write("two\n")
    seen += [open("log.txt").read(), open("log.txt", "rb").read(), open("log.txt").readlines()]
    os.makedirs("runs/1", exist_ok=True)
    os.makedirs("runs/1", exist_ok=True)
    Path("runs/1/x.json").write_text(json.dumps({"ü": 1}), encoding="utf-8")
    seen.append(json.loads(Path("runs/1/x.json").read_text(encoding="utf-8")))
    left_open = open("left", "w")
    left_open.write("not closed")
    left_open.flush()
    seen.append(open("left").read())
    with open("both", "wb+") as file:
        file.write(b"abc")
        file.seek(1)
        seen.append(file.read())
    seen += [os.path.exists("log.txt"), os.path.isdir("runs/1"), Path("left").is_file(), os.path.getsize("left")]
    os.remove("left")
    seen += [os.path.exists("left"), Path("never written").exists()]
    weights = {"w": torch.arange(3), "name": "ü"}
    for path in ("best.pt", Path("runs/1/best.pt"), os.path.abspath("third.pt")):
        torch.save(weights, path)
        seen += [str(torch.load(path)), str(torch.load(path, mmap=True)), str(torch.load(open(path, "rb")))]
    torch.save(weights, "best.pt", _use_new_zipfile_serialization=False)
    seen.append(str(torch.load("best.pt", weights_only=True)))
    with tempfile.NamedTemporaryFile("w+", suffix=".txt") as file, tempfile.TemporaryFile() as other:
        file.write("some")
        other.write(b"more")
        file.flush()
        other.seek(0)
        seen += [open(file.name).read(), other.read()]
    for mode, name in (("x", "log.txt"), ("r", "never written"), ("w", "no folder/file"), ("z", "log.txt")):
        try:
            open(name, mode)
        except Exception as error:
            seen.append(type(error).__name__)
    return seen


def test_they_do_what_files_on_disk_do(tmp_path, monkeypatch, request):
    """An honest answer that keeps a log, right in the notebook and an error where it is graded."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "memory").mkdir()
    monkeypatch.chdir(tmp_path / "disk")
    on_disk = a_students_files()
    monkeypatch.chdir(tmp_path / "memory")
    request.getfixturevalue("read_only")
    in_memory = a_students_files()
    assert in_memory == on_disk and on_disk[-4:] == ["FileExistsError", *2 * ["FileNotFoundError"], "ValueError"]
    assert list((tmp_path / "memory").iterdir()) == []


def test_what_was_written_hides_what_is_on_the_disk(tmp_path, monkeypatch, read_only):
    """A log that a student writes, and reads back as the file that was there before."""
    monkeypatch.chdir(tmp_path)
    with real_open("log.txt", "w") as file:
        file.write("old")
    with open("log.txt", "w") as file:
        file.write("new")
    assert open("log.txt").read() == "new" and real_open("log.txt").read() == "old"


def test_a_file_has_an_end(tmp_path, monkeypatch, read_only):
    """Memory filled by a file that never ends."""
    monkeypatch.chdir(tmp_path)
    file = open("large", "wb")
    with pytest.raises(OSError, match="No space left"):
        for _ in range(1000):
            file.write(bytes(1 << 20))
    file.close()
    assert len(open("large", "rb").read()) == memory_files.LIMIT


def test_weights_that_are_too_large_are_refused(tmp_path, monkeypatch, read_only):
    """Memory filled by a file that torch writes past python."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(memory_files, "LIMIT", 1 << 20)
    with pytest.raises((OSError, RuntimeError)):
        torch.save(torch.zeros(1 << 20), "large.pt")
    torch.save(torch.ones(2), "small.pt")
    assert torch.load("small.pt").sum() == 2 and list(tmp_path.iterdir()) == []
