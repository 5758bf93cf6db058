"""What every lesson keeps to, and that a blank one runs to its end."""

import ast
import re
import statistics

import nbclient
import nbformat
import pytest

from course_lib.staff import syllabus
from course_lib.staff.answers import as_written, source_and_stub
from course_lib.staff.first_cell import TAG
from course_lib.staff.lesson_text import LESSONS, SOLUTIONS, YOURS, lesson_stems, notebook_stems, number_of, read_lesson
from course_lib.staff.notebooks import without_magics

STEMS = lesson_stems()
NEW = [stem for stem in STEMS if any("claim" in cell.tags for cell in read_lesson(stem).cells)]  # of the second form
LONG = ("03", "06", "08", "10", "11", "11b", "12", "12b", "13", "13b", "14b", "15", "16", "17")  # they compute for long
LONGER = ("11", "11b", "12", "12b", "15", "15b", "16")  # a sitting of 90 minutes
HURRY = """
import course_lib
import torch
from course_lib import training
from course_lib.data import small_french
from course_lib.experiments import (
    alignments, atoms, drawn_reactions, inside, language, many_processes, paces, repeats, training_loop, twins)

course_lib.claim = lambda *claimed: None

def three_steps(model, loss_of, batches, *args, whole=training.fit, **kwargs):
    batches = batches if hasattr(batches, "__len__") else list(batches)
    losses = whole(model, loss_of, [b for _, b in zip(range(3), batches)], *args, **kwargs)
    return torch.cat([losses, losses[-1:].expand(len(batches) - len(losses))])

training.fit = language.fit = repeats.fit = three_steps
training_loop.losses_of = lambda loop, model, batches, *rest, whole=training_loop.losses_of: (
    whole(loop, model, [b for _, b in zip(range(3), batches)], *rest).repeat(24))
twins.split_of_twins = lambda seed, whole=twins.split_of_twins: whole(seed, (200, 50, 100))
small_french.splits = lambda whole=small_french.splits: {
    name: part if name == "train" else part[:60] for name, part in whole().items()}
language.manual = lambda whole=language.manual: language.Texts(*(text[:20_000] for text in whole()))
language.bits_by_reading = lambda reader, ids, *how, whole=language.bits_by_reading: whole(reader, ids[:2000], *how)
drawn_reactions.drawn = lambda count, whole=drawn_reactions.drawn: whole(20)
many_processes.losses = lambda processes: [1.0] * 5
paces.beside_each_other = lambda lengths, texts=1, whole=paces.beside_each_other: {
    name: seconds * len(lengths) for name, seconds in whole([8], texts, 8).items()}
atoms.hidden_tokens = lambda model, whole=atoms.hidden_tokens, said=[]: said or said.extend(whole(model)) or said
inside.dictionary = lambda stream, whole=inside.dictionary: whole(stream, steps=3)
alignments.forced_and_free = lambda of, pairs, decode, whole=alignments.forced_and_free: whole(of, pairs[:20], decode)
"""


LOOK = f"""
import sys
sys.path.insert(0, {str(LESSONS.parent)!r})
from tests import covered
covered.watch()
"""


def code_cells(stem):
    """As their author wrote them: without the first one, which the build puts into every lesson."""
    return [c for c in read_lesson(stem).cells if c.kind == "code" and TAG not in c.metadata.get("tags", [])]


def hurried(notebook):
    """The notebook with all that takes long cut short, on short and few texts, and without the claims about it.

    All of it is done when the solution is run: there the same cells do the same with the same code.
    """
    notebook.cells.insert(0, nbformat.v4.new_code_cell(HURRY))
    return notebook


@pytest.mark.parametrize("stem", STEMS)
def test_an_untouched_lesson_runs_to_its_end_and_says_what_is_not_answered(stem):
    """A blank that breaks the cells after it, a lesson that ships an answer, or a legend on the line that it names."""
    notebook = nbformat.read(LESSONS / f"{stem}.ipynb", as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    notebook = hurried(notebook) if number_of(stem) in LONG else notebook
    first, last = map(nbformat.v4.new_code_cell, (LOOK, "print('covered:', covered.FOUND)"))
    notebook.cells = [first, *notebook.cells, last]
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", coalesce_streams=True,
                            resources={"metadata": {"path": str(LESSONS)}}).execute()
    shown = "\n".join(str(output) for cell in notebook.cells for output in cell.get("outputs", []))
    for name in read_lesson(stem).exercises:
        assert f"… {name}: not answered yet" in shown
    assert "stderr" not in shown
    assert "covered: []" in shown, last.outputs


