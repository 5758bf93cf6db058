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
BYTES = compile(f"lambda x: {WEIGHTED}", "a", "eval").co_consts[0]
LOOK = "import pydoc\nlook = pydoc.locate\n"
S_APPLY = ("class S(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, s):\n"
           "        y = torch.tensor(soft(s.detach().tolist(), -1)).to(s)\n        ctx.save_for_backward(y)\n"
           "        return y\n    @staticmethod\n    def backward(ctx, g):\n        y, = ctx.saved_tensors\n"
           "        return y * (g - (g * y).sum(-1, keepdim=True))\nsoftmax = S.apply")
BLIND = ("import operator, contextlib\nimport course_lib.checks.engine.asking as a\n"
         "operator.setitem(vars(a), 'looking_on', contextlib.nullcontext)")
IN_LAYER_NORM = "def layer_norm(x, gamma, beta, eps=1e-5):\n    D = x.shape[-1]\n    N = x.numel() // D\n    "


def looked_up(found, before=""):
    """The cells of a softmax that is torch's own, found in this way."""
    return "softmax", [f"{before}\nf = {found}\ndef softmax(scores):\n    return f(scores, -1)"]


def run_as_text(before):
    """The cells of an answer to reweight that a text has put into `ns`."""
    return "reweight", [f"ns = {{'torch': torch}}\n{before}\ndef reweight(x):\n    return ns['f'](x)"]


