"""What an instructor gets as pages: nothing breaks out of them, nobody is left out, nothing else is touched."""

import io
import os
import re
import unicodedata
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest

from course_lib.checks import EXERCISES
from course_lib.staff.grade.cohort import FIND
from course_lib.staff.grade.markup import tag
from course_lib.staff.grade.pages import file_name, write_pages
from course_lib.staff.grade.tables import PolicyError, one_line, settings
from tests.book_of_grades import SCOPE, book

ATTACKS = ["</pre><script>alert(1)</script>", "</title></style><script>", "\"' onmouseover=alert(1) x='", "]]>",
           "<!--", "&lt;script&gt;", "a\u202eb\u2066", "\x00\x1b[31m\x7f\x85", "<svg/onload=alert(1)>", "\ufeff<b>"]
VOID = {"meta", "input"}
ALLOWED = set("html head meta title style body main h1 h2 h3 h4 p a nav div span bdi table caption thead tbody tr "
              "th td colgroup ul li strong section details summary pre code svg rect i label input script".split())


class Tree(HTMLParser):
    """A page as a strict reader sees it: every tag closed in order; what text stands in which element."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        assert len(dict(attributes)) == len(attributes)
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]

    def text(self, tag=None):
        return "".join(data for name, data in self.texts if tag in (None, name) and name not in ("style", "script"))


def written(folder, connection, **more):
    """The index and the pages of the students by name of file, each as a Tree."""
    write_pages(connection, more.pop("settings", settings()), folder, **more)
    read = {path.name: Tree(path.read_text(encoding="utf-8")) for path in (folder / "students").glob("*.html")}
    return Tree((folder / "index.html").read_text(encoding="utf-8")), read


def page_of(folder, student, **more):
    connection = book({student: more.pop("said")}, more.pop("exercises", SCOPE))
    return written(folder, connection, **more)[1][file_name(student)]


def hostile(text):
    answer = {"verdict": "fail", "mistake": text, "reason": text, "flags": text, "code": text,
              "card": [["", text], [text, text]]}
    return {text: {"reweight": answer, "MultiHeadAttention": answer | {"verdict": "crash"}, "problems": [text]}}


@pytest.mark.parametrize("text", ATTACKS)
def test_no_text_of_a_student_breaks_out_of_a_page(tmp_path, text):
    """A script in the instructor's browser, or half a page swallowed by an open comment."""
    index, students = written(tmp_path, book(hostile(text)), similar=[("reweight", text, text, 1.0)])
    for tree in (index, *students.values()):
        assert {tag for tag, _ in tree.tags} <= ALLOWED
        assert not [a for _, a in tree.tags for name in a if name.startswith("on") or name == "style"]
        assert len(tree.all("script")) == (tree is index) and not any(map(dict, tree.all("script")))
        assert len(tree.all("meta")) == 5 and len(tree.all("title")) == 1
        everything = tree.text()
        assert all(c.isprintable() or c in "\n\t" for c in everything)
        seen = "".join(c if c.isprintable() else f"U+{ord(c):04X}" for c in text)
        assert everything.count(seen) >= 3
    assert all(a["href"].startswith(("#", "students/")) for a in index.all("a"))
    assert (tmp_path / "students" / file_name(text)).is_file()


@pytest.mark.browser
def test_whoever_types_a_part_of_a_name_sees_the_lines_that_have_it(tmp_path, browser):
    """Five hundred lines, and an accent that one has to know; or a page whose own policy refuses its script."""
    written(tmp_path, book({"Zoë Müller": {"reweight": "pass"}, "zora": {"reweight": "fail"}, "ada": {}}))
    page, problems = browser.new_page(), []
    page.on("console", lambda message: problems.append(message.text))
    page.goto((tmp_path / "index.html").as_uri())
    for typed, found in (("zo", 2), ("ZOE MUL", 1), ("nobody", 0), ("", 3)):
        page.get_by_label("Students whose name has").fill(typed)
        assert page.locator(".wide tbody tr:visible").count() == found
        assert page.get_by_role("status").text_content() == f"{found} of 3"
    assert problems == []


@pytest.mark.parametrize("text", ATTACKS)
def test_no_text_breaks_out_of_an_attribute(text):
    """A quote in a name ends the attribute, and what follows is another one."""
    (name, attributes), = Tree(tag("td", aria_label=text)).tags
    assert name == "td" and attributes == {"aria-label": one_line(text)}