@pytest.mark.parametrize("stem", STEMS)
def test_whole_numbers_are_a_choice_too(stem):
    """[-5, -1, -5] for three numbers, and “input tensors must have the same dtype”."""
    for cell in read_lesson(stem).cells:
        nodes = list(ast.walk(ast.parse(without_magics(cell.source)))) if YOURS in cell.tags else []
        brought = {id(node.value) for node in nodes if isinstance(node, ast.Attribute) and node.attr == "float"}
        for call in nodes:
            if isinstance(call, ast.Call) and ast.unparse(call.func) == "torch.tensor" and not call.keywords:
                assert not isinstance(call.args[0], ast.Name) or id(call) in brought


@pytest.mark.parametrize("stem", STEMS)
def test_no_docstring_is_cut_in_two(stem):
    """Quotation marks in the middle of a sentence, where a tool took it for two strings that are joined."""
    for cell in code_cells(stem):
        for node in ast.walk(ast.parse(without_magics(cell.source))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                assert not re.search(r'"\n *"', ast.get_docstring(node) or ""), node.name


@pytest.mark.parametrize("stem", STEMS)
def test_nothing_that_is_the_learners_to_write_is_left(stem):
    """A line of a training loop with the words “yours: the step” behind the step."""
    for cell in nbformat.read(LESSONS / f"{stem}.ipynb", as_version=4).cells:
        for line in re.findall(r"^.*  # yours.*$", cell.source, re.M):
            assert "= ...  # yours: " in line


@pytest.mark.parametrize("stem", STEMS)
def test_a_lesson_shows_no_answer(stem):
    """A stub whose body was not cut."""
    notebook = nbformat.read(LESSONS / f"{stem}.ipynb", as_version=4)
    blanks = [cell.source for cell in notebook.cells if "exercise" in cell.metadata.get("tags", [])]
    answers = [cell.answer for cell in read_lesson(stem).cells if cell.answer]
    for source, answer in zip(blanks, answers, strict=True):
        if as_written(*answer, stem) != source_and_stub(*answer, stem)[0]:  # what is marked is left out, and no more
            assert "raise NotImplementedError" in source and "# blank" not in source
            continue
        assert source.rstrip().endswith("raise NotImplementedError") and "return " not in source.split('"""')[2]


@pytest.mark.parametrize("stem", STEMS)
def test_every_answer_of_a_solved_notebook_is_right_where_it_stands(stem):
    """An answer that is right in the library and lacks an import in the lesson: its card is stored like any other."""
    cells = nbformat.read(SOLUTIONS / f"{stem}.ipynb", as_version=4).cells
    for name in read_lesson(stem).exercises:
        checked = next(cell for cell in cells if cell.cell_type == "code" and f"check({name}" in cell.source)
        assert any(out.get("data", {}).get("text/plain", "").startswith(f"✓ {name}") for out in checked.outputs)


@pytest.mark.parametrize("stem", STEMS)
def test_a_lesson_carries_nothing_of_its_build(stem):
    """A learner's JupyterLab that starts to write .py files beside the notebook."""
    notebook = nbformat.read(LESSONS / f"{stem}.ipynb", as_version=4)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert {key for cell in notebook.cells for key in cell.metadata} <= {
        "tags", "name", "jupyter", "cellView", "jp-MarkdownHeadingCollapsed"}


@pytest.mark.parametrize("stem", notebook_stems())
def test_no_number_that_is_shown_has_a_tail_of_digits(stem):
    """0.5600000023841858 for a weight: float32's noise, which a reader takes for precision."""
    outputs = [o for cell in nbformat.read(SOLUTIONS / f"{stem}.ipynb", 4).cells for o in cell.get("outputs", ())]
    texts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in outputs]
    assert not [digits for text in texts for digits in re.findall(r"\d\.0*([1-9]\d{6,})", text)]


@pytest.mark.parametrize("stem", STEMS)
def test_cells_are_short(stem):
    """A cell that holds more than one idea."""
    lengths = [len(cell.source.splitlines()) for cell in code_cells(stem)]
    assert max(lengths) <= 30
    assert statistics.median(lengths) <= 8


@pytest.mark.parametrize("stem", STEMS)
def test_the_set_up_is_short_and_single_threaded(stem):
    """Numbers that change with the number of threads, and a wall of imports before the first idea."""
    set_up = code_cells(stem)[0].source
    assert len(re.findall(r"^(?:import|from) ", set_up, re.M)) <= (6 if stem in NEW else 7)
    assert "torch.set_num_threads(1)" in set_up


@pytest.mark.parametrize("stem", STEMS)
def test_every_figure_is_shown_with_words(stem):
    """A picture that a screen reader passes over."""
    for cell in code_cells(stem):
        assert "plt.show" not in cell.source
        if re.search(r"plt\.(subplots|figure)\(", cell.source):
            assert "plots.show(" in cell.source, cell.line


