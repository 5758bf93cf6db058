"""The grader reads whatever students hand in: nobody is lost, nothing is followed, nothing fills the memory."""

import io
import json
import os
import random
import socket
import stat
import struct
import sys
import time
import tracemalloc
import zipfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from course_lib.staff.grade import sources
from course_lib.staff.grade.reading import Notebook, ReadingError, Submission, submissions
from course_lib.staff.grade.without_outputs import WithoutOutputs

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs links and special files")
GONE_SECONDS = 5


def notebook(*sources, **more):
    cells = [{"cell_type": "code", "source": s, "metadata": {}, "outputs": [], "execution_count": None}
             for s in sources]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}


def as_bytes(*sources, **more):
    return json.dumps(notebook(*sources, **more)).encode()


def put(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_bytes(content) if isinstance(content, str) else content)
    return folder


def zipped(files):
    """The bytes of a zip; a value may be a source, bytes, or (ZipInfo, bytes)."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info, content = content if isinstance(content, tuple) else (name, content)
            archive.writestr(info, as_bytes(content) if isinstance(content, str) else content)
    return out.getvalue()


def read(path):
    return {s.student: s for s in submissions(path)}


def one(tmp_path, content, name="alice.ipynb"):
    """What comes of a single file."""
    [submission] = submissions(put(tmp_path, {name: content}))
    return submission


def sources_of(submission):
    return [cell for notebook in submission.notebooks for cell in notebook.cells]


def problem(submission):
    [sentence] = submission.problems
    assert sentence.endswith(".") and sentence.isprintable()
    return sentence


# Who handed in


def test_a_file_a_folder_and_a_zip_are_one_student_each(tmp_path):
    """A student who hands in a folder or a zip is lost, or each of their files becomes a student."""
    put(tmp_path, {"alice.ipynb": "a", "bob/deep/er/04.ipynb": "b", "bob/05.ipynb": "b5", "dave.py": b"x = 1\n",
                   "carol.zip": zipped({"work/04.ipynb": "c"})})
    found = read(tmp_path)
    assert {name: sources_of(s) for name, s in found.items()} == {
        "alice": ["a"], "bob": ["b", "b5"], "carol": ["c"], "dave": ["x = 1"]}
    assert found["carol"].notebooks[0].path == "carol.zip/work/04.ipynb"
    assert not any(s.problems for s in found.values())


def test_a_file_and_a_folder_of_the_same_name_are_one_student(tmp_path):
    """A student who handed in twice stands in the results twice, and one of the rows says missing."""
    put(tmp_path, {"alice.ipynb": "a", "alice/b.ipynb": "b", "alice.zip": zipped({"c.ipynb": "c"}), "alice.py": b"d"})
    [alice] = submissions(tmp_path)
    assert sorted(sources_of(alice)) == ["a", "b", "c", "d"]


def test_names_that_look_alike_stay_different_students(tmp_path):
    """Two students share a row because their names share a beginning, a dot or a control character's replacement."""
    names = ["J. Smith", "J. Brown", "J", "José", "Jose\u0301", "anna ", "anna", "anna\u200b", "anna\\u200b",
             "anna\u202e"]
    if sys.platform in ("win32", "darwin"):
        names = names[:4]
    put(tmp_path, {f"{name}/04.ipynb": name for name in names})
    found = read(tmp_path)
    assert len(found) == len(names)
    assert sorted(sources_of(s)[0] for s in found.values()) == sorted(names)
    assert all(name.isprintable() and name == name.strip() for name in found)


@posix
@pytest.mark.skipif(sys.platform == "darwin", reason="its file names are always UTF-8")
def test_any_file_name_becomes_one_printable_line(tmp_path):
    """A name with a newline forges a row; one with a stray byte or a surrogate cannot be written anywhere."""
    names = [b"a\nb,pass", b"a\\x0ab,pass", b"\xff\xfe", b"\x1b[31m", b"=1+1", b"x" * 250]
    for name in names:
        (Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))).mkdir()
    found = read(tmp_path)
    assert len(found) == len(names)
    for name, submission in found.items():
        (name + problem(submission)).encode("utf-8")
        assert name.isprintable() and len(name) < 150


def test_everybody_who_handed_in_something_appears(tmp_path):
    """Who handed in an empty folder, a document or rubbish is absent from the results instead of without points."""
    put(tmp_path, {"doc.docx": b"PK", "zero.ipynb": b"", "notzip.zip": b"rubbish", "emptyzip.zip": zipped({}),
                   "seven.7z": b"7z", "only/essay.txt": b"hello", "noext": b"?", "fine.ipynb": "1"})
    (tmp_path / "empty").mkdir()
    found = read(tmp_path)
    assert set(found) == {"doc", "zero", "notzip", "emptyzip", "seven", "only", "noext", "fine", "empty"}
    said = {name: problem(s) for name, s in found.items() if name != "fine"}
    assert said["empty"] == "empty handed in an empty folder."
    assert said["only"] == "only handed in no notebook, only essay.txt."
    assert said["zero"] == "zero.ipynb is empty."
    assert "damaged" in said["notzip"] and "archive" in said["seven"]


