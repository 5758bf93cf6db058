"""Mistakes over the weeks: by the time of the file, or the one that an instructor gives."""

import csv

from course_lib.staff.grade.pages import write_pages
from course_lib.staff.grade.tables import settings
from course_lib.staff.grade.weeks import mistakes_by_week, write_weeks
from tests.book_of_grades import book
from tests.test_grade_pages import Tree

FUTURE, PAST = ({"verdict": "fail", "mistake": mistake} for mistake in ("upper-triangle", "no-diagonal"))


def a_class():
    """Two who err in one way in one week, one a week later, one in another way, and one who is right."""
    when = {"ada": ("2026-03-02T00:00:00Z", FUTURE), "bo": ("2026-03-08T23:00:00Z", FUTURE),
            "cy": ("2026-03-09T01:00:00Z", FUTURE), "di": ("2026-03-10T01:00:00Z", PAST),
            "ed": ("2026-03-10T01:00:00Z", "pass")}
    return book({name: {"modified": time, "causal_mask": said} for name, (time, said) in when.items()}, ["causal_mask"])


def test_each_mistake_is_counted_in_the_week_of_its_answer(tmp_path):
    write_weeks(mistakes_by_week(a_class(), settings()), tmp_path / "weeks.csv")
    with (tmp_path / "weeks.csv").open(encoding="utf-8", newline="") as file:
        lines = [(line["week_from"], line["mistake"], line["students"]) for line in csv.DictReader(file)]
    assert lines == [("2026-03-02", "upper-triangle", "2"), ("2026-03-09", "no-diagonal", "1"),
                     ("2026-03-09", "upper-triangle", "1")]


def test_an_answer_without_a_time_is_left_out_and_nothing_makes_no_table(tmp_path):
    found = mistakes_by_week(book({"ada": {"causal_mask": FUTURE}}, ["causal_mask"]), settings())
    assert found == {}
    (tmp_path / "weeks.csv").write_text("old")
    write_weeks(found, tmp_path / "weeks.csv")
    assert not (tmp_path / "weeks.csv").exists()


def test_the_page_has_a_column_for_each_week(tmp_path):
    """A table of one week says what the bars say."""
    write_pages(a_class(), settings(), tmp_path)
    text = Tree((tmp_path / "index.html").read_text(encoding="utf-8")).text()
    assert "Mistakes over the weeks" in text and "02 Mar" in text and "09 Mar" in text
    write_pages(book({"ada": {"causal_mask": FUTURE}}, ["causal_mask"]), settings(), tmp_path)
    assert "over the weeks" not in (tmp_path / "index.html").read_text(encoding="utf-8")
