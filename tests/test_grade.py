"""Named submissions, honest and hostile, graded in one batch: every verdict is right, and nobody is lost.

`REWEIGHT` asks for trouble in one answer; the others of the same student are honest and have to count all the same.
"""

import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from course_lib.checks import EXERCISES
from course_lib.staff.grade import confine

ROOT = Path(__file__).parents[1]
TMP = tempfile.gettempdir()
NAMES = ("reweight", "causal_mask", "shift_right")
IMPORTS = "import os, sys, time, signal, itertools, ctypes, socket, threading, subprocess\nimport torch"
REWEIGHT = "def reweight(x):\n    return torch.softmax(x @ x.T, -1) @ x"
MASK = "def causal_mask(T):\n    return torch.ones(T, T).tril().bool()"
SHIFT = """def shift_right(labels, bos_id):
    return torch.cat([torch.full_like(labels[:, :1], bos_id), labels[:, :-1]], 1)"""
LEVELS = [level for level in "AB" if level >= confine.probe()]


def inside(body, after="return torch.softmax(x @ x.T, -1) @ x"):
    """An answer whose body does something first."""
    lines = "\n".join("    " + line for line in (body + "\n" + after).splitlines())
    return f"def reweight(x):\n{lines}"


def before(code):
    """A cell that tries something, and a right answer after it."""
    tried = "\n".join("    " + line for line in code.splitlines())
    return f"try:\n{tried}\nexcept Exception:\n    pass\n{REWEIGHT}"


WRONG = "return x * 0"
SECRET = str(ROOT / "course_lib" / "checks" / "lesson_02.py")
FORGED = """
import struct, json
def frame(fields):
    header = json.dumps({"say": "done", "fields": fields, "tensors": []}).encode()
    return struct.pack("<4sIQ", b"TV0\\n", len(header), 0) + header
def reweight(x):
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, FRAMES)
        except OSError:
            pass
    return x
"""
NOTHING = 'frame({"outputs": {"tuple": []}, "form": "tensor", "args_after": {"list": [None]}, "gradients": None, ' \
          '"parameters": {"tuple": []}, "printed": "", "where": "", "error": None})'

