"""The grader says of an answer what `check` says of it in the notebook: right ones pass, mistakes have their name.

That `check` does so is proved by test_checks; here the same answers come as notebooks, and their replies over a pipe.
All exercises, or some: python -m tests.test_grade_parity [EXERCISE ...]
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import pytest
import torch

from course_lib import check
from course_lib.checks import EXERCISES
from course_lib.checks.engine.asking import Call, ask
from course_lib.checks.engine.mistakes import ByHand, run_beside
from course_lib.staff.grade import confine
from course_lib.staff.grade.lane import Lane, LaneError, write_root
from course_lib.staff.grade.lanes import marker
from course_lib.staff.grade.marking import Limits
from course_lib.staff.grade.reading import Notebook, Submission
from tests.right_answers import RIGHT_ANSWERS
from tests.submitted import cells_for, mistakes, right_answers, submission

SEED = 3
SOME = {  # exercise: every how many-th right answer and mistake
    "reweight": (3, 9),
    "causal_mask": (2, 6),
    "soft_max_pool": (6, 18),  # one returns a single number with a stride of its own
    "is_version_2": (2, 4),  # its argument is a function
    "hides_the_future": (9, 9),
    "SublayerConnection": (4, 13),  # gradients flow through a function of the judge's
    "beam_search": (3, 13),
    "get_batch": (5, 22),  # random, and views of a long text
    "EncoderLayer": (6, 18),  # stands on other answers
    "attend_with_cache": (3, 12),  # takes and gives back a pair of tensors
    "online_softmax_attention": (3, 12),  # is told by how many numbers it holds
    "LanguageModel": (4, 24),
}

ANSWER = """
import torch

def hides_the_future(function):
    x = torch.arange(6.0).view(2, 3).requires_grad_()
    try:
        y = function(x=x)
    except ValueError:
        return torch.zeros(1)
    if isinstance(function, torch.nn.Module):
        function.train(not function.training)
    slopes = [torch.autograd.grad(n, x, retain_graph=True)[0] for n in y.flatten()] if y.requires_grad else []
    return torch.stack([y.detach(), *slopes])
"""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the grader needs a system that can fork")


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    """One judge and its worker for all exercises."""
    judge = started(tmp_path_factory.mktemp("root"))
    yield judge
    judge.lane.close()


def started(root):
    level = confine.probe()
    write_root(root)
    return marker((root, level, (), SEED, level, Limits()))


def differences(judge, name, every=(1, 1)):
    """Of the answers to one exercise, those with another verdict than they deserve, in words; and how many there are.

    every: every how many-th right answer and every how many-th mistake to grade
    """
    right, wrong = list(right_answers(name, RIGHT_ANSWERS).items()), list(mistakes(EXERCISES[name]).items())
    deserved = [(*answer, ("pass", "")) for answer in right[:: every[0]]]
    deserved += [(*answer, ("fail", answer[0])) for answer in wrong[:: every[1]]]
    judge.exercises, found = (name,), []
    for known_as, (module, wrote), wanted in deserved:
        verdicts = judge.mark(submission(name, module, wrote))
        got = [(v.verdict, v.mistake) for v in verdicts]
        if got != [wanted]:
            found.append(f"{name}, {known_as}: {got} instead of {wanted}: {[v.reason for v in verdicts]}")
    return found, len(deserved)


@pytest.mark.parametrize("name", SOME)
def test_the_grader_gives_the_verdict_of_the_check(judge, name):
    """Somebody whose card said "right" in the notebook, and who gets no point for it."""
    found, _ = differences(judge, name, SOME[name])
    assert not found, "\n".join(found)


@pytest.mark.parametrize("name", ["MultiHeadAttention", "FeedForward", "SublayerConnection", "Transformer"])
def test_a_weight_that_nobody_asked_for_is_no_forgery(judge, name):
    """Somebody with a right answer and a spare layer, accused of having written into the channel."""
    verified = EXERCISES[name].verified
    right = next(m.right for m in EXERCISES[name].mistakes if not isinstance(m, ByHand))
    spare = right.replace("super().__init__()\n", "super().__init__()\n        self.spare = nn.Linear(3, 3)\n", 1)
    assert check(run_beside(verified, spare, "<with a spare layer>"), name).passed
    judge.exercises = (name,)
    assert [(v.verdict, v.reason) for v in judge.mark(submission(name, verified.__module__, spare))] == [("pass", "")]


def test_what_stands_on_an_attention_of_one_s_own_is_right(judge):
    """A point for the attention, with weights in one matrix, and none for all that stands on it."""
    own = cells_for("tests.right_answers.lesson_06", "Packed")
    layer = next(m.right for m in EXERCISES["EncoderLayer"].mistakes if not isinstance(m, ByHand))
    cells = (*own, "MultiHeadAttention = Packed", *cells_for("course_lib.layers", "FeedForward"), layer)
    judge.exercises = ("MultiHeadAttention", "EncoderLayer")
    marks = judge.mark(Submission("somebody", (Notebook("answer.ipynb", cells, None),), (), ""))
    assert [(mark.verdict, mark.reason) for mark in marks] == [("pass", ""), ("pass", "")]


def test_a_right_answer_with_names_of_its_own_passes(judge):
    """A layer is called fc1, and the point is gone."""
    verified = EXERCISES["FeedForward"].verified
    right = next(m.right for m in EXERCISES["FeedForward"].mistakes if not isinstance(m, ByHand))
    judge.exercises = ("FeedForward",)
    for wrote, verdict in ((right, "pass"), (right.replace(".relu()", ""), "fail")):
        marks = judge.mark(submission("FeedForward", verified.__module__, wrote.replace("linear", "fc")))
        assert [mark.verdict for mark in marks] == [verdict]


@pytest.mark.parametrize("raised", ["MemoryError", "RuntimeError(\"[enforce fail at alloc_cpu.cpp:127] err == 0. "
                                    "DefaultCPUAllocator: can't allocate memory: you tried to allocate 40 bytes\")"])
def test_an_answer_that_fills_the_memory_is_asked_once(judge, raised):
    """Four minutes for an answer that fills three gigabytes seventy times: once for each of two seeds is enough."""
    wrong = ("calls = []\ndef causal_mask(T):\n    calls.append(T)\n    assert len(calls) < 3\n"
             f"    full = {raised}\n    raise full")
    judge.exercises = ("causal_mask",)
    mark, = judge.mark(submission("causal_mask", "course_lib.masks", wrong))
    assert mark.verdict == "error" and mark.reason.startswith("It raised MemoryError")
    assert "enforce" not in mark.reason


def test_a_worker_that_does_not_start_is_told_with_its_command(tmp_path):
    """The grader's own words about it fail, too, and hide what is wrong."""
    (tmp_path / "worker.py").write_text("raise SystemExit(1)", encoding="utf-8")
    with pytest.raises(LaneError, match=r"cannot be started at level C: .*worker\.py"):
        Lane(str(tmp_path), "C").child()


