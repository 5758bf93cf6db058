"""What a person should look at is flagged by its name, however it is hidden, and honest work is not flagged."""

import ast
import inspect
import json
import sys
import time

import pytest

from course_lib.checks import EXERCISES
from course_lib.staff.grade.bindings import GIVEN, imported
from course_lib.staff.grade.flags import _Resolver, scan
from course_lib.staff.lesson_text import LESSONS, SOLUTIONS
from course_lib.staff.notebooks import without_magics
from tests.right_answers import RIGHT_ANSWERS

SDPA = "scaled_dot_product_attention"
USES = f"uses F.{SDPA}"


def flags(*cells, exercise=SDPA):
    return scan(cells, [exercise])[exercise]


def answer(expression):
    """A cell that answers by an expression."""
    return f"def {SDPA}(query, key, value, mask=None):\n    return {expression}(query, key, value, mask)"


@pytest.mark.parametrize("cells", [
    [answer(f"F.{SDPA}")],
    [answer(f"torch.nn.functional.{SDPA}")],
    ["import torch.nn.functional as G", answer(f"G.{SDPA}")],
    ["from torch.nn import functional", answer(f"functional.{SDPA}")],
    [f"from torch.nn.functional import {SDPA} as fast", answer("fast")],
    [answer(f"getattr(F, '{SDPA}')")],
    [answer("getattr(F, 'scaled_dot' + '_product_attention')")],
    [answer("getattr(F, f'scaled_dot_product_{\"attention\"}')")],
    [answer("getattr(F, '_'.join(['scaled', 'dot', 'product', 'attention']))")],
    [answer(f"getattr(F, '{SDPA[::-1]}'[::-1])")],
    [answer(f"vars(F)['{SDPA}']")],
    [answer(f"F.__dict__['{SDPA}']")],
    [answer(f"__import__('torch').nn.functional.{SDPA}")],
    ["import importlib\nG = importlib.import_module('torch.nn.functional')", answer(f"G.{SDPA}")],
    [f"g = F.{SDPA}", answer("g")],
    [f"G = F\nh = G.{SDPA}", "g, k = h, 1", answer("g")],
    [f"def helper(*args):\n    return F.{SDPA}(*args)", "def another(*a):\n    return helper(*a)", answer("another")],
    [f"class Ops:\n    do = staticmethod(F.{SDPA})", answer("Ops.do")],
    [f"{SDPA} = F.{SDPA}"],
    [f"{SDPA} = lambda q, k, v, m=None: F.{SDPA}(q, k, v, m)"],
    [f"if True:\n    def {SDPA}(*a):\n        return F.{SDPA}(*a)"],
    [f"def set_up():\n    global {SDPA}\n    {SDPA} = F.{SDPA}\nset_up()"],
    [f"globals()['{SDPA}'] = F.{SDPA}"],
    [f"ops = []\nops.append(F.{SDPA})", answer("ops[0]")],
    [f"class A: pass\nA.do = F.{SDPA}", answer("A.do")],
    [f"class A: pass\nsetattr(A, 'do', F.{SDPA})", answer("A.do")],
    [f"def {SDPA}(q, k, v, mask=None):\n    import torch.nn.functional as G\n    H = G\n    return H.{SDPA}(q, k, v)"],
    [f"def {SDPA}(q, k, v, mask=None, do=F.{SDPA}):\n    return do(q, k, v)"],
    [f"def other(q, k, v, m):\n    return F.{SDPA}(q, k, v, m)", f"check(other, '{SDPA}')"],
    [f"%matplotlib inline\n{answer('F.' + SDPA)}"],
    ["this is = no python", answer(f"F.{SDPA}")],
], ids=lambda cells: cells[-1].replace("\n", " ")[-60:])
def test_the_built_in_is_seen_under_any_name(cells):
    """Another import, an alias or a helper hides the call."""
    assert USES in flags(*cells)


