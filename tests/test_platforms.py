"""What learning platforms hand out for a class: each student's work is read as theirs, all of it and nobody else's."""

import io
import json
import zipfile

import pytest

from course_lib.staff.grade.platforms import is_download, own_name, submitters
from course_lib.staff.grade.reading import submissions


def notebook(source):
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, notebook(content) if isinstance(content, str) else content)
    return out.getvalue()


BLACKBOARD = "Lab 1_{}_attempt_2026-11-{}-10-11-12"
BRIGHTSPACE = "39786-640693 - Aiden O'Neil-Smith - Oct 10, 2025 1022 AM"
TABLE = b"""---
submission_101:
  :submitters:
  - :name: Ada Lovelace
    :sid: '4711'
    :email: ada@example.org
  :created_at: 2026-11-02 10:11:12.345678 Z
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
    tests:
    - name: 'one: two'
      output: "  :submitters:\\n  - :name: nobody"
submission_102:
  :submitters:
  - :name: Bo
    :email: bo@example.org
  - :name: "Jos\\xE9 Cruz"
  :status: processed
"""
LEFT = {"__MACOSX/._a.ipynb": b"\0", ".DS_Store": b"\0"}
# platform: (files as they are handed out, {student: what is read of them})
DOWNLOADS = {
    "Moodle, folders": (
        {"Jo Ann_11_assignsubmission_file_/04.ipynb": "a", "Jo Ann_12_assignsubmission_file_/deep/er/04 (1).ipynb": "b",
         "Jo Ann_12_assignsubmission_file_/.ipynb_checkpoints/04-checkpoint.ipynb": "old",
         "Jo Ann_12_assignsubmission_onlinetext_/onlinetext.html": b"hi",
         "Ŝiŋ Łę_13_assignsubmission_file/x.ipynb": "c",
         "Participant_14_assignsubmission_file_/work.zip": zipped({"w/x.ipynb": "d", "__MACOSX/w/._x.ipynb": b"\0"})},
        {"Jo Ann_11": ["a"], "Jo Ann_12": ["b"], "Ŝiŋ Łę_13": ["c"], "Participant_14": ["d"]}),
    "Moodle, one student": ({"Jo Ann_11_assignsubmission_file_/04.ipynb": "a"}, {"Jo Ann_11": ["a"]}),
    "Moodle, no folders": (
        {"Jo Ann_11_assignsubmission_file_10_encoder.ipynb": "10", "Jo Ann_11_assignsubmission_file_04_x.ipynb": "4",
         "Jo Ann_11_assignsubmission_onlinetext_onlinetext.html": b"hi",
         "Bo_12_assignsubmission_file_04 (1).ipynb": "b"},
        {"Jo Ann_11": ["4", "10"], "Bo_12": ["b"]}),
    "Canvas": (
        {"doejane_123_4567_10_encoder.ipynb": "10", "doejane_LATE_123_4568_04_scaling.ipynb": "4",
         "doejane_124_4569_04_scaling.ipynb": "other", "rœjo_130_4570_04 scaling (1)-1.ipynb": "roe",
         "कुमारप्रिया_140_4571_work.zip": zipped({"a.ipynb": "k"}), "teamred_150_4572_a.ipynb": "r",
         "late_160_text.html": b"hi",
         "anon_aB3dE_4573_a.ipynb": "an", "LATE_anon_aB3dE_4574_b.ipynb": "on"},
        {"doejane_123": ["4", "10"], "doejane_124": ["other"], "rœjo_130": ["roe"], "कुमारप्रिया_140": ["k"],
         "teamred_150": ["r"], "late_160": [], "anon_aB3dE": ["an", "on"]}),
    "Canvas, one file": ({"doejane_123_4567_04.ipynb": "a"}, {"doejane_123": ["a"]}),
    "Blackboard": (
        {f"{BLACKBOARD.format('jdoe', '02')}_04.ipynb": "old", f"{BLACKBOARD.format('jdoe', '02')}_b.ipynb": "old too",
         f"{BLACKBOARD.format('jdoe', '03')}_04.ipynb": "new", f"{BLACKBOARD.format('jdoe', '03')}.txt": b"Name: Jane",
         f"{BLACKBOARD.format('jdoe', '04')}.txt": b"only a comment",
         f"{BLACKBOARD.format('b_roe', '02')}_w.zip": zipped({"x.ipynb": "b"}),
         f"{BLACKBOARD.format('a_roe', '02')}_x.ipynb": "a", f"{BLACKBOARD.format('zed', '02')}.txt": b"Name: Zed"},
        {"jdoe": ["new"], "b_roe": ["b"], "a_roe": ["a"], "zed": []}),
    "Brightspace, folders": (
        {f"{BRIGHTSPACE}/04.ipynb": "a", "index.html": b"<html>",
         "39786-640700 - Aiden O'Neil-Smith - Oct 11, 2025 923 PM/05.ipynb": "a5",
         "39790-640694 - Jane Smith - Oct 11, 2025 1130 AM/s.py": b"x = 1\n"},
        {"Aiden O'Neil-Smith_39786": ["a", "a5"], "Jane Smith_39790": ["x = 1"]}),
    "Brightspace, one student": ({f"{BRIGHTSPACE}/04.ipynb": "a"}, {"Aiden O'Neil-Smith_39786": ["a"]}),
    "Brightspace, files": (
        {f"{BRIGHTSPACE} - Lab - 4.ipynb": "a", "index.html": b"<html>",
         "13394-80551 - Eric G - Mar 29, 2018 1205 PM - EG - Homework 6.zip": zipped({"x.ipynb": "e"})},
        {"Aiden O'Neil-Smith_39786": ["a"], "Eric G_13394": ["e"]}),
    "GitHub Classroom": (
        {"lab-1-ada/.git/x.py": b"bad", "lab-1-ada/README.md": b"#", "lab-1-ada/04.ipynb": "a",
         "lab-1-bo/work/04.ipynb": "b", "lab-1-bo/.github/classroom/autograding.json": b"{}"},
        {"lab-1-ada": ["a"], "lab-1-bo": ["b"]}),
    "Gradescope": (
        {"submission_metadata.yml": TABLE, "submission_101/04.ipynb": "a", "submission_102/x/04.ipynb": "g",
         "submission_103/04.ipynb": "unknown"},
        {"4711": ["a"], "bo@example.org": ["g"], "José Cruz": ["g"], "submission_103": ["unknown"]}),
}


