"""How exercises and questions measure: known values, and classes whose answer is known."""

import csv
import json

import numpy as np
import pytest

from course_lib.staff.grade.items import items, write_items
from course_lib.staff.questions import FILE
from tests.book_of_grades import book

THREE = ["reweight", "MultiHeadAttention", "causal_mask"]
QUESTIONS = [entry["question"] for entry in json.loads(FILE.read_text(encoding="utf-8"))][:3]


def a_class(*answers):
    """A report of students s00, s01 …, each with the verdicts on three exercises; None where there is no answer."""
    return book({f"s{i:02}": {name: verdict for name, verdict in zip(THREE, verdicts, strict=True) if verdict}
                 for i, verdicts in enumerate(answers)}, THREE)


def test_difficulty_is_of_those_who_answered():
    """Whoever handed nothing in makes an exercise look hard."""
    found = items(a_class(("pass", "fail", "pass"), ("fail", "crash", "missing"), ("pass", "pass", None)))
    assert [(item.name, item.answered, round(item.right, 3)) for item in found] == [
        ("reweight", 3, 0.667), ("MultiHeadAttention", 3, 0.333), ("causal_mask", 1, 1.0)]
    assert [item.discrimination for item in found] == [None] * 3, "of three students"


def test_discrimination_is_the_correlation_with_the_others():
    """With the item itself in the sum, every item seems to tell the strong from the weak."""
    generator = np.random.default_rng(0)
    strength = generator.normal(size=200)
    right = np.stack([strength + generator.normal(size=200) > 0, strength > 0.3, generator.random(200) > 0.5], 1)
    found = items(a_class(*[["pass" if one else "fail" for one in line] for line in right]))
    for column, item in enumerate(found):
        others = np.delete(right, column, axis=1).mean(1)
        assert item.discrimination == pytest.approx(np.corrcoef(right[:, column], others)[0, 1])
    assert found[0].discrimination > 0.3 > 0.2 > abs(found[2].discrimination)


def test_what_all_have_right_tells_nobody_apart():
    """A division by zero."""
    found = items(a_class(*[("pass", "fail" if i % 2 else "pass", "fail") for i in range(30)]))
    assert [item.discrimination for item in found] == [None] * 3


def test_questions_are_measured_by_the_first_guess(tmp_path):
    """The last guess is right in the end."""
    connection = a_class(*[("pass", "pass", "pass")] * 40)
    guesses = [(f"s{i:02}", question, "x", int(i % 4 < 3 - place)) for i in range(40)
               for place, question in enumerate(QUESTIONS)]
    connection.executemany("INSERT INTO prediction VALUES (?, ?, ?, ?)", [*guesses, ("s00", "no question", "x", 1)])
    found = [item for item in items(connection) if item.kind == "question"]
    assert [(item.name, item.answered, item.right) for item in found] == list(zip(QUESTIONS, [40] * 3, [.75, .5, .25],
                                                                                  strict=True))
    write_items(items(connection), tmp_path / "items.csv")
    with (tmp_path / "items.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["kind"] for line in lines] == ["exercise"] * 3 + ["question"] * 3
    assert lines[3]["right_percent"] == "75" and lines[0]["discrimination"] == ""
    write_items([], tmp_path / "items.csv")
    assert not (tmp_path / "items.csv").exists()
