"""Honest notebooks as students and their tools write them: templates, crossed at random with answers."""

import functools
import json
import random
from dataclasses import dataclass, field

import jupytext
import nbformat
from nbconvert import PythonExporter
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_raw_cell

from course_lib.checks import EXERCISES
from tests.right_answers import RIGHT_ANSWERS
from tests.submitted import DEFINES, mistakes, right_answers, submission
from tests.test_flags import GIVE_AWAY

POOL = ("weighted_sum", "reweight", "softmax", "dot_product_attention", "attention_query_matrix", "self_attention",
        "causal_mask", "padding_mask", "layer_norm", "FeedForward", "binary_positions", "shift_matrix", "shift_right",
        "shift_labels", "bigram_probs", "patchify", "message_passing", "mean_pool", "cosine_search", "rms_norm",
        "apply_rope")

# How a function gets its exercise's name: NAME is the exercise, RIGHT an expression for the function; a list is cells.
HANDS = {
    "a def": "def NAME(*args, **kwargs):\n    '''My answer.'''\n    return (RIGHT)(*args, **kwargs)",
    "an assignment": "NAME = RIGHT",
    "a helper behind it": ["def NAME(*args, **kwargs):\n    return helper_NAME(*args, **kwargs)",
                           "helper_NAME = RIGHT"],
    "a closure": "def make_NAME():\n    f = RIGHT\n    def inner(*args, **kwargs):\n"
                 "        return f(*args, **kwargs)\n    return inner\nNAME = make_NAME()",
    "a decorator": ["import functools\ndef logged(f):\n    @functools.wraps(f)\n    def inner(*args, **kwargs):\n"
                    "        logged.calls = getattr(logged, 'calls', 0) + 1\n        return f(*args, **kwargs)\n"
                    "    return inner", "@logged\ndef NAME(*args, **kwargs):\n    return (RIGHT)(*args, **kwargs)"],
    "partial": "from functools import partial\nNAME = partial(RIGHT)",
    "an object": "class Answer_NAME:\n    def __call__(self, *args, **kwargs):\n"
                 "        return (RIGHT)(*args, **kwargs)\nNAME = Answer_NAME()",
    "a static method": "class My:\n    @staticmethod\n    def NAME(*args, **kwargs):\n"
                       "        return (RIGHT)(*args, **kwargs)\nNAME = My.NAME",
    "a dataclass": ["from dataclasses import dataclass\n@dataclass\nclass Config:\n    verbose: bool = False\n"
                    "CFG = Config()",
                    "def NAME(*args, **kwargs):\n    if CFG.verbose:\n        print(args)\n"
                    "    return (RIGHT)(*args, **kwargs)"],
    "handed to check": "from course_lib import check\nmy_NAME = RIGHT\ncheck(my_NAME, 'NAME')",
    "hints of types": ["from typing import Any, Optional\nimport torch",
                       "def NAME(*args: torch.Tensor, **kwargs: Any) -> 'Optional[torch.Tensor]':\n"
                       "    result: torch.Tensor = (RIGHT)(*args, **kwargs)\n    return result"],
    "hints of a library": ["from jaxtyping import Float",
                           "def NAME(*args: Float[Tensor, 't d'], **kwargs) -> Float[Tensor, 't d']:\n"
                           "    return (RIGHT)(*args, **kwargs)"],
    "an if": "DEBUG = False\nif not DEBUG:\n    def NAME(*args, **kwargs):\n        return (RIGHT)(*args, **kwargs)",
    "a try": "try:\n    from my_fast_kernels import NAME\nexcept ImportError:\n    NAME = RIGHT",
    "redefined": ["def NAME(*args, **kwargs):\n    return None  # first try", "NAME(1)", "NAME = RIGHT"],
    "prints a megabyte": "def NAME(*args, **kwargs):\n    print('debug ' * 100_000)\n"
                         "    return (RIGHT)(*args, **kwargs)",
    "a counter": "calls = 0\ndef NAME(*args, **kwargs):\n    global calls\n    calls += 1\n"
                 "    return (RIGHT)(*args, **kwargs)",
    "a generator": "def steps_NAME(*args, **kwargs):\n    yield (RIGHT)(*args, **kwargs)\n"
                   "def NAME(*args, **kwargs):\n    return next(steps_NAME(*args, **kwargs))",
    "names of another language": "def gewichtete_größe(*значения, **слова):\n    結果 = (RIGHT)(*значения, **слова)\n"
                                 "    return 結果\nNAME = gewichtete_größe",
    "several at once": "NAME, EPSILON = RIGHT, 1e-9",
    "an own module": ["%%writefile my_NAME.py\nimport math\nimport torch\ndef call(f, *args, **kwargs):\n"
                      "    return f(*args, **kwargs)",
                      "import my_NAME\ndef NAME(*args, **kwargs):\n    return my_NAME.call(RIGHT, *args, **kwargs)"],
    "with its tests": ["NAME = RIGHT", "def test_NAME():\n    assert NAME is not None\n\n"
                                       "if __name__ == '__main__':\n    test_NAME()\n    print('ok')"],
    "a failing line before it": "print(history['loss'][-1])\nmodel = model.cuda()\nNAME = RIGHT",
    "timed": "%%time\nNAME = RIGHT",
    "an inner class": "class Lab:\n    class Part:\n        run = staticmethod(RIGHT)\ndef NAME(*args, **kwargs):\n"
                      "    return Lab.Part.run(*args, **kwargs)",
    "match": "def NAME(*args, **kwargs):\n    match len(args) + len(kwargs):\n        case 0:\n"
             "            raise TypeError('nothing')\n        case _:\n            return (RIGHT)(*args, **kwargs)",
}
ONLY_IN_NOTEBOOKS = {"an own module", "timed"}
CLASS_HANDS = {
    "an assignment": "NAME = RIGHT",
    "a class on a class": "class NAME(RIGHT):\n    '''My answer.'''",
    "redefined": ["class NAME:\n    pass", "class NAME(RIGHT):\n    version = 2"],
}
# What stands beside the answers and has nothing to do with them.
BESIDE = [
    "!pip install -q einops torchinfo", "%matplotlib inline\n%load_ext autoreload\n%autoreload 2",
    "from google.colab import drive\ndrive.mount('/content/drive')", "%cd /content/drive/MyDrive/homework",
    "#@title Settings { display-mode: \"form\" }\nepochs = 3 #@param {type:\"integer\"}\n"
    "name = \"a\" #@param [\"a\", \"b\"]",
    "import os\nfor folder, _, files in os.walk('/kaggle/input'):\n    for file in files:\n"
    "        print(os.path.join(folder, file))",
    "import matplotlib.pyplot as plt\nplt.style.use('seaborn-v0_8')\nplt.plot([1, 2, 3])\nplt.savefig('a.png')\n"
    "plt.show()",
    "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\ntorch.manual_seed(0)\ndevice",
    "from tqdm.auto import tqdm\nnet = nn.Linear(3, 1)\nopt = torch.optim.Adam(net.parameters())\n"
    "for step in tqdm(range(10**7)):\n    opt.zero_grad()\n    net(torch.randn(4, 3)).pow(2).mean().backward()\n"
    "    opt.step()",
    "raise ValueError('stop here, the rest is for tomorrow')", "1 / 0", "print('x' * 10**6)", "input('Press Enter')",
    "def unfinished(x):\n    # TODO\n", "for i in range(3)\n    print(i)",
    "results = pd.DataFrame(rows)\nresults.head()",
    "from course_lib import *\nfrom course_lib.checks import *", "import numpy as np\ndef to_numpy(x):\n"
    "    return x.detach().cpu().numpy()\nnp.set_printoptions(precision=3)", "torch.set_printoptions(precision=2)", "",
    "# just a comment", "'''\ndef reweight(x):\n    return x\n'''", "%%html\n<b>bold</b>", "%%bash\nls -l\nnvidia-smi",
    "import sys\nsys.path.append('..')\nsys.setrecursionlimit(5000)", "assert torch.cuda.is_available(), 'no GPU'",
    "import torch.nn.functional as F\nq = torch.randn(1, 4, 8)\nF.scaled_dot_product_attention(q, q, q).shape",
    "try:\n    assert torch.allclose(softmax(x), torch.softmax(x, -1))\nexcept Exception as e:\n    print(e)",
    "%timeit -n 3 sum(range(100))", "?print", "x = torch.randn(3, 4)\nx?", "display(x)\nx.shape",
    "dbutils.widgets.get('a')",
    "with open('notes.txt', 'w') as f:\n    f.write('done')", "await asyncio.sleep(0)", "import warnings\n"
    "warnings.filterwarnings('ignore')", "x = y = z = 3", "del x", "größe = 3\nπ = 3.14159",
    "torch.set_default_dtype(torch.float64)",
    "class Scratch(nn.Module):\n    def forward(self, x):\n        return F.layer_norm(x, x.shape[-1:])",
    "import seaborn as sns\nsns.set_theme()", "lr: float = 1e-3",
    "plt.figure(figsize=(9, 9)); plt.imshow(torch.rand(9, 9))",
    "from IPython.display import clear_output, HTML\nclear_output()\nHTML('<b>hm</b>')", "exit()",
    "os.environ['CUDA_VISIBLE_DEVICES'] = '0'", "torch.use_deterministic_algorithms(True)",
    "import random\nrandom.seed(0)\nseed = random.randint(0, 9)", "a = []\nfor i in range(3):\n    a.append(lambda: i)",
]
KNOWN = "import math, os, sys, time\nimport torch\nfrom torch import nn, Tensor\nimport torch.nn.functional as F"
RAW = ["Some words.", "", "$$a^2$$", "<img src='data:image/png;base64,AAAA'>"]  # an export has them between the cells
PROSE = [*RAW, "# Homework 4", "My first try was\n```python\ndef reweight(x):\n    return x\n```"]
PICTURE = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgo" * 20_000,
                                                                    "text/plain": ["<Figure size 640x480>"]}}