def test_what_systems_leave_behind_is_nobodys_work(tmp_path):
    """__MACOSX becomes a student, or an old checkpoint is graded in place of the notebook."""
    rubbish = {"__MACOSX/._alice.ipynb": b"\0", ".DS_Store": b"\0", "Thumbs.db": b"", "desktop.ini": b"",
               "alice/.ipynb_checkpoints/04-checkpoint.ipynb": "old", "alice/__MACOSX/x.ipynb": "old",
               "alice/04.ipynb": "new", "alice/._04.ipynb": b"\0", "alice/venv/lib/site-packages/t.py": b"1"}
    put(tmp_path / "folder", rubbish)
    (tmp_path / "batch.zip").write_bytes(zipped(rubbish))
    for path in (tmp_path / "folder", tmp_path / "batch.zip"):
        [alice] = submissions(path)
        assert sources_of(alice) == ["new"] and alice.problems == ()


def test_notebooks_come_in_the_order_of_the_lessons(tmp_path):
    """Lesson 10 runs before lesson 4, so an answer of lesson 10 misses what it builds on."""
    names = ["10_encoder.ipynb", "4_b.ipynb", "04_a.ipynb", "z/03.ipynb", "notes.ipynb", "lesson_05.ipynb"]
    put(tmp_path, {f"a/{name}": name for name in names})
    [alice] = submissions(tmp_path)
    assert sources_of(alice) == ["z/03.ipynb", "04_a.ipynb", "4_b.ipynb", "lesson_05.ipynb", "10_encoder.ipynb",
                                 "notes.ipynb"]


def test_the_result_depends_only_on_what_was_handed_in(tmp_path, monkeypatch):
    """A second run regrades everybody, because folders are listed in another order or a file was touched."""
    put(tmp_path, {f"s{i % 7}/{i:02}.ipynb": f"x = {i}" for i in range(40)})
    first = list(submissions(tmp_path))
    real = os.scandir

    class Shuffled:
        def __init__(self, *args):
            with real(*args) as found:
                self.entries = list(found)
            random.shuffle(self.entries)

        def __enter__(self):
            return iter(self.entries)

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(os, "scandir", Shuffled)
    assert list(submissions(tmp_path)) == first
    monkeypatch.undo()
    os.utime(tmp_path / "s0/00.ipynb", (0, 0))
    again = list(submissions(tmp_path))
    assert [s.digest for s in again] == [s.digest for s in first]
    assert again[0].notebooks[0].modified == "1970-01-01T00:00:00+00:00"
    put(tmp_path, {"s0/00.ipynb": "x = 1000"})
    changed = [s.digest != old.digest for s, old in zip(submissions(tmp_path), first, strict=True)]
    assert changed == [True] + 6 * [False]


# What there is to grade


@pytest.mark.parametrize("name, says", [
    ("nowhere", "There is no"), ("empty", "holds no submission"), ("work.tar.gz", "neither a folder nor a zip"),
    ("bad.zip", "damaged"), ("void.zip", "holds no submission"), ("hidden", "holds no submission")])
def test_nothing_to_grade_is_one_sentence(tmp_path, name, says):
    """A traceback, or a report about nobody, when the path is mistyped or the archive of another kind."""
    for folder in ("empty", "hidden/.git"):
        (tmp_path / folder).mkdir(parents=True)
    put(tmp_path, {"work.tar.gz": b"\x1f\x8b", "bad.zip": b"PK\x03\x04 broken", "void.zip": zipped({})})
    with pytest.raises(ReadingError, match=says) as error:
        submissions(tmp_path / name)  # before the first is asked for
    assert "\n" not in str(error.value) and str(error.value).endswith(".")


def test_a_single_notebook_is_one_student(tmp_path):
    """To try the grader on one notebook, a folder has to be made; or all its neighbours are graded, too."""
    put(tmp_path, {"alice.ipynb": "a", "bob.ipynb": "b"})
    assert {k: sources_of(v) for k, v in read(tmp_path / "alice.ipynb").items()} == {"alice": ["a"]}


@pytest.mark.parametrize("files, students", [
    ({"batch/alice.ipynb": "1", "batch/bob/1.ipynb": "1"}, {"alice", "bob"}),
    ({"other/alice.ipynb": "1", "other/bob/1.ipynb": "1"}, {"alice", "bob"}),
    ({"other/alice.ipynb": "1", "carl.ipynb": "1"}, {"other", "carl"}),
    ({"batch/alice.ipynb": "1", "carl.ipynb": "1"}, {"alice", "carl"}),
    ({"batch\\alice.ipynb": "1", "batch\\bob\\1.ipynb": "1"}, {"alice", "bob"}),
    ({"alice/1.ipynb": "1", "bob.zip": b"PK"}, {"alice", "bob"})])
def test_a_folder_round_all_students_is_no_student(tmp_path, files, students):
    """A zip of the folder, not of what is in it, is graded as the work of one student named after the folder."""
    (tmp_path / "batch.zip").write_bytes(zipped(files))
    assert set(read(tmp_path / "batch.zip")) == students


# Files that are no files


