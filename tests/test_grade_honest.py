"""Honest, awkward work: whatever else a notebook holds, a right answer in it is found and passes."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.staff.grade import confine
from tests.test_grade import IMPORTS, MASK, NAMES, REWEIGHT, SHIFT, notebook

ROOT = Path(__file__).parents[1]
FROM_THE_COURSE = "\nfrom course_lib import check, mine"
pytestmark = pytest.mark.skipif(confine.probe() == "C", reason="this machine cannot confine anything")
# One statement of a cell fails, and the answer stands behind it.
FAILS = {
    "a demo on a GPU": "torch.ones(3).cuda()",
    "wants a GPU": "assert torch.cuda.is_available()",
    "asks for a number": "n = int(input('How many? '))",
    "sets the shell up": "get_ipython().config.InteractiveShell.ast_node_interactivity = 'all'",
    "has no shell": "get_ipython = lambda: None\nget_ipython().run_line_magic('matplotlib', 'inline')",
    "a shell of its own": "from IPython import get_ipython\nget_ipython().run_line_magic('matplotlib', 'inline')",
    "asserts its card": "from course_lib import check\ndef f(x):\n    return x\nassert check(f, 'reweight').passed",
    "divides by zero": "1 / 0",
    "a name that is gone": "print(result_of_a_cell_that_is_deleted)",
    "exits in between": "sys.exit()",
    "a library that is not here": "import einops_of_my_own\neinops_of_my_own.rearrange(torch.ones(2), 'a -> a')",
    "reads data": "data = open('/content/drive/data.csv').read()\nrows = data.splitlines()",
    "fails in a loop": "for i in range(3):\n    [][i]",
    "fails in a with": "with open('nowhere.txt') as f:\n    text = f.read()",
    "several": "1 / 0\nint('x')\ntorch.ones(3).cuda()\nassert False",
    "a class of a library": "class Module(lightning.LightningModule):\n    pass",
    "six hundred elif": "k = 599\nif k == 0:\n    z = 0\n" + "".join(f"elif k == {i}:\n    z = {i}\n"
                                                                  for i in range(1, 600)),
    "a long sum": "total = " + " + ".join(["1"] * 900),
}
# Other cells stand before the answer.
CELLS = {
    "annotations of a library": ["from jaxtyping import Float",
                                 "def reweight(x: Float[torch.Tensor, 't d']) -> Float[torch.Tensor, 't d']:\n"
                                 "    return torch.softmax(x @ x.T, -1) @ x"],
    "an annotated name": ["from jaxtyping import Float", "W: Float[torch.Tensor, 'd d'] = torch.eye(2)\n" + REWEIGHT],
    "writes a module": ["%%writefile mixing.py\nimport torch\ndef mix(x):\n    return (x @ x.T).softmax(1) @ x",
                        "import mixing", "def reweight(x):\n    return mixing.mix(x)"],
    "writes a module twice": ["%%file mixing.py\ndef mix(x):\n    return x",
                              "%%writefile mixing.py\nimport torch\ndef mix(x):\n    return (x @ x.T).softmax(1) @ x",
                              "from mixing import mix as reweight"],
    "writes a module to the end": ["%%writefile mixing.py\nimport torch",
                                   "%%writefile -a mixing.py\ndef mix(x):\n    return (x @ x.T).softmax(1) @ x",
                                   "from mixing import *\nreweight = mix"],
    "a setting that is changed": ["CONFIG = {}", "CONFIG.update(scale=1.0)",
                                  "def reweight(x):\n    return torch.softmax(CONFIG['scale'] * x @ x.T, -1) @ x"],
    "an attribute that is set": ["class K:\n    pass\nsetattr(K, 'scale', 1.0)",
                                 "def reweight(x):\n    return torch.softmax(K.scale * x @ x.T, -1) @ x"],
    "a list that is filled": ["steps = []\nfor p in (1,):\n    steps.append(lambda x: torch.softmax(x @ x.T, -1))",
                              "def reweight(x):\n    return steps[0](x) @ x"],
    "a helper behind it": ["def reweight(x):\n    return helper(x) @ x",
                           "def helper(x):\n    return (x @ x.T).softmax(1)"],
    "a helper's name used again": ["def helper(x):\n    return (x @ x.T).softmax(1)",
                                   "def reweight(x):\n    return helper(x) @ x",
                                   "def helper(mask):\n    return mask.float().mean()"],
    "a constant used again": ["scale = 1.0\ndef reweight(x):\n    return torch.softmax(scale * x @ x.T, -1) @ x",
                              "scale = 0.5\nprint(scale)"],
    "a name used again, imports last": ["def helper(x):\n    return nn.Softmax(-1)(x @ x.T)",
                                        "def reweight(x):\n    return helper(x) @ x",
                                        "def helper(mask):\n    return mask.float().mean()", "from torch import nn"],
    "a class used again": ["class Lab:\n    run = staticmethod(lambda x: torch.softmax(x @ x.T, -1) @ x)\n"
                           "def reweight(*args):\n    return Lab.run(*args)", "class Lab:\n    run = print"],
    "a module with a star": ["%%writefile lib.py\nimport torch\ndef soft(s):\n    return torch.softmax(s, -1)",
                             "from lib import *", "def reweight(x):\n    return soft(x @ x.T) @ x"],
    "another name at first": ["def mine(x):\n    return torch.softmax(x @ x.T, -1) @ x", "reweight = mine"],
    "an instance": ["class A:\n    def __call__(self, x):\n        return torch.softmax(x @ x.T, -1) @ x",
                    "reweight = A()"],
    "a try before its helper": ["try:\n    from fast import reweight\nexcept ImportError:\n    reweight = own",
                                "def own(x):\n    return torch.softmax(x @ x.T, -1) @ x"],
    "a branch before its helper": ["if torch.__version__ > '1':\n    reweight = own\nelse:\n    reweight = None",
                                   "def own(x):\n    return torch.softmax(x @ x.T, -1) @ x"],
    "a context before its helper": ["with torch.no_grad():\n    reweight = own",
                                    "def own(x):\n    return torch.softmax(x @ x.T, -1) @ x"],
    "where a library is missing": ["try:\n    import einops_of_my_own\nexcept ImportError:\n    " + REWEIGHT.replace(
        "\n", "\n    ")],
    "hours of experiments": [*["time.sleep(9)"] * 40, REWEIGHT],
    "other cells of magics": ["%%bash\npip install torch", "%%html\n<b>bold</b>", "%load_ext autoreload\n%autoreload 2",
                              REWEIGHT],
}
# Other exercises: the last one's answer stands on the course's function, or its name is used again.
SINGLE = ("def scaled_dot_product_attention_single(query, inputs):\n"
          "    return torch.softmax(inputs @ query / query.shape[-1] ** .5, 0) @ inputs")
QUERIES = ("from course_lib.attention import scaled_dot_product_attention_single as attention_v2\n"
           "def attention_query_matrix(queries, inputs):\n"
           "    return torch.stack([attention_v2(query, inputs) for query in queries])")
HEADS = """from course_lib.attention import scaled_dot_product_attention as attend
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model cannot be split into the heads")
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))
        self.num_heads = num_heads

    def forward(self, query, key, value, mask=None):
        heads = [x.chunk(self.num_heads, -1) for x in (self.W_q(query), self.W_k(key), self.W_v(value))]
        return self.W_o(torch.cat([attend(*head, mask) for head in zip(*heads)], -1))"""
ANY_SIZES = HEADS.replace("if d_model % num_heads:", "if False:")
FEED = """class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.linear2(self.dropout(self.linear1(x).relu()))"""
OTHERS = {
    "on an earlier answer": ("attention_query_matrix", [SINGLE, QUERIES]),
    "on an earlier exercise": ("attention_query_matrix", [QUERIES]),
    "on what its lesson imports": ("MultiHeadAttention", ["from torch import nn", HEADS]),
    "an instance takes its name": ("FeedForward", ["from torch import nn",
                                                   FEED + "\nFeedForward = FeedForward(8, 16)"]),
    "an instance takes it later": ("FeedForward", ["from torch import nn", FEED, "FeedForward = FeedForward(8, 16)"]),
    "torch's takes its name": ("softmax", [
        "from course_lib import check\ndef softmax(scores):\n    e = (scores - scores.amax(-1, True)).exp()\n"
        "    return e / e.sum(-1, True)", "check(softmax)", "from torch.nn.functional import softmax"]),
    "a result in its cell": ("causal_mask", [
        MASK + "\nfrom course_lib import check\ncheck(causal_mask)\ncausal_mask = causal_mask(4)"]),
}
SOFT = "import torch\ndef soft(s):\n    return torch.softmax(s, -1)"
MIXES = "def reweight(x):\n    return soft(x @ x.T) @ x"
SAVES = """import tempfile
from pathlib import Path
def keep_the_best(model, train_epoch, accuracy, validation, test, epochs):
    path = {path}
    history = []
    for epoch in range(epochs):
        train_epoch(model, epoch)
        history.append(accuracy(model, validation))
        if history[-1] > max(history[:-1], default=-1.0):
            torch.save(model.state_dict(), path)
    assert os.path.exists(path)
    model.load_state_dict(torch.load(path))
    os.remove(path)
    return torch.tensor(history), torch.tensor(accuracy(model, test))"""
# Where an answer keeps its best weights.
PATHS = {
    "a file": "'best.pt'",
    "a Path": "Path('best.pt')",
    "a folder of the machine's": "'/' + 'tmp/best.pt'",
    "a folder of Colab's": "'/content/drive/MyDrive/best.pt'",
    "a folder that is made": "os.makedirs('runs/1', exist_ok=True) or 'runs/1/best.pt'",
    "a folder for a while": "os.path.join(tempfile.TemporaryDirectory().name, 'best.pt')",
    "a folder that is left": "Path(tempfile.mkdtemp()) / 'best.pt'",
    "a file for a while": "tempfile.NamedTemporaryFile(suffix='.pt').name",
}
TOO_LONG = f"rows = '{1_000_000 * '0'}'\n"
# Several files of one student; all answers pass, and nothing is flagged.
FILES = {
    "a local name in another lesson": {"15.ipynb": ["def blocked(T):\n    causal_mask = torch.ones(T, T).tril()\n"
                                                    "    return causal_mask"]},
    "a method in another lesson": {"15.ipynb": ["class Tools:\n    def causal_mask(self, T):\n        return T"]},
    "a function in a function": {"15.ipynb": ["def blocked(T):\n    def causal_mask(T):\n        return T"]},
    "a tensor of that name": {"15.ipynb": ["causal_mask = torch.ones(3, 3).tril().bool()"]},
    "a lesson's cell with another number": {"15.ipynb": ["causal_mask = mine('causal_mask')\nT = 9"]},
    "a comment": {"15.ipynb": [MASK + "  # as in lesson 6"]},
    "a docstring": {"15.ipynb": [MASK.replace("\n", "\n    'Who may look at whom.'\n", 1)]},
    "another first try": {"15.ipynb": ["def causal_mask(T):\n    return torch.ones(T, T).tril()", MASK]},
    "a stub in a copy": {"hw-Copy1.ipynb": ["def causal_mask(T):\n    '''Who may.'''\n    raise NotImplementedError"]},
    "runs a script": {"hw.ipynb": ["%run helpers.py", MASK, MIXES, SHIFT], "helpers.py": SOFT},
    "runs a script with its names": {"hw.ipynb": ["%run -i helpers", MASK, MIXES, SHIFT], "helpers.py": SOFT},
    "runs a script in a folder": {"hw.ipynb": ["%run './lib/my-helpers.py' 3", MASK, MIXES, SHIFT],
                                  "lib/my-helpers.py": SOFT},
    "runs a notebook": {"hw.ipynb": ["%run 'z 02 (1).ipynb'", MASK, MIXES, SHIFT], "z 02 (1).ipynb": [SOFT]},
    "runs what it writes": {"hw.ipynb": ["%%writefile sol.py\n" + SOFT, "%run sol.py", MASK, MIXES, SHIFT]},
    "writes into a folder": {"hw.ipynb": ["%%writefile utils/attn.py\n" + SOFT, "from utils.attn import soft", MASK,
                                          MIXES, SHIFT]},
    "a package": {"hw.ipynb": ["from utils.attn import soft", MASK, MIXES, SHIFT], "utils/attn.py": SOFT,
                  "utils/__init__.py": ""},
    "a package without an __init__": {"hw.ipynb": ["import utils.attn", MASK, MIXES.replace("soft", "utils.attn.soft"),
                                                   SHIFT], "utils/attn.py": SOFT},
    "a module of a package": {"hw.ipynb": ["from lib.utils import attn", MASK, MIXES.replace("soft", "attn.soft"),
                                           SHIFT], "lib/utils/attn.py": SOFT},
    "relative imports": {"hw.ipynb": ["from pkg import soft", MASK, MIXES, SHIFT], "pkg/attn.py":
                         "from .zz_base import soft as s\nfrom . import zz_base\ndef soft(x):\n    return s(x)\n",
                         "pkg/__init__.py": "from .attn import soft\n", "pkg/zz_base.py": SOFT},
    "a folder with a name of Python's": {"hw.ipynb": ["import email.message\nemail.message.Message()", MASK,
                                                      REWEIGHT, SHIFT],
                                         "email/helpers.py": SOFT},
    "five notebooks": {f"{n}.ipynb": ["def causal_mask(T):\n    raise NotImplementedError"] for n in range(90, 95)},
}
# Not right: the verdict, and what the reason has to say of the cause.
CAUSES = {
    "a library in the answer": (["import einops_of_my_own as e",
                                 "def reweight(x):\n    return e.einsum(x, x, 'a d, b d -> a b')"],
                                "error", "could not import what is not installed here: einops_of_my_own"),
    "a library that decorates the answer": (["import jaxtyping_of_my_own as j",
                                             "@j.jaxtyped\ndef reweight(x):\n    return x"],
                                            "error", "not import what is not installed here: jaxtyping_of_my_own"),
    "a library before the answer": (["from einops_of_my_own.torch import einsum as reweight"], "error",
                                    "needs einops_of_my_own, which is not installed here"),
    "a cell without an end": ([TOO_LONG + REWEIGHT], "missing", "which defines it, was not read: it is 1,000,"),
    "an answer that calls a later one of the course": (
        ["import course_lib.attention as a\ndef reweight(x):\n    return a.self_attention(x, *torch.ones(3, 3, 3))"],
        "missing", "or it calls a function of the course, which is blank where answers are graded"),
    "syntax of no Python yet": (["def reweight(x):\n    return x |> mix"], "error", "cannot be read by Python 3."),
}

# "Try it wrong on purpose, too": whether the answer passes.
UNCHANGED, CHECKED = "def reweight(x):\n    return x", "mix = check(reweight).verified"
ON_PURPOSE = {
    "wrong on purpose": ([REWEIGHT, CHECKED, UNCHANGED], True),
    "wrong on purpose, twice": ([REWEIGHT + "\n" + CHECKED, UNCHANGED + "\n" + CHECKED, UNCHANGED], True),
    "checked with its name": ([REWEIGHT, "from course_lib import check\ncheck(reweight, 'reweight')", UNCHANGED], True),
    "never checked": ([REWEIGHT, UNCHANGED], False),
    "another one was checked": ([REWEIGHT, "check(causal_mask)", UNCHANGED], False),
    "the wrong one was checked": ([REWEIGHT, UNCHANGED, CHECKED], False),
    "both are wrong": ([UNCHANGED, CHECKED, UNCHANGED + " + 1"], False),
}


def hand_in(folder):
    for name, (cells, _) in ON_PURPOSE.items():
        (folder / f"{name}.ipynb").write_text(notebook(IMPORTS, MASK, *cells, SHIFT))
    for name, (cells, *_) in CAUSES.items():
        (folder / f"{name}.ipynb").write_text(notebook(IMPORTS, MASK, *cells, SHIFT))
    for name, code in FAILS.items():
        (folder / f"{name}.ipynb").write_text(notebook(IMPORTS, MASK, code + "\n" + REWEIGHT, SHIFT))
    (folder / "any sizes.ipynb").write_text(notebook("import torch\nfrom torch import nn", ANY_SIZES))
    for name, (_, cells) in OTHERS.items():
        (folder / f"{name}.ipynb").write_text(notebook("import torch", *cells))
    for name, cells in CELLS.items():
        (folder / f"{name}.ipynb").write_text(notebook(IMPORTS, MASK, *cells, SHIFT))
    for name, path in PATHS.items():
        (folder / f"{name}.ipynb").write_text(notebook(IMPORTS, SAVES.format(path=path)))
    for name, files in FILES.items():
        for path, of in {"hw.ipynb": [MASK, REWEIGHT, SHIFT], **files}.items():
            file = folder / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(of if isinstance(of, str) else notebook(IMPORTS + FROM_THE_COURSE, *of))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder, report = tmp_path_factory.mktemp("batch"), tmp_path_factory.mktemp("report")
    hand_in(folder)
    exercises = ",".join({*NAMES, "keep_the_best", *(exercise for exercise, _ in OTHERS.values())})
    command = [sys.executable, "-m", "course_lib.staff.grade", str(folder), "-o", str(report), "--isolation",
               confine.probe(), "--exercises", exercises, "--cell-seconds", "2", "--call-seconds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    with (report / "results.csv").open(encoding="utf-8", newline="") as file:
        return {(r["student"], r["exercise"]): r for r in csv.DictReader(file)}


@pytest.mark.parametrize("student", [*FAILS, *CELLS])
def test_a_right_answer_passes(rows, student):
    """Right work that is lost for a statement that has nothing to do with it."""
    found = {exercise: rows[student, exercise] for exercise in NAMES}
    assert {e: (r["verdict"], r["reason"]) for e, r in found.items() if r["verdict"] != "pass"} == {}


@pytest.mark.parametrize("student", OTHERS)
def test_a_right_answer_to_another_exercise_passes(rows, student):
    """It is missing, or is a value, because of what the course or a later line does with a name."""
    row = rows[student, OTHERS[student][0]]
    assert (row["verdict"], row["reason"]) == ("pass", "")


def test_a_class_that_was_to_refuse_and_does_not_is_wrong_and_no_crash(rows):
    """What is made, and was not to be, comes back without arguments: a student was told of forgery."""
    row = rows["any sizes", "MultiHeadAttention"]
    assert row["verdict"] == "fail" and row["mistake"], row["reason"]


@pytest.mark.parametrize("student", PATHS)
def test_weights_may_be_kept_in_a_file(rows, student):
    """Right work that is an error, for a disk that nobody may write to where it is graded."""
    row = rows[student, "keep_the_best"]
    assert (row["verdict"], row["reason"]) == ("pass", "")


@pytest.mark.parametrize("student", FILES)
def test_right_answers_among_several_files_pass_and_are_not_flagged(rows, student):
    """A teacher sends for a student who has used a name again, or who keeps helpers in a file of their own."""
    assert {tuple(rows[student, e][k] for k in ("verdict", "reason", "flags")) for e in NAMES} == {("pass", "", "")}


@pytest.mark.parametrize("student", ON_PURPOSE)
def test_a_right_answer_that_was_checked_counts_whatever_was_tried_behind_it(rows, student):
    """Somebody who did as the lesson says, and loses the point; or an answer that nobody stood by."""
    _, passes = ON_PURPOSE[student]
    row = rows[student, "reweight"]
    assert (row["verdict"], "the last one was wrong" in row["flags"]) == (("pass", True) if passes else ("fail", False))
    assert {rows[student, e]["verdict"] for e in NAMES[1:]} == {"pass"}


@pytest.mark.parametrize("student", CAUSES)
def test_a_reason_names_the_cause(rows, student):
    """A NameError that is nobody's mistake, or a message of the parser, for what a machine lacks."""
    _, verdict, words = CAUSES[student]
    row = rows[student, "reweight"]
    assert row["verdict"] == verdict and words in row["reason"] and "<code" not in row["reason"], row["reason"]
    assert {rows[student, e]["verdict"] for e in NAMES[1:]} == {"pass"}
