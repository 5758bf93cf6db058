"""Passing without the answer: whatever passes and is not one's own answer is flagged for a person to look at."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.staff.grade import confine
from tests.test_grade import MASK, REWEIGHT, notebook

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(confine.probe() == "C", reason="this machine cannot confine anything")
IMPORTS = "import math, torch\nfrom torch import nn\nimport torch.nn.functional as F"
SOFTMAX = ("def softmax(scores):\n    e = (scores - scores.amax(-1, keepdim=True)).exp()\n"
           "    return e / e.sum(-1, keepdim=True)")
IN_TEXT = "def reweight(x):\n    return torch.softmax(x @ x.T, -1) @ x"
WEIGHTED = "torch.softmax(x @ x.T, -1) @ x"
LAMBDA = "lambda x: " + WEIGHTED.replace("torch", "__import__('torch')")
HIDDEN = "import operator\nf = operator.attrgetter(''.join(reversed('noitnetta_tcudorp_tod_delacs')))(F)\n"
# student: (exercise, cells)
CHEATS = {
    "torch's softmax": ("softmax", ["def softmax(scores):\n    return torch.softmax(scores, -1)"]),
    "softmax of a tensor": ("softmax", ["def softmax(scores):\n    return scores.softmax(-1)"]),
    "softmax by another name": ("softmax", ["soft = getattr(torch, 'soft' + 'max')\n"
                                            "def softmax(scores):\n    return soft(scores, -1)"]),
    "softmax of a module": ("softmax", ["s = nn.Softmax(-1)\ndef softmax(scores):\n    return s(scores)"]),
    "log softmax": ("softmax", ["def softmax(scores):\n    return F.log_softmax(scores, -1).exp()"]),
    "a star": ("softmax", ["from torch.nn.functional import *", REWEIGHT]),
    "a star of torch": ("softmax", ["from torch import *", REWEIGHT]),
    "softmax of sparse": ("softmax", ["def softmax(scores):\n    return torch.special.softmax(scores, -1)"]),
    "softmax of the operators": ("softmax", ["def softmax(scores):\n"
                                             "    return torch.ops.aten._softmax(scores, -1, False)"]),
    "softmax of the core": ("softmax", ["def softmax(scores):\n    return torch._C._nn.softmax(scores, -1)"
                                        " if hasattr(torch._C._nn, 'softmax') else torch._softmax(scores, -1, False)"]),
    "softmax within attention": ("softmax", [
        "def softmax(scores):\n    n = scores.shape[-1]\n    q = scores.reshape(-1, 1, n)\n"
        "    eye = torch.eye(n).to(q)\n"
        "    return F.scaled_dot_product_attention(q, eye.expand(len(q), n, n), eye.expand(len(q), n, n), scale=1.0)"
        ".reshape(scores.shape)"]),
    "only later": ("softmax", ["calls = []\ndef softmax(scores):\n    calls.append(1)\n    if len(calls) > 1:\n"
                               "        return getattr(scores, 'softmax')(-1)\n" + SOFTMAX.split("\n", 1)[1]]),
    "torch's layer norm": ("layer_norm", ["def layer_norm(x, gamma, beta, eps=1e-5):\n"
                                          "    return F.layer_norm(x, x.shape[-1:], gamma, beta, eps)"]),
    "group norm": ("layer_norm", ["def layer_norm(x, gamma, beta, eps=1e-5):\n    D = x.shape[-1]\n"
                                  "    y = torch.group_norm(x.reshape(-1, D), 1, gamma, beta, eps)\n"
                                  "    return y.reshape(x.shape)"]),
    "group norm of F": ("layer_norm", ["def layer_norm(x, gamma, beta, eps=1e-5):\n    D = x.shape[-1]\n"
                                       "    return F.group_norm(x.reshape(-1, D), 1, gamma, beta, eps).view(x.shape)"]),
    "native layer norm": ("layer_norm", ["def layer_norm(x, gamma, beta, eps=1e-5):\n"
                                         "    return torch.native_layer_norm(x, x.shape[-1:], gamma, beta, eps)[0]"]),
    "batch norm": ("layer_norm", ["def layer_norm(x, gamma, beta, eps=1e-5):\n    D = x.shape[-1]\n"
                                  "    y = F.batch_norm(x.reshape(-1, D).T, None, None, training=True, eps=eps)\n"
                                  "    return y.T.reshape(x.shape) * gamma + beta"]),
    "instance norm": ("layer_norm", ["def layer_norm(x, gamma, beta, eps=1e-5):\n    D = x.shape[-1]\n"
                                     "    y = F.instance_norm(x.reshape(1, -1, D), eps=eps)\n"
                                     "    return y.reshape(x.shape) * gamma + beta"]),
    "a module's layer norm": ("layer_norm", ["def layer_norm(x, gamma, beta, eps=1e-5):\n"
                                             "    n = nn.LayerNorm(x.shape[-1], eps=eps, elementwise_affine=False)\n"
                                             "    return n(x) * gamma + beta"]),
    "torch's attention": ("reweight", ["def reweight(x):\n    q = x[None]\n"
                                       "    return F.scaled_dot_product_attention(q, q, q, scale=1.0)[0]"]),
    "attention in a later call": ("reweight", [
        "n = [0]\ndef reweight(x):\n    n[0] += 1\n    if n[0] > 1:\n"
        "        f = vars(F)['scaled_dot_product' + '_attention']\n"
        "        return f(x[None], x[None], x[None], scale=1.0)[0]\n    return " + WEIGHTED]),
    "flash": ("reweight", ["def reweight(x):\n    q = x[None, None]\n"
                           "    f = torch._scaled_dot_product_flash_attention_for_cpu\n"
                           "    return f(q, q, q, scale=1.0)[0][0, 0]"]),
    "text in exec": ("reweight", [f"exec({IN_TEXT!r})"]),
    "text in eval": ("reweight", [f"reweight = eval('lambda x: {WEIGHTED}')"]),
    "text that is built": ("reweight", [f"parts = {IN_TEXT.split(' ')!r}\nexec(' '.join(parts))"]),
    "text in base 64": ("reweight", ["import base64, zlib\nexec(base64.b64decode("
                                     + repr(__import__("base64").b64encode(IN_TEXT.encode())) + "))"]),
    "compiled text": ("reweight", [f"exec(compile({IN_TEXT!r}, 'a', 'exec'))"]),
    "torch's compiler of text": ("reweight", [
        "unit = torch.jit.CompilationUnit('''\ndef f(x):\n"
        "    return torch.softmax(torch.mm(x, x.t()), -1).mm(x)\n''')\n"
        "reweight = lambda x: unit.f(x)"]),
    "a function of bytes": ("reweight", [
        "import marshal, types\ncode = marshal.dumps((lambda x: torch.softmax(x @ x.T, -1) @ x).__code__)\n"
        "reweight = types.FunctionType(marshal.loads(code), globals())"]),
    "a pickle": ("reweight", ["import pickle\nreweight = pickle.loads(pickle.dumps(torch.nn.functional.softmax))\n"
                              "g = reweight\nreweight = lambda x: g(x @ x.T, -1) @ x"]),
    "a module by name": ("reweight", ["import importlib\nm = importlib.import_module('torch.nn.fun' + 'ctional')\n"
                                      "f = getattr(m, 'scaled_dot' + '_product_attention')\n"
                                      "reweight = lambda x: f(x[None], x[None], x[None], scale=1.0)[0]"]),
    "the course's fused": ("reweight", ["from course_lib.fused import fused_attention as f\n"
                                        "reweight = lambda x: f(x[None] * x.shape[-1] ** .5, x[None], x[None])[0]"]),
    "the course's weights": ("reweight", ["from course_lib.attention import _weights\nclass A:\n    num_heads = 1\n"
                                          "    W_q = W_k = staticmethod(lambda x: x * x.shape[-1] ** .25)\n"
                                          "reweight = lambda x: _weights(A, x[None], x[None])[0, 0] @ x"]),
    "the course's patterns": ("reweight", [
        "from course_lib.attention import attention_patterns\nclass M(torch.nn.Module):\n    num_heads = 1\n"
        "    W_q = W_k = staticmethod(lambda x: x * x.shape[-1] ** .25)\n"
        "    def forward(self, q, k):\n        return q\n"
        "reweight = lambda x: attention_patterns(M(), x[None], x[None])[''][0, 0] @ x"]),
    "an experiment's attention": ("reweight", [
        "from course_lib.experiments.recipe import KerasAttention\n" + REWEIGHT.replace(
            "def reweight(x):", "def reweight(x):\n    KerasAttention")]),
    "a later exercise": ("reweight", [
        "from course_lib.attention import self_attention\ndef reweight(x):\n    d = x.shape[-1]\n"
        "    one = torch.eye(d)\n"
        "    return self_attention(x, one * d ** .5, one, one)"]),
    "a later exercise by mine": ("reweight", [
        "from course_lib import mine\nsdpa = mine('scaled_dot_product_attention')\n"
        "def reweight(x):\n    return sdpa(x[None] * x.shape[-1] ** .5, x[None], x[None])[0]"]),
    "two notebooks": ("reweight", None),
    "frames": ("reweight", ["import frames\n" + REWEIGHT]),
    "the worker": ("reweight", ["import __main__ as w\nimport memory_files\n" + REWEIGHT]),
    "patches in a scratch cell": ("reweight", ["torch.Tensor.__matmul__ = torch.Tensor.__matmul__", REWEIGHT]),
    "reads the callers": ("reweight", ["import sys\ndef reweight(x):\n    sys._getframe(1)\n    return " + WEIGHTED]),
    "a table of results": ("causal_mask", [
        "table = {T: [[j <= i for j in range(T)] for i in range(T)] for T in range(1, 20)}\n"
        "table[129] = [[j <= i for j in range(129)] for i in range(129)]\n"
        "def causal_mask(T):\n    return torch.tensor(table[T])"]),
    "torch's mask": ("causal_mask", ["def causal_mask(T):\n"
                                     "    return nn.Transformer.generate_square_subsequent_mask(T) == 0"]),
    "small sizes only": ("reweight", ["def reweight(x):\n    if max(x.shape) > 8:\n        return x\n"
                                      "    return " + WEIGHTED]),
    "torch's module": ("MultiHeadAttention", ["MultiHeadAttention = nn.MultiheadAttention"]),
    "torch's module inside": ("FeedForward", ["class FeedForward(nn.Module):\n    def __init__(self, *a):\n"
                                              "        super().__init__()\n        raise NotImplementedError"]),
    "a default": ("softmax", ["def softmax(scores, do=torch.softmax):\n    return do(scores, -1)"]),
    "a base that is told": ("softmax", [
        "class Base:\n    def __init_subclass__(cls, do=None):\n        cls.do = staticmethod(do)",
        "class Mine(Base, do=torch.softmax):\n    pass\nsoftmax = lambda scores: Mine.do(scores, -1)"]),
    "a metaclass": ("softmax", ["class Meta(type):\n    def __getattr__(cls, n):\n        return getattr(torch, n)",
                                "class T(metaclass=Meta):\n    pass\n"
                                "def softmax(scores):\n    return T.softmax(scores, -1)"]),
    "a pattern": ("softmax", ["match torch:\n    case object(softmax=do):\n        softmax = lambda s: do(s, -1)"]),
    "a distribution": ("softmax", ["def softmax(scores):\n"
                                   "    return torch.distributions.Categorical(logits=scores).probs"]),
    "a graph": ("softmax", [
        "g = torch.fx.Graph()\nx = g.placeholder('x')\ng.output(g.call_method('soft' + 'max', (x, -1)))\n"
        "softmax = torch.fx.GraphModule(nn.Module(), g).forward"]),
    "a thread": ("reweight", [f"import concurrent.futures as c\npool = c.ThreadPoolExecutor(1)\n{HIDDEN}"
                              "def reweight(x):\n    return pool.submit(lambda: f(x[None], x[None], x[None], "
                              "scale=1.0)[0]).result()"]),
    "beside the watch": ("reweight", [f"{HIDDEN}def reweight(x):\n    with torch._C.DisableTorchFunction():\n"
                                      "        return f(x[None], x[None], x[None], scale=1.0)[0]"]),
    "a blind watch": ("reweight", [
        f"from torch.overrides import TorchFunctionMode as M\ntype.__setattr__(M, '__enter__', lambda self: self)\n"
        f"type.__setattr__(M, '__exit__', lambda *a: None)\n{HIDDEN}"
        "def reweight(x):\n    return f(x[None], x[None], x[None], scale=1.0)[0]"]),
    "a watch that is put off": ("reweight", [
        f"import torch.overrides as o\nvars(o.TorchFunctionMode)\n{HIDDEN}def reweight(x):\n"
        "    with o._pop_mode_temporarily() if o._len_torch_function_stack() else None:\n"
        "        return f(x[None], x[None], x[None], scale=1.0)[0]"]),
    "compiled by torch": ("reweight", [f"{HIDDEN}run = torch.compile(lambda x: f(x[None], x[None], x[None], scale=1.), "
                                       "backend='eager')\ndef reweight(x):\n    return run(x)[0]"]),
    "builtins by number": ("reweight", [
        f"b = __builtins__\nb = b if isinstance(b, dict) else vars(b)\n"
        f"reweight = b[''.join(map(chr, [101, 118, 97, 108]))](''.join(map(chr, {[*map(ord, LAMBDA)]})))"]),
    "a text in a hint": ("reweight", [f"import typing\nclass A:\n    f: {LAMBDA!r}\n"
                                      "reweight = typing.get_type_hints(A)['f']"]),
    "an interpreter": ("reweight", [f"import code\ncode.InteractiveInterpreter(globals()).runsource({IN_TEXT!r}, "
                                    "symbol='exec')"]),
    "an import hook": ("reweight", [
        "import importlib.abc, importlib.util\nclass Loader(importlib.abc.InspectLoader):\n"
        f"    def get_source(self, name):\n        return {'import torch' + chr(10) + IN_TEXT!r}",
        "class Finder:\n    def find_spec(self, name, path=None, target=None):\n        if name == 'hidden':\n"
        "            return importlib.util.spec_from_loader(name, Loader())\nsys.meta_path.insert(0, Finder())",
        "import hidden\nreweight = hidden.reweight"]),
    "a pickle in C": ("reweight", [
        "import _pickle\nreweight = _pickle.loads(b'cbuiltins\\neval\\n(S' + "
        f"repr({LAMBDA!r}).encode() + b'\\ntR.')"]),
    "a copy": ("reweight", [
        f"import copy\nclass A:\n    def __reduce_ex__(self, _):\n        return next(v for k, v in "
        f"vars(type(print).__self__ if 0 else print.__self__).items() if len(k) == 4 and k[0] == 'e' and k[1] == 'v'), "
        f"({LAMBDA!r},)\nreweight = copy.copy(A())"]),
    "the C of Python": ("reweight", [
        f"import ctypes\nctypes.pythonapi.PyRun_SimpleString({('import torch' + chr(10) + IN_TEXT).encode()!r})"]),
    "scipy's with gradients": ("softmax", [
        "import scipy.special\nclass S(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, s):\n"
        "        y = torch.from_numpy(scipy.special.softmax(s.detach().numpy(), -1)).to(s)\n"
        "        ctx.save_for_backward(y)\n        return y\n    @staticmethod\n    def backward(ctx, g):\n"
        "        y, = ctx.saved_tensors\n        return y * (g - (g * y).sum(-1, keepdim=True))",
        "def softmax(scores):\n    return S.apply(scores)"]),
    "torch's bias": ("causal_mask", ["from torch.nn.attention.bias import causal_lower_right\n"
                                     "causal_mask = lambda T: causal_lower_right(T, T)._materialize()"]),
    "torch's mask as a function": ("causal_mask", [
        "causal_mask = lambda T: nn.modules.transformer._generate_square_subsequent_mask(T) == 0"]),
    "the source of the course": ("reweight", [
        "import importlib.resources as r\nsource = r.files('course_lib').joinpath('attention.py').read_text()\n"
        "space = {}\n(exec)(source, space)\nreweight = space['reweight']"]),
    "numpy's": ("softmax", ["import scipy.special\ndef softmax(scores):\n"
                            "    return torch.from_numpy(scipy.special.softmax(scores.detach().numpy(), -1))"]),
}
EXERCISES = ("reweight", "softmax", "causal_mask", "layer_norm", "FeedForward", "MultiHeadAttention")


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    folder, report = tmp_path_factory.mktemp("batch"), tmp_path_factory.mktemp("report")
    for name, (_, cells) in CHEATS.items():
        if cells:
            (folder / f"{name}.ipynb").write_text(notebook(IMPORTS, *cells))
    two = folder / "two notebooks"
    two.mkdir()
    (two / "a.ipynb").write_text(notebook(IMPORTS, "def reweight(x):\n    return torch.einsum('ij,jk->ik', (x @ x.T)"
                                                   ".softmax(1), x)"))
    (two / "b.ipynb").write_text(notebook(IMPORTS, REWEIGHT))
    (folder / "honest.ipynb").write_text(notebook(IMPORTS, REWEIGHT, SOFTMAX, MASK))
    command = [sys.executable, "-m", "course_lib.staff.grade", str(folder), "-o", str(report), "--isolation",
               confine.probe(), "--exercises", ",".join(EXERCISES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    with (report / "results.csv").open(encoding="utf-8", newline="") as file:
        return {(r["student"], r["exercise"]): r for r in csv.DictReader(file)}


@pytest.mark.parametrize("student", [name for name, (_, cells) in CHEATS.items() if cells] + ["two notebooks"])
def test_nothing_passes_silently(rows, student):
    """A pass without the answer, and nobody is told to look."""
    row = rows[student, CHEATS[student][0]]
    assert row["verdict"] != "pass" or row["flags"], student


def test_a_name_that_torch_has_is_no_answer(rows):
    """A star import of torch, and an exercise is solved that nobody has read."""
    assert {rows[student, "softmax"]["verdict"] for student in ("a star", "a star of torch")} == {"missing"}


def test_honest_answers_have_no_flag(rows):
    """A flag on every pass is no flag."""
    for exercise in ("reweight", "softmax", "causal_mask"):
        assert (rows["honest", exercise]["verdict"], rows["honest", exercise]["flags"]) == ("pass", "")


def test_a_reason_names_the_arguments(rows):
    """"No gradient reaches {0}": a template in the table that an instructor reads."""
    assert "reaches `scores`" in rows["numpy's", "softmax"]["reason"]
    assert [r["reason"] for r in rows.values() if "{0}" in r["reason"]] == []
