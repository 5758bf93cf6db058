"""The hand-out works, holds no answer that is still open, and is the same each time."""

import ast
import functools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

from course_lib.checks import EXERCISES
from course_lib.checks.engine.mistakes import ByHand, plain_source
from course_lib.staff import release
from course_lib.staff.answers import source_and_stub
from course_lib.staff.lesson_text import LESSONS, ROOT, lesson_stems, read_lesson
from course_lib.staff.notebooks import without_magics
from course_lib.staff.release import handout_files, package_files
from course_lib.staff.withheld import KEPT, STAND_IN, WITHHELD, fates
from tests import prepared_python

ALL = [read_lesson(stem) for stem in lesson_stems()]
NUMBERS = [lesson.number for lesson in ALL]


def decided(*numbers):
    return {fate.name: fate for fate in fates(ALL, list(numbers))}


@pytest.fixture(scope="module")
def handout(tmp_path_factory):
    """Makes hand-outs, each once."""
    made = {}

    def make(*numbers):
        if numbers not in made:
            made[numbers] = tmp_path_factory.mktemp("handout") / "class"
            assert release.main([*numbers, "-o", str(made[numbers])]) == 0
        return made[numbers]

    return make


# Which answers


def test_an_answer_is_kept_when_its_lesson_is_over_and_held_back_when_it_is_not():
    """A class that gets the answers of next week, or has to do without those of last week."""
    fate = decided("06")
    assert {name for name in fate if fate[name].what == KEPT} == {
        name for lesson in ALL if lesson.number < "06" for name in lesson.exercises}
    assert fate["MultiHeadAttention"].what == fate["ViT"].what == WITHHELD


def test_what_a_handed_out_lesson_runs_on_comes_along_as_a_stand_in():
    """Lesson 06 calls an attention that lesson 07 asks for; 12b a model whose parts lesson 15b asks for."""
    assert [name for name, fate in decided("06").items() if fate.what == STAND_IN] == ["scaled_dot_product_attention"]
    assert decided("06")["scaled_dot_product_attention"].why == "lesson 06 names it"
    assert decided("12b")["SwiGLU"].why == "lesson 12b runs LlamaBlock, which needs it"
    assert decided("06", "07")["MultiHeadAttention"].why == "lesson 07 asks for it by mine()"


@pytest.mark.parametrize("number", sorted(set(NUMBERS) - {"11", "12"}))
def test_a_lesson_handed_out_alone_brings_no_stand_in_for_its_own_exercises(number):
    """A check that runs on the answer it judges; lessons 11 and 12 time the learner's model beside the course's."""
    assert {fate.what for fate in decided(number).values() if fate.lesson == number} == {WITHHELD}


# What is in it


@pytest.mark.parametrize("numbers", [["00"], ["06"], ["11"], NUMBERS])
def test_no_open_answer_can_be_read_in_a_hand_out(numbers):
    """A line of the answer left in the module, or in a module that has a copy of it."""
    chosen = [lesson for lesson in ALL if lesson.number in numbers]
    fate = fates(ALL, numbers)
    files = package_files(chosen, fate) | handout_files(chosen, fate)
    texts = {path: data.decode() for path, data in files.items() if path.endswith(".py")}
    for one in fate:
        if one.what != KEPT and (module := texts.get(one.module.replace(".", "/") + ".py")):
            source, stub = source_and_stub(one.module, one.name, "test")
            assert source not in module and _defined(module, one.name) == _signature(stub)
    for path, text in texts.items():
        ast.parse(text, path)
    assert not any("/staff/" in path or path.startswith(("solutions", "tests")) for path in files)


LONG = 25  # letters of a statement that says something
# Statements of mistakes and answers that stand in a hand-out all the same, and why.
ALLOWED = {
    "02": {"torch.softmax(scores, dim=0)": "one word asks before the exercise, and axis 0 is the right one"},
    "03": {"torch.softmax(energies, dim=0)": "the lesson works through one sentence, in which axis 0 is the right one"},
    "10": {"best = model.state_dict()": "the lesson asks what becomes of it, before the exercise"},
    "12": {"self.dropout(x + positions)": "so does the Transformer for long texts, whose answer lesson 11 gives"},
    "16": {"q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5": "so `attention_patterns` tells where a head looks"},
}