@pytest.mark.parametrize("cells, words", [
    ([answer("torch._C._nn." + SDPA)], f"uses torch._C._nn.{SDPA}"),
    ([answer("torch.ops.aten._scaled_dot_product_flash_attention.default")],
     "uses torch.ops.aten._scaled_dot_product_flash_attention"),
    ([answer("nn.MultiheadAttention(4, 1)")], "uses nn.MultiheadAttention"),
    ([answer("nn.TransformerEncoderLayer(4, 1)")], "uses nn.TransformerEncoderLayer"),
    ([answer("F.multi_head_attention_forward")], "uses F.multi_head_attention_forward"),
    ([f"import operator\n{answer(f'operator.attrgetter({SDPA!r}[:])(F)')}"], "looks up a computed name by operator"),
    ([f"from course_lib.attention import {SDPA}"], f"imports the course's own {SDPA}"),
    ([f"from course_lib.attention import {SDPA} as s", answer("s")], f"imports the course's own {SDPA}"),
    (["import course_lib.attention as a", answer(f"a.{SDPA}")], f"imports the course's own {SDPA}"),
    ([answer(f"attention.{SDPA}")], f"imports the course's own {SDPA}"),
    (["import course_lib", answer(f"course_lib.attention.{SDPA}")], f"imports the course's own {SDPA}"),
    ([answer(f"__import__('course_lib.attention').attention.{SDPA}")], f"imports the course's own {SDPA}"),
    (["import inspect", answer("inspect.getsource")], "copies code through inspect.getsource"),
    ([f"from course_lib.checks import EXERCISES\n{answer('EXERCISES[0].verified')}"], "reads .verified"),
    ([f"from course_lib.checks import EXERCISES\n{answer('EXERCISES[0]')}"], "reads course_lib.checks.EXERCISES"),
    ([answer("eval('F.' + name)")], "runs a text as code (eval)"),
    ([answer("exec")], "runs a text as code (exec)"),
    (["import builtins", answer("builtins.exec")], "runs a text as code (exec)"),
    ([answer("getattr(F, name)")], "looks up a computed name in torch.nn.functional"),
    (["import ctypes", answer("ctypes.CDLL")], "uses ctypes"),
    (["import gc", answer("gc.get_objects")], "uses gc.get_objects"),
    (["import sys", answer("sys._getframe")], "uses sys._getframe"),
    (["import os", answer("os.system")], "uses os"),
    ([answer("open")], "opens files"),
    ([answer("object.__subclasses__")], "reads .__subclasses__"),
    ([answer("(lambda *a: 0).__globals__")], "reads .__globals__"),
    (["class T(torch.Tensor):\n    def __eq__(self, o):\n        return True", answer("T")], "defines __eq__"),
    (["class T(torch.Tensor): pass", answer("T")], "makes a kind of torch.Tensor"),
    (["torch.Tensor.__eq__ = lambda a, b: True", answer("f")], "replaces torch.Tensor.__eq__"),
    (["torch.allclose = lambda *a, **k: True", answer("f")], "replaces torch.allclose"),
    (["def g():\n    setattr(torch, 'allclose', 1)\ng()", answer("f")], "replaces torch.allclose"),
    (["import transformers", answer("transformers.pipeline")], "uses transformers"),
    ([f"name = '{SDPA}'\n{answer('getattr(F, name)')}"], USES),
    ([f"name = '{SDPA[:9]}'\nname += '{SDPA[9:]}'\n{answer('getattr(F, name)')}"],
     "looks up a computed name in torch.nn.functional"),
    ([f"def g(name='{SDPA[:9]}'):\n    name = name + '{SDPA[9:]}'\n    return getattr(F, name)", answer("g()")],
     "looks up a computed name in torch.nn.functional"),
    ([answer("vars(F).get(name)")], "looks up a computed name in torch.nn.functional"),
    ([answer("[v for k, v in vars(F).items() if len(k) == 28][0]")], "looks up a computed name in torch.nn.functional"),
    ([answer("getattr(F, dir(F)[7])")], "looks up a computed name in torch.nn.functional"),
    ([answer("next(map(getattr, [F], [name]))")], "looks up a computed name by getattr"),
    (["from functools import partial\nget = partial(getattr, F)", answer("get(name)")],
     "looks up a computed name by getattr"),
    (["import pydoc\nf = pydoc.locate(name)", answer("f")], "looks up a computed name by pydoc.locate"),
    (["import os", answer("getattr(os, name)")], "uses os"),
    (["from tqdm.contrib.concurrent import thread_map", answer("f")],
     "uses threads (tqdm.contrib.concurrent.thread_map)"),
    (["import course_lib.checks.engine.asking as a", answer("f")],
     "imports course_lib.checks.engine.asking, which belongs to the grader"),
    (["import operator", "operator.setitem(vars(torch), 'softmax', 1)", answer("f")], "replaces torch.something"),
    (["list(map(setattr, [torch], ['softmax'], [1]))", answer("f")], "replaces something by setattr"),
    (["f.__code__ = g.__code__", answer("f")], "replaces .__code__"),
    (["import timeit\ntimeit.timeit('ns[0] = 1', globals=globals())", answer("f")],
     "runs a text as code (timeit.timeit)"),
    (["import timeit\ntimeit.timeit('a' + b, globals=globals())", answer("f")], "runs a text as code (timeit.timeit)"),
    (["f = eval(text)", answer("f")], "runs a text as code (eval)"),
    (["torch.Tensor.softmax = 1", answer("f")], "replaces torch.Tensor.softmax"),
    (["import sys\nsys.meta_path = []", answer("f")], "replaces sys.meta_path"),
    (["class T(Base()):\n    def __eq__(self, o):\n        return True", answer("T")], "defines __eq__"),
])
def test_every_other_way_round_the_exercise_is_named(cells, words):
    """A flag without a reason, or none at all."""
    found = flags(*cells)
    assert words in found or words is None and found == (), found


