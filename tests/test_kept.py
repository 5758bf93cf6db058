"""A right answer is kept, and runs in later lessons; anything else falls back to the course's own."""

import inspect

import nbclient
import nbformat
import pytest
import torch

from course_lib import attention, check, mine
from course_lib.checks.notebook import kept

HELPED = """
import torch

def exponentials(scores):
    return (scores - scores.max(-1, keepdim=True).values).exp()

def my_reweight(x):
    e = exponentials(x @ x.T)
    return e / e.sum(-1, keepdim=True) @ x

result = check(my_reweight, "reweight")
"""


def run(folder, *cells):
    """What the last cell of a fresh notebook in that folder prints, as somebody sees it who has it open."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    return "".join(output.get("text", "") for output in notebook.cells[-1].outputs)


@pytest.fixture
def looked_at(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JPY_SESSION_NAME", "open.ipynb")
    monkeypatch.setattr(kept, "somebody_is_looking", lambda: True)
    return tmp_path


def write(name, source):
    kept.FOLDER.mkdir(exist_ok=True)
    (kept.FOLDER / f"{name}.py").write_text(source, encoding="utf-8")


def test_an_answer_of_one_notebook_runs_in_the_next(looked_at):
    """A class whose source Python does not find, a helper left behind, a name that is not the exercise's."""
    source = inspect.getsource(attention.MultiHeadAttention).replace("self.W_o(out", "self.mine(out")
    source = source.replace("    def forward", "    def mine(self, x):\n        return self.W_o(x)\n\n    def forward")
    whole = "from torch import nn\nfrom torch.nn import functional as F\n\n" + source
    run(looked_at, "from course_lib import check", whole, "r = check(MultiHeadAttention)", HELPED)
    said = run(looked_at, "from course_lib import mine", "layer = mine('MultiHeadAttention')\nf = mine('reweight')\n"
                                                         "print(hasattr(layer, 'mine'), f.__name__)")
    assert said == ("MultiHeadAttention: your own, from lesson 06.\nreweight: your own, from lesson 02.\n"
                    "True my_reweight\n")


def test_without_an_answer_it_is_the_courses_own(looked_at, capsys):
    """A later lesson that cannot be run before all earlier ones."""
    assert mine("MultiHeadAttention") is attention.MultiHeadAttention
    assert "the course's own, until yours is right in lesson 06" in capsys.readouterr().out


def test_a_wrong_answer_is_not_kept(looked_at):
    """A mistake that travels into every later lesson."""
    def reweight(x):
        return x

    check(reweight)
    assert not kept.FOLDER.exists()


def test_nothing_is_written_where_nobody_looks(tmp_path, monkeypatch):
    """Tests and builds that leave files behind."""
    monkeypatch.chdir(tmp_path)
    check(attention.reweight)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("source", "says"), [
    ("def reweight(x):\n    return x", "yours needs another cell"),
    ("def reweight(x):\n    return helper(x)", "yours needs another cell"),
    ("def reweight(x", "yours cannot be run (SyntaxError"),
    ("", "yours cannot be run (KeyError"),
])
def test_a_kept_answer_that_is_right_no_more_is_not_used(looked_at, capsys, source, says):
    """A file edited or damaged later, and a lesson that then computes nonsense."""
    write("reweight", source)
    assert mine("reweight") is attention.reweight
    assert says in capsys.readouterr().out


def test_an_answer_that_uses_another_gets_that_one_too(looked_at):
    """Your multi-head attention, which calls your own attention of another lesson."""
    write("scaled_dot_product_attention", inspect.getsource(attention.scaled_dot_product_attention))
    write("MultiHeadAttention", inspect.getsource(attention.MultiHeadAttention))
    own = mine("MultiHeadAttention")
    assert own is not attention.MultiHeadAttention
    used = own.forward.__globals__["scaled_dot_product_attention"]
    assert used is not attention.scaled_dot_product_attention
    assert own(4, 2)(*torch.randn(3, 1, 5, 4)).shape == (1, 5, 4)


def test_two_answers_that_name_each_other_are_read(looked_at):
    """A reader that goes round in circles."""
    write("reweight", "# as dot_product_attention\n" + inspect.getsource(attention.reweight))
    write("dot_product_attention", "# as reweight\n" + inspect.getsource(attention.dot_product_attention))
    assert mine("reweight") is not attention.reweight


def test_a_name_that_is_no_exercise_is_refused():
    """A typing mistake that ends in a KeyError."""
    with pytest.raises(ValueError, match="Did you mean 'MultiHeadAttention'"):
        mine("MultiheadAttention")
