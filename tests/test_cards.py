"""Cards of notebooks that run on a server, at each push."""

import nbformat
import pytest

from course_lib.upkeep import cards

RIGHT = "def reweight(x):\n    return torch.softmax(x @ x.T, -1) @ x"
WRONG = "def causal_mask(T):\n    return torch.ones(T, T).triu().bool()"
FIRST = "import torch\nfrom course_lib import check"


def notebook(path, *cells):
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in (FIRST, *cells)]), path)


@pytest.mark.parametrize(("cells", "status", "says"), [
    ((RIGHT, "check(reweight)"), 0, ["| one | `reweight` | ✓ right |"]),
    ((RIGHT, "check(reweight)", "check(lambda x: x, 'reweight', record=False)"), 0, ["| `reweight` | ✓ right |"]),
    ((RIGHT, "check(reweight)", "1 / 0", WRONG, "check(causal_mask)"), 1,
     ["`reweight` | ✓", "| `causal_mask` | ✗ not right yet |", "### `causal_mask`", "Likely cause"]),
    (("def reweight(x):\n    raise NotImplementedError", "check(reweight)"), 1, ["… not answered yet"]),
    ((RIGHT, "check(reweight)", "import os\nos._exit(1)"), 1, ["✗ Python ended in the middle"])])
def test_the_summary_has_every_card_and_the_job_fails_where_one_is_not_right(tmp_path, capsys, cells, status, says):
    """A green tick for a lesson that is wrong, or a red one for a demonstration that was to be wrong."""
    notebook(tmp_path / "one.ipynb", *cells)
    assert cards.main([str(tmp_path)]) == status
    said = capsys.readouterr().out
    assert all(words in said for words in says), said


def test_a_cell_without_an_end_is_stopped_and_said(tmp_path):
    notebook(tmp_path / "one.ipynb", "while True:\n    pass")
    assert cards.cards(tmp_path / "one.ipynb", seconds=2) == ({}, "a cell did not end within 2 seconds")


def test_what_is_no_notebook_is_one_sentence(tmp_path, capsys):
    (tmp_path / "half.ipynb").write_text('{"cells": [')
    assert cards.main([str(tmp_path)]) == 1
    assert "| half | | ✗ cannot be read: save it once more |" in capsys.readouterr().out
    assert cards.main([]) == cards.main([str(tmp_path / "none")]) == 2
    assert "name a notebook" in capsys.readouterr().err
