"""The judge's side of a worker: start it, speak with a child, and end what hangs, from outside."""

import contextlib
import copy
import hashlib
import inspect
import itertools
import json
import math
import shutil
import socket
import subprocess
import sys
import time
from functools import lru_cache
from pathlib import Path

import torch

import course_lib
from course_lib.checks import EXERCISES
from course_lib.checks.engine.asking import ENDS, LETTERS, Call, Reply
from course_lib.checks.engine.suspects import Suspect
from course_lib.staff.answers import as_written, stub
from course_lib.staff.grade import confine, frames, template

HERE, COURSE = Path(__file__).parent, Path(course_lib.__file__).parent
ENGINE = ("__init__", "asking", "device_probe", "identities", "memory_probe", "own_names",
          "time_limit")  # these hold no answer
GRACE = 2  # seconds between being asked to stop and being stopped
START = 120  # seconds a template may take to import torch
FIND = 10  # seconds a child may take to say what its cells have defined
FUNCTION_CALLS = 10_000  # of the judge's functions, while an answer is asked once
LENT = 1 << 25  # numbers in the arguments of a judge's functions that are kept until an answer is done
REPLY = b'{"say": "reply", '  # how a frame with one begins
REMEMBERED = 1 << 15  # bytes of a reply's tensors, up to which it is remembered for the next one who says it
PLAIN = Call(())  # of all other Calls, only what is unusual is sent
FORGED = "it wrote into the channel that its answers go through"


class Lost(Exception):
    """A child hung or died. `verdict` is timeout or crash; the message says how."""

    def __init__(self, verdict, message):
        super().__init__(message)
        self.verdict = verdict


class LaneError(RuntimeError):
    """The worker cannot be started at all."""


def write_root(root):
    """The files a worker sees: itself, and the course without answers, checks and staff."""
    for name in ("worker.py", "frames.py", "large_pages.py", "memory_files.py"):
        shutil.copy(HERE / name, root / name)
    shutil.copytree(HERE / "confine", root / "confine", ignore=shutil.ignore_patterns("__pycache__"))
    unseen = shutil.ignore_patterns("staff", "checks", "predictions", "__pycache__")
    shutil.copytree(COURSE, root / "course_lib", ignore=unseen)
    (root / "course_lib" / "predictions").mkdir()
    shutil.copy(HERE / "unasked.py", root / "course_lib" / "predictions" / "__init__.py")
    checks = root / "course_lib" / "checks"
    (checks / "engine").mkdir(parents=True)
    shutil.copy(HERE / "stand_in.py", checks / "__init__.py")
    for name in ENGINE:
        shutil.copy(COURSE / "checks" / "engine" / f"{name}.py", checks / "engine" / f"{name}.py")
    modules = {name: e.verified.__module__ for name, e in EXERCISES.items()}
    for name, module in modules.items():
        written, path = as_written(module, name, name), root / (module.replace(".", "/") + ".py")
        path.write_text(path.read_text(encoding="utf-8").replace(written, stub(written)), encoding="utf-8")
    (root / "scratch").mkdir()
    for fonts in (Path.home() / ".cache" / "matplotlib").glob("fontlist*.json"):  # making it anew takes seconds
        shutil.copy(fonts, root / "scratch" / fonts.name)
    (root / "modules.json").write_text(json.dumps(modules), encoding="utf-8")


def start_template(root, level, controls, memory=3 << 30):
    """Start a worker as a template; each of the sockets `controls` is one judge's way to it.

    memory: bytes a child may take beyond what the template has
    returns: its process, which says on every socket when it is ready
    """
    root = Path(root)
    worker = [str(root / "worker.py"), str(root), level, str(memory)]
    scratch = str(root / "scratch")  # for the template, before it has children: they write nowhere
    environment = confine.environment(scratch) | {"MPLCONFIGDIR": scratch}
    process = template.take() if level in ("B", "C") else None
    if process is None or not process.run(worker, environment, str(root), controls):
        process = _new_process(worker, level, environment, root, scratch, [control.fileno() for control in controls])
    for control in controls:
        control.close()
    return process


