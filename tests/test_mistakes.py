"""Mistakes kept as edits of a right answer: each has its place, and a bad file is one clear line."""

import ast
import dataclasses
import functools
import json
import subprocess
import sys

import pytest
import torch

from course_lib import layers
from course_lib.checks import EXERCISES
from course_lib.checks.engine import mistakes
from course_lib.checks.engine.judging import judge
from course_lib.checks.engine.mistakes import (
    ByHand,
    Mistake,
    MistakesError,
    in_code,
    mistakes_of,
    plain_source,
    run_beside,
)
from course_lib.staff import mistakes as command

HEAD = "== layer_norm\n\n"
ONE = """no_beta
    beta is never used. How can the result get a mean other than 0?
  - return centred / (variance + eps) ** 0.5 * gamma + beta
  + return centred / (variance + eps) ** 0.5 * gamma
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of mistakes."""
    monkeypatch.setattr(mistakes, "FOLDER", tmp_path)
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    for cached in (mistakes._read, plain_source):
        cached.cache_clear()
    yield tmp_path
    plain_source.cache_clear()


class Twice(torch.nn.Module):
    """Two equal lines."""

    def forward(self, x):
        y = x + 1
        y = y.relu()
        z = y + 1
        y = y.relu()
        return y + z


def read(folder, text, answer=layers.layer_norm):
    (folder / "08.diff").write_text(text, encoding="utf-8")
    mistakes._read.cache_clear()
    return mistakes_of("08", answer)


def test_an_edit_is_the_right_answer_but_for_its_lines(folder):
    """An edit that loses the rest of the function, its name, or its sentence."""
    (wrong,) = read(folder, HEAD + ONE)
    x, gamma, beta = torch.randn(2, 3), torch.rand(3), torch.rand(3)
    assert torch.equal(wrong.answer(x, gamma, beta) + beta, layers.layer_norm(x, gamma, beta))
    assert wrong.name == "no-beta" and wrong.says.startswith("beta is never used.")
    assert wrong.answer.__name__ == "layer_norm" and wrong.answer.__doc__ == wrong.says


def test_an_edit_may_have_several_places_and_new_lines_of_any_depth(folder):
    """Indentation lost where a line becomes a block."""
    (wrong,) = read(folder, HEAD + """# a remark
two_places
    The rows were normalised one by one, and nothing was added. Is there a loop?
    seen: https://example.org/somebody
  - centred = x - x.mean(dim=-1, keepdim=True)
  + centred = x.clone()
  + for row in centred.reshape(-1, x.shape[-1]):
  +     row -= row.mean()
  - return centred / (variance + eps) ** 0.5 * gamma + beta
  + return centred / (variance + eps) ** 0.5 * gamma
""")
    x, gamma, beta = torch.randn(4, 2, 3), torch.rand(3), torch.rand(3)
    assert torch.allclose(wrong.answer(x, gamma, beta) + beta, layers.layer_norm(x, gamma, beta), atol=1e-6)
    assert wrong.seen == "https://example.org/somebody" and "seen" not in wrong.says


def test_one_mistake_in_two_ways_has_one_name(folder):
    """The same thought with another number, for which the card has no name; or a name and a sentence twice."""
    (wrong,) = read(folder, HEAD + ONE + """  or
  - centred = x - x.mean(dim=-1, keepdim=True)
  + centred = x
""")
    first, second = wrong.ways
    assert first is wrong and (second.name, second.says) == (wrong.name, wrong.says)
    assert "+ beta" not in first.source and "centred = x\n" not in first.source
    assert "+ beta" in second.source and "centred = x\n" in second.source


def test_a_mistake_is_named_in_any_of_its_ways():
    """A second way that is written down and never asked."""
    exercise = dataclasses.replace(EXERCISES["layer_norm"])

    def moved(by):
        return plain_source(exercise.verified).replace("gamma + beta", f"gamma + beta + {by}")

    ways = [Mistake("moved", "It was moved.", exercise.verified, functools.partial(moved, by)) for by in (1, 2)]
    vars(exercise)["mistakes"] = (Mistake("moved", "It was moved.", exercise.verified, lambda: moved(3), others=ways),)
    found = judge(exercise, lambda x, gamma, beta, eps=1e-5: exercise.verified(x, gamma, beta, eps) + 2)
    assert found.mistakes == exercise.mistakes


def test_neighbouring_lines_are_one_place(folder):
    """A pair of lines that stands once, refused because one of them stands twice."""
    text = "== Twice\n\nlater\n    The second ReLU is gone. Is it needed?\n{}  - y = y.relu()\n  + y = y.sin()\n"
    (wrong,) = read(folder, text.format("  - z = y + 1\n"), Twice)
    assert wrong.source.count("relu") == 1 and "sin" in wrong.source and "z = y + 1" not in wrong.source
    with pytest.raises(MistakesError, match="`y = y.relu.*stands 2 times in Twice: name the line before or after it"):
        read(folder, text.format(""), Twice)[0].answer  # noqa: B018