# student: (the cell or cells with `reweight`, its verdict)
CASES = {
    "honest": (REWEIGHT, "pass"),
    "honest: a lambda": ("reweight = lambda x: (x @ x.T).softmax(1) @ x", "pass"),
    "honest: handed to check": ("from course_lib import check\ndef mix(x):\n    return (x @ x.T).softmax(1) @ x\n"
                                'check(mix, "reweight")', "pass"),
    "honest: magics": ("%matplotlib inline\n!pip install torch\n" + REWEIGHT + "\nreweight?", "pass"),
    "honest: stderr": (inside("print('hm', file=sys.stderr)\nimport warnings\nwarnings.warn('hm')"), "pass"),
    "honest: prints a lot": (inside("print('word ' * 100_000)"), "pass"),
    "honest: slow": (inside("time.sleep(0.05)"), "pass"),
    "honest: a syntax error elsewhere": (["def oops(:\n    pass", REWEIGHT], "pass"),
    "honest: an error elsewhere": (["1 / 0", REWEIGHT], "pass"),
    "honest: an endless scratch cell": (["while True:\n    pass", REWEIGHT], "pass"),
    "honest: a cell that exits": (["sys.exit(3)", REWEIGHT], "pass"),
    "honest: second attempt": ([inside("", WRONG), REWEIGHT], "pass"),
    "honest: a global": (["SCALE = 1.0", "def reweight(x):\n    return (SCALE * x @ x.T).softmax(1) @ x"], "pass"),
    "honest: reseeds": (inside("torch.manual_seed(3)\ntorch.set_default_dtype(torch.float64)"), "pass"),
    "honest: atexit": ("import atexit\natexit.register(os._exit, 1)\n" + REWEIGHT, "pass"),
    "builtin": ("import torch.nn.functional as F\ndef reweight(x):\n"
                "    return F.scaled_dot_product_attention(x[None], x[None], x[None], scale=1.0)[0]", "pass"),
    "stub again": ("def reweight(x):\n    raise NotImplementedError", "missing"),
    "course's own": ("from course_lib.attention import reweight", "missing"),
    "not a function": ("reweight = 3", "fail"),
    "a class": ("class reweight:\n    pass", "fail"),
    "returns None": (inside("", "pass"), "fail"),
    "raises": (inside("raise ValueError('no')"), "error"),
    "raises with bad words": (inside("raise type('A\\nB', (Exception,), {'__str__': lambda s: 1 / 0})()"), "error"),
    "raises at length": (inside("raise ValueError('x' * 10**7)"), "error"),
    "syntax": ("def reweight(x)\n    return x", "error"),
    "cell raises": ("if True:\n    1 / 0\n    from math import pi as reweight", "error"),
    "exits in a call": (inside("exit()"), "error"),
    "endless": (inside("while True:\n    pass"), "timeout"),
    "endless, catches all": (inside("while True:\n    try:\n        while True:\n            pass\n"
                                    "    except BaseException:\n        pass"), "timeout"),
    "endless in C": (inside("sum(itertools.repeat(0))"), "timeout"),
    "asleep": (inside("time.sleep(1000)"), "timeout"),
    "deaf": (inside("signal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True:\n    pass"), "timeout"),
    "hangs the cell": ("while True:\n    try:\n        time.sleep(9)\n    except BaseException:\n        pass\n"
                       + REWEIGHT, "timeout"),
    "leaves": (inside("os._exit(0)"), "crash"),
    "leaves the cell": ("os._exit(0)\n" + REWEIGHT, "crash"),
    "aborts": (inside("os.abort()"), "crash"),
    "segfault": (inside("ctypes.string_at(0)"), "crash"),
    "kills itself": (inside("os.kill(os.getpid(), 9)"), "crash"),
    "deep": (inside("sys.setrecursionlimit(10**9)\ndef f(n):\n    return [f(n + 1)]\nf(0)"),
             ("crash", "error", "timeout")),
    "kills its parent": (before("os.kill(os.getppid(), 9)"), "pass"),
    "kills its group": (before("os.killpg(0, 9)"), "pass"),
    "kills everybody": (before("os.kill(-1, 9)"), "pass"),
    "forks": (before("while True:\n    os.fork()"), "pass"),
    "runs a program": (before(f"subprocess.run(['touch', {TMP + '/was_here'!r}])"), "pass"),
    "threads": (before("for _ in range(9999):\n    threading.Thread(target=time.sleep, args=(99,), daemon=True)"
                       ".start()"), "pass"),
    "descriptors": ("kept = []\n" + inside("while True:\n    kept.append(open('/dev/null'))"), "error"),
    "fills the disk": (before(f"for folder in ({TMP!r}, {str(ROOT)!r}, '.'):\n"
                              "    open(folder + '/was_here', 'w').write('x' * 10**8)"), "pass"),
    "fills memory": (inside("bytearray(10**12)"), "error"),
    "fills memory with a tensor": (inside("torch.zeros(10**12)"), "error"),
    "a huge result": (inside("", "return torch.zeros(1).expand(10**6, 10**6)"), "error"),
    "floods stdout": (inside("while True:\n    print('x' * 10**6)"), "timeout"),
    "floods descriptor 1": (inside("while True:\n    os.write(1, b'x' * 10**6)"), "timeout"),
    "network": (inside("socket.create_connection(('127.0.0.1', 80))"), "error"),
    "patches torch": ("for f in ('allclose', 'equal', 'isclose', 'eq'):\n    setattr(torch, f, lambda *a, **k: True)\n"
                      "torch.Tensor.__eq__ = torch.Tensor.__le__ = lambda *a: True\n" + inside("", WRONG), "fail"),
    "patches json": ("import json\njson.dumps = json.loads = lambda *a, **k: {}\n" + inside("", WRONG), "fail"),
    "patches the asking": (
        "import course_lib.checks.engine.asking as a\n"
        "a.ask = lambda c, call: a.Reply((call.args[0],), 'tensor', call.args)\n" + inside("", WRONG), "fail"),
    "agreeable tensor": (
        "class Yes(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, *a, **k):\n"
        "        return torch.tensor(True)\n"
        + inside("", "return torch.zeros(x.shape).as_subclass(Yes)"), "fail"),
    "agreeable object": ("class Yes:\n    def __getattr__(self, n):\n        return self\n    def __eq__(self, o):\n"
                         "        return True\n    __call__ = __eq__\n" + inside("", "return Yes()"), "fail"),
    "reads the checks": (inside("import course_lib.checks.lesson_02 as l\nreturn l.torch_attention(x)"), "error"),
    "reads the file of the checks": (inside(f"exec(open({SECRET!r}).read())"), "error"),
    "looks at its callers": (inside(
        "frame, seen = sys._getframe(), ''\nwhile frame:\n    seen += repr(sorted(frame.f_locals))\n"
        "    frame = frame.f_back\n"
        "if 'truth' in seen or 'exercise' in seen:\n    return torch.softmax(x @ x.T, -1) @ x", WRONG), "fail"),
    "looks through memory": (inside(
        "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ in ('Exercise', 'Failure', 'Marker'):\n"
        "        return torch.softmax(x @ x.T, -1) @ x", WRONG), "fail"),
    "forges a reply": (FORGED.replace("FRAMES", NOTHING), ("crash", "fail")),
    "forges noise": (FORGED.replace("FRAMES", "b'x' * 100"), ("crash", "fail")),
    "forges a long frame": (FORGED.replace("FRAMES", "struct.pack('<4sIQ', b'TV0\\n', 10, 2**63)"), ("crash", "fail")),
    "closes the channel": (inside("os.closerange(3, 64)"), "crash"),
    "only the public inputs": ("import course_lib\n" + inside(
        "known = {(2, 2): 1, (4, 3): 1}\nif tuple(x.shape) not in known:\n    return x"), "fail"),
    "honest: timed": ("%%capture out\n%%time\n" + REWEIGHT, "pass"),
    "honest: many shell lines": ("!ls\n" * 600 + REWEIGHT, "pass"),
    "honest: uses what signs give": ("files = !ls\n%time y = 3.0\n" + REWEIGHT + "\nprint(y, *files)", "pass"),
    "honest: awaits": ("import asyncio\nawait asyncio.sleep(0.01)\n" + REWEIGHT, "pass"),
    "honest: from Colab": ("from google.colab import drive\ndrive.mount('/content')\n" + REWEIGHT, "pass"),
    "honest: writes files": ("os.makedirs('out', exist_ok=True)\ntorch.save(torch.eye(2), 'out/a.pt')\n" + REWEIGHT,
                             "pass"),
    "honest: keeps a log": (inside(
        "from pathlib import Path\nos.makedirs('runs', exist_ok=True)\nwith open('runs/log', 'a') as log:\n"
        "    log.write(f'{x.shape}\\n')\nif 'Size' not in Path('runs/log').read_text():\n    return x",
        "return torch.softmax(x @ x.T, -1) @ x"), "pass"),
    "honest: asks somebody": ("name = input('Your name? ')\n" + REWEIGHT, "pass"),
    "honest: pickles its classes": ("import pickle, typing\nclass Net(torch.nn.Module):\n    child: 'Net'\n"
                                    "pickle.loads(pickle.dumps(Net()))\ntyping.get_type_hints(Net)\n" + REWEIGHT,
                                    "pass"),
    "honest: compiled": ("@torch.compile\n" + REWEIGHT, "pass"),
    "honest: no gradients elsewhere": ("torch.set_grad_enabled(False)\ntorch.set_default_device('meta')\n" + REWEIGHT,
                                       "pass"),
    "honest: deleted at the end": ([REWEIGHT, "del reweight"], "pass"),
    "honest: a result takes the name": ([REWEIGHT, "reweight = reweight(torch.eye(3))"], "pass"),
    "honest: arguments": ("import argparse\nargparse.ArgumentParser().parse_args()\n" + REWEIGHT, "pass"),
    "honest: trains before it defines": ("while True:\n    pass\n" + REWEIGHT, "pass"),
    "raises half a letter": (inside(r"raise ValueError('\ud800 \x00 \x1b[31m')"), "error"),
    "a cell raises half a letter": (
        r"if True:" "\n" r"    raise type('\x1b', (Exception,), {})('\ud800')" "\n    reweight = 1", "error"),
    "a type with a strange name": (r"reweight = type('=1\n\x1b[31m' + 'x' * 10**6, (), {})()", "fail"),
    "a strange tensor": (inside("", "return torch.quantize_per_tensor(x, 0.1, 0, torch.quint8)"), "fail"),
    "many dimensions": (inside("", "return x.reshape((1,) * 30 + tuple(x.shape))"), "error"),
    "takes the builtins": (["import builtins\nbuiltins.set = builtins.isinstance = None", REWEIGHT], "pass"),
    "empties the modules": (["sys.modules.clear()", REWEIGHT], "pass"),
    "breaks all imports": ("class Hook:\n    def find_spec(self, *_):\n        raise RuntimeError\n"
                           "sys.meta_path.insert(0, Hook())\n" + inside("", WRONG), ("fail", "error")),
    "breaks torch for others": ("torch.ones = torch.tril = torch.cat = torch.full_like = None\n" + inside("", WRONG),
                                "fail"),
    "says at once what it will define": (
        "import frames, gc\nfor c in gc.get_objects():\n    if isinstance(c, frames.Channel):\n"
        "        c.send('done', error=['a'])\n        c.send('done', found={'reweight': [(1e999, 'function')]})\n"
        + inside("", WRONG), "crash"),
    "calls back for ever": (inside(
        "import frames, gc\nfor c in gc.get_objects():\n    if isinstance(c, frames.Channel):\n        while True:\n"
        "            c.send('call', which=0, args=(x,), gradients=True)", WRONG), "crash"),
    "a header of lists": (inside(
        "import frames, gc\nfor c in gc.get_objects():\n    if isinstance(c, frames.Channel):\n"
        "        c.sock.sendall(frames.LENGTHS.pack(frames.MARK, 1 << 24, 0) + b'[' * (1 << 24))", WRONG), "crash"),
}