def test_pages_forbid_all_scripts_but_ours_and_fetch_nothing(tmp_path):
    """A page that works only on the network, or whose style is refused by its own policy."""
    index, students = written(tmp_path, book({"ada": {"reweight": "pass"}}))
    for tree, path in ((index, "index.html"), (students[file_name("ada")], f"students/{file_name('ada')}")):
        policy = next(a["content"] for a in tree.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
        assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy
        scripts = [data for name, data in tree.texts if name == "script"]
        assert scripts == [FIND] * (path == "index.html") and ("script-src" in policy) == (path == "index.html")
        text = (tmp_path / path).read_text(encoding="utf-8")
        assert not re.search(r"\b(src|action)=|@import|url\(|https?:", text)
        assert tree.all("html") == [{"lang": "en"}] and tree.text("title")


def test_headings_go_down_one_by_one_and_tables_say_what_their_cells_are_of(tmp_path):
    """A page that a screen reader cannot find its way through."""
    said = {"reweight": "pass", "MultiHeadAttention": "fail", "problems": ["x is empty."]}
    index, students = written(tmp_path, book({"ada": said, "bo": {"causal_mask": "timeout"}}))
    for tree in (index, *students.values()):
        levels = [int(tag[1]) for tag, _ in tree.tags if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1 and levels.count(1) == 1
        assert all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False))
        assert all(th.get("scope") for th in tree.all("th"))
        ids = [a["id"] for _, a in tree.tags if "id" in a]
        assert len(ids) == len(set(ids))
        assert {a["href"][1:] for a in tree.all("a") if a["href"].startswith("#")} <= set(ids)
    assert [a["tabindex"] for a in index.all("div") if "wide" in a.get("class", "")] == ["0"]
    assert all(a["aria-label"] for a in index.all("svg"))


def test_a_students_page_has_verdict_card_code_and_hints_but_no_flags(tmp_path):
    """A flag is for a person to look at; a hint after a right answer, or none after a wrong one, helps nobody."""
    card = [["", "✗ MultiHeadAttention: not right yet"], ["Likely cause", "The heads were cut wrongly."]]
    said = {"MultiHeadAttention": {"verdict": "fail", "code": "class MultiHeadAttention: own = 1", "card": card,
                                   "flags": "F.scaled_dot_product_attention"},
            "reweight": {"verdict": "pass", "code": "def reweight(x): return own"},
            "causal_mask": {"verdict": "timeout", "reason": "No reply within 10 s.", "card": []},
            "problems": ["b.ipynb is empty."]}
    tree = page_of(tmp_path, "ada", said=said)
    text = tree.text()
    for part in ("class MultiHeadAttention: own = 1", "def reweight(x): return own", "✗ not right yet", "✓ right",
                 "Likely cause", "The heads were cut wrongly.", "took too long", "No reply within 10 s.",
                 "b.ipynb is empty.", "1 of 3 exercises right", "1 of 3 points"):
        assert part in text, part
    assert "scaled_dot_product_attention" not in text.replace("def", "")
    assert text.count("Hint 1") == 2 and text.count("Hint 3") == 2


def test_what_is_very_long_is_cut_with_a_note(tmp_path):
    """A line of a megabyte makes a page no browser opens, and a silent cut hides what a student wrote."""
    said = {"reweight": {"verdict": "error", "code": "x" * 10**6, "reason": "y" * 10**6, "card": [["", "z" * 10**6]]},
            "causal_mask": {"verdict": "fail", "code": "a = 1\n" * 10**5, "card": [["Got", "v" * 10**6]]}}
    text = page_of(tmp_path, "ada", said=said).text()
    assert len(text) < 150_000
    assert "(39,000 more characters)" in text and "960,000 more characters are not shown" in text
    assert "560,000 more characters are not shown" in text and "(995,000 more characters)" in text