def test_what_is_imported_by_a_star_is_seen():
    """The name of the built-in stands for itself, and no import says so."""
    cell = f"from torch.nn.functional import *\ndef self_attention(x):\n    return {SDPA}(x, x, x)"
    assert flags(cell, exercise="self_attention") == (USES,)
    star = "from course_lib.attention import *\ny = self_attention"
    assert flags(star, answer("y")) == ()
    assert flags(star, "check(y, 'self_attention')", exercise="self_attention") == (
        "imports the course's own self_attention",)


def test_a_name_in_a_text_is_seen():
    """operator.attrgetter, or a table of names, calls the built-in, and its name is nowhere in the code."""
    cell = f"import operator\ndef self_attention(x):\n    return operator.attrgetter('{SDPA}')(F)(x, x, x)"
    assert flags(cell, exercise="self_attention") == (f"names {SDPA} in a text",)


@pytest.mark.parametrize("cells", [
    ["def scaled_dot_product_attention(q, k, v, mask=None):\n"
     "    '''As F.scaled_dot_product_attention.'''\n    return torch.softmax(q @ k.mT, -1) @ v"],
    [f"out = F.{SDPA}(q, k, v)", "import os\nos.environ['A'] = '1'",
     f"def {SDPA}(q, k, v, mask=None):\n    out = q @ k.mT\n    return out.softmax(-1) @ v",
     f"assert torch.allclose({SDPA}(q, k, v), F.{SDPA}(q, k, v))"],
    [f"torch.testing.assert_close(F.{SDPA}(q, q, q), q)", answer("torch.add")],
    ["torch.backends.cuda.matmul.allow_tf32 = True\ntorch.manual_seed(0)\nmodel.eval()", answer("torch.compile(f)")],
    [f"from course_lib.attention import self_attention\n{answer('self_attention')}"],
    ["import re", answer("re.compile('x').match")],
    ["result = check(causal_mask)\nhide = result.verified", f"see = check(padding_mask).verified\n{answer('hide')}",
     f"{SDPA}.x = see"],
    [answer("type(query).__name__.join(query.__class__.__name__)")],
    ["import sys, argparse\nsys.argv = ['']\nsys.tracebacklimit = 0\nsys.excepthook = print\nsys.displayhook = print",
     answer("f")],
    ["np.bool = bool\nnp.int = int\nnp.float = float", answer("f")],
    ["torch.Tensor.__repr__ = lambda self, **k: f'{tuple(self.shape)}'", answer("f")],
    ["import torch._dynamo\ntorch._dynamo.config.suppress_errors = True\ntorch._dynamo.config.cache_size_limit = 64",
     answer("f")],
    ["import builtins\nfrom functools import partial\nbuiltins.print = partial(print, flush=True)", answer("f")],
    ["nn.Module.num_params = lambda self: 1\ntorch.Tensor.info = property(lambda t: t.shape)", answer("f")],
    ["torch.classes.__path__ = []", answer("f")],
    ["n = eval(input() or '3')\nm = eval('2 * (3 + 1)')", answer("f")],
    [answer("getattr(F, act)").replace("mask=None", "mask=None, act='relu'")],
    ["ACT = 'relu'", answer("getattr(F, ACT)")],
    ["class Case:\n    def __eq__(self, other):\n        return self.a == other.a", answer("Case")],
    ["import os\nROOT = os.path.dirname(os.getcwd())\nDEBUG = os.getenv('DEBUG', '0') == '1'",
     answer("f(ROOT, DEBUG)")],
    ["f = torch.jit.script(g)", answer("f")],
    ["from torch import jit", f"@jit.script\n{answer('f')}"],
    ["import timeit\ntimeit.timeit('f(x)', globals=globals(), number=9)\ntimeit.timeit(lambda: f(x), number=9)",
     answer("f")],
    ["import doctest\ndoctest.testmod()", answer("f")],
    ["from code import soft", answer("soft")],
    ["from course_lib.checks import check, mine, suspects", answer("f")],
    ["DATA = '" + "0123456789" * 60_000 + "'", answer("f")],
], ids=lambda cells: cells[0].replace("\n", " ")[:60])
def test_honest_work_is_not_flagged(cells):
    """Comparing with the built-in in another cell, or a variable of the same name, makes a student a suspect."""
    assert flags(*cells) == ()


