"""The command that asks whether a claim holds for other seeds and on other processors."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch

from course_lib.experiments import stored, tables
from course_lib.staff.lesson_text import ROOT
from course_lib.staff.seeds import __main__ as seeds
from course_lib.staff.seeds import sweeps
from course_lib.staff.seeds.watching import Book, Watch
from tests import prepared_python

DRAWS = """
import random, sys
import numpy as np, torch
from course_lib.staff.seeds.moved import move_all
move_all(int(sys.argv[1]))
def draws(seed):
    torch.manual_seed(seed)
    a = torch.rand(()).item()
    random.seed(seed)
    return [a, torch.rand((), generator=torch.Generator().manual_seed(seed)).item(), random.random(),
            random.Random(seed).random(),
            float(np.random.default_rng(seed).random()), float(np.random.RandomState(seed=seed).rand())]
assert random.Random().random() != random.Random().random()
print(random.Random("a").random() if sys.argv[2] == "text" else draws(int(sys.argv[2])))
"""


def draws(by, seed):
    done = prepared_python.run(ROOT, "-c", DRAWS, str(by), str(seed))
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_seed_is_moved():
    """Seeds that stay where they are, so that five runs are one run five times."""
    assert draws(7, 5) == draws(0, 12) != draws(0, 5)
    assert draws(7, "text") == draws(7, "text") != draws(0, "text")


def watched(cell, line=10):
    """(the names after the cell, the Book)"""
    import ast

    book = Book()
    names = {"torch": torch} | book.functions()
    exec(compile(Watch(line).visit(ast.parse(cell)), "cell", "exec"), names)
    return names, book


def test_a_claim_that_falls_does_not_stop_the_cell():
    """A list of the claims that fall which ends at the first one."""
    names, book = watched("a = 1 > 2\nb = 3 > 2\nassert a\nassert b\nafter = True")
    assert names["after"] and names["a"] is False
    assert book.claims == {13: ("a", False), 14: ("b", True)}
    assert book.compared == {"a: 1 > 2": (1, 2, -1), "b: 3 > 2": (3, 2, 1)}


@pytest.mark.parametrize("claim, room", [
    ("0 < 0.25 <= 1", 0.25), ("0 < 3 <= 1", -2), ("(torch.tensor([2.0, 5.0]) > 1).all()", 1),
    ("min([0.5, 0.7]) >= 0.4 and 1 < 3", 0.1), ("all(x < 4 for x in (1, 3))", 1),
    ("torch.allclose(torch.zeros(2), torch.tensor([0.0, 0.03]), rtol=0, atol=0.05)", 0.02), ("'a' < 'b'", None),
    ("{1} <= {1, 2}", None), ("not 1 > 2", -1)])
def test_what_a_claim_compares_is_noted_and_unchanged(claim, room):
    """A comparison that comes out otherwise because somebody is watching."""
    names, book = watched(f"claim = {claim}\nassert claim")
    assert bool(names["claim"]) is bool(eval(claim))
    assert [pytest.approx(room)] == [r for *_, r in book.compared.values()][:1] or room is None and not book.compared


def test_what_is_no_claim_is_not_touched():
    """A lesson's own comparisons in the list."""
    assert watched("other = 1 > 2\nclaim = 2 > 1\nassert claim")[1].compared.keys() == {"claim: 2 > 1"}


LESSON = """# %% [markdown]
# # 16 · A die

# %%
import torch

# %%
die = torch.randint(6, (), generator=torch.Generator().manual_seed(3)).item()
it_is_small = die < 3
one_is_one = 1 == 1
assert it_is_small
assert one_is_one

# %%
1 / 0

# %%
two_is_two = 2 == 2
assert two_is_two
"""
RUN = """
import json, sys
from pathlib import Path
from course_lib.staff.seeds.moved import move_all
from course_lib.staff.lesson_text import read_lesson
from course_lib.staff.notebooks import compose
from course_lib.staff.seeds.one import run
move_all(int(sys.argv[2]))
lesson = read_lesson("16_die", Path(sys.argv[1]))
book, raised = run(zip(lesson.cells[2:], compose(lesson)[0].cells[2:], strict=True))
print(json.dumps({"claims": book.claims, "compared": book.compared, "raised": raised}))
"""


def test_a_claim_that_hangs_on_its_seed_is_found(tmp_path, capsys):
    """A claim that holds for the seed its author tried."""
    (tmp_path / "16_die.py").write_text(LESSON, encoding="utf-8")
    results = {}
    for seed in range(4):
        done = prepared_python.run(ROOT, "-c", RUN, str(tmp_path), str(1000 * seed))
        assert done.returncode == 0, done.stderr
        results["16_die", seed, "here"] = json.loads(done.stdout.splitlines()[-1])
    assert seeds.report(results) == 2
    said = capsys.readouterr().out
    assert "| it_is_small | 16_die.py:11 | " in said
    assert re.search("it_is_small: die < 3: [0-5] … [0-5] against 3", said)
    assert "ZeroDivisionError: division by zero | 16_die.py:14 | 4 of 4" in said
    assert "one_is_one" not in said and "2 of 3 claims fell, in 4 runs." in said