def test_the_cohort_page_counts_each_misconception_among_those_who_answered(tmp_path):
    """Percentages of everybody, or of those who were wrong, make a misconception look rarer or more frequent."""
    mistake = EXERCISES["reweight"].mistakes[0]
    made = {"verdict": "fail", "mistake": mistake.name}
    people = {f"s{i:02}": {"reweight": made if i < 4 else "pass"} for i in range(10)}
    index, _ = written(tmp_path, book(people | {"zoe": {}, "yan": {"reweight": "timeout"}, "x": {"problems": ["P."]}}))
    said = index.text()
    assert f"36 % {mistake.name.replace('-', ' ')}" in said
    assert mistake.says.split(". ")[0].replace("`", "").rstrip(".") in said.replace("`", "")
    assert "6 right, 4 wrong, 1 stopped, 1 missing, 1 unreadable" in said
    widths = [float(a["width"]) for a in index.all("rect")][:5]
    assert sum(widths) == pytest.approx(100, abs=.1) and widths[0] == pytest.approx(600 / 13, abs=.1)


def test_the_cohort_page_shows_a_person_what_to_look_at(tmp_path):
    """A flag, a copy, a crash or a missing student that stands in the book and nowhere else."""
    (tmp_path / "roster.csv").write_text("id,name\nada,Ada\nzoe,Zoë\n", encoding="utf-8")
    (tmp_path / "s.toml").write_text("students.file = 'roster.csv'\n")
    stopped = {"verdict": "timeout", "reason": "T9"}
    connection = book({
        "ada": {"reweight": {"verdict": "pass", "flags": "built-in-attention"}, "causal_mask": "crash"},
        "bo": {"problems": ["bo/x.ipynb is a link."], "MultiHeadAttention": stopped}}, isolation="C unsandboxed")
    index, _ = written(tmp_path / "out", connection, settings=settings(tmp_path / "s.toml"),
                       similar=[("reweight", "ada", "bo", .973)])
    said = index.text()
    for part in ("Ada (ada)", "Zoë (zoe)", "built-in-attention", "97 %", "crashed", "T9", "bo/x.ipynb is a link.",
                 "Handed nothing in (1)",
                 "Not on the roster (1)", "without a sandbox", "seed 7"):
        assert part in said, part
    rows = [text for tag, text in index.texts if tag == "i"]
    assert rows == ["right", "not handed in", "crashed", "could not be read", "took too long", "could not be read"]


def test_scores_given_by_hand_are_on_the_pages(tmp_path):
    """The total on a student's page differs from the one in grades.csv."""
    (tmp_path / "m.csv").write_text("student,item,points,comment\nada,why,1.5,Well <said>\nbo,why,2,\n")
    index, students = written(tmp_path / "out", book({"ada": {"reweight": "pass"}, "bo": {}, "cy": {}}),
                              manual=tmp_path / "m.csv")
    said = students[file_name("ada")].text()
    assert "1.5 / 2" in said and "Well <said>" in said and "2.5 of 5 points" in said
    assert "not scored" in students[file_name("cy")].text()
    cells = [text for tag, text in index.texts if tag == "td"]
    assert [cells[i:][:2] for i in (-12, -7, -2)] == [["1", "2.5"], ["0", "2"], ["0", "0"]]


NAMES = ["../../x", "..\\..\\x", "CON", "nul.txt", "a/b", "a\\b", "x" * 5000, ".", "..", "", " ", "Ada", "ada", "ADA",
         "Jos\u00e9", "Jose\u0301", "index", "C:x", "日本", "a\x00b", "~", "-rf", "a.", "a "]


def test_every_student_has_a_file_of_their_own_inside_the_folder(tmp_path):
    """A name that leads out of the folder, or two students who overwrite each other where é is é and A is a."""
    out = tmp_path / "deep" / "out"
    _, students = written(out, book({name: {} for name in NAMES}, ["reweight"]))
    names = [file_name(name) for name in NAMES]
    assert set(students) == set(names)
    assert len({unicodedata.normalize("NFC", name.casefold()) for name in names}) == len(NAMES)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9-]{0,60}\.html", name) for name in names)
    found = {str(Path(root, file).relative_to(tmp_path)) for root, _, files in os.walk(tmp_path) for file in files}
    assert found == {"deep/out/index.html", *(f"deep/out/students/{name}" for name in names)}


def from_moodle(student):
    notebook = {"path": f"{student}_assignsubmission_file_/02.ipynb", "modified": None, "cells": ["reweight = 1"]}
    return {"notebooks": [notebook], "reweight": "pass"}