STREAM = {"output_type": "stream", "name": "stdout", "text": ["{\"outputs\": [\"def reweight(x): return x\"]}\n"] * 50}


@dataclass
class Handed:
    """One file of a student, and what it deserves: {exercise: (verdict, mistake)}; all others are missing."""

    name: str
    data: bytes
    deserves: dict = field(default_factory=dict)
    about: tuple = ()  # the names of the templates


@functools.cache
def batch(count, seed=0):
    """As many files, the same ones for the same seed; every template of each kind occurs."""
    chance = random.Random(seed)
    return [_one(number, chance) for number in range(count)]


def _one(number, chance):
    """The file of one student: some answers, what stands beside them, and a tool that writes it down."""
    cells, deserves, about, bound, tool = [KNOWN], {}, [], {}, list(TOOLS)[number % len(TOOLS)]
    for name in chance.sample(POOL, chance.randint(2, 3)):
        answer, verdict, how = _answer(name, chance, bound, tool)
        cells += answer
        deserves[name] = verdict
        about.append(f"{name}: {how}")
    unfinished = next(name for name in POOL if name not in deserves)
    cells.append(f"def {unfinished}(*args):\n    '''For tomorrow.'''\n    raise NotImplementedError")
    for _ in range(chance.randint(2, 6)):
        cells.insert(chance.randint(1, len(cells)), chance.choice(BESIDE))
    if number % 10:  # each training that does not end is waited for
        cells = [cell.replace("range(10**7)", "range(10)") for cell in cells]
    if chance.random() < 0.1 and "redefined" not in str(about):
        about.append("out of order")
        chance.shuffle(cells)
    if chance.random() < 0.15:
        about.append("tabs")
        cells = [cell.replace("    ", "\t") for cell in cells]
    suffix, data = TOOLS[tool](cells, chance)
    return Handed(f"{number:03d} {tool}{suffix}", data, deserves, (tool, *about))


