"""Copied answers are found among many, and answers that are alike because the exercise is small are not."""

import inspect
import random
import re
import sys
import textwrap
import time
import tracemalloc

import pytest

from course_lib.checks import EXERCISES
from course_lib.staff.answers import source_and_stub
from course_lib.staff.grade.similar import OURS, similar, similar_to_anybody
from tests.right_answers import RIGHT_ANSWERS

HEADS = '''
class MultiHeadAttention(nn.Module):
    """Doc."""

    def __init__(self, d_model, num_heads):
        super().__init__()
        self.parts = nn.ModuleList(nn.Linear(d_model, d_model, bias=i > 1) for i in range(4))
        self.num_heads, self.width = num_heads, d_model // num_heads

    def forward(self, query, key, value, mask=None):
        ask, offer, give = (part(x) for part, x in zip(self.parts, (query, key, value)))
        results = []
        for head in range(self.num_heads):
            here = slice(head * self.width, (head + 1) * self.width)
            table = torch.einsum("bqd,bkd->bqk", ask[..., here], offer[..., here]).div(self.width**0.5)
            if mask is not None:
                table = torch.where(mask, table, torch.full_like(table, -1e9))
            table = table - table.amax(dim=2, keepdim=True)
            results.append(table.exp().div(table.exp().sum(2, keepdim=True)).matmul(give[..., here]))
        return self.parts[3](torch.cat(results, dim=2))
'''
COPIED = re.sub(r"\b(ask|offer|results|table|parts|here)\b", lambda found: found[0][0] + "_", HEADS).replace(
    "Doc", "My own idea").replace("mask=None):", "mask: torch.Tensor = None) -> torch.Tensor:  # mine")


def styles(exercise):
    """Our right answers to an exercise, each in its own style."""
    found = {}
    for style, right in RIGHT_ANSWERS[exercise].items():
        if inspect.isclass(right) or inspect.isfunction(right) and right.__name__ != "<lambda>":
            found[style] = textwrap.dedent(inspect.getsource(right))
    return found


def crowd(number, seed=0):
    """Answers of students who worked alone: the same exercise, put together from many different choices."""
    rng, choose = random.Random(seed), random.Random(seed).choice
    for student in range(number):
        lines = [f"x{i} = torch.{choose(['einsum', 'matmul', 'where', 'cat'])}({choose('abc')}, "
                 f"{choose('abc')}.{choose(['exp', 'sum', 'mT', 'flatten', 'abs'])}({rng.randrange(9)}))"
                 for i in range(12)]
        yield (f"s{student:05}", "MultiHeadAttention",
               "def f(a, b, c):\n    " + "\n    ".join(lines) + "\n    return x3")


def test_a_copy_with_other_names_is_found_among_many():
    """New names and comments make a copy somebody's own work."""
    answers = [*crowd(200), ("zoe", "MultiHeadAttention", HEADS), ("adam", "MultiHeadAttention", COPIED)]
    assert similar(answers) == similar(reversed(answers)) == [("MultiHeadAttention", "adam", "zoe", 1.0)]


def test_a_copy_that_was_changed_a_little_is_found():
    """A line added, and another written in a new way, hide the rest."""
    changed = COPIED.replace("r_ = []", "r_ = []\n        B = len(query)\n        assert B == len(key)")
    changed = changed.replace("torch.cat(r_, dim=2)", "torch.concat(tuple(r_), -1)")
    [(exercise, a, b, share)] = similar([*crowd(50), ("a", "MultiHeadAttention", HEADS),
                                         ("b", "MultiHeadAttention", changed)])
    assert changed.count("concat") == changed.count("assert") == 1
    assert (exercise, a, b) == ("MultiHeadAttention", "a", "b") and 0.8 <= share < 1


def test_a_copy_of_broken_code_is_found_too():
    """Code that does not parse is never compared, and so the copied mistakes are not seen."""
    broken = HEADS + "\nthis is = no python"
    [pair] = similar([("a", "x", broken), ("b", "x", COPIED + "\nthis is = no python")])
    assert pair[:3] == ("x", "a", "b")