def test_moodle_gets_the_pages_back_under_the_names_it_gave(tmp_path):
    """Two hundred pages that somebody has to upload one by one."""
    connection = book({"Ada_12": from_moodle("Ada_12"), "bo_7": {"reweight": "fail"}})
    write_pages(connection, settings(), tmp_path)
    with zipfile.ZipFile(tmp_path / "moodle_feedback.zip") as archive:
        assert archive.namelist() == ["Ada_12_assignsubmission_file_/feedback.html"]
        assert archive.read(archive.namelist()[0]) == (tmp_path / "students" / file_name("Ada_12")).read_bytes()
    write_pages(book({"bo": {}}), settings(), tmp_path / "other")
    assert not (tmp_path / "other" / "moodle_feedback.zip").exists()


def test_feedback_of_an_older_run_goes_when_it_no_longer_holds(tmp_path):
    """Last year's feedback, handed to this year's students."""
    write_pages(book({"Ada_12": from_moodle("Ada_12")}), settings(), tmp_path)
    assert (tmp_path / "moodle_feedback.zip").exists()
    write_pages(book({"bo": {"reweight": "fail"}}), settings(), tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["index.html", "students"]


def test_canvas_gets_feedback_of_the_same_kind_under_the_name_of_the_students_own_file(tmp_path):
    """Canvas knows a file by its numbers and gives the feedback its name: a page in HTML would be no notebook."""
    def handed_in(path, **answers):
        return {"notebooks": [{"path": path, "modified": None, "cells": ["def reweight(x):\n    return x"]}], **answers}

    wrong = {"verdict": "fail", "reason": "*It* is <b>x</b>\nand\n# `y`"}
    people = {"loveada_4711": handed_in("loveada_4711_99001_02.ipynb", reweight=wrong),
              "bebo_4712_99002_hw": handed_in("bebo_LATE_4712_99002_hw.zip/02.ipynb", reweight="pass"),
              "cecy_4713_99003_a": handed_in("cecy_4713_99003_a.py"), "di": handed_in("di.ipynb")}
    (tmp_path / "m.csv").write_text("student,item,points,comment\nloveada_4711,why,2,*Well* said\n")
    write_pages(book(people, ["reweight"]), settings(), tmp_path, tmp_path / "m.csv")
    assert not (tmp_path / "moodle_feedback.zip").exists()
    with zipfile.ZipFile(tmp_path / "canvas_feedback.zip") as archive:
        assert set(archive.namelist()) == {"loveada_4711_99001_02.ipynb", "bebo_LATE_4712_99002_hw.zip"}
        notebook = nbformat.reads(archive.read("loveada_4711_99001_02.ipynb").decode(), 4)
        with zipfile.ZipFile(io.BytesIO(archive.read("bebo_LATE_4712_99002_hw.zip"))) as inner:
            assert inner.read("feedback.html") == (
                tmp_path / "students" / file_name("bebo_4712_99002_hw")).read_bytes()
    nbformat.validate(notebook)
    first, second, third = (cell.source for cell in notebook.cells)
    assert first.startswith("# Feedback: loveada\\_4711") and "2 of 3 points" in first
    assert third == "## why: 2 / 2\n\n\\*Well\\* said"
    assert second == ("## `reweight`: not right yet · 0 / 1\n\n"
                      "\\*It\\* is &lt;b&gt;x&lt;/b&gt; and \\# \\`y\\`")


def test_names_that_only_look_like_those_of_canvas_are_no_download_of_its(tmp_path):
    """A zip of feedback for a platform that nobody uses."""
    people = {who: {"notebooks": [{"path": f"lesson_04_2026_{who}.ipynb", "modified": None, "cells": ["x"]}]}
              for who in ("ada", "bo")}
    write_pages(book(people), settings(), tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["index.html", "students"]


def test_a_page_is_named_after_its_student_where_the_roster_knows_the_name(tmp_path):
    """Five hundred files to be sent, each named after a number of the platform's."""
    (tmp_path / "roster.csv").write_text("id,first_name,last_name,canvas_id\nab12,Zoë,de la Öss,4711\nx,../../,..,\n",
                                         encoding="utf-8")
    (tmp_path / "s.toml").write_text("students.file = 'roster.csv'\n")
    _, students = written(tmp_path / "out", book({"osszoe_4711": {}, "x": {}}), settings=settings(tmp_path / "s.toml"))
    assert sorted(re.sub("-[0-9a-f]{12}[.]html", "", name) for name in students) == ["de-la-oss-zoe-ab12", "x"]


def test_links_lead_to_pages_in_the_folder_and_pages_of_students_lead_nowhere_else(tmp_path):
    """A folder that is sent, and links that only work where it was made."""
    people = {"Ada_12": {"reweight": {"verdict": "pass", "flags": "x"}}, "日本": {"reweight": "crash"}}
    index, students = written(tmp_path, book(people), similar=[("reweight", "Ada_12", "日本", 1.0)])
    links = {a["href"] for a in index.all("a") if not a["href"].startswith("#")}
    assert links == {f"students/{name}" for name in students} and all((tmp_path / link).is_file() for link in links)
    assert all(a["href"].startswith("#") for tree in students.values() for a in tree.all("a"))


def test_flags_of_right_answers_stand_apart_from_those_that_change_nothing(tmp_path):
    """The one flag that matters, among forty of answers that got no points anyway."""
    wrong = {"reweight": {"verdict": "fail", "flags": "idle"}, "causal_mask": {"verdict": "crash", "flags": "z"}}
    people = {"ada": {"reweight": {"verdict": "pass", "flags": "telling"}}, "bo": wrong}
    index, _ = written(tmp_path, book(people))
    said = index.text()
    assert said.index("Flags of right answers (1)") < said.index("telling") < said.index(
        "Flags of other answers (2)") < said.index("idle")


def test_a_page_says_once_which_cells_failed_beside_right_answers(tmp_path):
    """A cell that failed, of which its author never hears; or the same sentence under each of ten answers."""
    card = [["", "✓ right"], ["A cell failed", "Code cell 3 raised NameError: x."]]
    tree = page_of(tmp_path, "ada", said={"reweight": {"verdict": "pass", "card": card},
                                          "causal_mask": {"verdict": "pass", "card": card}})
    assert tree.text().count("Code cell 3 raised NameError: x.") == 1 and "Cells that failed" in tree.text("h2")
    assert "Cells that failed" not in page_of(tmp_path / "b", "bo", said={"reweight": "pass"}).text()


def test_pages_of_students_who_are_gone_go_and_nothing_else_does(tmp_path):
    """An old page of somebody who left the course, or the instructor's own notes removed with it."""
    written(tmp_path, book({"ada": {}, "bo": {}}))
    left = tmp_path / "students" / f".{file_name('ada')}.123"
    for path in (tmp_path / "notes.txt", tmp_path / "students" / "notes.html", left):
        path.write_text("mine")
    written(tmp_path, book({"bo": {}, "cy": {}}))
    assert sorted(os.listdir(tmp_path / "students")) == sorted([file_name("bo"), file_name("cy"), "notes.html"])
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_link_in_the_folder_is_not_followed(tmp_path):
    """A link put where the pages go makes the grader write, or remove, somewhere else."""
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    precious = elsewhere / file_name("gone")
    precious.write_text("mine")
    out.mkdir()
    try:
        (out / "index.html").symlink_to(precious)
    except OSError:
        pytest.skip("no links here")
    written(out, book({"ada": {}}))
    assert precious.read_text() == "mine" and not (out / "index.html").is_symlink()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "students").symlink_to(elsewhere)
    with pytest.raises(PolicyError, match="is a link"):
        write_pages(book({"ada": {}}), settings(), tmp_path / "other")
    assert os.listdir(elsewhere) == [precious.name]


def test_500_students_with_every_exercise_make_a_page_one_can_open(tmp_path):
    """A cohort page of many megabytes, which a browser takes a minute to lay out."""
    scope = list(EXERCISES)

    def said(i):
        return {name: "pass" if (i + k) % 3 else {
            "verdict": "fail", "mistake": (m := EXERCISES[name].mistakes)[i % len(m)].name, "flags": "built-in"}
            for k, name in enumerate(scope)}

    people = {f"student-with-a-long-name-{i:03}": said(i) for i in range(100)}
    write_pages(book(people, scope), settings(), tmp_path)
    first = (tmp_path / "index.html").stat().st_size
    more = {f"student-with-a-long-name-{i:03}": said(i) for i in range(100, 120)}
    write_pages(book(people | more, scope), settings(), tmp_path)
    assert first + ((tmp_path / "index.html").stat().st_size - first) * 20 < 36_400 * len(EXERCISES)