def _answer(name, chance, bound, tool):
    """(cells, (verdict, mistake), how) of one exercise: right in three of four cases."""
    exercise = EXERCISES[name]
    if chance.random() < 0.25:
        wrong = mistakes(exercise)
        mistake = chance.choice(sorted(wrong))
        cells = _without_clashes(submission(name, *wrong[mistake]), bound)
        return (cells, ("fail", mistake), mistake) if cells else _answer(name, chance, bound, tool)
    right = {s: a for s, a in right_answers(name, RIGHT_ANSWERS).items() if (name, s) not in GIVE_AWAY}
    style = chance.choice(sorted(right))
    cells = _without_clashes(submission(name, *right[style]), bound)
    if not cells:
        return _answer(name, chance, bound, tool)
    if cells[-1].startswith(DEFINES):
        return cells, ("pass", ""), style
    hands = CLASS_HANDS if isinstance(exercise.verified, type) else HANDS
    hand = chance.choice(sorted(set(hands) - (ONLY_IN_NOTEBOOKS if tool == "one script" else set())))
    written = hands[hand] if isinstance(hands[hand], list) else [hands[hand]]
    right = cells[-1].removeprefix(f"{name} = ")
    cells = cells[:-1] + [w.replace("RIGHT", right).replace("NAME", name) for w in written]
    return cells, ("pass", ""), f"{style}, {hand}"