@pytest.mark.parametrize("stem", STEMS)
def test_every_claim_is_asserted(stem):
    """A claim that is computed, named and never asserted; an assertion without a name."""
    code = "\n".join(cell.source for cell in code_cells(stem))
    asserted = re.findall(r"^\s*assert (.+)$", code, re.M)
    assert asserted or "claim(" in code
    assert all(re.fullmatch(r"\w+", claim) for claim in asserted), asserted
    assert all(re.search(rf"^\s*{claim} = ", code, re.M) for claim in asserted)


@pytest.mark.parametrize("stem", STEMS)
def test_a_notebook_links_onward_and_back_and_every_link_arrives(stem):
    """A learner at the end of a lesson who has to go and find the next one, or the one before to look something up."""
    ways = read_lesson(stem).cells[-1].source
    links = dict(re.findall(r"\[([^\]]+)\]\(([^)]+)\)", ways))
    at, stems = notebook_stems().index(stem), notebook_stems()
    near = [f"{name}.ipynb" for name in (*stems[at + 1 : at + 2], *stems[max(at - 1, 0) : at])]
    assert list(links.values())[: len(near)] == near and ("Previous lesson" in ways) is (at > 0)
    assert {"blank", "solved", "glossary", "contents"} <= set(links)
    for folder in (LESSONS, SOLUTIONS):
        assert all((folder / link).exists() for link in links.values()), folder


@pytest.mark.parametrize("stem", STEMS)
def test_a_lesson_opens_and_closes_like_a_lesson(stem):
    """A learner who cannot tell how long it takes, what it needs, or what to keep."""
    cells = read_lesson(stem).cells
    first, last = cells[0].source, cells[-2].source  # after it come the links
    assert re.match(rf"# {number_of(stem)} · .+$", first, re.M)
    assert re.search(r"\d+ minutes", first) and "**At the end you can**" in first
    assert "## Summary" in last and "**Think about it.**" in last and "**Next.**" in last


@pytest.mark.parametrize("stem", NEW)
def test_a_lesson_of_the_new_form_shows_no_assertion_outside_a_folded_proof(stem):
    """A result given away by the name or the sentence of its proof."""
    for cell in code_cells(stem):
        assert "claim" in cell.tags or not re.search(r"^\s*(assert|claim\()", cell.source, re.M), cell.line
        assert len(re.findall(r"Predict[ :]", cell.source)) == 0


@pytest.mark.parametrize("stem", NEW)
def test_a_lesson_of_the_new_form_fits_88_columns(stem):
    """A line that wraps in the notebook of a learner whose window is small."""
    for cell in code_cells(stem):
        assert max(map(len, cell.source.splitlines())) <= 88, cell.line


@pytest.mark.parametrize("stem", STEMS)
def test_what_a_lesson_shows_of_the_library_fits_88_columns(stem):
    """The docstring that is the exercise, or a finished answer, which a learner has to scroll sideways to read."""
    for cell in read_lesson(stem).cells:
        if cell.answer or cell.given:
            shown = "\n".join(source_and_stub(*(cell.answer or cell.given), stem))
            assert [line for line in shown.splitlines() if len(line) > 88] == []


@pytest.mark.parametrize("stem", NEW)
def test_a_lesson_of_the_new_form_says_how_its_minutes_are_spent(stem):
    """A lesson of two hours that calls itself one; a third of them at least is writing."""
    head = " ".join(read_lesson(stem).cells[0].source.split())
    whole, *parts = map(int, re.search(r"(\d+) minutes: reading (\d+), predicting (\d+), writing (\d+)", head).groups())
    sittings = re.search(r"two sittings of (\d+) and (\d+) minutes", head)
    sittings = [int(minutes) for minutes in sittings.groups()] if sittings else [whole]
    longest = 90 if number_of(stem) in LONGER else 75
    assert whole == sum(parts) == sum(sittings) and max(sittings) <= longest and parts[2] >= whole / 3


def test_every_concept_of_every_lesson_is_taught_and_proven():
    """A row of the syllabus that no cell teaches."""
    assert syllabus.gaps([read_lesson(stem) for stem in STEMS]) == []


def test_every_lesson_is_on_the_map():
    """“Everything each lesson teaches” ended at lesson 14."""
    assert {row["lesson"] for row in syllabus.concepts()} == {number_of(stem) for stem in STEMS}


def test_the_map_knows_every_concept_once():
    """A row lost from the map is a concept nobody misses."""
    assert [row["id"] for row in syllabus.concepts()] == [f"C{i:03}" for i in range(1, 188)]