def test_a_claim_that_holds_by_luck_is_told(capsys):
    """Five green runs of a claim that the sixth would break."""
    runs = {("16_die", i, "here"): {"claims": {"9": ["c", True]}, "raised": {},
                                    "compared": {"c: a > b": [a, 2, a - 2], "c: x > 0": [50 + a, 0, 50 + a]}}
            for i, a in enumerate([2.1, 2.2, 3.5, 2.4])}
    assert seeds.report(runs) == 0
    said = capsys.readouterr().out
    assert "Held, with little room" in said and "c: a > b: 2.1 … 3.5 against 2 | 1." in said and "x > 0" not in said


def test_a_run_that_dies_is_no_run_that_holds():
    """A process that is killed, and a table without a fall."""
    assert "the run died" in seeds.run_one("99_missing", 0, "here")["raised"]["1"]


@pytest.mark.parametrize("asked, says", [
    (["77"], "there is no lesson 77: the lessons are 00 to 17"),
    (["04", "--seeds", "0"], "--seeds 0: at least 1, the lessons' own"),
    (["04", "--cpus", "avx1024"], "--cpus avx1024: this processor can be here, default")])
def test_what_cannot_be_run_is_one_line(asked, says, capsys):
    """A traceback, or a table of nothing."""
    assert seeds.main(asked) == 2
    said = capsys.readouterr().err
    assert said.startswith(says) and said.count("\n") == 1


def test_what_was_run_is_kept_and_not_run_again(tmp_path, monkeypatch, capsys):
    """An hour of runs lost with the last one."""
    ran = []

    def run(stem, seed, cpu):
        ran.append(seed)
        return {"claims": {"9": ["c", seed < 2]}, "compared": {}, "raised": {}, "seconds": 1.0}

    monkeypatch.setattr(seeds, "run_one", run)
    asked = ["01", "--cpus", "here", "--save", str(tmp_path / "runs.jsonl"), "--seeds"]
    assert seeds.main([*asked, "2"]) == 0 and sorted(ran) == [0, 1]
    assert seeds.main([*asked, "3"]) == 1 and sorted(ran) == [0, 1, 2]
    assert "1 of 1 claims fell, in 3 runs." in capsys.readouterr().out
    died = {"claims": {}, "compared": {}, "raised": {"1": "it died"}, "seconds": 0.0}
    monkeypatch.setattr(seeds, "run_one", lambda *_: died)
    assert seeds.main([*asked, "4"]) == 1 and len((tmp_path / "runs.jsonl").read_text().splitlines()) == 3
    capsys.readouterr()  # the progress of that call
    (tmp_path / "runs.jsonl").write_text("no json\n")
    assert seeds.main([*asked, "3"]) == 2 and capsys.readouterr().err.startswith(str(tmp_path / "runs.jsonl"))


def test_a_lesson_runs_as_it_is_built(capsys):
    """A command that reads another lesson than the learner."""
    assert seeds.main(["01", "--seeds", "2", "--cpus", "here", "--at-once", "2"]) == 0
    assert "0 of " in capsys.readouterr().out


def test_a_stored_result_is_measured_with_other_seeds_once_and_the_lesson_reads_it(tmp_path, monkeypatch, capsys):
    """A claim over stored results that nobody has asked of other seeds; a sweep of an hour that is run twice."""
    moved, made, course = [], [], tables.FOLDER

    def make(name):
        made.append(name)
        (tables.FOLDER / f"{name}.tsv").write_text("other numbers", encoding="utf-8")

    def run_one(stem, seed, cpu, results):
        same = [file.name for file in Path(results).iterdir() if file.read_bytes() == (course / file.name).read_bytes()]
        assert "10-gaps.tsv" in same and "05-relations.tsv" not in same
        return {"claims": {"9": ["c", False], "10": ["d", True]}, "compared": {}, "raised": {}}

    monkeypatch.setattr(sweeps, "move_all", moved.append)
    monkeypatch.setattr(stored, "make", make)
    monkeypatch.setattr(sweeps, "run_one", run_one)
    for seed in ("2", "2", "3"):
        monkeypatch.setattr(tables, "FOLDER", course)
        assert sweeps.main(["05", "--into", str(tmp_path / "moved"), "--seed", seed]) == 1
        assert capsys.readouterr().out == "05_query_key_value.py:9: c\n"
    assert moved == [2000, 2000, 3000] and made == ["05-relations", "05-relations"]


def test_a_sweep_that_cannot_be_measured_is_refused_in_a_sentence(tmp_path, capsys):
    """A lesson that is misspelled, and left out without a word."""
    (tmp_path / "a file").touch()
    for names, into, says in ((["05", "99"], "moved", "no results are stored for 99; there are 03-cells"),
                              (["05"], "a file", "Not a directory")):
        assert sweeps.main([*names, "--into", str(tmp_path / into)]) == 2
        assert says in capsys.readouterr().err


READS = """
import sys
from course_lib.staff.seeds import one
try:
    one.main("no lesson", 0, sys.argv[1])
except FileNotFoundError:
    from course_lib.experiments.stored import stored
    stored("05-relations")
"""


def test_a_lesson_reads_its_results_where_it_is_told_to(tmp_path):
    """Claims that are asked of the course's own numbers, whatever was measured."""
    moved = shutil.copytree(tables.FOLDER, tmp_path / "moved")
    (moved / "05-relations.tsv").write_text("other numbers", encoding="utf-8")
    done = prepared_python.run(ROOT, "-c", READS, str(moved))
    assert "05-relations.tsv are not as they were written" in done.stderr