def test_the_same_answer_to_two_exercises_is_no_pair():
    """A student who uses one text for two exercises is similar to everybody else who does."""
    assert similar([("a", "x", HEADS), ("b", "y", HEADS)]) == []


@pytest.mark.parametrize("exercise", list(RIGHT_ANSWERS))
def test_no_two_of_our_own_styles_are_alike(exercise):
    """Answers that were written apart from each other make their authors suspects."""
    answers = [(style, exercise, code) for style, code in styles(exercise).items()]
    assert similar(answers) == []


def test_what_everybody_was_given_makes_nobody_a_suspect():
    """The finished constructor of the stub, or a one-line answer that all write alike, fills the page with pairs."""
    for name, exercise in EXERCISES.items():
        verified = exercise.verified
        stub = source_and_stub(verified.__module__, verified.__name__, name)[1]
        assert similar([(student, name, stub) for student in "abc"]) == [], name
    line = "def causal_mask(T):\n    return torch.ones(T, T, dtype=torch.bool).tril()"
    assert similar([(str(i), "causal_mask", line) for i in range(100)]) == []


def test_what_many_have_found_is_no_copy():
    """The usual way to write a long answer makes hundreds of pairs; a group that copied is still found beside it."""
    module = sys.modules[EXERCISES["MultiHeadAttention"].verified.__module__]
    usual = inspect.getsource(module.MultiHeadAttention)
    many = [(f"m{i}", "MultiHeadAttention", f"{usual}# {i}") for i in range(30)]
    ring = [(f"r{i}", "MultiHeadAttention", HEADS) for i in range(4)]
    assert similar([*many, *ring]) == [("MultiHeadAttention", "r0", f"r{i}", 1.0) for i in (1, 2, 3)]


def test_the_same_text_is_told_however_many_have_it():
    """A class that hands in one file counts as the usual way to write it."""
    many = [(f"m{i:02}", "MultiHeadAttention", HEADS + " " * (i % 3)) for i in range(60)]
    assert similar(many) == [("MultiHeadAttention", "m00", f"m{i:02}", 1.0) for i in range(1, 60)]


def test_a_large_class_is_compared_in_seconds():
    """All pairs of a large class are 12 million comparisons."""
    copies = [(f"z{i}", "MultiHeadAttention", text) for i, text in enumerate((HEADS, COPIED))]
    began = time.process_time()
    assert [pair[1:3] for pair in similar([*crowd(2_000), *copies])] == [("z0", "z1")]
    assert time.process_time() - began < 20
    tracemalloc.start()
    similar(crowd(500, seed=1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500 * 20_000


@pytest.mark.parametrize("code", ["", "\0", "\ud800" * 100, "x = " + "-" * 50_000 + "1", "x = a" + ".b" * 20_000,
                                  "x" * 10**7, "x = '" + "\ud800" * 50 + "'; y = z + 1; f(x, y, z, *a, **b)"])
def test_code_that_is_made_to_confuse_is_passed_over(code):
    """A traceback in the last step of a run."""
    assert similar([(student, "x", code) for student in "ab"]) in ([], [("x", "a", "b", 1.0)])


def test_a_copy_of_another_year_or_of_the_course_s_own_is_found():
    """Handed down from year to year, or out of the public solutions, and alike to nobody in the class."""
    own = source_and_stub("course_lib.attention", "MultiHeadAttention", "MultiHeadAttention")[0]
    now = [*crowd(30), ("zoe", "MultiHeadAttention", COPIED), ("bo", "MultiHeadAttention", own.replace("heads", "h"))]
    before = [("2025: ada", "MultiHeadAttention", HEADS), ("2025: cy", "MultiHeadAttention", HEADS)]
    found = {(student, other): share for _, student, other, share in similar_to_anybody(now, before)}
    assert set(found) == {("bo", OURS), ("zoe", "2025: ada")} and min(found.values()) > 0.8


def test_no_honest_answer_is_taken_for_the_course_s_own():
    """A formula that has one right form."""
    now = [(style, exercise, code) for exercise in EXERCISES for style, code in styles(exercise).items()]
    assert [pair for pair in similar_to_anybody(now, []) if OURS in pair] == []
