"""The build: what is committed is what it writes, and every bad text is one clear line."""

import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from course_lib.staff import lesson_text, syllabus
from course_lib.upkeep.versions import VERSION
from tests import prepared_python

ROOT = Path(__file__).parents[1]
TEXT = '''# %% [markdown]
# # 04 · A small lesson
#
# *5 minutes*

# %% name="one"
one = 1
print(one)

# %% tags=["exercise"]
from course_lib.attention import dot_product_attention

# %%
import torch
print(dot_product_attention(torch.ones(2), torch.ones(3, 2)))
'''


@pytest.fixture
def course(tmp_path):
    """A copy of the course with one small lesson, not built yet."""
    return copy_of_the_course(tmp_path)


@pytest.fixture(scope="module")
def built_once(tmp_path_factory):
    course = copy_of_the_course(tmp_path_factory.mktemp("built"))
    assert build(course)[0] == 0
    return course


@pytest.fixture
def built(built_once, tmp_path):
    """A copy of the course with one small lesson and its two notebooks."""
    return shutil.copytree(built_once, tmp_path, dirs_exist_ok=True)


def copy_of_the_course(tmp_path):
    shutil.copytree(ROOT / "course_lib", tmp_path / "course_lib", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "solutions").mkdir()
    (tmp_path / "lessons").mkdir()
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    (tmp_path / "README.md").write_text(f"# A course\n\n{syllabus.BEGIN}\n{syllabus.END}\n")
    (tmp_path / "solutions" / "04_small.py").write_text(TEXT)
    header, *rows = (tmp_path / "course_lib" / "concepts.tsv").read_text().splitlines()
    other = [row for row in rows if row.split("\t")[1] != "04"]
    (tmp_path / "course_lib" / "concepts.tsv").write_text("\n".join([header, *other]) + "\n")
    return tmp_path


def build(course, *arguments):
    process = prepared_python.run(course, "-m", "course_lib.staff.build", *arguments)
    assert "Traceback" not in process.stderr, process.stderr
    return process.returncode, process.stdout, process.stderr.strip()


def notebooks(course):
    return {p.relative_to(course).as_posix(): p.read_bytes() for p in course.glob("*/*.ipynb")}


def rewrite(course, old, new):
    path = course / "solutions" / "04_small.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_what_is_committed_is_what_the_build_writes():
    """A lesson that differs from its text, or outputs of code that has changed."""
    process = subprocess.run([sys.executable, "-m", "course_lib.staff.build", "--check"], cwd=ROOT, text=True,
                             capture_output=True)
    assert process.returncode == 0, process.stderr


def test_a_build_writes_both_notebooks_and_a_second_one_the_same_bytes(course):
    """Random cell ids, timestamps, or a needless second execution."""
    assert build(course)[0] == 0
    first = notebooks(course)
    assert sorted(first) == ["lessons/04_small.ipynb", "solutions/04_small.ipynb"]
    solution = json.loads(first["solutions/04_small.ipynb"])
    lesson = json.loads(first["lessons/04_small.ipynb"])
    assert "weights @ inputs" in "".join(solution["cells"][3]["source"])
    assert "".join(lesson["cells"][3]["source"]).endswith("raise NotImplementedError")
    assert solution["cells"][2]["outputs"][0]["text"] == "1\n"
    code, said, _ = build(course)
    assert code == 0 and "outputs kept" in said and notebooks(course) == first
    assert build(course, "--check") == (0, "", "")
    for path in course.glob("*/*.ipynb"):
        path.unlink()
    build(course)
    assert notebooks(course) == first


def test_prose_is_rebuilt_without_running_anything(built):
    """An hour of training for a comma."""
    before = notebooks(built)
    rewrite(built, "A small lesson", "A little lesson")
    rewrite(built, "print(one)\n", "print(one)\n\n# %% [markdown]\n# More prose.\n")
    code, said, _ = build(built)
    assert code == 0 and "outputs kept" in said and notebooks(built) != before


def test_a_new_version_is_written_into_every_notebook_and_runs_nothing(built):
    """An hour of training for a version number."""
    module = built / "course_lib" / "upkeep" / "versions.py"
    module.write_text(module.read_text().replace(f'VERSION = "{VERSION}"', 'VERSION = "99.0"'))
    assert "outputs kept" in build(built)[1]
    assert all(b'made_for(\\"99.0\\")' in notebook for notebook in notebooks(built).values())


