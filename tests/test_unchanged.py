"""Verdicts that are not asked for again: only where nothing has changed, and never the same ones for long."""

import pytest

from tests import unchanged

ASKED = [f"tests/test_checks.py::test_a[{n}]" for n in range(500)]
WHOLE = [*ASKED, "tests/test_grade.py::test_a"]  # a run of more than the verdicts


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A course with one check, whose verdicts were green."""
    monkeypatch.delenv("COURSE_ALL_VERDICTS", raising=False)
    (tmp_path / "course_lib" / "checks" / "mistakes").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "course_lib" / "checks" / "mistakes" / "04.diff").write_text("-a\n+b\n")
    (tmp_path / unchanged.GREEN).write_text(f"{unchanged.fingerprint(tmp_path)}\n")
    return tmp_path


def test_each_is_run_once_in_ten_days(course):
    """A test that is skipped for good, and a wrong verdict on another processor that nobody sees."""
    run = [set(ASKED) - set(unchanged.left_out(WHOLE, day, course)) for day in range(10)]
    assert sum(map(len, run)) == len(ASKED) and set.union(*run) == set(ASKED)
    assert all(25 < len(part) < 75 for part in run)


@pytest.mark.parametrize("what", ["a mistake", "a new check", "torch"])
def test_all_are_run_where_anything_that_decides_has_changed(course, monkeypatch, what):
    """A changed check whose old verdicts still count."""
    assert unchanged.left_out(WHOLE, 0, course)
    if what == "torch":
        monkeypatch.setattr(unchanged.torch, "__version__", "0.0")
    else:
        name = "mistakes/04.diff" if what == "a mistake" else "lesson_99.py"
        (course / "course_lib" / "checks" / name).write_text("-a\n+c\n")
    assert unchanged.left_out(WHOLE, 0, course) == []


def test_all_are_run_where_that_is_wished(course, monkeypatch):
    """A weekly run that finds nothing, for it looks at nothing."""
    monkeypatch.setenv("COURSE_ALL_VERDICTS", "1")
    assert unchanged.left_out(WHOLE, 0, course) == []


def test_all_are_run_where_they_are_named(course):
    """An author who runs the tests of one check, and is told that they were skipped."""
    assert unchanged.left_out(ASKED, 0, course) == [] != unchanged.left_out(WHOLE, 0, course)


def test_what_is_no_verdict_is_always_run(course):
    """A grader that is no longer tested."""
    others = ["tests/test_grade.py::test_a[b]", "tests/test_checks.py::test_there_are_mistakes"]
    assert unchanged.left_out(others, 0, course) == []