@posix
def test_only_regular_files_are_read(tmp_path, monkeypatch):
    """A link shows the instructor's files to a student; a FIFO or a device hangs the grader."""
    secret = put(tmp_path / "secret", {"s.ipynb": "secret"})
    batch = put(tmp_path / "batch", {"ok.ipynb": "fine", "in/ok.ipynb": "fine"})
    for place in (batch, batch / "in"):
        (place / "link.ipynb").symlink_to(secret / "s.ipynb")
        (place / "folder").symlink_to(secret)
        (place / "dangling.ipynb").symlink_to("nowhere")
        (place / "zero.ipynb").symlink_to("/dev/zero")
        os.mkfifo(place / "fifo.ipynb")
        with socket.socket(socket.AF_UNIX) as listening:
            monkeypatch.chdir(place)  # a socket's name may not be long
            listening.bind("sock.ipynb")
    began = time.monotonic()
    found = read(batch)
    assert time.monotonic() - began < GONE_SECONDS
    assert {c for s in found.values() for c in sources_of(s)} == {"fine"}
    assert len(found["in"].problems) == 6
    assert all("link" in problem(found[name]) for name in ("link", "folder", "dangling", "zero"))
    assert all("regular file" in problem(found[name]) for name in ("fifo", "sock"))


@posix
def test_a_file_that_becomes_a_link_or_fifo_while_grading_is_not_read(tmp_path, monkeypatch):
    """Between the look at a file and its opening, a student puts a link to the instructor's file in its place."""
    put(tmp_path, {"a.ipynb": "a", "b.ipynb": "b", "c/x.ipynb": "c", "d.ipynb": "d", "secret/x.ipynb": "secret"})
    real = sources._status

    def swapped(parent, name):
        status = real(parent, name)
        target = tmp_path / name
        if name == "a.ipynb":
            target.unlink()
            target.symlink_to(tmp_path / "secret/x.ipynb")
        elif name == "b.ipynb":
            target.unlink()
            os.mkfifo(target)
        elif name == "d.ipynb":
            target.unlink()
        return status

    monkeypatch.setattr(sources, "_status", swapped)
    several = submissions(tmp_path)
    found = {"a": next(several)}
    (tmp_path / "c/x.ipynb").unlink()
    (tmp_path / "c").rmdir()
    (tmp_path / "c").symlink_to(tmp_path / "secret")
    found |= {s.student: s for s in several}
    assert [sources_of(found[name]) for name in "abcd"] == 4 * [[]]
    assert "link" in problem(found["a"]) and "regular" in problem(found["b"])
    assert "link" in problem(found["c"]) and "vanished" in problem(found["d"])


def test_a_file_that_grows_while_it_is_read_is_not_half_a_submission(tmp_path, monkeypatch):
    """An upload that is still running is graded as if it were all."""
    path = put(tmp_path, {"a.ipynb": "a"}) / "a.ipynb"
    real = sources.read_notebook

    def meanwhile(entry, allowance):
        @contextmanager
        def growing():
            with entry.open() as file:
                yield file
                path.write_bytes(path.read_bytes() + b" \n")

        return real(sources.Entry(entry.path, growing), allowance)

    monkeypatch.setattr("course_lib.staff.grade.reading.read_notebook", meanwhile)
    [a] = submissions(tmp_path)
    assert "changed" in problem(a) and a.notebooks == ()


@posix
def test_what_may_not_be_read_is_said_so(tmp_path, monkeypatch):
    """A folder without permission ends the whole run."""
    put(tmp_path, {"a.ipynb": "a", "b/x.ipynb": "b", "c.ipynb": "c"})
    real = os.open

    def guarded(name, *args, **more):
        if name in ("a.ipynb", "b"):
            raise PermissionError(13, "no")
        if name == "c.ipynb":
            raise OSError(5, "Ein-/Ausgabefehler")
        return real(name, *args, **more)

    monkeypatch.setattr(os, "open", guarded)
    a, b, c = map(problem, submissions(tmp_path))
    assert a == "a.ipynb may not be read by you; change its permissions." and b.startswith("b may not be read")
    assert c == "c.ipynb cannot be read (EIO)."


# Sizes


def test_what_is_too_large_is_refused_and_the_rest_is_read(tmp_path, monkeypatch):
    """One student's disk image fills the memory, or costs them the notebook beside it."""
    monkeypatch.setattr(sources, "NOTEBOOK_BYTES", 1000)
    monkeypatch.setattr(sources.read, "__defaults__", (1000,))
    big = as_bytes("x" * 2000)
    put(tmp_path, {"a/big.ipynb": big, "a/ok.ipynb": "ok", "b.zip": zipped({"big.ipynb": big, "ok.ipynb": "ok"})})
    for submission in submissions(tmp_path):
        assert sources_of(submission) == ["ok"] and "larger than" in problem(submission)