def test_changed_code_anywhere_below_a_lesson_is_run_again(built):
    """Outputs that an older course_lib made."""
    module = built / "course_lib" / "attention.py"
    module.write_text(module.read_text().replace("scores = inputs @ query  # (N,)", "scores = inputs @ (1 * query)"))
    code, _, said = build(built, "--check")
    assert code == 1 and said.startswith("solutions/04_small.ipynb is older")
    assert "executed" in build(built)[1]
    assert "older" not in build(built, "--check")[2]  # it names the mistakes that edit the line as it was


def test_a_comment_in_course_lib_runs_nothing_again(built):
    """Outputs redone for a comment nobody runs."""
    module = built / "course_lib" / "attention.py"
    module.write_text(module.read_text() + "\n# a remark\n")
    assert build(built, "--check")[0] == 0


def test_a_new_mistake_runs_nothing_again(built):
    """Sixteen lessons executed anew, for a sentence that no solution shows."""
    module = built / "course_lib" / "checks" / "engine" / "judging.py"
    module.write_text(module.read_text() + "\nNEW = 1\n")
    assert build(built, "--check")[0] == 0


@pytest.mark.parametrize(("old", "new", "said"), [
    ("import dot_product_attention", "import no_such_function",
     "solutions/04_small.py:10: course_lib.attention has no function or class named no_such_function"),
    ("course_lib.attention import", "course_lib.nowhere import",
     "solutions/04_small.py:10: there is no module course_lib.nowhere"),
    ("from course_lib.attention import dot_product_attention", "def dot_product_attention(): pass",
     "solutions/04_small.py:10: an exercise cell holds one line: from course_lib.MODULE import NAME"),
    ("import dot_product_attention", "import additive_attention",
     "solutions/04_small.py:10: additive_attention has no check in course_lib/checks/lesson_04.py"),
    ("# %%\nimport torch", '# %% tags=["exercise"]\nfrom course_lib.attention import dot_product_attention\n\n'
     "# %%\nimport torch",
     "solutions/04_small.py:13: the exercise dot_product_attention stands already at solutions/04_small.py:10"),
    ("print(one)", "print(two)",
     "solutions/04_small.py:6: this cell raises NameError: name 'two' is not defined"),
    ("# %% [markdown]\n# # 04 · A small lesson", "# # 04 · A small lesson",
     "solutions/04_small.py:1: text outside a cell: the file must begin with a `# %%` line"),
    ("# # 04", "# 04",
     "solutions/04_small.py:1: the first cell must be markdown with the lesson's title"),
    ("print(one)", "import os\nos._exit(1)",
     "solutions/04_small.py:6: this cell kills the kernel"),
    ("one = 1", "one = (1",
     "solutions/04_small.py:7: this is no Python: '(' was never closed"),
])
def test_a_bad_text_is_one_line_and_nothing_is_overwritten(built, old, new, said):
    """A traceback for an author's slip, or one notebook new and the other old."""
    before = notebooks(built)
    rewrite(built, old, new)
    assert build(built)[::2] == (1, said)
    assert notebooks(built) == before
    assert not list(built.glob("*/*.partial"))


def test_what_a_kernel_says_while_it_ends_is_no_word_of_the_builds(built):
    """zmq's trace of a closed socket, in front of the sentence that an author is to read."""
    rewrite(built, "print(one)", "import os\nos.write(2, b'Socket operation\\n')\nprint(two)")
    assert build(built)[2] == "solutions/04_small.py:6: this cell raises NameError: name 'two' is not defined"


@pytest.mark.parametrize("folder", ["lessons", "solutions"])
def test_a_notebook_edited_by_hand_is_named_and_kept(built, folder):
    """An author's edit in the wrong file, silently lost."""
    path = built / folder / "04_small.ipynb"
    path.write_text(path.read_text().replace("A small lesson", "A hand-made lesson"))
    edited = notebooks(built)
    said = (f"{folder}/04_small.ipynb was edited by hand: move the edit to solutions/04_small.py, then "
            "run python -m course_lib.staff.build --overwrite 04")
    assert build(built, "--check")[::2] == (1, said)
    assert build(built)[::2] == (1, said)
    assert notebooks(built) == edited
    assert build(built, "--overwrite", "04")[0] == 0
    assert build(built, "--check")[0] == 0


def test_outputs_edited_by_hand_are_noticed(built):
    """A result that no run has ever printed."""
    path = built / "solutions" / "04_small.ipynb"
    path.write_text(path.read_text().replace('"1\\n"', '"2\\n"'))
    code, _, said = build(built, "--check")
    assert code == 1 and "edited by hand" in said


