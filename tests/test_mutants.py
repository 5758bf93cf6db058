"""Single edits of right answers: they can be pasted, none of them stops the command, and holes are said first."""

import ast
import sys

import pytest
import torch

from course_lib.checks import EXERCISES
from course_lib.checks.engine import mistakes
from course_lib.checks.engine.exercise import Exercise
from course_lib.checks.engine.mistakes import mistakes_of, plain_source
from course_lib.staff.mutants import __main__ as command
from course_lib.staff.mutants import behaviours, equivalents
from course_lib.staff.mutants.candidates import candidates

SUBLAYER = """class Sublayer(nn.Module):

    def __init__(self, d, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(d)
        self.norm2 = nn.LayerNorm(d)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, f):
        return self.norm1(x + self.dropout(f(x)))"""


def twice_as_large(x, n):
    while n > 0:
        n = n - 1
        x = x + x
    return x


def sum_of_ones(x, small, large):
    return x * torch.ones(small).sum()


def exercise(verified, oracle, *args):
    """An exercise with one question."""
    return Exercise(lesson="99", asked="", verified=verified, oracle=oracle, examples=(args,),
                    sizes=((),), make=lambda generator: args)


TWICE = exercise(twice_as_large, lambda x, n: x * 2**n, torch.tensor([1.0, 2.0]), 3)
ONES = exercise(sum_of_ones, lambda x, small, large: x * small, torch.tensor([1.0, 2.0]), 3, 2**28)


@pytest.fixture
def known(tmp_path, monkeypatch):
    """A file of equivalents that can be written."""
    monkeypatch.setattr(equivalents, "FILE", tmp_path / "equivalents.txt")
    equivalents.FILE.write_text("")
    return equivalents.FILE


def last_row(x):
    return x[-1]


@pytest.fixture
def hole(monkeypatch):
    """An exercise that is asked with one row only: the first row passes for the last one."""
    of = exercise(last_row, lambda x: x[-1], torch.tensor([[5.0, 3.0]]))
    monkeypatch.setattr(command, "EXERCISES", {"last_row": of})
    return "last_row"