@pytest.mark.parametrize("number", NUMBERS)
def test_nothing_in_a_hand_out_shows_an_open_answer_or_a_mistake(number):
    """Version 2 among those that a test is tried on, a multi-head attention that is a little faster, a loop that a
    check judges by: answers in clear, under other names and in other files."""
    (lesson,), fate = [one for one in ALL if one.number == number], fates(ALL, [number])
    open_ = [one.name for one in fate if one.lesson == number]
    over = [source_and_stub(one.module, one.name, "test")[0] for one in fate if one.what == KEPT]
    secret = set().union(*(_secrets(EXERCISES[name]) for name in open_)) - set().union(*map(_pieces, over))
    assert len(secret) > 5
    files = package_files([lesson], fate) | handout_files([lesson], fate)
    found = {(path, piece) for path, data in files.items() if not path.endswith((".npz", ".bz2"))
             for piece in _shown(path, data.decode(), secret)}
    assert sorted((path, piece) for path, piece in found if piece not in ALLOWED.get(number, ())) == []
    assert ALLOWED.get(number, {}).keys() <= {piece for _, piece in found}


def _secrets(exercise):
    """What an answer has and its stub has not, what its reference has, and what its mistakes put in its place."""
    source, stub = source_and_stub(exercise.verified.__module__, exercise.name, "test")
    edits = [way.source for mistake in exercise.mistakes if not isinstance(mistake, ByHand) for way in mistake.ways]
    return set().union(*map(_pieces, [source, plain_source(exercise.verified), *edits])) - _pieces(stub)


def _shown(path, text, secret):
    """The secrets that a file shows."""
    if path.endswith(".py"):
        return _pieces(text) & secret
    if not path.endswith(".ipynb"):
        return {piece for piece in secret if _dense(piece) in _dense(text)}
    cells = [("".join(cell["source"]), cell["cell_type"] == "code") for cell in json.loads(text)["cells"]]
    return {piece for source, is_code in cells for piece in secret
            if (piece in _pieces(without_magics(source)) if is_code else _dense(piece) in _dense(source))}


@functools.cache
def _dense(text):
    return "".join(text.split())


@functools.cache
def _pieces(text):
    """Statements as `ast.unparse` writes them; of what is returned or gets a name, that alone where it is long."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Lambda):
            found.add(ast.unparse(node.body))
        elif isinstance(node, ast.stmt) and not hasattr(node, "body"):
            value = getattr(node, "value", None)
            alone = ast.unparse(value) if value and not isinstance(value, ast.Constant) else ""
            found.add(alone if len(alone) >= LONG else "" if isinstance(node, ast.Expr) else ast.unparse(node))
    return {piece for piece in found if len(piece) >= LONG}


def test_no_neighbour_of_an_open_answer_says_half_of_it():
    """The weights of a multi-head attention, for a picture of lesson 10, right below the stub of lesson 06; another
    Transformer below that of lesson 11."""
    files = {number: package_files([lesson for lesson in ALL if lesson.number == number], fates(ALL, [number]))
             for number in ("06", "10", "11")}
    assert b"def attention_patterns" in files["10"]["course_lib/attention.py"]
    assert b"def attention_patterns" not in files["06"]["course_lib/attention.py"]
    assert b"W_q(" not in files["06"]["course_lib/attention.py"]
    assert b"LongTransformer" not in files["11"]["course_lib/transformer.py"]


def _defined(text, name):
    """How a module defines a name, without what is raised."""
    return _signature(next(ast.unparse(node) for node in ast.parse(text).body if getattr(node, "name", "") == name))


def _signature(stub):
    tree = ast.parse(stub)
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and not (isinstance(node.exc, ast.Call) and node.exc.func.id == "ValueError"):
            node.exc = ast.Name("NotImplementedError")
    return ast.dump(tree)


def test_the_same_course_makes_the_same_bytes(handout, tmp_path):
    """A date, a path or an order of the day in it: a hand-out that cannot be matched with what comes back."""
    done = subprocess.run([sys.executable, "-m", "course_lib.staff.release", "02", "-o", str(tmp_path / "again")],
                          cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    one = _bytes(handout("02"))
    assert one == _bytes(tmp_path / "again")
    assert json.loads(one["handout.json"])["lessons"] == ["02"]
    given, public = (json.loads(data)["cells"] for data in (
        one["lessons/02_self_attention_untrained.ipynb"],
        (LESSONS / "02_self_attention_untrained.ipynb").read_bytes()))
    assert given == public[:-1], "all but the ways to the solution and to other lessons"


@pytest.mark.parametrize("number", ["00", "04"])
def test_links_of_a_hand_out_lead_somewhere(handout, number):
    """A link to the solved notebook, which is not there and says where to look."""
    folder = handout(number)
    notebooks = sorted((folder / "lessons").glob("*.ipynb"))
    assert [path.stem for path in notebooks if path.stem == "primer"] == ["primer"] * (number == "00")
    cells = [cell for path in notebooks for cell in json.loads(path.read_text())["cells"]]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    links = re.findall(r"\]\((?!https?://|#|attachment:)([^)#]+)", text)
    assert [link for link in links if not (folder / "lessons" / link).exists()] == [] and "../solutions" not in text


def test_the_page_of_a_hand_out_asks_for_what_the_course_needs(handout):
    """"Python 3.11, 3.12 or 3.13", a year after 3.14."""
    readme, page = (path.read_text(encoding="utf-8") for path in (ROOT / "README.md", handout("02") / "README.md"))
    needs = re.search(r"You need (Python .+? with pip), and (.+?)\.\s", readme)
    assert " ".join(needs[0].split()) in " ".join(page.split())


def _bytes(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# It works

JUDGE = """
import importlib, json, pathlib, sys
sys.dont_write_bytecode = True
import itertools, torch
torch.set_num_threads(1)
import course_lib
from course_lib.checks import EXERCISES
from course_lib.checks.engine.pairs import pairs
from course_lib.checks.engine.judging import judge
assert pathlib.Path(course_lib.__file__).parents[1] == pathlib.Path.cwd(), course_lib.__file__
root, number, answers = sys.argv[1:]
for exercise in [e for e in EXERCISES.values() if e.lesson == number]:
    stands_in = getattr(exercise.verified, "stands_in", True)
    assert judge(exercise, exercise.verified).status == ("right" if stands_in else "unanswered"), exercise.name
    for mistake in exercise.mistakes[::5]:
        assert judge(exercise, mistake.answer).mistake == mistake.name, mistake
    assert any(pairs(exercise.verified, *two) for two in itertools.combinations(exercise.mistakes, 2)), exercise.name