def test_what_is_missing_stray_or_unknown_is_one_line(built):
    """A lesson whose text is gone, still handed out."""
    (built / "lessons" / "04_small.ipynb").rename(built / "lessons" / "05_other.ipynb")
    code, _, said = build(built, "--check")
    assert code == 1
    assert said.splitlines() == [
        "lessons/04_small.ipynb is missing or older than its text: run python -m course_lib.staff.build 04",
        "lessons/05_other.ipynb has no text solutions/05_other.py"]
    assert build(built, "99")[::2] == (1, "there is no lesson 99 in solutions/")


def test_a_gap_in_the_map_fails_the_check(built):
    """A concept whose cell was renamed and is taught nowhere now."""
    rows = (built / "course_lib" / "concepts.tsv").read_text()
    (built / "course_lib" / "concepts.tsv").write_text(rows + "C200\t04\tone\tdot_product_attention\tfine\n"
                                                        "C201\t04\ttwo\tno_claim\tnot fine\n")
    code, _, said = build(built, "--check")
    assert code == 1
    assert said.splitlines() == [
        "course_lib/concepts.tsv: C201: solutions/04_small.py has no cell named 'two'",
        "course_lib/concepts.tsv: C201: solutions/04_small.py has no exercise or claim: no_claim",
        "docs/concepts.md: its map of lessons is out of date: run python -m course_lib.staff.build"]


def test_a_readme_without_the_map_of_lessons_fails_the_check(built):
    """A README that has lost its syllabus, with a green build."""
    readme = built / "README.md"
    assert "[04 · A small lesson](lessons/04_small.ipynb)" in readme.read_text()
    readme.write_text("# A course\n")
    said = build(built, "--check")[2]
    assert said == "README.md: it has no line <!-- lessons: written by the build --> for the map of lessons"


def test_the_readme_says_how_long_the_whole_course_takes(built):
    """A total that was typed, and stayed when a lesson grew."""
    readme = built / "README.md"
    readme.write_text(f"{syllabus.TOTAL}\n{syllabus.END_TOTAL}\n{readme.read_text()}")
    assert build(built, "--check")[2].startswith("README.md: its map of lessons is out of date")
    rewrite(built, "*5 minutes*", "*125 minutes*")
    assert build(built)[0] == 0
    assert "**1 lessons, 1 exercises, about 2 hours; " in readme.read_text() and "| 125 | 1 |" in readme.read_text()


# Quick


def test_a_word_of_prose_imports_no_kernel_and_no_grammar(built):
    """Seconds for each save, spent on what only a run of the lesson needs."""
    code = ("import sys\nfrom course_lib.staff import build\nassert build.main(['04']) == 0\n"
            "assert not {'nbclient', 'rfc3987_syntax'} & set(sys.modules)\nimport rfc3987_syntax")
    rewrite(built, "A small lesson", "A little lesson")
    done = subprocess.run([sys.executable, "-c", code], cwd=built, text=True, capture_output=True,
                          env={**os.environ, "PYTHONPATH": str(built)})
    assert (done.returncode, done.stdout) == (0, "04_small: outputs kept\n"), done.stderr


def test_a_text_is_parsed_once(built):
    """All texts parsed anew for a word in one of them."""
    (built / "jupytext.py").write_text("raise SystemExit('parsed again')")
    assert build(built, "--check") == (0, "", "")
    rewrite(built, "A small lesson", "A little lesson")
    assert build(built, "--check")[::2] == (1, "parsed again")


@pytest.mark.parametrize("what", ["missing", "cut short", "no JSON", "other JSON", "other words", "no file",
                                  "no folder"])
def test_a_kept_text_that_is_damaged_is_made_again(built, what):
    """A traceback, or a lesson with words of which its text knows nothing."""
    kept = built / "build" / "texts" / "04_small.json"
    text = kept.read_text()
    damaged = {"cut short": text[:-100], "no JSON": "\0", "other JSON": "[4]",
               "other words": text.replace("A small lesson", "A smart lesson")}
    kept.unlink()
    if what in damaged:
        kept.write_text(damaged[what])
    elif what == "no file":
        kept.mkdir()
    elif what == "no folder":
        kept.parent.rmdir()
        kept.parent.write_text("")
    assert build(built, "--check") == (0, "", "")
    if "no f" not in what:
        assert kept.read_text() == text
    assert not list(built.rglob("*.partial"))


