"""What is solved is remembered, shown, and never in the way."""

import json
import re
from html import unescape
from urllib.parse import unquote

import pytest
import torch

from course_lib import check, predict, progress
from course_lib.checks import EXERCISES
from course_lib.checks.notebook import course_map, hinting, kept, lessons_at_hand, solved
from course_lib.checks.notebook.hinting import hints
from course_lib.predictions import guesses
from tests.right_answers import RIGHT_ANSWERS

RIGHT = RIGHT_ANSWERS["reweight"]["einsum"]


@pytest.fixture
def looked_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module in (kept, solved, course_map, guesses):
        monkeypatch.setattr(module, "somebody_is_looking", lambda: True)
    return tmp_path


def shown(capsys):
    capsys.readouterr()
    progress()
    return capsys.readouterr().out


def test_the_map_shows_what_is_right_what_is_not_yet_and_what_is_open(looked_at, capsys):
    """A map that forgets, or that takes a wrong answer for a right one."""
    check(RIGHT, "reweight")
    check(lambda q, x: q, "dot_product_attention")
    out = shown(capsys)
    assert f"1 of {len(EXERCISES)} exercises solved" in out
    assert "✓ reweight" in out and "✗ dot_product_attention" in out and "· causal_mask" in out


def test_a_demonstration_is_no_attempt(looked_at, capsys):
    """Lesson 00 shows a wrong answer: the untouched exercise was “not right yet”, and its first slip brought a hint."""
    for _ in range(2):
        assert "Hint" not in check(lambda weights, x: x.sum(dim=0), "weighted_sum", record=False).message
    check(RIGHT, "reweight", record=False)
    out = shown(capsys)
    assert "· weighted_sum" in out and "· reweight" in out and not list(looked_at.iterdir())


def test_the_map_says_what_comes_next_and_how_long_it_takes(looked_at, capsys):
    """A number of exercises, and no way on; or the exercises in another order than the lesson's."""
    assert re.search(r"Next: embed_tokens, in lesson 00; about 3\d hours left\.", shown(capsys))
    names = [name for lesson in course_map.lessons(EXERCISES) for name in lesson.exercises]
    assert names.index("shift_right") < names.index("DecoderLayer") < names.index("greedy_decode")
    (looked_at / "my_answers").mkdir()
    for left, says in ((["generate"], "Next: generate, in lesson 12; about 11 minutes left."),
                       ([], "All exercises are solved.")):
        known = {name: "right" for name in EXERCISES if name not in left}
        (looked_at / "my_answers" / "progress.json").write_text(json.dumps(known))
        assert says in shown(capsys)


def test_what_comes_next_is_in_a_lesson_that_was_handed_out(looked_at, monkeypatch):
    """A class has lesson 02, and is sent to lesson 00."""
    copy = looked_at / "02_self_attention_untrained.ipynb"
    copy.write_bytes((hinting.LESSONS / copy.name).read_bytes())
    monkeypatch.setattr(lessons_at_hand, "FOLDERS", (looked_at,))
    assert "Next: reweight, in lesson 02; about 60 minutes left." in course_map.map_of(EXERCISES)[1]


def test_the_map_in_a_notebook_links_to_every_lesson_and_exercise_and_needs_no_colour_and_no_script(looked_at):
    """A map in green and red; links that lead nowhere; a script that a page does not run."""
    check(RIGHT, "reweight")
    check(lambda q, x: q, "dot_product_attention")
    html, _ = course_map.map_of(EXERCISES)
    links = dict(re.findall(r'<a href="([^"]+)"[^>]*>([^<]+)</a>', html))
    assert set(EXERCISES) <= set(links.values())
    for link, name in links.items():
        path, _, cell = unquote(link).partition("#cell-id=")
        cells = {c["id"]: "".join(c["source"]) for c in json.loads((looked_at / path).read_text())["cells"]}
        wanted, there = (f"`{name}`", cells[cell]) if cell else (unescape(name), next(iter(cells.values())))
        assert wanted in there
    assert "✓&nbsp;<a" in html and "✗&nbsp;<a" in html and "✓ right, ✗ not right yet, · not tried" in html
    assert not re.search(r"color|background|<script|#[0-9a-f]{3,6}\b(?!-)", re.sub(r'href="[^"]*"', "", html))
    assert html.count("<ul") == html.count("</ul>") and html.count("<li") == html.count("</li>")


def test_the_map_links_to_the_cell_that_a_surprise_is_about(looked_at):
    """“Read again in lesson 04”, which has 89 cells."""
    predict("What?", {"a": "No.", "b": True}, "C034", guess="a")
    html, _ = course_map.map_of(EXERCISES)
    assert re.search(r'04_scaling.ipynb#cell-id=\w+" [^>]*>A softmax follows the standard deviation', html)