@pytest.mark.parametrize("source, operator, line", [
    ("def f(x):\n    return x.sum(dim=-1)", "another axis", "+ return x.sum(dim=0)"),
    ("def f(x):\n    return x / x.shape[-1]", "another axis", "+ return x / x.shape[-2]"),
    ("def f(a, b):\n    return a @ b", "operands swapped", "+ return b @ a"),
    ("def f(a, b):\n    return a < b", "another operator", "+ return a <= b"),
    ("def f(a, b):\n    return a @ b", "another operator", "+ return a * b"),
    ("def f(a, b):\n    return g(a, b)", "arguments swapped", "+ return g(b, a)"),
    ("def f(x):\n    return x.mean(-1, keepdim=True)", "an argument dropped", "+ return x.mean(-1)"),
    ("def f(a, b):\n    return a + a", "another name", "+ return a + b"),
    (SUBLAYER, "another submodule", "+ return self.norm2(x + self.dropout(f(x)))"),
    (SUBLAYER, "a part moved", "+ return x + self.norm1(self.dropout(f(x)))"),
    (SUBLAYER, "a part moved", "+ return x + self.dropout(f(self.norm1(x)))"),
    (SUBLAYER, "a part dropped", "+ return self.norm1(x + f(x))"),
    (SUBLAYER, "another default", "+ def __init__(self, d, dropout=0.1):"),
    ("def f(a, mask):\n    return a.masked_fill(~mask, 0)", "a part dropped", "+ return a.masked_fill(mask, 0)"),
    ("def f(a):\n    return a.transpose(0, 1) + 1", "a part dropped", "+ return a + 1"),
    ("def f(a):\n    return a.T", "reshape for transpose", "+ return a.reshape(a.T.shape)"),
    ("def f(a):\n    return torch.softmax(a, 0)", "a sign flipped", "+ return torch.softmax(-a, 0)"),
    ("def f(a):\n    return a[1:]", "off by one", "+ return a[2:]"),
    ("def f(a):\n    return a[:-1]", "another index", "+ return a[1:]"),
    ("def f(n):\n    return torch.arange(n)", "off by one", "+ return torch.arange(n + 1)"),
    ("def f(a):\n    return a ** 0.5", "another number", "+ return a ** 2.0"),
    ("def f(a):\n    return a.sin()", "another function", "+ return a.cos()"),
    ("def f(a, b):\n    return a + b", "changed in place", "+ return a.add_(b)"),
    ("def f(a, n=3):\n    return a * n", "a fixed number", "+ return a * 3"),
    ("def f(a):\n    b = a + 1\n    return b", "cut off from the gradient", "+ b = (a + 1).detach()"),
    ("def f(a):\n    b = a + 1\n    return b", "a result kept", "+ b = vars(f).setdefault('b', a + 1)"),
    ("def f(a):\n    a = a + 1\n    a = a * 2\n    return a", "neighbours swapped", "+ a = a * 2"),
    ("def f(a):\n    for x in a:\n        g(x)\n    return a", "part of a loop", "+ for x in list(a)[:-1]:"),
    ("def f(a):\n    for x in a:\n        g(x)\n    return a", "in or out of a loop", "+     return a"),
    ("def f(a):\n    for x in a:\n        g(x)\n        h(x)\n    return a", "in or out of a loop", "+ h(x)"),
    ("def f(n):\n    return [g() for _ in range(n)]", "one for all", "+ return [g()] * n"),
    ("@torch.no_grad()\ndef f(a):\n    return a", "a decorator dropped", "- @torch.no_grad()"),
])
def test_an_edit_that_people_make_is_among_them(source, operator, line):
    """An operator that silently finds no place any more."""
    assert any(c.operator == operator and line in c.edit for c in candidates(source))


@pytest.mark.parametrize("name", ["padding_mask", "layer_norm", "EncoderLayer", "masked_cross_entropy", "beam_search"])
def test_every_edit_can_be_pasted_into_a_file_of_mistakes(name, tmp_path, monkeypatch):
    """Lines that stand twice, or that lose their indentation: the author has to write them anew."""
    of, found = EXERCISES[name].verified, candidates(plain_source(EXERCISES[name].verified))
    blocks = [f"edit_{i}\n    Why?\n" + "".join(f"  {line}\n" for line in c.edit) for i, c in enumerate(found)]
    (tmp_path / "99.diff").write_text(f"== {name}\n\n" + "\n".join(blocks), encoding="utf-8")
    monkeypatch.setattr(mistakes, "FOLDER", tmp_path)
    pasted = mistakes_of("99", of)
    assert len(pasted) == len(found) > 30
    assert [ast.dump(ast.parse(m.source)) for m in pasted] == [ast.dump(ast.parse(c.source)) for c in found]


def test_an_edit_is_listed_once_and_is_none_of_the_words_of_an_error():
    """Two candidates for one source, the source itself, or a dozen edits of a message that nobody reads."""
    source = plain_source(EXERCISES["patchify"].verified)
    found = [c.source for c in candidates(source)]
    assert len(found) == len(set(found)) > 100 and source not in found
    assert all("cannot be cut into patches of {p} by {p}" in s or "raise" not in s for s in found)


def test_what_never_ends_and_what_needs_all_memory_is_stopped(monkeypatch):
    """A command that hangs, or that the system kills, because of a sign."""
    monkeypatch.setattr(behaviours, "SECONDS", 0.1)
    told = {line: b.told for b in behaviours.behaviours(TWICE) for c in b.candidates for line in c.edit}
    assert told["+ n = n + 1"] == "endless"
    if not sys.platform.startswith("linux"):
        pytest.skip("only there an end to memory can be set")
    monkeypatch.setattr(behaviours, "MEMORY", 2**28)
    told = {line: b.told for b in behaviours.behaviours(ONES) for c in b.candidates for line in c.edit}
    assert told["+ return x * torch.ones(large).sum()"] == "an error"