def test_what_cells_have_shown_may_have_any_size(tmp_path):
    """A hundred saved pictures cost a student their work, or the grader its memory."""
    book = notebook("x = 1", "y = 2")
    book["cells"][0]["outputs"] = [{"data": {"image/png": "A" * (40 << 20), "text/plain": ['["outputs": [\n'] * 9}}]
    book["cells"].append({"cell_type": "markdown", "source": "z", "attachments": {"a.png": {"image/png": "A" * 9999}}})
    put(tmp_path, {"alice.ipynb": json.dumps(book, indent=1).encode()})
    tracemalloc.start()
    found = read(tmp_path)["alice"]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sources_of(found) == ["x = 1", "y = 2"] and found.problems == () and peak < 16 << 20
    before = found.digest
    put(tmp_path, {"alice.ipynb": json.dumps(book, indent=1).replace("AAAB", "A").replace("AAA", "AAB", 1).encode()})
    assert read(tmp_path)["alice"].digest != before, "a submission that has changed is graded anew"


KEYS = st.sampled_from(["outputs", 'a\\"outputs', '\\"outputs\\": [', "attachments", "a\\", "\n", "[", "}", '"'])
VALUES = st.recursive(st.none() | KEYS | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)
                      | st.dictionaries(KEYS, inner, max_size=3), max_leaves=20)


def emptied(value):
    """What is to be left of a JSON value."""
    if isinstance(value, list):
        return [emptied(v) for v in value]
    if not isinstance(value, dict):
        return value
    return {k: type(v)() if k in ("outputs", "attachments") and isinstance(v, list | dict) else emptied(v)
            for k, v in value.items()}


@given(value=VALUES, indent=st.sampled_from([None, 1]), step=st.integers(1, 400))
def test_leaving_out_outputs_leaves_all_else(value, indent, step):
    """A source that speaks of outputs loses a line; a part of the file that ends within a key or a text."""
    data, without = json.dumps(value, indent=indent).encode(), WithoutOutputs()
    kept = b"".join(without.fed(data[i : i + step]) for i in range(0, len(data), step)) + without.rest()
    assert json.loads(kept) == emptied(value) and kept.count(b"\n") == data.count(b"\n")


def test_a_submission_has_a_limit_of_its_own(tmp_path, monkeypatch):
    """Thousands of files that are each small enough, a folder of a million names, folders in folders without end."""
    monkeypatch.setattr(sources, "FILES", 5)
    monkeypatch.setattr(sources.Allowance.__init__, "__defaults__", (5, 2000, 40, 2000))
    put(tmp_path, {f"many/{i}.py": b"x" for i in range(9)})
    put(tmp_path, {f"large/{i}.py": b"#" * 600 + b"\nx" for i in range(5)})
    put(tmp_path, {f"names/d/{i}.txt": b"" for i in range(60)} | {"names/a.py": b"x"})
    put(tmp_path, {"deep/" + 25 * "d/" + "x.py": b"x", "deep/a.py": b"x"})
    (tmp_path / "zip.zip").write_bytes(zipped({f"{i}.txt": b"" for i in range(60)} | {"0.py": b"x"}))
    found = read(tmp_path)
    assert {name: len(s.notebooks) for name, s in found.items()} == {
        "many": 5, "large": 3, "names": 1, "deep": 1, "zip": 1}
    assert len(found["many"].problems) == 4 and len(found["large"].problems) == 2
    for name in ("names", "deep", "zip"):
        assert "more than" in problem(found[name])


def test_reading_keeps_one_submission_at_a_time(tmp_path):
    """A list of all contents grows with the class, until 5,000 submissions do not fit into memory."""
    for i in range(300):
        put(tmp_path, {f"s{i:03}.ipynb": "#" * 200_000})
    put(tmp_path.parent, {"many.zip": zipped({f"s{i:03}.ipynb": "#" * 200_000 for i in range(300)})})
    for path in (tmp_path, tmp_path.parent / "many.zip"):
        tracemalloc.start()
        assert sum(1 for _ in submissions(path)) == 300
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 15 * 200_000, f"{path.name}: {peak}"


# Notebooks of every kind


def test_formats_3_and_4_and_sources_as_lists_are_read(tmp_path):
    """Work saved by an old Jupyter, or by a tool that writes a source as one text, counts as blank."""
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["a\n", "b"]}]},
                                         {"cells": [{"cell_type": "markdown", "source": "m"},
                                                    {"cell_type": "code", "input": "c"}]}]}
    new = notebook(["d\n", "e"], "f\r\ng")
    new["cells"].insert(1, {"cell_type": "markdown", "source": "text"})
    put(tmp_path, {"a/3.ipynb": json.dumps(old).encode(), "a/4.ipynb": json.dumps(new).encode()})
    [a] = submissions(tmp_path)
    assert sources_of(a) == ["a\nb", "c", "d\ne", "f\ng"] and a.problems == ()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_any_usual_encoding_is_read(tmp_path, encoding):
    """A notebook that another editor saved counts as broken."""
    text = json.dumps(notebook("# é"), ensure_ascii=False)
    submission = one(tmp_path, text.encode(encoding))
    assert sources_of(submission) == ["# é"] and submission.problems == ()