def _without_clashes(written, bound):
    """The cells of an answer, or None where one of its helpers has the name of another answer's."""
    cells = list(written.notebooks[0].cells)
    mine = {cell.split("(")[0].split("=")[0].split(":")[0].strip(): cell for cell in cells[:-1]}
    if any(bound.get(name, cell) != cell for name, cell in mine.items()):
        return None
    bound.update(mine)
    return cells


# What tools make of the cells: functions of (cells, chance) that give a suffix and the bytes of a file.


def _notebook(cells, chance, minor=5, **metadata):
    """A notebook of format 4 with prose and saved outputs in it."""
    made = []
    for number, source in enumerate(cells, 1):
        shown = [o for o in (PICTURE, STREAM) if chance.random() < 0.1]
        made.append(new_code_cell(source, execution_count=number, outputs=[nbformat.from_dict(o) for o in shown]))
        if chance.random() < 0.3:
            made.append(chance.choice([*map(new_markdown_cell, PROSE), *map(new_raw_cell, RAW)]))
    notebook = new_notebook(cells=made, metadata={"kernelspec": {"name": "python3", "language": "python",
                                                                 "display_name": "Python 3"}} | metadata)
    notebook.nbformat_minor = minor
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"
        if minor < 5:
            del cell["id"]
    return notebook


def _in_lines(notebook):
    for cell in notebook["cells"]:
        cell["source"] = cell["source"].splitlines(keepends=True)
    return notebook


def _as_json(notebook, **more):
    return json.dumps(notebook, ensure_ascii=False, **more).encode()


def colab(cells, chance):
    notebook = _in_lines(_notebook(cells, chance, 0, colab={"provenance": [], "gpuType": "T4", "toc_visible": True},
                                   accelerator="GPU", widgets={"application/vnd.jupyter.widget-state+json": {
                                       "a" * 32: {"model_name": "HTMLModel", "state": {"value": "[{\"x\": 1}]"}}}}))
    for cell in notebook["cells"]:
        cell["metadata"] = {"id": f"{chance.getrandbits(48):012x}", "cellView": "form", "colab": {
            "base_uri": "https://localhost:8080/", "height": 1000}, "outputId": "f00"}
    return ".ipynb", _as_json(notebook, indent=2)


def vs_code(cells, chance):
    notebook = _in_lines(_notebook(cells, chance, 2, language_info={"name": "python", "version": "3.12.1"},
                                   vscode={"interpreter": {"hash": "ab" * 32}}))
    for cell in notebook["cells"]:
        cell["metadata"] = {"vscode": {"languageId": "python"}}
    return ".ipynb", _as_json(notebook, indent=1).replace(b"\n", b"\r\n")