def test_what_a_mistake_covers_is_not_listed_and_the_rest_is_with_its_smallest_question(capsys):
    """An author who names what has a name, or who has to find out what an edit does."""
    command.main(["padding_mask_from_ids"])
    said = capsys.readouterr().out
    assert "+ return (ids == pad_id)[:, None, :]" not in said
    edit = "  - return (ids != pad_id)[:, None, :]\n  + return (ids != ids)[:, None, :]\n"
    shown = said[said.index(edit) + len(edit) :].splitlines()
    assert shown[0].startswith("    ids = [[") and shown[1].startswith("    expected [[[") and ", got [[[" in shown[1]


def test_what_is_accepted_comes_first_and_fails_until_it_is_explained(hole, known, capsys):
    """A hole in a check that nobody reads of, or one that is reported for ever although it is none."""
    assert command.main([hole]) == 1
    said = capsys.readouterr().out
    assert "ACCEPTED, off by one\n  - return x[-1]\n  + return x[0]\n    not known: a hole" in said
    assert said.index("ACCEPTED") < said.index("+ return x\n")
    accepted = {c.id for b in behaviours.behaviours(command.EXERCISES[hole]) if b.is_accepted for c in b.candidates}
    known.write_text("".join(f"{hole}: {edit}  # there is one row\n" for edit in accepted))
    assert command.main([hole]) == 0
    assert "  + return x[0]\n    there is one row\n" in capsys.readouterr().out
    known.write_text(f"{hole}: return x[…]  # there is one row\n{hole}: return x[5]  # it was\n")
    assert command.main([hole]) == 0 and "no longer accepted: return x[5]\n" in capsys.readouterr().out


def test_all_exercises_are_a_row_each(hole, known, capsys):
    """A table whose columns do not add up."""
    assert command.main(["--all"]) == 1
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| `last_row`")]
    candidates_, distinct, covered, uncovered, accepted, unknown = (int(n.strip(" |")) for n in rows[0][1:])
    assert candidates_ == len(candidates(plain_source(last_row))) and accepted == unknown >= 1
    assert covered + uncovered < distinct <= candidates_ - accepted + 1


@pytest.mark.parametrize("line, says", [
    ("last_row: return x[0]\n", "equivalents.txt:1: `last_row: return x[0]` is not EXERCISE: EDIT  # WHY"),
    ("# a remark\nlast_row  # why\n", "equivalents.txt:2: `last_row  # why` is not EXERCISE: EDIT  # WHY"),
])
def test_a_bad_line_of_equivalents_is_one_clear_line(hole, known, line, says, capsys):
    """A reason that was forgotten, and a hole that passes for explained."""
    known.write_text(line)
    assert command.main([hole]) == 2
    assert capsys.readouterr().err == says + "\n"


def test_an_unknown_exercise_is_one_clear_line(capsys):
    """A traceback for a typing error."""
    assert command.main(["padding_mask_from_id"]) == 2
    assert capsys.readouterr().err == "there is no exercise padding_mask_from_id; did you mean padding_mask_from_ids?\n"


def test_every_equivalent_is_of_an_exercise():
    """A reason that is left behind when an exercise is renamed."""
    assert equivalents.equivalents().keys() <= EXERCISES.keys()


@pytest.mark.parametrize("name", ["weighted_sum", "reweight", "shift_right", "mean_pool"])
def test_what_these_checks_accept_is_explained(name, capsys):
    """A line of equivalents.txt that no longer fits its edit; the other exercises are the author's to run."""
    assert command.main([name]) == 0
    assert "no longer accepted" not in capsys.readouterr().out