@pytest.mark.parametrize("content, says", [
    (b"", "is empty"), (b" \n", "is empty"), (b"[1, 2]", "no notebook"), (b"3", "no notebook"), (b"{}", "no list"),
    (b'{"cells": {}}', "no list"), (b'{"worksheets": [{"cells": 3}]}', "no list"), (b'{"worksheets": []}', "no list"),
    (as_bytes("x")[:-30], "line 1"), (b"\x89PNG\r\n\0\xff", "not text"), (b"\xff\xfe\x00", "not text"),
    (b"[" * 100_000, "nested"), (b'{"a":' * 100_000, "nested"), (b"[" * 5_000_000, "too many parts"),
    (b'{"cells": [' + b"1" * 10_000 + b"]}", "too long"), (b"<html>", "not valid JSON"), (b'{"cells": [}', "column 12"),
    (b'{\n<<<<<<< HEAD\n"cells": []}', "marks of a conflict"),
    (b"\xef\xbb\xbf\xff{}", "not valid JSON")], ids=lambda value: str(value)[:20])
def test_what_is_no_notebook_is_one_clear_sentence(tmp_path, content, says):
    """A traceback in the report, or a run that ends at the first broken file."""
    submission = one(tmp_path, content)
    assert submission.notebooks == () and says in problem(submission)
    assert problem(submission).startswith("alice.ipynb ")


def test_wrong_types_in_any_place_cost_only_themselves(tmp_path):
    """One malformed cell makes all the others worth nothing."""
    for rubbish in (None, True, 3, 1.5, "text", [], {}, [[]], {"a": 1}, float("nan")):
        for place in ("metadata", "nbformat", "nbformat_minor"):
            whole = notebook("ok", **{place: rubbish})
            assert sources_of(one(tmp_path, json.dumps(whole).encode())) == ["ok"]
        cells = [rubbish, {"cell_type": rubbish, "source": "x"}, {"cell_type": "code", "source": "ok"}]
        if not isinstance(rubbish, str | list):
            cells.append({"cell_type": "code", "source": rubbish})
        cells.append({"cell_type": "code", "source": ["x", 3]})
        submission = one(tmp_path, json.dumps(notebook(cells=cells)).encode())
        assert sources_of(submission) == ["ok"] and f"{len(cells) - 1} malformed cells" in problem(submission)
        named = {"metadata": {"language_info": {"name": rubbish}, "kernelspec": rubbish}}
        assert sources_of(one(tmp_path, json.dumps(notebook("ok", **named)).encode())) == ["ok"]


def test_of_a_key_that_stands_twice_the_last_counts(tmp_path):
    """The instructor sees other cells in Jupyter than those that were graded."""
    twice = b'{"cells": [], "cells": [{"cell_type": "code", "source": "a", "source": "b"}]}'
    assert sources_of(one(tmp_path, twice)) == ["b"]


def test_a_huge_notebook_within_the_limit_is_read_quickly(tmp_path):
    """A hundred thousand cells, or one of 30 MB, take minutes or are refused without need."""
    began = time.process_time()
    assert len(sources_of(one(tmp_path, as_bytes(*(100_000 * ["x = 1"]))))) == 100_000
    assert len(sources_of(one(tmp_path, as_bytes("x" * 30_000_000)))[0]) == 30_000_000
    assert time.process_time() - began < 15


def test_every_source_can_be_written_down(tmp_path):
    """A lone surrogate ends the run when the source is sent or stored."""
    submission = one(tmp_path, b'{"cells": [{"cell_type": "code", "source": "a\\ud800\\u0000"}]}')
    assert sources_of(submission)[0].encode("utf-8") == "a\ufffd\0".encode()


def test_an_answer_in_a_cell_of_text_is_said_to_be_there(tmp_path):
    """"No cell defines softmax", under which its author sees it stand."""
    text = [{"cell_type": kind, "source": f"```python\ndef {name}(x):\n    return x\n```", "metadata": {}}
            for kind, name in (("markdown", "softmax"), ("raw", "reweight"), ("markdown", "helper"))]
    handed_in = notebook("def reweight(x):\n    return x")
    handed_in["cells"] += text
    assert problem(one(tmp_path, json.dumps(handed_in).encode())) == (
        "alice.ipynb has softmax in a cell of text, where nothing is run.")


def test_another_language_is_said_so(tmp_path):
    """A notebook in R is graded as Python full of syntax errors, and nobody knows why."""
    julia = {"metadata": {"language_info": {"name": "julia"}}}
    assert "julia, not Python" in problem(one(tmp_path, as_bytes("x", **julia)))
    for name in ("python", "ipython3", "Python"):
        assert one(tmp_path, as_bytes("x", metadata={"language_info": {"name": name}})).problems == ()


@pytest.mark.parametrize("name", ["alice.IPYNB", "alice.ipynb.txt", "alice.ipynb.json"])
def test_what_a_browser_makes_of_the_suffix_is_still_a_notebook(tmp_path, name):
    """A download that Safari renamed counts as nothing handed in."""
    submission = one(tmp_path, as_bytes("a"), name)
    assert submission.student == "alice" and sources_of(submission) == ["a"]