def test_without_the_lessons_there_is_a_map_without_links(looked_at, monkeypatch, capsys):
    """Colab has the library and one notebook; a damaged notebook stopped the map."""
    (looked_at / "02_x.ipynb").write_text("[]")
    (looked_at / "03_x.ipynb").write_text('{"cells": [{"source": "# 03"}]}')
    monkeypatch.setattr(lessons_at_hand, "FOLDERS", (looked_at,))
    html, text = course_map.map_of(EXERCISES)
    assert "<a" not in html and "Lesson 02" in html and "Next: embed_tokens, in lesson 00." in text


def test_what_was_right_once_stays_solved(looked_at, capsys):
    """A broken cell that was run again took a solved exercise away."""
    check(RIGHT, "reweight")
    check(lambda x: x, "reweight")
    assert "✓ reweight" in shown(capsys)


def test_a_stub_is_not_an_attempt(looked_at, capsys):
    """Run All over a fresh lesson marked everything as wrong."""

    def reweight(x):
        raise NotImplementedError

    check(reweight)
    assert "· reweight" in shown(capsys)
    assert not (looked_at / "my_answers" / "progress.json").exists()


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"reweight": 3}', b'{"reweight": ["right"]}', b"\xff\xfe\x00", b""])
def test_a_file_that_is_something_else_is_set_aside_in_one_sentence(looked_at, capsys, content):
    """A damaged file made every check fail, or was overwritten."""
    folder = looked_at / "my_answers"
    folder.mkdir()
    (folder / "progress.json").write_bytes(content)
    out = shown(capsys)
    assert "0 of" in out and out.count("was set aside as") == 1
    assert (folder / "progress.damaged").read_bytes() == content
    assert check(RIGHT, "reweight").passed and "✓ reweight" in shown(capsys)


def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(looked_at, capsys):
    """A lesson on a read-only disk could not be worked through."""
    (looked_at / "my_answers").write_text("a file where the folder should be")
    assert check(RIGHT, "reweight").passed
    assert "0 of" in shown(capsys)


def test_a_test_or_a_build_leaves_nothing_behind(tmp_path, monkeypatch):
    """A build filled the author's map."""
    monkeypatch.chdir(tmp_path)
    check(RIGHT, "reweight")
    assert list(tmp_path.iterdir()) == []


def test_what_is_remembered_can_be_read_by_a_person(looked_at):
    """A file that nobody can look into or delete a line of."""
    check(RIGHT, "reweight")
    assert json.loads((looked_at / "my_answers" / "progress.json").read_text()) == {"reweight": "right"}


@pytest.mark.parametrize("name", EXERCISES)
def test_every_exercise_has_hints_from_a_question_to_the_steps(name):
    """An exercise whose hints cannot be found in its lesson."""
    question, where, *steps = hints(EXERCISES[name])
    assert "?" in question
    assert where.startswith("Look again at the section “")
    assert steps


def test_hints_come_with_the_second_wrong_answer_one_more_each_time():
    """The answer given away at the first slip; or never a hint to one who goes from one mistake to the other."""
    no_scale, wrong_axis = (next(m for m in EXERCISES["self_attention"].mistakes if m.name == name).answer
                            for name in ("no-scale", "keys-from-w-q"))
    told = [check(answer, "self_attention").message.count("Hint") for answer in (no_scale, wrong_axis) * 3]
    assert told == [0, 1, 2, 3, 4, 4], "a question, where to read again, the first step, all steps"
    check(own_self_attention, "self_attention")
    assert "Hint" not in check(no_scale, "self_attention").message, "what is right begins anew"


def own_self_attention(inputs, W_q, W_k, W_v):
    return torch.softmax(inputs @ W_q @ (inputs @ W_k).T / W_k.shape[1] ** 0.5, dim=-1) @ (inputs @ W_v)


@pytest.mark.parametrize("name", EXERCISES)
def test_hints_end_with_all_steps_and_never_give_them_at_once(name):
    """The whole recipe as the first help after the question."""
    question, where, *steps = hints(EXERCISES[name])
    assert all(len(step) < len(steps[-1]) for step in steps[:-1])
    assert not re.search(r"^\d+\. ", "\n".join([question, where]), re.MULTILINE)


def test_an_exercise_whose_hints_were_taken_out_has_a_card(tmp_path, monkeypatch):
    """A learner who tidied up the text of a notebook got an IndexError with the second wrong answer."""
    monkeypatch.chdir(tmp_path)
    cell = {"cell_type": "markdown", "source": ["## A section\n", "### Exercise 1: `reweight`"]}
    (tmp_path / "02_untrained.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert hints(EXERCISES["reweight"]) == ("Look again at the section “A section”, above the exercise.",)


def test_no_lesson_at_hand_means_no_hints(tmp_path, monkeypatch):
    """A notebook that is damaged, or that was moved away, stopped the check."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hinting, "LESSONS", tmp_path / "nowhere")
    assert hints(EXERCISES["reweight"]) == ()
    for content in (b"", b"[]", b"{}", b'{"cells": [{}]}', b"\xff\xfe"):
        (tmp_path / "02_untrained.ipynb").write_bytes(content)
        assert hints(EXERCISES["reweight"]) == ()