def test_what_an_exercise_is_meant_to_use_is_not_flagged():
    """From lesson 06 on the lessons let torch compute attention inside the heads; a norm gives away only itself."""
    heads = "class {0}(nn.Module):\n    def forward(self, x):\n        return F.scaled_dot_product_attention(x, x, x)"
    for name in ("MultiHeadAttention", "EncoderLayer"):
        assert flags(heads.format(name), exercise=name) == ()
    norm = "def {0}(x):\n    return F.layer_norm(x, (4,)) + F.rms_norm(x, (4,)) + nn.LayerNorm(4)(x)"
    every = ("uses F.layer_norm", "uses F.rms_norm", "uses nn.LayerNorm")  # each norm can stand for another
    assert flags(norm.format("layer_norm"), exercise="layer_norm") == every
    assert flags(norm.format("rms_norm"), exercise="rms_norm") == every
    assert flags(norm.format("FeedForward"), exercise="FeedForward") == ()
    judge = "def is_version_2(f):\n    return torch.allclose(f(q, x), F.scaled_dot_product_attention(q, x, x))"
    assert flags(judge, exercise="is_version_2") == ()


@pytest.mark.parametrize("expression, words", [
    ("torch.softmax(scores, -1)", "uses torch.softmax"), ("F.softmax(scores, dim=-1)", "uses F.softmax"),
    ("torch.log_softmax(scores, -1).exp()", "uses torch.log_softmax"), ("nn.Softmax(-1)(scores)", "uses nn.Softmax"),
    ("F.log_softmax(scores, -1).exp()", "uses F.log_softmax"), ("F.softmin(-scores, -1)", "uses F.softmin"),
    ("torch.special.softmax(scores, -1)", "uses torch.special.softmax"), ("scores.softmax(-1)", "uses .softmax"),
    ("(scores - scores.max()).log_softmax(-1).exp()", "uses .log_softmax"),
    ("torch.Tensor.softmax(scores, -1)", "uses torch.Tensor.softmax"),
    ("torch._C._sparse._sparse_softmax(scores.to_sparse(), 1).to_dense()", "uses torch._C._sparse._sparse_softmax"),
    ("torch.exp(-F.cross_entropy(scores, t))", "uses F.cross_entropy"),
    ("getattr(F, 'softmax')(scores, -1)", "uses F.softmax")])
def test_softmax_is_to_be_made_of_exponentials(expression, words):
    """The call that the exercise takes apart, as a function, a module or a method, passes for an answer to it."""
    cell = f"def softmax(scores):\n    return {expression}"
    assert flags(cell, exercise="softmax") == (words,)
    assert flags(cell.replace("softmax(scores):", "dot_product_attention(scores):"), "dot_product_attention(x)",
                 exercise="dot_product_attention") == ()