def notebook(*cells, **more):
    made = [{"cell_type": "code", "source": c, "metadata": {}, "outputs": [], "execution_count": None} for c in cells]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": made} | more)


def hand_in(folder):
    """All submissions in one folder: {student: expected verdicts of the three exercises}."""
    expected = {}
    for student, (cells, verdict) in CASES.items():
        cells = cells if isinstance(cells, list) else [cells]
        name = student.replace(":", "").replace("'", "")
        (folder / f"{name}.ipynb").write_text(notebook(IMPORTS, MASK, *cells, SHIFT))
        expected[name] = (verdict, "pass", "pass")
    for student, of_the_course, verdict in ("blank", "lessons", "missing"), ("solved", "solutions", "pass"):
        (folder / student).mkdir()
        for lesson in ("02", "07", "11"):
            path, = (ROOT / of_the_course).glob(f"{lesson}_*.ipynb")
            (folder / student / path.name).write_bytes(path.read_bytes())
        expected[student] = (verdict,) * 3
    (folder / "script.py").write_text(f"# %%\n{IMPORTS}\n# %%\n{REWEIGHT}\n# %%\n{MASK}\n{SHIFT}\n")
    expected["script"] = ("pass",) * 3
    (folder / "exported.py").write_text(f"#!/usr/bin/env python\n# In[1]:\n\n{IMPORTS}\n\n# In[ ]:\n\n1 / 0\n"
                                        f"\n# In[3]:\n\n{REWEIGHT}\n{MASK}\n{SHIFT}\n")
    expected["exported"] = ("pass",) * 3
    helped = folder / "helped"
    helped.mkdir()
    (helped / "a.ipynb").write_text(notebook("from helpers import mix\n" + IMPORTS, "reweight = mix", MASK, SHIFT))
    (helped / "helpers.py").write_text("def mix(x):\n    return (x @ x.T).softmax(1) @ x\n")
    expected["helped"] = ("pass",) * 3
    (folder / "torn.ipynb").write_text(notebook(REWEIGHT)[:-9])
    expected["torn"] = ("unreadable",) * 3
    (folder / "nothing").mkdir()
    expected["nothing"] = ("unreadable",) * 3
    return expected