def _new_process(worker, level, environment, root, scratch, descriptors):
    """A template that imports torch by itself."""
    command = [sys.executable, "-P", *worker, *map(str, descriptors)]
    hidden = [str(COURSE), str(COURSE.parent / "solutions")]
    return subprocess.Popen(confine.wrapped(command, level, [str(root)], scratch, hidden, environment), cwd=root,
                            pass_fds=descriptors, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


class Lane:
    """A judge's way to a template and the children it forks, one at a time.

    root:    a folder that `write_root` has filled
    level:   of confine.LEVELS
    control: the socket to a template that runs already; where there is none, or it has died, the lane starts its own
    """

    def __init__(self, root, level, control=None):
        self.root, self.level, self.control, self.is_ready = root, level, control, False

    def child(self, imports=()):
        """A fresh, confined child, forked from a template that has imported some modules."""
        for attempt in (1, 2):
            ours, theirs = socket.socketpair()
            try:
                self._ready()
                socket.send_fds(self.control, [json.dumps(list(imports)).encode()], [theirs.fileno()])
                return Child(self, ours, int(self._line(START)))
            except (OSError, ValueError):
                ours.close()
                self.close()
                if attempt == 2:
                    raise LaneError(f"the worker cannot be started at level {self.level}: run it by hand to see why: "
                                    f"{sys.executable} {Path(self.root) / 'worker.py'}") from None
            finally:
                theirs.close()

    def end(self, child):
        """Kill a child; its exit status where it had ended by itself, 0 where not, None where nobody knows."""
        try:
            self.control.sendall(b"%d" % child)
            return int(self._line(10))
        except (OSError, ValueError, AttributeError):
            self.close()
            return None

    def close(self):
        """Let go of the template, which ends when nobody holds it."""
        if self.control:
            self.control.close()
        self.control, self.is_ready = None, False

    def _ready(self):
        if self.control is None:
            self.control, theirs = socket.socketpair()
            start_template(self.root, self.level, [theirs])
        if not self.is_ready:
            self._line(START)
            self.is_ready = True

    def _line(self, seconds):
        """The template's next word."""
        self.control.settimeout(seconds)
        line = self.control.recv(64)
        if not line.endswith(b"\n"):
            raise ValueError("the template is gone")
        return line


class Child:
    """One student's process, as the judge speaks with it."""

    def __init__(self, lane, sock, number):
        self.lane, self.sock, self.number = lane, sock, number
        self.channel = frames.Channel(sock)
        self.said = b""  # a digest of all that it said when it was last asked

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Kill it; its exit status where it had ended by itself."""
        self.sock.close()
        status, self.number = (self.lane.end(self.number), None) if self.number else (0, None)
        return status

    def give(self, name, source):
        """Hand over the course's own implementation of an exercise."""
        self._exchange(frames.packed("give", {"name": name, "source": source}), START, math.inf)

    def run(self, notebook, name, source, seconds, deadline, module=""):
        """Run a cell, of a script that may be imported as `module`: None, or (type, message, line) of what it raised.
        """
        try:
            frame = frames.packed("run", {"notebook": notebook, "name": name, "source": source, "seconds": seconds,
                                          "module": module})
        except TypeError:
            return "TooLarge", f"a cell of more than {frames.HEADER_LIMIT >> 20} MiB is not run", None
        error = self._exchange(frame, seconds + GRACE, deadline).get("error")
        try:
            with _well_formed():
                return None if error is None else _raised(error)
        except frames.FrameError:
            raise Lost("crash", FORGED) from None

    def find(self, deadline):
        """What the cells have defined, as {exercise: [(notebook, kind)]}."""
        found = self._exchange(frames.packed("find", {}), FIND, deadline).get("found")
        try:
            with _well_formed():
                return {name: [(int(n), _words(kind, 80)) for n, kind in places] for name, places in found.items()
                        if name in EXERCISES}
        except frames.FrameError:
            raise Lost("crash", FORGED) from None

    def ask(self, notebook, name, calls, seconds, deadline, watch):
        """Put Calls to an answer: their Replies, up to one that nobody would wait for more after.

        Functions among the arguments stay here, and only one Call may have them. What the answer used of torch's own
        goes into the set `watch`; where that is None, nobody watches, and the answer takes less time.
        """
        functions = [copy.deepcopy(a) for a in calls[0].args if _is_function(a)]
        replies, said = [], hashlib.sha256()

        def hear(header, body):
            said.update(b"%d %b%b" % (len(header), header, body))
            if len(replies) == len(calls):
                raise frames.FrameError("one reply too many")
            heard = _heard if len(body) <= REMEMBERED and not functions else _heard.__wrapped__
            reply, used, modes = heard(header, body, calls[len(replies)])
            if watch is not None:
                watch.update(used)
            _set_modes(functions, modes)
            replies.append(reply)

        asking = _asking if len(calls) > 1 else _asking.__wrapped__
        frame = asking(tuple(calls), notebook, name, seconds, watch is not None)
        self._exchange(frame, seconds + GRACE, deadline, functions, hear)
        if len(replies) < len(calls) and not (replies and replies[-1].error and replies[-1].error[0] in ENDS):
            raise Lost("crash", FORGED)
        self.said = said.digest()
        return replies

    def _exchange(self, frame, each, deadline, functions=(), hear=None):
        """Say something, lend the judge's functions while it is thought over, and hear what comes until it is done.

        each: seconds that each thing it says may take to come
        """
        lent = []
        try:
            self._send(frame, each, deadline)
            while True:
                header, body = self.channel.read(min(time.monotonic() + each, deadline))
                if hear and header.startswith(REPLY):
                    hear(header, body)
                    continue
                said, answer = frames.unpacked(header, body)
                if said == "done":
                    return answer
                reply = _call(functions, lent, answer) if said == "call" else _backward(lent, answer)
                self._send(frames.packed("value", reply), each, deadline)
        except TimeoutError:
            raise Lost("timeout", "it did not end in time, and was stopped from outside") from None
        except (frames.Ended, BrokenPipeError, ConnectionError):
            raise Lost("crash", f"the process that ran it {_how_it_ended(self.end())}") from None
        except (frames.FrameError, TypeError):
            raise Lost("crash", FORGED) from None

    def _send(self, frame, each, deadline):
        self.sock.settimeout(max(0.1, min(each, deadline - time.monotonic())))
        self.sock.sendall(frame)


@lru_cache(maxsize=256)  # a class is asked the same questions
def _asking(calls, notebook, name, seconds, watched):
    """The frame that puts Calls to an answer."""
    return frames.packed("ask", {"notebook": notebook, "name": name, "seconds": seconds, "watched": watched,
                                 "calls": [_as_fields(call) for call in calls]})


def _as_fields(call):
    """A Call as a frame can hold it: a function among the arguments becomes its number and its words."""
    numbers = itertools.count()
    args = tuple({"callable": next(numbers), "training": getattr(a, "training", None),
                  "words": "an implementation" if isinstance(a, Suspect) else repr(a),  # its letter could be learnt
                  "weights": _weights(a) if isinstance(a, torch.nn.Module) else None}
                 if _is_function(a) else a for a in call.args)
    circumstances = {k: v for k, v in vars(call).items() if k not in ("args", "special") and v != getattr(PLAIN, k)}
    return {"args": args} | circumstances


def _how_it_ended(status):
    if status is None or status == 0:
        return "ended without a word"
    return f"was killed by signal {-status}" if status < 0 else f"ended by itself, with exit status {status}"


def _weights(model):
    return {name: weight.detach() for name, weight in model.named_parameters()}


def _with_weights(model, weights):
    """A model like this one, with these weights."""
    model = copy.deepcopy(model)
    own = dict(model.named_parameters())
    if not isinstance(weights, dict) or weights.keys() != own.keys() or any(
            (w.shape, w.dtype) != (own[name].shape, own[name].dtype) for name, w in weights.items()):
        raise ValueError
    with torch.no_grad():
        for name, weight in weights.items():
            own[name].copy_(weight)
    return model


def _is_function(value):
    return callable(value) and not isinstance(value, torch.Tensor)


def _set_modes(functions, modes):
    """Put the judge's modules into the modes that an answer has left them in."""
    modules = [f for f in functions if isinstance(f, torch.nn.Module)]
    if isinstance(modes, list) and len(modes) == len(modules):
        for module, mode in zip(modules, modes, strict=True):
            module.train(mode is True)


def _call(functions, lent, asked):
    """Call one of the judge's functions for an answer; tensors keep a graph, so that gradients can come back."""
    with _well_formed():
        function, args, gradients = functions[asked["which"]], asked["args"], asked["gradients"] is True
        names = asked["names"]
        models = {i: _with_weights(functions[a["model"]], a["weights"]) for i, a in enumerate(args)
                  if isinstance(a, dict) and "model" in a}
        args = [models.get(i, a) for i, a in enumerate(args)]
        args = [a.requires_grad_() if gradients and isinstance(a, torch.Tensor) and a.is_floating_point() else a
                for a in args]
    try:
        with torch.set_grad_enabled(gradients):
            first = len(args) - len(names)
            value = function(*args[:first], **dict(zip(names, args[first:], strict=True)))
        has_gradients = isinstance(value, torch.Tensor) and value.requires_grad
        lent += [(args, value)] if has_gradients else []
        if sum(_numbers(a) for held, _ in lent for a in held) > LENT or len(lent) > FUNCTION_CALLS:
            raise frames.FrameError("it calls a function without end")
        same = [i for i, a in enumerate(args) if a is value]
        value = None if same else value
        frames.packed("value", {"value": value})  # can it be sent?
        return {"number": len(lent) - 1 if has_gradients else None, "value": value, "same": same[0] if same else None,
                "models": {str(i): _weights(model) for i, model in models.items()}}
    except frames.FrameError:
        raise
    except Exception as error:
        return {"error": (type(error).__name__, str(error)[:300])}


def _numbers(value):
    return value.numel() if isinstance(value, torch.Tensor) else 1


def _backward(lent, asked):
    """Gradients of a function that was called before, for each of its arguments."""
    with _well_formed():
        args, value = lent[asked["number"]]
        wanted = [a for a in args if isinstance(a, torch.Tensor) and a.requires_grad]
        found = iter(torch.autograd.grad(value, wanted, asked["gradients"][0], allow_unused=True,
                                         retain_graph=True))  # a Jacobian asks row by row
    return {"gradients": [next(found) if any(a is w for w in wanted) else None for a in args]}


@contextlib.contextmanager
def _well_formed():
    """What a child says in the wrong form costs it no more than this one answer."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError) as error:
        raise frames.FrameError(f"what it said has the wrong form ({type(error).__name__})") from None


@lru_cache(maxsize=2048)  # many of a class say the same
def _heard(header, body, call):
    """A frame as a Reply, the names of torch's own that it used, and the modes that it has left its models in."""
    say, fields = frames.unpacked(header, body)
    used, modes = fields.pop("used", None), fields.pop("modes", None)
    if say != "reply":
        raise frames.FrameError("it says two things")
    return _reply(fields, call), {u for u in used if isinstance(u, str)} if isinstance(used, list) else (), modes


def _reply(fields, call):
    """A Reply out of what a child says, with every part of it looked at."""
    with _well_formed():
        return _looked_at(fields, call)


def _looked_at(fields, call):
    if fields.get("error") is not None:
        name, message, *_ = _raised(fields["error"])
        return Reply(error=(name, message), parameters=_names(fields.get("parameters", ())),
                     printed=_words(fields.get("printed", ""), LETTERS, True),
                     where=_words(fields.get("where", ""), 300))
    if call.must_raise and fields.get("form") == "a module":  # it was made, and not called
        return Reply((), "a module", parameters=_names(fields.get("parameters", ())))
    outputs, form = fields["outputs"], _words(fields.get("form", ""), 200)
    if not isinstance(outputs, tuple) or not all(isinstance(t, torch.Tensor) for t in outputs):
        raise ValueError
    if form == "True or False" and [(t.dtype, t.shape) for t in outputs] != [(torch.bool, torch.Size([]))]:
        raise ValueError
    pairs = list(zip(fields["args_after"], call.args, strict=True))
    if not all(a is None or isinstance(was, torch.nn.Module) or _alike(a, was) for a, was in pairs):
        raise ValueError
    after = [was if a is None else _with_weights(was, a) if isinstance(was, torch.nn.Module) else a
             for a, was in pairs]  # a tensor that has not changed does not come back
    return Reply(outputs, form, tuple(after), _gradients(fields.get("gradients"), call),
                 _names(fields.get("parameters", ())), None, _words(fields.get("printed", ""), LETTERS, True), "")


def _alike(after, before):
    """Are both tensors, or tuples of as many tensors?"""
    if isinstance(before, tuple):
        return isinstance(after, tuple) and len(after) == len(before) and all(map(_alike, after, before))
    return isinstance(after, torch.Tensor) and isinstance(before, torch.Tensor)


def _gradients(found, call):
    """Gradients by argument or weight, each as large as what it belongs to; of a weight of the student's own, any."""
    if found is None:
        return None
    if not isinstance(found, dict) or not call.gradients:
        raise ValueError
    for which, gradient in found.items():
        if gradient is not None and not isinstance(gradient, torch.Tensor):
            raise ValueError
        of = call.args[which] if type(which) is int else (call.weights or {}).get(which)
        if gradient is not None and of is not None and (gradient.dtype, gradient.shape) != (call.dtype, of.shape):
            raise ValueError
    return {which if type(which) is int else _words(which, 200): gradient for which, gradient in found.items()}


def _raised(error):
    name, message, *line = error
    return _words(name, 80), _words(message, 300), line[0] if line and type(line[0]) is int else None


def _names(names):
    return tuple(_words(n, 200) for n in names)


def _words(text, longest, lines=False):
    """The beginning of a text, on one line unless told otherwise; what cannot be printed is replaced."""
    if not isinstance(text, str):
        raise TypeError
    text = text[:longest] if lines else " ".join(text[:longest].split())
    return text if text.isprintable() else "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)


def sources_with_what_they_need(names, without):
    """The course's own code of some exercises and of all they call: {name: source}, without one of them."""
    found, waiting = {}, sorted(names)
    while waiting:
        name = waiting.pop()
        if name != without and name not in found:
            found[name] = inspect.getsource(EXERCISES[name].verified)
            waiting += [other for other in EXERCISES if other in found[name]]
    return found