def kaggle(cells, chance):
    notebook = _notebook(cells, chance, 4, kaggle={"accelerator": "gpu", "dataSources": [], "isGpuEnabled": True})
    for cell in notebook["cells"]:
        cell["metadata"] = {"_uuid": "8f2839f2", "trusted": True, "execution": {"iopub.status.busy": "2026-11-02"}}
    return ".ipynb", _as_json(notebook)


def format_3(cells, chance):
    return ".ipynb", nbformat.writes(_notebook(cells, chance), 3).encode()


def format_4_0(cells, chance):
    return ".ipynb", _as_json(_notebook(cells, chance, 0))


def databricks(cells, chance):
    parts = ["\n".join("# MAGIC " + line for line in cell.splitlines()) if cell.startswith(("!", "%cd", "%%bash"))
             else cell for cell in cells]
    text = "# Databricks notebook source\n" + "\n\n# COMMAND ----------\n\n".join(
        [*parts, "# MAGIC %md\n# MAGIC ## Title", "display(spark.range(3))"])
    return ".py", text.encode()


def databricks_notebook(cells, chance):
    about = {"application/vnd.databricks.v1+notebook": {"language": "python"}}
    notebook = _in_lines(_notebook(cells, chance, 0, **about))
    for cell in notebook["cells"]:
        cell["metadata"] = {"application/vnd.databricks.v1+cell": {"title": "", "showTitle": False, "nuid": "f00"}}
    return ".ipynb", _as_json(notebook)


def deepnote(cells, chance):
    notebook = _notebook(cells, chance, 0, deepnote={"is_reactive": False}, orig_nbformat=2)
    for number, cell in enumerate(notebook["cells"]):
        cell["metadata"] = {"cell_id": f"{number:08x}", "tags": [], "deepnote_to_be_reexecuted": False,
                            "source_hash": "b623e53d", "execution_start": 1617, "deepnote_cell_type": "code"}
    return ".ipynb", _as_json(notebook)


def windows(cells, chance):
    """Line ends of Windows in every source, and a byte order mark."""
    notebook = _notebook([cell.replace("\n", "\r\n") for cell in cells], chance)
    return ".ipynb", b"\xef\xbb\xbf" + _as_json(notebook, indent=1)


def power_shell(cells, chance):
    """What `type a.ipynb > b.ipynb` makes of a notebook."""
    return ".ipynb", _as_json(_notebook(cells, chance)).decode().encode("utf-16")


def _by_jupytext(form):
    def write(cells, chance):
        return f".{form.split(':')[0]}", jupytext.writes(_notebook(cells, chance), form).encode()
    return write


def exported(cells, chance):
    """What "Save as executable script" gives."""
    return ".py", PythonExporter().from_notebook_node(_notebook(cells, chance))[0].encode()


def spyder(cells, chance):
    return ".py", "\n\n#%%\n".join(["# -*- coding: utf-8 -*-", *cells]).replace("\n", "\r\n").encode()


def one_script(cells, chance):
    """All in one .py, without cells: a script that ran."""
    return ".py", "\n\n\n".join(["#!/usr/bin/env python3", *filter(_parses, cells)]).encode()


def _parses(cell):
    try:
        compile(cell, "cell", "exec")
    except SyntaxError:
        return False
    return True


TOOLS = {"Colab": colab, "VS Code": vs_code, "Kaggle": kaggle, "format 3": format_3, "format 4.0": format_4_0,
         "percent": _by_jupytext("py:percent"), "light": _by_jupytext("py:light"), "Markdown": _by_jupytext("md"),
         "exported": exported, "Databricks": databricks, "Databricks notebook": databricks_notebook,
         "Deepnote": deepnote, "Windows": windows, "PowerShell": power_shell, "Spyder": spyder,
         "one script": one_script}