PERCENT = """# ---
# jupyter:
#   jupytext: {}
# ---

# %% [markdown]
# # Title

# %%
# %%time
import torch

def f(x):
    return x

# %% named {"tags": ["exercise"]}
y = f(1)
#%%
z = 1
"""
LIGHT = """# ---
# jupyter:
#   jupytext:
#     text_representation:
#       format_name: light
# ---

# Some prose.

import torch

@staticmethod
def f(x):
    y = x

    return y
g = f

# +
h = 1

i = 2
# -
"""


def test_scripts_are_read_by_their_cells(tmp_path):
    """A script is one cell, so that one line that fails takes all answers with it."""
    assert sources_of(one(tmp_path, PERCENT.encode(), "a.py")) == [
        "# %%time\nimport torch\n\ndef f(x):\n    return x", "y = f(1)", "z = 1"]
    assert sources_of(one(tmp_path, LIGHT.encode(), "a.py")) == [
        "import torch", "@staticmethod\ndef f(x):\n    y = x\n\n    return y\ng = f", "h = 1", "i = 2"]
    broken = LIGHT.replace("g = f", "g = = f")
    assert sources_of(one(tmp_path, broken.encode(), "a.py"))[-3:] == [
        "import torch", "@staticmethod\ndef f(x):\n    y = x\n\n    return y\ng = = f", "h = 1\n\ni = 2"]
    assert sources_of(one(tmp_path, b"a = 1\n\n# - x\nb = 2\n", "a.py")) == ["a = 1", "b = 2"]
    assert sources_of(one(tmp_path, b"x = 1  # \xe9", "a.py")) == ["x = 1  # é"]
    assert one(tmp_path, b"\0\xff\x01", "a.py").problems == ("a.py is not text.",)


MARKDOWN = """---
jupyter:
  jupytext:
    text_representation:
      extension: .md
---

# Title

```python
import torch
```

<!-- #region -->
My first try:
```python
wrong = 1
```
<!-- #endregion -->

```python .noeval
wrong = 2
```

```bash
ls
```

```{code-cell} ipython3
:tags: [a]

right = 3
```
"""


def test_a_notebook_as_markdown_is_read_and_a_readme_is_not(tmp_path):
    """Who writes notebooks as Markdown has handed in nothing; or an example in a README is an answer."""
    assert sources_of(one(tmp_path, MARKDOWN.encode(), "a.md")) == ["import torch", "right = 3"]
    assert sources_of(one(tmp_path, MARKDOWN.replace("\n", "\r\n").encode(), "a.md")) == ["import torch", "right = 3"]
    put(tmp_path, {"bo/README.md": b"# Lab\n```python\nx = 1\n```\n", "bo/a.ipynb": "y = 2"})
    assert sources_of(read(tmp_path)["bo"]) == ["y = 2"]


QUARTO = """---
title: Lab
jupyter: python3
---

```{python}
#| label: first
import torch
```

```python
shown = 1
```

```{python}
#| eval: false
left_out = 2
```

```{r}
x <- 3
```
"""


def test_a_document_of_quarto_s_is_read(tmp_path):
    """A .qmd is no notebook to the grader; or what it only shows is an answer."""
    assert sources_of(one(tmp_path, QUARTO.encode(), "a.qmd")) == ["#| label: first\nimport torch"]


MARIMO = '''import marimo

__generated_with = "0.17.0"
app = marimo.App(width="medium")

with app.setup:
    import torch
    from torch import nn


@app.cell
def _(check, softmax):
    check(softmax)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md("""
    # Title
    """)
    return


@app.cell
def _():
    import marimo as mo
    from course_lib import check
    return check, mo


@app.function
@torch.no_grad()
def softmax(scores):
    # largest first
    return scaled(scores) / 2


@app.class_definition
class Own(nn.Module):
    pass


app._unparsable_cell(
    r"""
    half = = 1
    """,
    name="_"
)


@app.function
def scaled(scores):
    return scores


if __name__ == "__main__":
    app.run()
'''


def test_a_notebook_of_marimo_s_is_read_in_the_order_in_which_it_runs(tmp_path):
    """No answer is found, since each is decorated and lies in a function; or a cell comes before what it uses."""
    folded = MARIMO.replace("with app.setup:", "with app.setup(hide_code=True):")
    assert sources_of(one(tmp_path, folded.encode(), "a.py")) == sources_of(one(tmp_path, MARIMO.encode(), "a.py")) == [
        "import torch\nfrom torch import nn",
        "import marimo as mo\nfrom course_lib import check",
        'mo.md("""\n# Title\n""")',
        "class Own(nn.Module):\n    pass",
        "half = = 1",
        "def scaled(scores):\n    return scores",
        "@torch.no_grad()\ndef softmax(scores):\n    # largest first\n    return scaled(scores) / 2",
        "check(softmax)"]


def test_a_circle_of_marimo_s_cells_ends(tmp_path):
    """Two cells that wait for each other, and a grader that waits for both."""
    circle = ("import marimo\napp = marimo.App()\n\n@app.cell\ndef _(b):\n    a = b\n    return (a,)\n\n"
              "@app.cell\ndef _(a):\n    b = a\n    return (b,)\n")
    assert sources_of(one(tmp_path, circle.encode(), "a.py")) == ["a = b", "b = a"]