def grade(folder, report, level, *more):
    command = [sys.executable, "-m", "course_lib.staff.grade", str(folder), "-o", str(report), "--isolation", level,
               "--exercises", ",".join(NAMES), "--cell-seconds", "1", "--call-seconds", "1", *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=ROOT)


@pytest.fixture(scope="module", params=LEVELS)
def graded(request, tmp_path_factory):
    """The batch, graded once at each level: (expected, rows of results.csv, what the command said)."""
    folder, report = tmp_path_factory.mktemp("batch"), tmp_path_factory.mktemp("report")
    expected = hand_in(folder)
    done = grade(folder, report, request.param, "--seed", "11")
    assert done.returncode == 0, done.stderr
    with (report / "results.csv").open(encoding="utf-8", newline="") as file:
        return expected, list(csv.DictReader(file)), done, request.param


def test_every_submission_gets_the_verdict_it_deserves(graded):
    """A grader that can be broken or fooled, or that punishes honest work."""
    expected, rows, _, _ = graded
    found = {(r["student"], r["exercise"]): r["verdict"] for r in rows}
    wrong = []
    for student, verdicts in expected.items():
        for exercise, verdict in zip(NAMES, verdicts, strict=True):
            if found[student, exercise] not in (verdict if isinstance(verdict, tuple) else (verdict,)):
                reason = next(r["reason"] for r in rows if (r["student"], r["exercise"]) == (student, exercise))
                wrong.append(f"{student}, {exercise}: {found[student, exercise]} instead of {verdict}: {reason}")
    assert not wrong, "\n".join(wrong)