def test_a_kept_text_is_of_one_jupytext_and_one_reader(tmp_path, monkeypatch):
    """The cells as an older jupytext saw them, for as long as nobody edits the text."""
    monkeypatch.setattr(lesson_text, "KEPT", tmp_path / "kept")
    (tmp_path / "04_small.py").write_text(TEXT)
    assert lesson_text.read_lesson("04_small", tmp_path).title == "04 · A small lesson"
    monkeypatch.setitem(sys.modules, "jupytext", None)
    assert lesson_text.read_lesson("04_small", tmp_path).exercises == ["dot_product_attention"]
    jupytext, reader = lesson_text._reader()
    for other in (["0.1", reader], [jupytext, "another reader"]):
        monkeypatch.setattr(lesson_text, "_reader", lambda other=other: other)
        with pytest.raises(ImportError):
            lesson_text.read_lesson("04_small", tmp_path)


def test_a_text_that_jupytext_cannot_read_is_one_line(built):
    """A traceback out of a library, for an author's slip."""
    rewrite(built, '# %% name="one"', "# %% tags=3")
    assert build(built)[::2] == (1, "solutions/04_small.py:1: jupytext cannot read it: TypeError: 'int' object is not "
                                    "iterable")


def test_several_builds_at_once_do_no_harm(built):
    """Half a file that another build reads, or one that it takes away."""
    shutil.rmtree(built / "build")
    before = notebooks(built)
    (built / "README.md").write_text(f"# A course\n\n{syllabus.BEGIN}\n{syllabus.END}\n")
    started = [subprocess.Popen([sys.executable, "-m", "course_lib.staff.build"], cwd=built, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env={**os.environ, "PYTHONPATH": str(built)}) for _ in range(4)]
    assert {process.communicate()[0] for process in started} == {"04_small: outputs kept\n"}
    assert notebooks(built) == before and build(built, "--check") == (0, "", "")
    assert not list(built.rglob("*.partial"))


# Watching

needs_signals = pytest.mark.skipif(os.name == "nt", reason="on Windows Ctrl-C goes to pytest as well")


@pytest.fixture
def watching(built):
    """Starts a build that watches: (its process, a function that waits for its next line)."""
    started = []

    def start(*arguments):
        process = subprocess.Popen([sys.executable, "-m", "course_lib.staff.build", "--watch", *arguments], cwd=built,
                                   text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, "PYTHONPATH": str(built)},
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        lines = queue.Queue()
        reader = threading.Thread(target=lambda: [lines.put(line.rstrip("\n")) for line in process.stdout])
        reader.start()
        started.append((process, reader))
        return process, lambda seconds=120: lines.get(timeout=seconds)

    yield start
    for process, reader in started:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()
        process.stderr.close()


@needs_signals
def test_a_lesson_is_built_when_its_text_is_saved_and_a_bad_text_ends_nothing(built, watching):
    """An author who types the build's command after each save, and starts the watch anew after each slip."""
    process, says = watching()
    assert says() == "Watching solutions/: a lesson is built when its text is saved. Ctrl-C ends this."
    rewrite(built, "A small lesson", "A little lesson")
    assert re.fullmatch(r"\d\d:\d\d:\d\d 04_small: outputs kept", says())
    before = notebooks(built)
    assert "A little lesson" in before["lessons/04_small.ipynb"].decode()
    rewrite(built, "one = 1", "one = (1")
    assert says()[9:] == "solutions/04_small.py:7: this is no Python: '(' was never closed"
    module = built / "course_lib" / "attention.py"
    text = module.read_text()
    module.write_text(text + "\nthis is no Python\n")
    rewrite(built, "one = (1", "one = 1")
    assert says()[9:].startswith("SyntaxError: ")
    assert notebooks(built) == before
    module.write_text(text)
    (built / "solutions" / "04_small.py~").write_text(TEXT)
    os.replace(built / "solutions" / "04_small.py~", built / "solutions" / "04_small.py")  # as some editors save
    assert says()[9:] == "04_small: outputs kept"
    (built / "solutions" / "05_new.py").write_text("# %% [markdown]\n# # 05 · New\n")
    assert says()[9:].startswith("05_new: executed in ")
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0 and process.stderr.read() == ""
    with pytest.raises(queue.Empty):
        says(1)


@needs_signals
def test_only_the_lessons_that_are_named_are_watched(built, watching):
    """Minutes of another lesson's training, for a save in its text."""
    _, says = watching("04")
    says()
    (built / "solutions" / "05_new.py").write_text("# %% [markdown]\n# # 05 · New\n")
    time.sleep(2)
    rewrite(built, "A small lesson", "A little lesson")
    assert says()[9:] == "04_small: outputs kept"
    assert not (built / "lessons" / "05_new.ipynb").exists()