def test_a_softmax_of_one_s_own_is_not_flagged():
    """A name, a comparison in another cell, or a helper of that name."""
    own = "def softmax(scores):\n    e = (scores - scores.amax(-1, True)).exp()\n    return e / e.sum(-1, True)"
    compared = "assert torch.allclose(softmax(x), torch.softmax(x, -1)) and torch.allclose(softmax(x), x.softmax(-1))"
    assert flags(own, compared, "check(softmax)", exercise="softmax") == ()
    assert flags(own, "weights = softmax\ncheck(weights, 'softmax')", exercise="softmax") == ()


def test_each_exercise_answers_for_its_own_code():
    """One shortcut makes every answer of the student a suspect."""
    found = scan([answer(f"F.{SDPA}"), "def causal_mask(T):\n    return torch.ones(T, T).tril().bool()"],
                 [SDPA, "causal_mask", "layer_norm"])
    assert found == {SDPA: (USES,), "causal_mask": (), "layer_norm": ()}


def expression_of(right):
    """How to write a right answer, given all of its module."""
    if right.__name__ != "<lambda>":
        return right.__qualname__.split(".")[0]
    [source] = {ast.unparse(node) for node in ast.walk(TREES[right.__module__]) if isinstance(node, ast.Lambda)
                and node.lineno == right.__code__.co_firstlineno
                and [a.arg for a in node.args.args] == list(inspect.signature(right).parameters)}
    return source


# The right answers that take the whole answer from torch.
GIVE_AWAY = {(name, "built-in") for name in (
    "soft_max_pool", "reweight", "bahdanau_context", "dot_product_attention", "scaled_dot_product_attention_single",
    "attention_query_matrix", "cross_attention", "self_attention", "MultiHeadAttention", "causal_mask", SDPA,
    "layer_norm", "EncoderLayer", "DecoderLayer", "attention_on_graph", "rms_norm", "grouped_query_attention")} | {
    (SDPA, "built-in with a head axis"), ("mean_pool", "attention with even weights"),
    ("grouped_query_attention", "built-in, repeated"), ("softmax", "built-in"), ("softmax", "built-in method"),
    ("softmax", "built-in, with logarithms"), ("attend_with_cache", "torch")}
TREES = {f"tests.right_answers.{name}": ast.parse(inspect.getsource(sys.modules[f"tests.right_answers.{name}"]))
         for name in {a.__module__.rsplit(".", 1)[1] for styles in RIGHT_ANSWERS.values() for a in styles.values()}}


def of_the_module(name):
    """The source of a module without its imports of the course: they stand for what the student wrote elsewhere."""
    return "\n".join(ast.unparse(node) for node in TREES[name].body
                     if not (isinstance(node, ast.ImportFrom) and node.module.startswith(("course_lib", "tests"))))


@pytest.mark.parametrize("lesson", sorted({name.rsplit(".", 1)[1] for name in TREES}))
def test_of_all_right_answers_only_built_ins_are_flagged(lesson):
    """A style of writing that is right and honest makes a student a suspect."""
    module = f"tests.right_answers.{lesson}"
    source = of_the_module(module)
    for name, styles in RIGHT_ANSWERS.items():
        for style, right in styles.items():
            if right.__module__ == module:
                found = flags(source, f"{name} = {expression_of(right)}", exercise=name)
                assert ((name, style) in GIVE_AWAY) == (found != ()), (name, style, found)


def test_the_courses_own_answers_are_not_flagged():
    """What the solution notebook shows would be flagged."""
    for name, exercise in EXERCISES.items():
        source = inspect.getsource(sys.modules[exercise.verified.__module__])
        source = source.replace("from course_lib.", "from another.")
        assert flags(source, exercise=name) == (), name


def test_of_the_solution_notebooks_only_imports_are_flagged():
    """What a lesson does with a checked answer makes everybody who changes one of its cells a suspect."""
    for path in SOLUTIONS.glob("*.ipynb"):
        cells = ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
                 if cell["cell_type"] == "code"]
        words = {word for found in scan(cells, tuple(EXERCISES)).values() for word in found}
        assert all(word.startswith("imports the course's own") for word in words), (path.stem, words)