def test_an_error_about_a_function_of_the_judge_s_says_what_it_says_in_the_notebook(judge):
    """A name out of the grader's own code, in a reason that a student reads."""
    right = next(m.right for m in EXERCISES["SublayerConnection"].mistakes if not isinstance(m, ByHand))
    wrong = right.replace("sublayer(", "sublayer.width(")
    judge.exercises = ("SublayerConnection",)
    mark, = judge.mark(submission("SublayerConnection", "course_lib.layers", wrong))
    assert "'function' object has no attribute 'width'" in mark.reason


class Halved(torch.nn.Module):
    """A model that is never copied, so that its mode can be looked at."""

    def __deepcopy__(self, _):
        return self

    def forward(self, x):
        return x / 2


def refuses(x):
    raise ValueError


@pytest.mark.parametrize("function", [lambda x: x**2, lambda x: x, lambda x: torch.ones(2, 3), refuses, Halved(),
                                      Halved().eval()])
def test_a_function_of_the_judge_s_is_to_an_answer_what_it_is_in_the_notebook(judge, function):
    """An answer that takes a Jacobian, expects an error or sets a mode, and is wrong in the grader only."""
    space, mode = {}, getattr(function, "training", None)
    exec(ANSWER, space)
    here = ask(space["hides_the_future"], Call((function,)))
    modes = [getattr(function, "training", None)]
    if mode is not None:
        function.train(mode)
    with judge.lane.child() as child:
        soon = time.monotonic() + 60
        child.run(0, "<cell>", ANSWER, 60, soon)
        there, = child.ask(0, "hides_the_future", [Call((function,))], 60, soon, set())
    modes.append(getattr(function, "training", None))
    assert here.outputs[0].equal(there.outputs[0]) and here.error is there.error is None
    assert modes[0] == modes[1]


def main():
    """Every answer to every exercise that is asked for; exit status 1 where a verdict differs."""
    torch.set_num_threads(1)
    differ = graded = 0
    with tempfile.TemporaryDirectory() as root:
        judge = started(Path(root))
        for name in sys.argv[1:] or EXERCISES:
            found, number = differences(judge, name)
            differ, graded = differ + len(found), graded + number
            print("\n".join([f"{name}: {number} answers, {len(found)} differ", *found]), flush=True)
        judge.lane.close()
    print(f"{graded} answers, {differ} differ")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main())