def test_what_an_export_makes_of_a_notebook_is_undone(tmp_path):
    """A cell under %%time is a text in a call, one that writes a module a comment, raw text is bad syntax."""
    exported = ("# In[1]:\n\n\nget_ipython().run_cell_magic('time', '', 'def f(x):\\n    return x\\n')\n\n\n"
                "# In[2]:\n\n\ng = 1\n\n$$raw$$ text\n\n# In[3]:\n\nh = 2\n")
    assert sources_of(one(tmp_path, exported.encode(), "a.py")) == [
        "%%time \ndef f(x):\n    return x", "g = 1", "$$raw$$ text", "h = 2"]
    assert sources_of(one(tmp_path, b"# %%\n# %%writefile m.py\nx = 1\n", "a.py")) == ["%%writefile m.py\nx = 1"]
    before_raw = "# In[1]:\n\nget_ipython().run_cell_magic('writefile', 'm.py', 'x = 1\\n')\n\nSome words.\n"
    assert sources_of(one(tmp_path, before_raw.encode(), "a.py")) == ["%%writefile m.py\nx = 1\n", "Some words."]
    light = "#   format_name: light\n\nx = 1\n\ndef f():\n    # to do\n\n\n# %%writefile m.py\ny = 2\n\n\nz = 3\n"
    assert "%%writefile m.py\ny = 2" in sources_of(one(tmp_path, light.encode(), "a.py"))
    parts = ["# Databricks notebook source\nx = 1", "y = = 2", "z = 3\n"]
    databricks = "\n\n# COMMAND ----------\n\n".join(parts)
    assert sources_of(one(tmp_path, databricks.encode(), "a.py"))[-1] == "z = 3"


def test_a_broken_script_costs_little_time(tmp_path):
    """A megabyte of paragraphs that are no Python takes the grader an hour."""
    began = time.process_time()
    assert len(sources_of(one(tmp_path, b"x x\n\n" * 200_000, "a.py"))) == 200_000
    assert time.process_time() - began < 20


# Zips


def info(name, mode=stat.S_IFREG | 0o644, **more):
    made = zipfile.ZipInfo(name)
    made.external_attr = mode << 16
    for key, value in more.items():
        setattr(made, key, value)
    return made


def test_members_that_lead_out_or_are_links_are_not_read(tmp_path):
    """A zip writes outside of its folder, or shows what a link points to."""
    bad = {"1": (info("../up.ipynb"), "no"), "2": (info("/abs.ipynb"), "no"), "3": (info("C:\\win.ipynb"), "no"),
           "4": (info("a/../../b.ipynb"), "no"), "5": (info("link.ipynb", stat.S_IFLNK | 0o777), b"/etc/passwd"),
           "6": (info("fifo.ipynb", stat.S_IFIFO), b""), "7": (info("..\\w.ipynb"), "no")}
    before = sorted(tmp_path.parent.rglob("*"))
    submission = one(tmp_path, zipped(bad | {"ok.ipynb": "ok"}), "a.zip")
    assert sources_of(submission) == ["ok"] and len(submission.problems) == len(bad)
    assert sum("leads out" in p for p in submission.problems) == 5
    assert set(tmp_path.parent.rglob("*")) - set(before) == {tmp_path / "a.zip"}, "nothing is unpacked to disk"
    (tmp_path / "batch.zip").write_bytes(zipped(bad | {"ok.ipynb": "ok"}))
    assert sources_of(read(tmp_path / "batch.zip")["ok"]) == ["ok"]


def test_bombs_are_not_unpacked(tmp_path):
    """A hundred kilobytes unpack to gigabytes in memory."""
    honest = as_bytes("".join(random.Random(0).choices("abcdef \n", k=100_000)))
    bomb = {"bomb.ipynb": b" " * 30_000_000, "ok.ipynb": honest}
    tracemalloc.start()
    submission = one(tmp_path, zipped(bomb), "a.zip")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(submission.notebooks) == 1 and "200 times" in problem(submission) and peak < 5_000_000
    liar = bytearray(zipped({"bomb.ipynb": b" " * 30_000_000}))
    at = liar.index(b"PK\x01\x02")
    struct.pack_into("<I", liar, at + 24, 1000)
    assert "damaged" in problem(one(tmp_path, bytes(liar), "a.zip"))


def test_a_zip_in_a_student_s_zip_is_opened_and_none_in_that(tmp_path):
    """Work that somebody zipped twice is not seen; or zips in zips without end."""
    inner = zipped({"x.ipynb": "inner", "innermost.zip": zipped({"x.ipynb": "innermost"})})
    student = zipped({"inner.zip": inner, "y.ipynb": "student"})
    (tmp_path / "batch.zip").write_bytes(zipped({"a.zip": student, "b/b.zip": student, "c.ipynb": "c"}))
    put(tmp_path / "batch", {"a.zip": student, "b/b.zip": student, "c.ipynb": "c"})
    for path in (tmp_path / "batch.zip", tmp_path / "batch"):
        found = read(path)
        assert [sources_of(found[name]) for name in "abc"] == [["inner", "student"], ["inner", "student"], ["c"]]
        assert all("a zip in a zip in a zip" in problem(found[name]) for name in "ab")