@pytest.mark.parametrize(("text", "says"), [
    ("no_beta\n    Why?\n", "08.diff:1: `no_beta` stands before the first `== EXERCISE`"),
    (HEAD + "    Why?\n", "08.diff:3: `Why?` belongs to no mistake"),
    (HEAD + ONE + "\n" + ONE, "08.diff:8: no_beta: this exercise has a mistake of that name already"),
    (HEAD + ONE + HEAD, "08.diff:7: layer_norm has a part already"),
    (HEAD + "no beta\n    Why?\n", "08.diff:3: no beta: a mistake's name is written like_this, alone on its line"),
    (HEAD + "no_beta\n    Why?\n", "08.diff:3: no_beta: it has no edit"),
    (HEAD + "no_beta\n  - x\n  + y\n", "08.diff:3: no_beta: it has no sentence"),
    (HEAD + ONE + "  or\n", "08.diff:3: no_beta: it has no edit behind its last `or`"),
    (HEAD + ONE + "  or\n    Why?\n", "08.diff:8: no_beta: `Why?` is no sentence"),
    (HEAD + "no_beta\n    Why?\n  or\n", "08.diff:5: no_beta: `or` is no sentence"),
    (HEAD + "no_beta\n    Why?\n  + y\n", "08.diff:5: no_beta: a `+` line needs a `-` line before it, to say where"),
    (HEAD + "no_beta\n    Why?\n - x\n", "08.diff:5: no_beta: `- x` is no sentence (four spaces, before the edits)"),
    (HEAD + "no_beta\n    Why?\n  - x\n  + y\n    Or?\n", "08.diff:7: no_beta: `Or?` is no sentence"),
    (HEAD + "no_beta\n    Why?\n  - return centred\n  + y\n", "08.diff:5: no_beta: `return centred` does not stand in "
                                                             "layer_norm; near it is `"),
    (HEAD + ONE.replace("  + return", "  + retrun"), "08.diff:3: no_beta: what is left is no Python: invalid syntax"),
    (HEAD + ONE.replace("gamma\n", "gamma + beta\n"), "08.diff:3: no_beta: the edit changes nothing"),
])
def test_a_bad_file_is_one_clear_line(folder, text, says, capsys, monkeypatch):
    """A traceback, or a mistake that nobody is ever told of because its edit has no place."""
    with pytest.raises(MistakesError) as raised:
        [wrong.answer for wrong in read(folder, text)]
    assert says in str(raised.value) and "\n" not in str(raised.value)
    of_08 = {e.name: FakeExercise(e) for e in EXERCISES.values() if e.lesson == "08"}
    monkeypatch.setattr(command, "EXERCISES", of_08)
    assert command.main([]) == 1
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1


class FakeExercise:
    """An exercise whose mistakes are read anew."""

    def __init__(self, exercise):
        self.name, self.lesson, self.verified = exercise.name, exercise.lesson, exercise.verified

    @property
    def mistakes(self):
        return mistakes_of(self.lesson, self.verified)


def test_files_for_nobody_are_named(folder, capsys, monkeypatch):
    """A part for an exercise that was renamed, whose mistakes have silently gone."""
    (folder / "08.diff").write_text("== layernorm\n\n" + ONE)
    (folder / "77.diff").write_text("")
    (folder / "layernorm.py").write_text("")
    monkeypatch.setattr(command, "EXERCISES", {e.name: FakeExercise(e) for e in EXERCISES.values() if e.lesson == "08"})
    assert command.main([]) == 1
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "course_lib/checks/mistakes/layernorm.py: there is no exercise layernorm that this could spell out",
        "course_lib/checks/mistakes/77.diff: there is no lesson 77",
        "course_lib/checks/mistakes/08.diff: lesson 08 has no exercise layernorm"]


def test_an_exercise_s_source_and_edits_can_be_looked_at(capsys):
    """An author who has to guess what a `-` line has to be."""
    assert command.main(["SublayerConnection"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("class SublayerConnection(nn.Module):") and '"""' not in said
    assert "  -         return self.norm(x + self.dropout(sublayer(x)))" in said
    assert command.main(["SublayerConection"]) == 2
    assert capsys.readouterr().err == "there is no exercise SublayerConection; did you mean SublayerConnection?\n"


def test_every_edit_has_its_place():
    """A verified line that was reworded, and a mistake that is not recognised any more."""
    assert command.problems() == []


@pytest.mark.parametrize("name", sorted(path.stem for path in mistakes.FOLDER.glob("*.py")))
def test_a_reference_that_is_edited_is_itself_right(name):
    """Mistakes of something that was wrong before it was edited."""
    exercise = EXERCISES[name]
    spelled_out = run_beside(exercise.verified, plain_source(exercise.verified), f"<{name}, spelled out>")
    assert spelled_out is not exercise.verified and judge(exercise, spelled_out).status == "right"


def test_a_hand_out_has_the_mistakes_and_what_they_edit_and_shows_nothing(folder, monkeypatch):
    """A hand-out in which no mistake is recognised, because the source that they edit is a stub there; or no two."""
    exercise = EXERCISES["SublayerConnection"]
    edits = [m for m in exercise.mistakes if not isinstance(m, ByHand)]
    text = in_code([exercise])
    assert "return self" not in text and len(json.loads(text)["SublayerConnection"]) == len(edits) + 1 > 20
    (folder / "08.json").write_text(text, encoding="utf-8")
    coded = mistakes_of("08", exercise.verified)
    assert [(m.name, m.says, m.source) for m in coded] == [(m.name, m.says, m.source) for m in edits]
    assert ast.parse(coded[0].answer.__doc__ and coded[0].source)
    assert coded[0].right == edits[0].right == plain_source(exercise.verified)


def test_no_mistake_is_compiled_before_somebody_is_wrong():
    """Half a second for every import, to explain what nobody did."""
    code = ("import course_lib\nfrom course_lib.checks import EXERCISES\n"
            "mistakes = [m for e in EXERCISES.values() for m in e.mistakes]\n"
            "assert mistakes and not any('source' in vars(m) or 'answer' in vars(m) for m in mistakes)")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