@pytest.mark.parametrize("form", ["folder", "folder in a folder", "zip", "zip with a folder", "zip with its own name"])
@pytest.mark.parametrize("platform", DOWNLOADS)
def test_a_download_is_read_student_by_student(tmp_path, platform, form):
    """One student falls apart into several who miss most exercises, or two become one, or a table of contents one."""
    files, expected = DOWNLOADS[platform]
    files = files | LEFT
    if (platform, form) == ("GitHub Classroom", "folder in a folder"):
        pytest.skip("what lies in one folder is one student's, where no platform's names say otherwise")
    top = {"folder": "", "zip": "", "zip with its own name": "batch/"}.get(form, "up/")
    files = {top + name: content for name, content in files.items()}
    if form.startswith("zip"):
        (tmp_path / "batch.zip").write_bytes(zipped(files))
    for name, content in files.items() if form.startswith("folder") else ():
        (tmp_path / "batch" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "batch" / name).write_bytes(notebook(content) if isinstance(content, str) else content)
    found = {s.student: s for s in submissions(tmp_path / ("batch.zip" if form.startswith("zip") else "batch"))}
    assert {who: [c for n in s.notebooks for c in n.cells] for who, s in found.items()} == expected
    wrong = {who: s.problems for who, s in found.items() if s.problems and expected[who] and platform != "Blackboard"}
    assert wrong == {}


def test_an_older_attempt_is_named_and_not_read(tmp_path):
    """A right answer that was taken back counts, or nobody is told which of two files was graded."""
    (tmp_path / "b.zip").write_bytes(zipped(DOWNLOADS["Blackboard"][0]))
    [jane] = [s for s in submissions(tmp_path / "b.zip") if s.student == "jdoe"]
    assert len(jane.problems) == 2 and all("11-02" in p and "newest one counts" in p for p in jane.problems)


def test_names_that_follow_a_platform_by_chance_are_never_merged(tmp_path):
    """Two students become one, because their files are named alike."""
    for names in (["doe_123_4567_a.ipynb", "doe_123_4568_b.ipynb", "someone.ipynb"],
                  ["lesson_04_2026_ada.ipynb", "lesson_04_2026_bo.ipynb"],
                  [f"{BLACKBOARD.format(user, '02')}_x.ipynb" for user in ("a_doe", "b_doe")],
                  ["work.ipynb", "work (1).ipynb"], ["A_1_assignsubmission_file_/x.ipynb", "A_1/x.ipynb"],
                  ["1-2 - A - Oct 1, 2026 100 PM/x.ipynb", "3-2 - A - Oct 1, 2026 100 PM/x.ipynb"]):
        path = tmp_path / f"{names[0].split('/')[0]}.zip"
        path.write_bytes(zipped({"top/" + name: name for name in names}))
        assert [len(s.notebooks) for s in submissions(path)] == len(names) * [1], names


@pytest.mark.parametrize("text", [
    "", "- a\n- b", "a: [", "submission_1: 3", "submission_1:\n  :submitters: []\n", "\0",
    "submission_1:\n  :submitters:\n  - 3\n", "a:\n  :submitters: !!python/name:os.system"])
def test_a_table_that_is_no_table_names_nobody(text):
    """A traceback, or code that runs, for the table of a download."""
    assert submitters(text) == {}


@pytest.mark.parametrize("name, own", [
    ("Jo_1_assignsubmission_file_04.ipynb", "04.ipynb"), ("doejane_12_345_04-1.ipynb", "04-1.ipynb"),
    ("L_a_attempt_2026-11-02-10-11-12_04 (1).ipynb", "04 (1).ipynb"), ("04_scaling.ipynb", "04_scaling.ipynb"),
    ("1-2 - Jo - Oct 1, 2026 100 PM - 04 - x.ipynb", "04 - x.ipynb")])
def test_the_author_s_own_name_of_a_file_is_known(name, own):
    """Notebooks come in the order of numbers that the platform gave, not of the lessons."""
    assert own_name(name) == own


def test_a_folder_of_folders_is_no_download():
    """A student's folder is taken for a class of several."""
    assert not is_download([("04.ipynb", False), ("05.ipynb", False)])
    assert not is_download([("lesson 4", True), ("lesson 5", True)]) and not is_download([])