sys.path.append(root)
for module, source in json.loads(answers):  # right answers run on those to the exercises before them
    exec(source, vars(importlib.import_module(module)))
for module in sorted(pathlib.Path(root, "tests/right_answers").glob(f"lesson_{number}*.py")):
    if module.stem.split("_")[1] != number:
        continue
    for name, styles in importlib.import_module(f"tests.right_answers.{module.stem}").RIGHT_ANSWERS.items():
        for style, answer in styles.items():
            assert judge(EXERCISES[name], answer).status == "right", (name, style)
"""


@pytest.mark.parametrize("number", ["02", "04", "06", "11", "13"])
def test_the_checks_of_a_hand_out_judge_as_the_course_s_do(handout, number):
    """A mistake that runs on an answer which is no longer there is not recognised any more."""
    folder = handout(number)
    answers = json.dumps([(fate.module, source_and_stub(fate.module, fate.name, "test")[0])
                          for fate in decided(number).values() if fate.lesson == number])
    done = prepared_python.run(folder, "-c", JUDGE, str(ROOT), number, answers)
    assert done.returncode == 0, done.stderr


def test_a_hand_out_s_lesson_says_what_is_missing_and_runs_to_its_end_once_it_is_there(handout, monkeypatch):
    """A class that sits before a traceback about the course's own files."""
    folder, stem = handout("02"), "02_self_attention_untrained"
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    blank = _run(folder, stem)
    errors = [out.evalue for cell in blank.cells for out in cell.get("outputs", []) if out.output_type == "error"]
    assert errors[0] == ("reweight has no stand-in in this hand-out: your own answer to the exercise of lesson 02 is "
                         "needed first")
    assert "need your own code first: this hand-out has no stand-in for it." in str(blank.cells)
    source, _ = source_and_stub("course_lib.attention", "reweight", "test")
    done = _run(folder, stem, source)
    assert not [out for cell in done.cells for out in cell.get("outputs", []) if out.output_type == "error"]


def test_a_hand_out_brings_the_trained_things_that_its_lessons_open():
    """A translator that “cannot be read” in the first minute of a class; megabytes that nobody opens."""
    files = package_files([lesson for lesson in ALL if lesson.number == "00"], fates(ALL, ["00"]))
    assert {Path(path).name for path in files if "/shipped/files/" in path} == {"translator.npz", "word-vectors.npz"}
    files = package_files([lesson for lesson in ALL if lesson.number == "12"], fates(ALL, ["12"]))
    assert "course_lib/shipped/files/manual.bz2" in files


def _run(folder, stem, answer=None):
    notebook = nbformat.read(folder / "lessons" / f"{stem}.ipynb", as_version=4)
    for cell in notebook.cells:
        if answer and "exercise" in cell.metadata.get("tags", []):
            cell.source = answer
    where = nbformat.v4.new_code_cell("import course_lib; print(course_lib.__file__)")
    notebook.cells.insert(0, where)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", allow_errors=True, coalesce_streams=True,
                            resources={"metadata": {"path": str(folder / "lessons")}}).execute()
    assert Path(where.outputs[0].text.strip()).is_relative_to(folder)
    return notebook


# The folder