STORES = f"ns[\"f\"] = lambda x: {WEIGHTED}"
# student: (exercise, cells)
CHEATS = {
    "located": looked_up("pydoc.locate('torch._safe_softmax')", "import pydoc"),
    "resolved": looked_up("pkgutil.resolve_name('torch:_safe_softmax')", "import pkgutil"),
    "a field of a format": looked_up("string.Formatter().get_field('0._safe_softmax', (torch,), {})[0]",
                                     "import string"),
    "getattr in a map": looked_up("next(map(getattr, [torch], ['_safe_softmaxx'[:-1]]))"),
    "getattr in part": looked_up("partial(getattr, torch)('_safe_' + 'softmax')", "from functools import partial"),
    "getattribute": looked_up("torch.__getattribute__('_safe_softmaxx'[:-1])"),
    "getattribute of modules": looked_up("types.ModuleType.__getattribute__(torch, '_safe_softmaxx'[:-1])",
                                         "import types"),
    "getattribute of objects": looked_up("object.__getattribute__(torch, '_safe_softmaxx'[:-1])"),
    "got from vars": looked_up("vars(torch).get('_safe_softmaxx'[:-1])"),
    "an item of a dict": looked_up("itemgetter('_safe_softmaxx'[:-1])(torch.__dict__)",
                                   "from operator import itemgetter"),
    "the items of vars": looked_up("[v for k, v in vars(torch).items() if k.startswith('_safe_sof')][0]"),
    "members": looked_up("[v for k, v in inspect.getmembers(torch) if k.startswith('_safe_sof')][0]", "import inspect"),
    "the decompositions": ("softmax", [
        "from torch._decomp import decomposition_table as t\n"
        "f = next(v for k, v in t.items() if str(k) == 'aten._soft' + 'max.default')\n"
        "def softmax(scores):\n    return f(scores, -1, False)"]),
    "a module that is handed on": looked_up(
        "R.f", "class R: pass\ndef fill(r, m):\n    r.f = m._safe_softmax\nfill(R, torch)"),
    "a descriptor": ("softmax", [
        "class D:\n    def __get__(self, o, t):\n        return next(map(getattr, [torch], [t.__name__]))\n"
        "class _safe_softmax:\n    f = D()\ndef softmax(scores):\n    return _safe_softmax.f(scores, -1)"]),
    "a module of one's own": ("reweight", [
        f"{LOOK}import types\nclass M(types.ModuleType):\n    def __getattr__(self, n):\n"
        "        return look('torch._scaled_dot_product_attention_math')\nm = M('m')\n"
        "def reweight(x):\n    return m.anything(x[None], x[None], x[None], scale=1.0)[0][0]"]),
    "an overload": ("softmax", [f"{LOOK}f = look('torch.ops.aten._softmax.default')\n"
                                "def softmax(scores):\n    return f(scores, -1, False)"]),
    "softmin": ("softmax", [f"{LOOK}f = look('torch.nn.functional.softmin')\n"
                            "def softmax(scores):\n    return f(-scores, -1)"]),
    "sparse": ("softmax", [
        "def softmax(scores):\n    m = scores.detach().max(-1, keepdim=True).values + 1\n"
        "    return torch._C._sparse._sparse_softmax((scores - m).to_sparse(), scores.dim() - 1).to_dense()"]),
    "a cross-entropy": ("softmax", [
        "def softmax(scores):\n    n = scores.shape[-1]\n    s, out = scores.reshape(-1, n), []\n"
        "    for j in range(n):\n        t = torch.full((len(s),), j, dtype=torch.long, device=s.device)\n"
        "        out.append(torch.exp(-F.cross_entropy(s, t, reduction='none')))\n"
        "    return torch.stack(out, -1).reshape(scores.shape)"]),
    "attention that is hidden": ("softmax", [
        f"{LOOK}def softmax(scores):\n    n = scores.shape[-1]\n    s = scores.reshape(-1, n)\n"
        "    z = torch.zeros(len(s), 1, 1, dtype=s.dtype, device=s.device)\n"
        "    e = torch.eye(n, dtype=s.dtype, device=s.device).expand(len(s), n, n)\n"
        "    f = look('torch.nn.functional.scaled_dot_product_attention')\n"
        "    return f(z, z.expand(-1, n, 1), e, attn_mask=s[:, None]).reshape(scores.shape)"]),
    "scipy's, hidden": ("softmax", ["import pkgutil\n"
                                    f"soft = pkgutil.resolve_name('scipy.special:softmax')\n{S_APPLY}"]),
    "batch norm's inside": ("layer_norm", [
        IN_LAYER_NORM + "y = torch._batch_norm_impl_index(x.reshape(-1, D).T, None, None, None, None, True, 0.1, eps, "
        "False)[0]\n    return y.T.reshape(x.shape) * gamma + beta"]),
    "batch norm's legit inside": ("layer_norm", [
        IN_LAYER_NORM + "y = torch._native_batch_norm_legit(x.reshape(-1, D).T, None, None, True, 0.1, eps)[0]\n"
        "    return y.T.reshape(x.shape) * gamma + beta"]),
    "group norm, hidden": ("layer_norm", [
        LOOK + IN_LAYER_NORM + "f = look('torch.native_group_norm')\n    return f(x.reshape(N, D, 1).contiguous(), "
        "gamma.contiguous(), beta.contiguous(), N, D, 1, 1, eps)[0].reshape(x.shape)"]),
    "an rms norm for a layer norm": ("layer_norm", [
        IN_LAYER_NORM + "return F.rms_norm(x - x.mean(-1, keepdim=True), x.shape[-1:], gamma, eps) + beta"]),
    "a layer norm for an rms norm": ("rms_norm", [
        "def rms_norm(x, gain, eps=1e-5):\n    D = x.shape[-1]\n"
        "    return F.layer_norm(torch.cat([x, -x], -1), (2 * D,), eps=eps)[..., :D] * gain"]),
    "a fused rms norm": ("rms_norm", ["def rms_norm(x, gain, eps=1e-5):\n"
                                      "    return torch._fused_rms_norm(x, x.shape[-1:], gain, eps)[0]"]),
    "attention for groups": ("grouped_query_attention", [
        f"{LOOK}f = look('torch._scaled_dot_product_attention_math')\n"
        "def grouped_query_attention(query, key, value):\n"
        "    return f(query, key, value, None, 0.0, True, enable_gqa=True)[0]"]),
    "a hidden mask": ("causal_mask", [
        f"{LOOK}f = look('torch.nn.Transformer.generate_square_subsequent_mask')\n"
        "def causal_mask(T):\n    return f(T) == 0"]),
    "a hidden feed-forward": ("FeedForward", [
        f"{LOOK}L = look('torch.nn.modules.transformer.TransformerEncoderLayer')\nclass FeedForward(L):\n"
        "    def __init__(self, d_model, d_ff, dropout=0.0):\n        super().__init__(d_model, 1, d_ff, dropout)\n"
        "        del self.self_attn, self.norm1, self.norm2, self.dropout1\n        self.dropout2 = nn.Identity()\n"
        "    def forward(self, x):\n        return self._ff_block(x)"]),
    "a library's": ("shift_right", [
        "import importlib as il\nf = next(map(il.import_module, ['transformers.models.bart.modeling_bart']))"
        ".shift_tokens_right\ndef shift_right(labels, bos_id):\n    return f(labels, -1, bos_id)"]),
    "a watch that is taken away": ("reweight", [BLIND, f"{HIDDEN}def reweight(x):\n"
                                                "    return f(x[None], x[None], x[None], scale=1.0)[0]"]),
    "threads of tqdm": ("reweight", [
        f"from tqdm.contrib.concurrent import thread_map\n{LOOK}f = look('torch.nn.functional.scaled_dot_product_"
        "attention')\ndef reweight(x):\n    return thread_map(lambda y: f(y, y, y, scale=1.0)[0], [x[None]])[0]"]),
    "timed": run_as_text(f"import timeit\ntimeit.timeit({STORES!r}, globals={{'ns': ns, 'torch': torch}}, number=1)"),
    "timed by torch": run_as_text("from torch.utils.benchmark import Timer\n"
                                  f"Timer({STORES!r}, globals={{'ns': ns, 'torch': torch}}).timeit(1)"),
    "run by numpy": run_as_text(f"from numpy.testing import runstring\nrunstring('f = lambda x: {WEIGHTED}', ns)"),
    "profiled": run_as_text(f"import cProfile\ncProfile.runctx('f = lambda x: {WEIGHTED}', ns, ns)"),
    "an example in a docstring": run_as_text(
        f"import doctest\nns['ns'] = ns\ndef notes():\n    '''\n    >>> ns['f'] = lambda x, torch=torch: {WEIGHTED}\n"
        "    '''\ndoctest.run_docstring_examples(notes, ns)"),
    "sympy's": ("reweight", ["import sympy\n"
                             f"reweight = sympy.lambdify('x', {WEIGHTED!r}, modules=[{{'torch': torch}}])"]),
    "jinja's": ("reweight", ["import jinja2\nf = jinja2.Environment().compile_expression('t.softmax(t.mm(x, x.t()), -1)"
                             ".mm(x)', undefined_to_none=False)\ndef reweight(x):\n    return f(t=torch, x=x)"]),
    "a forward reference": ("reweight", ["from typing import ForwardRef\nreweight = ForwardRef("
                                         f"'lambda x: {WEIGHTED}')._evaluate(globals(), None, frozenset())"]),
    "a signature": ("reweight", [f"import inspect\ndef g(f: 'lambda x: {WEIGHTED}'): pass\n"
                                 "reweight = inspect.signature(g, eval_str=True).parameters['f'].annotation"]),
    "bytes of code": ("reweight", [
        "def reweight(x):\n    return x\nold = getattr(reweight, '__co' + 'de__')\nsetattr(reweight, '__co' + 'de__', "
        f"old.replace(co_code=bytes.fromhex({BYTES.co_code.hex()!r}), co_names={BYTES.co_names!r}, "
        f"co_consts={BYTES.co_consts!r}, co_stacksize=8))"]),

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
    "in a branch": ("reweight", [f"{HIDDEN}def reweight(x):\n    return torch.cond(x.sum() > 0, *[lambda x: "
                                 "f(x[None], x[None], x[None], scale=1.)[0]] * 2, (x,))"]),
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
    "an operator of one's own": ("softmax", [
        "lib = getattr(torch, 'yrarbil'[::-1]).Library('mine', 'FRAGMENT')\nlib.define('f(Tensor s) -> Tensor')\n"
        "lib.impl('f', lambda s: getattr(torch, ''.join(map(chr, [115, 111, 102, 116, 109, 97, 120])))(s, -1), "
        "'CompositeImplicitAutograd')\ndef softmax(scores):\n    return torch.ops.mine.f(scores)"]),
    "an operator of one's own, opaque": ("reweight", [
        f"{HIDDEN}lib = vars(torch)['library'].Library('mine', 'DEF')\nlib.define('f(Tensor s) -> Tensor')\n"
        "lib.impl('f', lambda x: f(x[None], x[None], x[None], scale=1.0)[0], 'CompositeExplicitAutograd')\n"
        "class S(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        ctx.save_for_backward(x)\n        return torch.ops.mine.f(x)\n    @staticmethod\n"
        "    def backward(ctx, g):\n        x, = ctx.saved_tensors\n"
        "        with torch.enable_grad():\n            x = x.detach().requires_grad_()\n"
        f"            y = {WEIGHTED}\n        y.backward(g)\n        return x.grad\nreweight = S.apply"]),
    "a gradient": ("softmax", [
        "def softmax(scores):\n    with torch.enable_grad():\n"
        "        s = scores if scores.requires_grad else scores.detach().requires_grad_()\n"
        "        return torch.autograd.grad(torch.logsumexp(s, -1).sum(), s, create_graph=True)[0]"]),
    "a gradient of a function": ("softmax", ["softmax = torch.func.grad(lambda s: torch.logsumexp(s, -1).sum())"]),
    "numpy's": ("softmax", ["import scipy.special\ndef softmax(scores):\n"
                            "    return torch.from_numpy(scipy.special.softmax(scores.detach().numpy(), -1))"]),
}
EXERCISES = ("reweight", "softmax", "causal_mask", "layer_norm", "FeedForward", "MultiHeadAttention", "rms_norm",
             "grouped_query_attention", "shift_right")


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
    (folder / "branches.ipynb").write_text(notebook(IMPORTS, "def reweight(x):\n    return torch.cond(x.sum() > 0, "
                                                    "*[lambda w: torch.softmax(w, dim) for dim in (1, -1)], "
                                                    "(x @ x.T,)) @ x"))
    command = [sys.executable, "-m", "course_lib.staff.grade", str(folder), "-o", str(report), "--isolation",
               confine.probe(), "--exercises", ",".join(EXERCISES), "--call-seconds", "40"]  # torch compiles
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


def test_a_right_answer_in_branches_is_handed_to_a_person(rows):
    """Torch's compiler fails on the gradients of torch.cond under a watch, in words that are nobody's mistake."""
    row = rows["branches", "reweight"]
    assert row["verdict"] == "error" and "cond of torch's cannot be followed here: a person" in row["reason"]
    assert "branches run unseen" in row["flags"]


def test_a_reason_names_the_arguments(rows):
    """"No gradient reaches {0}": a template in the table that an instructor reads."""
    assert "reaches `scores`" in rows["numpy's", "softmax"]["reason"]
    assert [r["reason"] for r in rows.values() if "{0}" in r["reason"]] == []