def test_what_the_lessons_import_is_known():
    """A lesson imports a module of the course under a name that the scan takes for nothing."""
    missing = set()
    for path in LESSONS.glob("*.ipynb"):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code" and "import" in source and not source.startswith("%"):
                for node in ast.walk(ast.parse(without_magics(source))):
                    if isinstance(node, ast.ImportFrom | ast.Import):
                        missing |= {(name, where) for name, where in imported(node) if GIVEN.get(name) != where
                                    and (where.startswith("torch.nn") and "." not in where[9:]
                                         or where.rsplit(".", 1)[-1] in EXERCISES and name not in EXERCISES)}
    assert missing == set()


@pytest.mark.parametrize("cell", [
    "x = " + "-" * 50_000 + "1", "x = " + "(" * 5_000 + ")" * 5_000, "x = " + "+".join(20_000 * ["1"]),
    "x = a" + ".b" * 20_000, "x = a" + "()" * 20_000, "x = " + "[" * 150 + "]" * 150, "\0", "\ud800", "def f(",
    "\n".join(["a0 = F"] + [f"a{i} = a{i - 1}.b if 1 else a{i - 1}.c" for i in range(1, 200)]),
    "def f():\n    a = F\n" + "    a = a.b if 1 else a.c\n" * 200,
    "\n".join(f"a{i} = a{i + 1}" for i in range(3_000)), "a = b\nb = a",
    "if 1:\n" + "".join(" " * i + "if 1:\n" for i in range(1, 95)) + " " * 95 + "pass",
    "x = 1\n" * 60_000], ids=lambda cell: cell[:25])
def test_code_that_is_made_to_confuse_is_passed_over_quickly(cell):
    """A traceback ends the run, or one cell takes minutes."""
    began = time.process_time()
    found = flags(cell, f"q = a0\nr = f\n{answer(f'F.{SDPA}')}\n{SDPA}.x = (x, a199, f, a)")
    assert USES in found or any("too deeply" in word for word in found)
    assert time.process_time() - began < 10


def test_of_endless_code_the_beginning_is_looked_at():
    """A submission of a hundred megabytes of code takes an hour, or passes without a word."""
    began = time.process_time()
    endless = 1000 * ["#" * 100_000]
    too_long = "is too long to be looked through to its end"
    assert flags(answer(f"F.{SDPA}"), *endless) == (USES, too_long)
    assert flags(*endless, answer(f"F.{SDPA}") + "#" * 100_000) == (too_long,)
    assert time.process_time() - began < 10


@pytest.mark.parametrize("cell", [
    "{name} = other", "{name} = {name}", "{name} = a{i}.b", "{name} = {name}(1).x", "x{i} = x{next}", "y = b[{name}]",
    "a = A()\nx = a.softmax", "class A:\n    pass\na = A()\nx = a.softmax", "r = check(x, '')\nr.verified"])
def test_twice_as_many_cells_are_looked_through_in_twice_the_steps(cell, monkeypatch):
    """Thousands of cells that bind one name take a second each."""
    def steps(n):
        counted = [0]

        def count(path, *args):
            counted[0] += 1
            return original(path, *args)

        monkeypatch.setattr(_Resolver, "_paths", count)
        scan([cell.format(name="softmax", i=i, next=(3 * i + 1) % n) for i in range(n)], ["softmax"])
        return counted[0]

    original = _Resolver._paths
    assert steps(200) < 2.5 * steps(100)


def test_names_in_a_circle_stand_for_what_any_of_them_does():
    """Whichever was met first knew less than the others, and a second answer was told something else than the first."""
    circle = ["a = b", "b = c", "c = a", f"a = F.{SDPA}"]
    for name in "abc":
        assert flags(*circle, answer(name)) == (USES,)
        assert flags(f"q = a\nt = c\n{name} = q", *circle, answer("b")) == (USES,)


def test_what_takes_too_long_is_said_to_be_too_long():
    """Nobody waits for minutes until the first cell is run; and nothing of it is passed over without a word."""
    assert scan([answer(f"F.{SDPA}")], [SDPA], until=0) == {SDPA: ("is too long to be looked through to its end",)}