@needs_signals
def test_ctrl_c_during_a_build_ends_it_and_leaves_the_notebooks(built, watching):
    """A traceback, half a lesson, or a kernel that trains on for nobody."""
    before = notebooks(built)
    process, says = watching("04")
    says()
    runs = built / "runs"
    rewrite(built, "one = 1\n", f"import os, pathlib, time\npathlib.Path({str(runs)!r}).write_text(str(os.getpid()))\n"
                                "time.sleep(200)\none = 1\n")
    wait_for(lambda: runs.exists() and runs.read_text())
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0 and process.stderr.read() == ""
    assert notebooks(built) == before
    wait_for(lambda: not is_alive(int(runs.read_text())))


def wait_for(what, seconds=120):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.1)


def is_alive(number):
    """Does a process run still? One that nobody has waited for does not."""
    try:
        os.kill(number, 0)
        stat = Path(f"/proc/{number}/stat")
        return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_watch_of_what_is_not_there_and_a_check_that_never_ends_are_refused(built):
    """A command that waits for a text with a number that was mistyped, or for ever in a script."""
    assert build(built, "--watch", "99")[::2] == (1, "there is no lesson 99 in solutions/")
    code, _, said = build(built, "--watch", "--check")
    assert code == 2 and "not allowed with" in said


# Exercises that give a part of their answer

WEIGHTS = "weights = torch.softmax(scores, dim=-1)  # (N,)"


def change(course, old, new, after="def dot_product_attention"):
    """Edit the course's attention, in the first place after some words."""
    path = course / "course_lib" / "attention.py"
    before, after, text = path.read_text().partition(after)
    assert old in text
    path.write_text(before + after + text.replace(old, new, 1))


def test_a_mark_changes_the_lesson_s_stub_and_nothing_is_run_again(built):
    """Sixteen lessons executed anew because a stub gives more, or a mark in a solution."""
    before = notebooks(built)
    change(built, WEIGHTS, WEIGHTS + "  # blank: their softmax")
    code, said, _ = build(built)
    assert code == 0 and "outputs kept" in said
    after = notebooks(built)
    assert code_cells(after["solutions/04_small.ipynb"]) == code_cells(before["solutions/04_small.ipynb"])
    assert code_cells(after["lessons/04_small.ipynb"])[2].endswith(
        '"dot".\n    """\n    scores = inputs @ query  # (N,)\n    # their softmax\n    raise NotImplementedError\n'
        "    return weights @ inputs  # (D,)")
    assert build(built, "--check") == (0, "", "")


def code_cells(notebook):
    return ["".join(cell["source"]) for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize(("old", "new", "said"), [
    ("(query, inputs):", "(query, inputs):  # blank: all of it",
     "course_lib/attention.py:{}: `def dot_product_attention(query, inputs):` cannot be left out: a mark belongs to a "
     "whole statement of a body"),
    (WEIGHTS, WEIGHTS + "  # Blank: their softmax",
     "course_lib/attention.py:{}: a mark is written `# blank: what is left out, in words`"),
    (WEIGHTS, "# blank: their softmax\n    " + WEIGHTS,
     "course_lib/attention.py:{}: a mark stands at the end of a line of code, not on a line of its own"),
    ("    " + WEIGHTS,
     f"    try:\n        {WEIGHTS}  # blank: softmax\n    except Exception:\n        weights = scores",
     "solutions/04_small.py:10: the stub of dot_product_attention is not found to be unanswered: does every way "
     "through it come to a blank, and does nothing catch what it raises?"),
])
def test_a_mark_of_which_nothing_can_be_made_is_one_line_and_writes_nothing(built, old, new, said):
    """A stub that gives the answer away, or that passes for a wrong answer."""
    before = notebooks(built)
    change(built, old, new)
    if "{}" in said:
        lines = (built / "course_lib" / "attention.py").read_text().splitlines()
        said = said.format(1 + next(n for n, line in enumerate(lines) if "blank:" in line.lower()))
    assert build(built)[::2] == (1, said)
    assert notebooks(built) == before


def test_a_mark_outside_of_every_exercise_is_named(built):
    """A line that its author believes to be left out."""
    path = built / "course_lib" / "decoding.py"
    path.write_text(path.read_text() + "\nONE = 1  # blank: one\n")
    said = f"course_lib/decoding.py:{len(path.read_text().splitlines())}: a mark outside of every exercise"
    assert build(built)[::2] == build(built, "--check")[::2] == (1, said)