def test_nobody_is_lost_and_every_row_says_how_it_was_confined(graded):
    """Who handed something in and has no row was forgotten."""
    expected, rows, done, level = graded
    assert len(rows) == 3 * len(expected)
    assert {r["isolation"] for r in rows} == {level}
    assert done.stdout.startswith(f"Isolation {level}: ")


def test_a_reason_is_one_printable_line(graded):
    """A terminal, a table or a page that shows what a student's code made of it."""
    _, rows, _, _ = graded
    assert [r["reason"] for r in rows if not r["reason"].isprintable()] == []
    assert [r["reason"] for r in rows if "grader itself" in r["reason"]] == []


def test_nothing_outside_was_touched(graded):
    """A file that a student's code has left somewhere."""
    assert not any(Path(folder, "was_here").exists() for folder in (TMP, ROOT, ROOT / "tests", Path.cwd()))


def test_what_gives_the_answer_away_is_flagged_and_not_failed(graded):
    """A built-in is for a person to judge."""
    _, rows, _, _ = graded
    flags = {r["student"]: r["flags"] for r in rows if r["exercise"] == "reweight"}
    assert "scaled_dot_product_attention" in flags["builtin"]
    assert flags["honest"] == ""


def test_the_course_s_own_solutions_pass_every_exercise(tmp_path):
    """A cell that the notebook runs and the grader does not; a model that cannot be trained from afar."""
    folder = tmp_path / "batch" / "solved"
    folder.mkdir(parents=True)
    for path in (ROOT / "solutions").glob("*.ipynb"):
        (folder / path.name).write_bytes(path.read_bytes())
    command = [sys.executable, "-m", "course_lib.staff.grade", str(folder.parent), "-o", str(tmp_path / "report")]
    subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=ROOT, check=True)
    with (tmp_path / "report" / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(EXERCISES)
    assert [(r["exercise"], r["reason"]) for r in rows if r["verdict"] != "pass"] == []
