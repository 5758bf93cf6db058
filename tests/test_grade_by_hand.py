"""A person decides: all who answered alike together, kept with who and when, and read by nobody else on the network."""

import csv
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from course_lib.staff.grade import command
from course_lib.staff.grade.decisions import DIARY, OVERRIDES, REQUESTS, decide
from course_lib.staff.grade.desk import Desk
from course_lib.staff.grade.similar import but_for_names
from course_lib.staff.grade.tables import rows, settings
from tests.book_of_grades import book
from tests.test_grade import MASK, notebook
from tests.test_grade_command import needs_confinement, run
from tests.test_grade_pages import ATTACKS, Tree

ROOT = Path(__file__).parents[1]
WRONG = {"verdict": "fail", "mistake": "upper-triangle", "reason": "It sees the future."}
CLASS = {"ada": {"causal_mask": WRONG | {"code": "def causal_mask(T):\n    return f(T, 1)"}},
         "bo": {"causal_mask": WRONG | {"code": "def causal_mask(n):\n    # mine\n    return f(n, 1)"}},
         "cy": {"causal_mask": WRONG | {"code": "def causal_mask(T):\n    return f(T, 2)"}},
         "di": {"causal_mask": "pass"}}
TYPED = {"alike": ["0"], "points": ["0,5"], "reason": ["half of it"], "by": ["Grace"]}


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path, book(CLASS, ["causal_mask"]), settings())