def test_an_earlier_hand_out_is_replaced_and_nothing_of_it_is_left(handout, tmp_path):
    """An answer of the last hand-out that stays in the folder of the next."""
    folder = tmp_path / "class"
    shutil.copytree(handout("02"), folder)
    assert release.main(["03", "-o", str(folder)]) == 0
    assert [path.name for path in (folder / "lessons").iterdir()] == ["03_bottleneck_and_version_0.ipynb"]
    assert [path.name for path in tmp_path.iterdir()] == ["class"]


@pytest.mark.parametrize("what", ["a file in the way", "somebody's folder", "a label of something else",
                                  "work in a hand-out", "a changed file of a hand-out", "a link"])
def test_what_is_no_hand_out_is_never_deleted(handout, tmp_path, capsys, what):
    """A folder of somebody's own, or a hand-out that somebody has worked in."""
    folder = tmp_path / "class"
    if what == "a file in the way":
        folder.write_text("mine")
    elif what == "a link":
        (tmp_path / "elsewhere").mkdir()
        folder.symlink_to(tmp_path / "elsewhere")
    elif what.startswith(("somebody", "a label")):
        folder.mkdir()
        (folder / ("thesis.txt" if what == "somebody's folder" else "handout.json")).write_text("{}")
    else:
        shutil.copytree(handout("02"), folder)
        (folder / ("notes.txt" if what == "work in a hand-out" else "start.py")).write_text("mine")
    before = _bytes(tmp_path)
    capsys.readouterr()
    assert release.main(["02", "-o", str(folder)]) == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and str(folder) in said
    assert _bytes(tmp_path) == before


@pytest.mark.parametrize(("words", "numbers"), [
    (["11"], {"11"}), (["11b"], {"11b"}), (["10-11"], {"10", "11", "11b"}), (["11b-12"], {"11b", "12", "12b"}),
    (["9", "11-11b"], {"09", "11", "11b"})])
def test_a_lesson_of_two_notebooks_is_named_by_either_or_within_a_range(words, numbers):
    """A range that stops in the middle of a lesson, or a number that means two notebooks."""
    assert release._numbers(words, NUMBERS) == numbers


@pytest.mark.parametrize(("words", "says"), [
    (["18"], "there is no lesson 18: the lessons are 00 to 17"),
    (["15-19"], "there is no lesson 18, 19"),
    (["six"], "'six' is no lesson"),
    (["06-04"], "is an empty range"),
])
def test_a_lesson_that_does_not_exist_is_said_in_one_sentence(tmp_path, capsys, words, says):
    """A traceback, or a hand-out without the lesson that was asked for."""
    assert release.main([*words, "-o", str(tmp_path / "class")]) == 1
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1
    assert not (tmp_path / "class").exists()


def test_a_notebook_that_is_not_what_the_build_writes_is_not_handed_out(tmp_path, capsys, monkeypatch):
    """A lesson with an answer typed into it."""
    monkeypatch.setattr(release, "LESSONS", tmp_path)
    assert release.main(["02", "-o", str(tmp_path / "class")]) == 1
    assert "run python -m course_lib.staff.build 02" in capsys.readouterr().err


def test_a_disk_that_cannot_be_written_leaves_the_earlier_hand_out(handout, tmp_path, capsys, monkeypatch):
    """A crash between two states: half a hand-out, or none."""
    folder = tmp_path / "class"
    shutil.copytree(handout("02"), folder)
    before, replace = _bytes(tmp_path), os.replace

    def full(old, new):
        if Path(old).name == "new":
            raise OSError(28, "No space left on device", str(new))
        return replace(old, new)

    monkeypatch.setattr(os, "replace", full)
    assert release.main(["03", "-o", str(folder)]) == 1
    assert "cannot be written: No space left on device" in capsys.readouterr().err
    assert _bytes(tmp_path) == before


@pytest.mark.skipif(os.name == "nt", reason="the workflow runs on Linux")
def test_a_hand_out_for_github_checks_every_push(handout, tmp_path):
    """A workflow with a command that is not in the hand-out, found by a whole class at once."""
    folder = handout("02", "--github")
    assert not (handout("02") / release.WORKFLOW).exists()
    lines = (folder / release.WORKFLOW).read_text(encoding="utf-8").splitlines()
    commands = [line.partition("run: ")[2] for line in lines if "- run: " in line]
    assert all(command.startswith("python3 start.py python ") for command in commands)
    command = commands[-1].replace("python3 start.py python", f'"{sys.executable}"')
    summary = tmp_path / "summary.md"
    done = subprocess.run(command, shell=True, cwd=folder, env=os.environ | {
        "GITHUB_STEP_SUMMARY": str(summary), "PYTHONPATH": str(folder)}, timeout=300, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "`reweight` | … not answered yet" in summary.read_text(encoding="utf-8")