def test_encrypted_and_unusually_compressed_members_are_said_so(tmp_path):
    """RuntimeError: password required; or a bzip2 bomb, which Python unpacks without a limit."""
    locked = bytearray(zipped({"x.ipynb": "x"}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(signature) + offset] |= 1
    assert "password" in problem(one(tmp_path, bytes(locked), "a.zip"))
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        odd = zipped({"x": (info("x.ipynb", compress_type=method), "x")})
        assert "unusual method" in problem(one(tmp_path, odd, "a.zip"))


@pytest.mark.parametrize("utf8", [True, False])
def test_names_of_members_are_read_in_their_encoding(tmp_path, utf8):
    """José's work, zipped on a Mac, belongs to Jos├⌐; or a zip from an old Windows does not open."""
    raw = zipped({"aéa.ipynb": "x"}) if utf8 else zipped({"aXXa.ipynb": "x"}).replace(b"aXXa", "aéa".encode())
    (tmp_path / "b.zip").write_bytes(raw)
    assert list(read(tmp_path / "b.zip")) == ["aéa"]
    (tmp_path / "b.zip").write_bytes(zipped({"aXa.ipynb": "x"}).replace(b"aXa", b"a\x82a"))  # é in code page 437
    assert list(read(tmp_path / "b.zip")) == ["aéa"]


def test_a_table_of_contents_without_end_is_not_read(tmp_path):
    """A zip of a few megabytes with a million empty members costs the grader gigabytes."""
    plain = zipped({"a.txt": b""})
    at, end = plain.index(b"PK\x01\x02"), plain.index(b"PK\x05\x06")
    row, tail = plain[at:end], bytearray(plain[end:])
    struct.pack_into("<I", tail, 12, len(row) * 150_000)
    tracemalloc.start()
    submission = one(tmp_path, plain[:at] + row * 150_000 + bytes(tail), "a.zip")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "damaged" in problem(submission) and peak < 30_000_000


def test_the_time_of_a_member_is_in_utc_where_the_zip_knows_it(tmp_path):
    """A submission is late or not depending on the time zone of the machine that grades."""
    aware = info("a.ipynb", date_time=(2026, 5, 4, 12, 0, 0))
    aware.extra = struct.pack("<HHBi", 0x5455, 5, 1, 1_000_000_000)
    plain = info("b.ipynb", date_time=(2026, 5, 4, 12, 0, 0))
    (tmp_path / "all.zip").write_bytes(zipped({"a": (aware, "a"), "b": (plain, "b")}))
    times = [s.notebooks[0].modified for s in submissions(tmp_path / "all.zip")]
    assert times == ["2001-09-09T01:46:40+00:00", "2026-05-04T12:00:00+00:00"]


def test_a_student_s_own_zip_does_not_say_when_it_was_handed_in(tmp_path):
    """A clock that is put back before the zip is made."""
    early = info("a.ipynb", date_time=(2001, 5, 4, 12, 0, 0))
    put(tmp_path, {"z.zip": zipped({"a": (early, "a")})})
    os.utime(tmp_path / "z.zip", (1_800_000_000, 1_800_000_000))
    [submission] = submissions(tmp_path)
    assert submission.notebooks[0].modified == "2027-01-15T08:00:00+00:00"


# Whatever else comes


GOOD = as_bytes("def f(x):\n    return x\n", "y = 1") + b"\n"
GOOD_ZIP = zipped({"04.ipynb": "a = 1", "work/05.ipynb": "b = 2", "c.py": b"# %%\nc = 3\n"})
PIECES = [b"[", b"]", b"{", b"}", b'"', b",", b":", b"null", b"NaN", b"-1e999", b"\\ud800", b"\0", b"\xff", b"\xfe\xff",
          b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x07", b"\xff\xff\xff\xff", b'"source"', b'"cell_type"', b"# %%\n"]
EDIT = st.tuples(st.integers(0, 10**6), st.integers(0, 40), st.one_of(st.sampled_from(PIECES), st.binary(max_size=8)))


@pytest.mark.parametrize("name, good", [("a.ipynb", GOOD), ("a.zip", GOOD_ZIP), ("a.py", PERCENT.encode()),
                                        ("a.py", LIGHT.encode())], ids=["notebook", "zip", "percent", "light"])
@settings(max_examples=300, deadline=2000, derandomize=True,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(edits=st.lists(EDIT, min_size=1, max_size=6))
def test_mutated_files_give_cells_or_a_problem(tmp_path, name, good, edits):
    """An exception that nobody thought of ends the run for the whole class."""
    data = good
    for at, length, piece in edits:
        at %= len(data) + 1
        data = data[:at] + piece + data[at + length:]
    submission = one(tmp_path, data, name)
    assert isinstance(submission, Submission) and (submission.problems or submission.notebooks)
    for read in submission.notebooks:
        assert isinstance(read, Notebook) and all(isinstance(cell, str) for cell in read.cells)
    json.dumps([submission.problems, sources_of(submission)], ensure_ascii=False).encode("utf-8")