def lines(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(("one", "other", "alike"), [
    ("def f(a, b):\n    return a @ b", "def f(x, y):\n    '''Mine.'''\n    return x @ y  # so", True),
    ("def f(a, b):\n    return a @ b", "def f(a, b):\n    return b @ a", False),
    ("def f(a):\n    return max(a)", "def f(a):\n    return min(a)", False),
    ("def f(a):\n    return a + 1", "def f(a):\n    return a + 2", False),
    ("class A:\n    def g(self):\n        self.p = 1\n        return self.p",
     "class A:\n    def g(self):\n        self.q = 1\n        return self.q", True),
    ("def f(", "def f(", True), ("def f(", "def g(", False)])
def test_answers_are_alike_where_only_their_own_names_differ(one, other, alike):
    """Points for `a @ b` that `b @ a` gets as well; or five hundred pages for one answer."""
    assert (but_for_names(one) == but_for_names(other)) is alike


def test_all_who_answered_alike_stand_together(desk):
    kinds = [(kind.name, [[row.student for row in group] for group in kind.alike]) for kind in desk.kinds()]
    assert kinds == [("fail upper-triangle", [["ada", "bo"], ["cy"]]), ("pass", [["di"]])]


def test_points_and_words_are_typed_once_and_kept_with_who_and_when(desk, tmp_path):
    """A grade that changed, and nobody knows why."""
    where = "causal_mask", "fail upper-triangle", ""
    assert desk.decide(*where, TYPED) == "Decided for 2 students."
    assert desk.decide(*where, TYPED) == "Decided for 0 students.", "nothing has changed"
    assert desk.decide(*where, TYPED | {"alike": ["0", "1"], "points": ["1"]}) == "Decided for 3 students."
    assert desk.decide(*where, TYPED | {"points": [""], "reason": [""], "by": ["Alan"]}) == "Decided for 2 students."
    assert [(line["student"], line["points"]) for line in lines(tmp_path / OVERRIDES)] == [("cy", "1")]
    diary = [(line["by"], line["student"], line["points_before"], line["points"]) for line in lines(tmp_path / DIARY)]
    assert diary == [("Grace", "ada", "0", "0.5"), ("Grace", "bo", "0", "0.5"), ("Grace", "ada", "0.5", "1"),
                     ("Grace", "bo", "0.5", "1"), ("Grace", "cy", "0", "1"), ("Alan", "ada", "1", ""),
                     ("Alan", "bo", "1", "")]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", line["time"]) for line in lines(tmp_path / DIARY))


@pytest.mark.parametrize(("typed", "says"), [
    ({"points": ["many"]}, "Points are a number"), ({"points": ["-1"]}, "Points are a number"),
    ({"points": ["nan"]}, "Points are a number"), ({"reason": [" "]}, "Say why"), ({"by": []}, "Say who you are"),
    ({"by": [" "]}, "Say who you are"), ({"alike": []}, "Tick at least one"), ({"alike": ["7", "x"]}, "Tick at least")])
def test_what_cannot_be_taken_changes_nothing_and_is_one_sentence(desk, tmp_path, typed, says):
    said = desk.decide("causal_mask", "fail upper-triangle", "", TYPED | typed if typed != {"by": []} else {
        key: value for key, value in TYPED.items() if key != "by"})
    assert said.startswith(f"Nothing was changed. {says}") and not (tmp_path / OVERRIDES).exists()


def test_what_stands_in_the_table_already_stays(desk, tmp_path):
    """Decisions that somebody has typed by hand, lost to a page."""
    (tmp_path / OVERRIDES).write_text("student,exercise,points,reason\ndi,causal_mask,0,copied\nzoe,reweight,1,x\n")
    desk.decide("causal_mask", "fail upper-triangle", "", TYPED)
    assert {line["student"] for line in lines(tmp_path / OVERRIDES)} == {"ada", "bo", "di", "zoe"}


def test_a_name_that_looks_like_a_formula_keeps_its_decision(tmp_path):
    """A spreadsheet must not run it; and the points must find their student."""
    connection = book({"=1+1": {"causal_mask": WRONG}}, ["causal_mask"])
    assert decide(tmp_path, connection, settings(), "causal_mask", ["=1+1"], 1, "so", "Grace") == 1
    given = command.replace(settings(), overrides=command.overrides(tmp_path / OVERRIDES))
    assert [row.points for row in rows(connection, given)] == [1]


def test_a_request_leads_to_the_answer_of_that_student_alone(desk, tmp_path):
    (tmp_path / REQUESTS).write_text("student,exercise,request\nbo,causal_mask,<b>Look</b> again\nzoe,reweight,me\n")
    first = Tree(desk.first_page())
    assert "<b>Look</b> again" in first.text() and first.text().count("open") == 2
    link = next(a["href"] for a in first.all("a") if "only=bo" in a["href"])
    assert link == "causal_mask/fail%20upper-triangle?only=bo"
    page = Tree(desk.page_of("causal_mask", "fail upper-triangle", "bo"))
    assert "1 student" in page.text() and "ada" not in page.text()
    assert desk.decide("causal_mask", "fail upper-triangle", "bo", TYPED) == "Decided for 1 student."
    assert "decided" in Tree(desk.first_page()).text()
    assert desk.page_of("causal_mask", "fail upper-triangle", "nobody") is None


@pytest.mark.parametrize("text", ATTACKS)
def test_no_text_of_a_student_or_of_a_person_breaks_out(tmp_path, text):
    answer = {"verdict": "fail", "mistake": text, "reason": text, "code": text}
    desk = Desk(tmp_path, book({text: {"causal_mask": answer}}, ["causal_mask"]), settings())
    name = desk.kinds()[0].name
    desk.decide("causal_mask", name, "", TYPED | {"by": [text]})
    for page in (desk.first_page(), desk.page_of("causal_mask", name, "", text)):
        tree = Tree(page)
        assert not tree.all("script") and not tree.all("b") and not tree.all("img")
        assert not [a for _, a in tree.tags for key in a if key.startswith("on") or key == "style"]


@needs_confinement
def test_the_page_is_there_for_who_knows_its_address_and_writes_the_report_at_its_end(tmp_path):
    """A page that anybody's browser can reach; or decisions that wait for a command nobody gives."""
    (tmp_path / "batch").mkdir()
    (tmp_path / "batch" / "ada.ipynb").write_text(notebook("import torch", MASK))
    report = tmp_path / "report"
    assert run([str(tmp_path / "batch"), "-o", str(report), "--exercises", "causal_mask"]) == 0
    with subprocess.Popen([sys.executable, "-u", "-m", "course_lib.staff.grade", "hand", "-o", str(report)], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        guard = threading.Timer(120, process.kill)  # a page that does not end must not hang the test
        guard.start()
        address = re.search(r"http://127\.0\.0\.1:\d+/\S+/", process.stdout.readline())[0]
        here = address + "causal_mask/pass"
        typed = urllib.parse.urlencode({"alike": "0", "points": "0.5", "reason": "copied", "by": "Grace"}).encode()
        assert "By hand" in _got(address) and "1 student" in _got(here)
        elsewhere = urllib.request.Request(address, headers={"Host": "evil.example"})
        for wrong in (address.rsplit("/", 2)[0] + "/guess/", address + "causal_mask/nothing", address + "a/b/c",
                      elsewhere):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                _got(wrong)
        assert "Decided for 1 student." in _got(here, typed)
        kept = (report / OVERRIDES).read_text()
        (report / OVERRIDES).write_text("student,exercise\n")
        assert "one column named points" in _got(here) and "one column named points" in _got(here, typed)
        (report / OVERRIDES).write_text(kept)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[0]
        guard.cancel()
        assert "Written: " in said and process.returncode == 0
    row, = lines(report / "results.csv")
    assert row["points"] == "0.5" and "Decided by hand: 0.5 points. copied" in row["reason"]


def _got(address, data=None):
    with urllib.request.urlopen(address, data, timeout=30) as page:
        return page.read().decode()
