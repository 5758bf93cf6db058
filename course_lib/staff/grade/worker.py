"""The process that runs students' code: a template that has imported torch, and a confined child for each student.

    python -P worker.py ROOT LEVEL MEMORY DESCRIPTOR [DESCRIPTOR ...]

Each DESCRIPTOR is an open socket to a judge. ROOT holds this file, what it needs of the course (without checks, answers
and seeds), and nothing else. A judge sends an open socket for each child; the template forks, and the child confines
itself before it reads one cell.
"""

import __future__

import ast
import asyncio
import builtins
import contextlib
import functools
import gc
import importlib
import importlib.util
import inspect
import io
import json
import linecache
import os
import re
import select
import signal
import socket
import sys
import time
import types
from pathlib import Path

ROOT, LEVEL, MEMORY, *CONTROLS = sys.argv[1:]
TOGETHER = 0.02  # seconds for which replies are gathered
MANY = 50_000  # operations; to watch one takes longer than most of them do
WATCHED = re.compile(r"softm(ax|in)|cross_entropy|(layer|group|batch|instance|rms)_?norm|scaled_dot_product"
                     r"|(flash|efficient)_attention|flex_attention|multi_?head_attention|transformer_encoder_layer"
                     r"|^(grad|backward)$",
                     re.IGNORECASE)
CAUGHT = (RuntimeError, TypeError, ValueError, IndexError, KeyError, AttributeError, ZeroDivisionError,
          NotImplementedError, AssertionError)  # what an answer may expect of a function that it calls
ANNOTATED = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.AnnAssign
BINDS = ANNOTATED | ast.Assign | ast.Import | ast.ImportFrom | ast.If | ast.Try | ast.With
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom
AFTERWARDS = 1  # seconds for the definitions of a cell that took too long
DEEP = 10_000
NOTHING_TOLD = {"form": "", "gradients": None, "error": None, "printed": "", "where": "", "parameters": (), "used": [],
                "modes": []}  # fields of a reply that the judge takes to be so where they do not come


def main():
    """Fork a child for each socket that comes, and end a child when told to."""
    sys.path.insert(0, ROOT)  # before the folder that the whole course is installed in, which is closed to children
    confine = importlib.import_module("confine")
    _import_torch()
    _practise()
    sys.modules["memory_files"].install()
    ready, one = confine.prepare(LEVEL, [ROOT]), Child()
    _freeze()
    controls = {socket.socket(fileno=int(number)): set() for number in CONTROLS}  # and the children of each judge
    for control in controls:
        control.sendall(b"ready\n")
    while controls:
        for control in select.select(list(controls), [], [])[0]:
            words, descriptors, _, _ = socket.recv_fds(control, 1 << 16, 1)
            if not words:
                for child in controls.pop(control):
                    _end(child)
                control.close()
            elif descriptors:
                _import_early(json.loads(words))
                child = _fork(ready, one, controls, descriptors[0])
                controls[control].add(child)
                control.sendall(b"%d\n" % child)
            else:
                controls[control].discard(int(words))
                control.sendall(b"%d\n" % _end(int(words)))


def _import_torch():
    """What every child needs, with the first operations done, which take longer than the others."""
    import torch

    torch.set_num_threads(1)
    torch.autograd.backward((torch.ones(2, 2, requires_grad=True) @ torch.ones(2, 2)).sum())
    _import_early(["large_pages", "frames", "memory_files", "course_lib", "course_lib.checks.engine.asking"])


def _practise():
    """Be a child: what Python and torch do more slowly for the first few times is done before the fork, for all."""
    import frames
    import torch

    main = sys.modules["__main__"]
    ours, theirs = socket.socketpair()
    child, judge, x = Child(), frames.Channel(ours), torch.ones(2, 2)
    child.channel = frames.Channel(theirs)
    child.run(0, "practice", "import torch\ndef practice(x):\n    return torch.softmax(x @ x.T, -1) @ x", 1, "")
    child.find()
    for how in ("gradients", "strided", "on_gpu", "twice") * 20:  # Python has made its code quick by then
        judge.send("ask", notebook=0, name="practice", seconds=1, calls=[{"args": (x,), how: True}])
        child.ask(**child.channel.receive()[1])
        child.channel.flush()
        judge.receive()
    ours.close()
    theirs.close()
    linecache.clearcache()
    sys.modules["__main__"] = main


def _import_early(names):
    """Import here what a child will import, so that the next ones find it there; all with a single thread."""
    new = [name for name in names if name not in sys.modules]
    for name in new:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    if os.path.isdir("/proc/self/task") and len(os.listdir("/proc/self/task")) > 1:
        sys.exit("a library it imports has started a second thread, after which no process can be forked safely")
    if new:
        _freeze()


def _freeze():
    """Make ready for many forks: collecting garbage writes nowhere, and memory lies in few, large pages."""
    gc.collect()
    gc.freeze()
    sys.modules["large_pages"].collapse()


def _fork(ready, one, controls, descriptor):
    """Fork a child that confines itself and then is the `one` that has been made for all."""
    child = os.fork()
    if child:
        os.close(descriptor)
        return child
    try:
        os.setpgid(0, 0)
        for control in controls:
            control.close()
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        sys.argv[:] = [""]
        ready.apply(int(MEMORY))
        one.serve(socket.socket(fileno=descriptor))
    finally:
        os._exit(70)


def _end(child):
    """Kill a child and what may be left of its group; its exit status, negative for a signal."""
    done, status = os.waitpid(child, os.WNOHANG)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    if not done:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return 0
    return os.waitstatus_to_exitcode(status)


class Nowhere(io.TextIOBase):
    """Takes what is printed."""

    def write(self, text):
        return len(text)


NOWHERE = Nowhere()


class Used(set):
    """What an answer used of torch's own, and how many operations it did."""

    operations = 0

    def clear(self):
        super().clear()
        self.operations = 0


class Child:
    """Runs the cells of one student and answers the judge's questions about what they define.

    One is made before the fork, with nothing in it, and serves in every child.
    """

    def __init__(self):
        import frames
        import torch

        from course_lib import checks
        from course_lib.checks.engine import asking, time_limit

        self.channel, self.torch = None, torch
        self.ends, self.unseen, self.busy = asking.ENDS, frames.UNSEEN, frames.BUSY
        self.given, self.asking = checks, asking
        self.put, self.call = asking.ask, asking.Call  # bound before anybody can replace them
        self.one_line = asking.one_line
        self.used = Used()
        self.watch = functools.partial(_watch(), self.used)
        self.time_limit, self.took_too_long = time_limit.time_limit, time_limit.TookTooLong
        self.names = json.loads(Path(ROOT, "modules.json").read_text())
        checks.modules.update(self.names)
        self.stubs = {}
        self.namespaces, self.modules = {}, {}
        self.places = {}  # scripts and their folders, by the parts of their path: the modules that are imported
        self.unmade = []  # what wanted a name or a module that was not there yet

    def serve(self, sock):
        """Answer until nobody asks any more."""
        self.channel = sys.modules["frames"].Channel(sock)
        doing = {"give": self.give, "run": self.run, "find": self.find, "ask": self.ask}
        while True:
            say, fields = self.channel.receive()
            self.keep("done", lambda: doing[say](**fields))  # noqa: B023  called at once
            self.channel.flush()

    def keep(self, say, reply):
        """Keep a reply to be sent; what goes wrong in making it is the reply then."""
        try:
            self.channel.put(say, **reply())
        except BaseException:  # nothing of a frame is kept before all of it can be
            self.channel.put(say, error=("CannotBeCopied", "what it returned is no plain tensor"))

    def stub(self, name):
        """What the course has instead of an answer, or None where nobody has imported it."""
        module = sys.modules.get(self.names[name])
        return self.stubs.setdefault(name, getattr(module, name)) if module else None

    def give(self, name, source):
        self.given.give(name, source)
        return {}

    def run(self, notebook, name, source, seconds, module):
        """Run one cell; what it raises is no more than a word."""
        if notebook not in self.namespaces:
            self.modules[notebook] = self.importable(module) if module else _module()
            self.namespaces[notebook] = vars(self.modules[notebook])
        space, error = self.namespaces[notebook], None
        sys.modules["__main__"] = self.modules[notebook]
        try:
            tree = compile(source, name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            linecache.cache[name] = (len(source), None, source.splitlines(True), name)
            with contextlib.redirect_stdout(NOWHERE), contextlib.redirect_stderr(NOWHERE):
                try:
                    with self.time_limit(seconds):
                        _run(tree.body, name, space, self.unmade, self.note)
                except self.took_too_long:
                    with self.time_limit(AFTERWARDS), contextlib.suppress(Exception):
                        _run([s for s in tree.body if isinstance(s, DEFINITIONS)], name, space, [], self.note)
                    raise
        except BaseException as problem:  # noqa: B902  SystemExit and KeyboardInterrupt end a cell, not a student
            line = getattr(problem, "lineno", None)
            error = (type(problem).__name__, self.one_line(problem)[:300], line if isinstance(line, int) else None)
        self.note(space)
        return {"error": error}

    def importable(self, path):
        """The module of a script or of a package's __init__, to be imported by its dotted path or the end of it.

        What Python finds elsewhere keeps its name, as it does beside a folder without an __init__.
        """
        parts = tuple(path.removesuffix(".__init__").split("."))
        for end in range(1, len(parts) + 1):
            if parts[:end] not in self.places:
                self.places[parts[:end]] = module = _module()
                setattr(self.places.get(parts[:end - 1], module), parts[end - 1], module)
        module = self.places[parts]
        module.__package__ = path.rpartition(".")[0]
        for first, top in enumerate(parts):  # who is in the folder `lib` imports lib/mix.py as mix, others as lib.mix
            names = {".".join(parts[first:end]): self.places[parts[:end]] for end in range(first + 1, len(parts) + 1)}
            if len(names) > 1 and self.is_elsewhere(top):
                del names[top]
                names = {} if first else names
            for name, found in names.items():
                sys.modules.setdefault(name, found)
        return module

    def is_elsewhere(self, name):
        """Is there a module of this name that no student has written?"""
        if name in sys.modules:
            return sys.modules[name] not in self.places.values()
        return importlib.util.find_spec(name) is not None

    def note(self, space):
        """Remember the answers of a notebook as they are now."""
        for exercise in self.names.keys() & space.keys():
            if self.is_answer(exercise, space[exercise]):
                self.given.own[exercise] = space[exercise]

    def is_answer(self, exercise, value):
        """Can it be one, and is it neither what the course has instead nor an instance that has taken its class's name?
        """
        return callable(value) and value is not self.stub(exercise) and not self.is_instance(exercise, value)

    def is_instance(self, exercise, value):
        own = self.given.own.get(exercise)
        return isinstance(own, type) and isinstance(value, own)

    def make_the_rest(self):
        """Make what wanted a name of a later cell: cells may stand in another order than their author ran them in."""
        made, waiting = [None], [w for w in self.unmade if not set(_bound(w[0])) & set(w[2])]
        self.unmade = []
        try:
            with contextlib.redirect_stdout(NOWHERE), contextlib.redirect_stderr(NOWHERE), self.time_limit(AFTERWARDS):
                while made:
                    made = [w for w in waiting if _succeeds(*w)]
                    waiting = [w for w in waiting if w not in made]
        except BaseException:  # noqa: B902  as in a cell
            pass
        for space in self.namespaces.values():
            self.note(space)

    def find(self):
        """Which exercises each notebook defines: {name: [(notebook, kind)]}; -1 for what was handed to `check`."""
        if self.unmade:
            self.make_the_rest()
        found, seen = {}, set()
        self.namespaces[-1] = self.given.handed
        for name, value in self.given.own.items():
            if not any(self.is_answer(name, space.get(name)) for space in self.namespaces.values()):
                self.given.handed[name] = value  # there once, and then deleted, or a result took its name
        for notebook, space in self.namespaces.items():
            for name in set(self.names) & set(space):
                value = space[name]
                if name in self.given.given:
                    space[name] = self.given.given[name]
                elif value is not self.stub(name) and (name, id(value)) not in seen \
                        and not self.is_instance(name, value):
                    seen.add((name, id(value)))
                    found.setdefault(name, []).append((notebook, _kind(value)))
        return {"found": found}

    def ask(self, notebook, name, seconds, calls, watched=True):
        """Put calls to an answer, and send each reply soon; it ends early where nobody would wait for more."""
        looking_on = self.watch if watched else contextlib.nullcontext
        sent = time.monotonic()
        for call in calls:
            ended = []
            self.keep("reply", lambda: self.one_reply(notebook, name, call, seconds, looking_on, ended))  # noqa: B023
            if time.monotonic() - sent > TOGETHER:
                self.channel.flush()
                sent = time.monotonic()
            if ended:
                break
        return {}

    def changed(self, after, before):
        """What has become of an argument, where that is to be told: a tensor that was changed, a model's weights."""
        if isinstance(after, self.torch.nn.Module):
            return _weights(after)
        if isinstance(after, tuple):
            parts = zip(after, before, strict=True)
            return after if any(self.changed(*pair) is not None for pair in parts) else None
        return after if isinstance(after, self.torch.Tensor) and not _same(after, before) else None

    def one_reply(self, notebook, name, call, seconds, looking_on, ended):
        """The fields of a Reply, and what was used of torch's own."""
        call["args"] = tuple(_made(a, self) for a in call["args"])
        self.used.clear()
        self.asking.undisturbed, self.asking.looking_on = _seeded, looking_on  # again, whatever a cell has put there
        if not self.torch.empty(0).is_cpu:
            self.torch.set_default_device("cpu")
        with self.torch.inference_mode(False), self.torch.enable_grad():
            reply = self.put(self.namespaces[notebook][name], self.call(**call), seconds)
        after = [self.changed(a, before) for a, before in zip(reply.args_after, call["args"], strict=False)]
        error = reply.error and tuple(words[:500] for words in reply.error)
        for used in (u for u in self.used if error and error[0] not in self.ends and u.endswith(self.unseen)):
            name = used.removesuffix(self.unseen)
            error = error[0], f"{name} of torch's cannot be followed here: a person has to look"
        if error and error[0] in self.ends:
            if error[0] == "TookTooLong" and self.used.operations > MANY:
                error = error[0], error[1] + self.busy
            ended.append(error)
        modes = [a.training for a in call["args"] if isinstance(a, self.torch.nn.Module)]
        told = {"args_after": after, "error": error, "used": sorted(self.used), "modes": modes}
        return {field: value for field, value in (vars(reply) | told).items() if value != NOTHING_TOLD.get(field)}


@contextlib.contextmanager
def _seeded(seed=0):
    """Instead of putting back the notebook's random states, which nobody needs here, set what a call needs."""
    import torch

    torch.set_default_dtype(torch.float32)
    torch.default_generator.manual_seed(seed)
    with torch.enable_grad():
        yield


def _run(statements, name, space, unmade, note):
    """Run a cell, one statement after the other. One that fails ends itself only; the first failure is raised at last.

    `note(space)` is called before each, for a result may take the name of an answer in the same cell.

    Definitions whose annotations cannot be worked out, for want of a library say, are made without doing that. What
    wants a name or a module that is not there is added to `unmade`.
    """
    failed, later, flags = None, __future__.annotations.compiler_flag, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    for statement in statements:
        note(space)
        try:
            flags |= _execute(statement, name, space, flags) & later
        except (Exception, SystemExit) as problem:
            try:
                if not isinstance(statement, ANNOTATED) or isinstance(problem, SystemExit):
                    raise
                _execute(statement, name, space, flags | later)
            except (Exception, SystemExit) as problem:
                if isinstance(problem, NameError | ImportError) and _gives_an_answer(statement):
                    unmade.append((statement, name, space, flags))
                failed = failed or problem  # all that fails after it may do so because of it
    if failed:
        raise failed


def _gives_an_answer(statement):
    """Does it bind a name, or hand something to `check`?"""
    called = getattr(getattr(statement, "value", None), "func", None)
    return isinstance(statement, BINDS) or isinstance(statement, ast.Expr) and getattr(called, "id", "") == "check"


def _bound(statement):
    """The names that a statement gives a value to."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).split(".")[0] for alias in statement.names]
    names = [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return [statement.name] if isinstance(statement, DEFINITIONS) else names


def _succeeds(statement, name, space, flags):
    try:
        _execute(statement, name, space, flags)
    except (Exception, SystemExit):
        return False
    return True


def _execute(statement, name, space, flags):
    """Run one statement; the flags of its code."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEP)  # an `elif` lies in the one before it, six hundred deep
    try:
        code = compile(ast.Module([statement], []), name, "exec", flags, dont_inherit=True)
    finally:
        sys.setrecursionlimit(limit)
    if code.co_flags & inspect.CO_COROUTINE:
        _awaited(eval(code, space))
    else:
        exec(code, space)
    return code.co_flags


def _awaited(coroutine):
    """Run a coroutine on a loop that does without the socket that asyncio's own wakes itself with."""
    class Loop(asyncio.SelectorEventLoop):
        def _make_self_pipe(self):
            self._ssock = self._csock = None

        def _close_self_pipe(self):
            """There is none."""

    loop = Loop()
    try:
        loop.run_until_complete(coroutine)
    finally:
        loop.close()


def _module():
    """What one notebook's cells fill: a module of its own, as pickle and typing look for it."""
    def shell(*_, **__):
        return None

    class Shell:
        """IPython's shell, deaf."""

        def getoutput(self, *_, **__):
            return []

        def __getattr__(self, _):
            return shell

    module = types.ModuleType("__main__")
    vars(module).update(display=shell, get_ipython=Shell, input=lambda *_: "")
    return module


def _same(after, before):
    return after.dtype == before.dtype and after.equal(before)


def _kind(value):
    return "class" if isinstance(value, type) else "function" if callable(value) else type(value).__name__


def _made(argument, child):
    """An argument as the answer gets it: a callable of the judge's is called from afar."""
    if isinstance(argument, dict) and "callable" in argument:
        afar = Afar(child, argument["callable"], argument["words"])
        return afar if argument["training"] is None else \
            _as_module(afar, argument["weights"]).train(argument["training"])
    return argument


def _as_module(afar, weights):
    """With a mode, weights of its own, and all else that a module has."""
    import torch

    class Model(torch.nn.Module):
        which = afar.which

        def __init__(self, weights):
            super().__init__()
            for name, weight in weights.items():
                self.register_parameter(name, torch.nn.Parameter(weight.clone()))

        def __repr__(self):
            return repr(afar)

        def __deepcopy__(self, _):
            return Model(_weights(self)).train(self.training) if weights else self

        def forward(self, *args, **kwargs):
            return afar(*args, **kwargs)

    return Model(weights)


def _weights(model):
    return {name: weight.detach() for name, weight in model.named_parameters()}


class Afar:
    """A function that lives with the judge. It is called there, and gradients flow through it."""

    def __init__(self, child, which, words):
        self._ask = (child, which, words)

    def __repr__(self):
        return self._ask[2]

    def __deepcopy__(self, _):
        return self

    @property
    def which(self):
        return self._ask[1]

    def __call__(self, *args, **kwargs):
        child, which, _ = self._ask
        torch = child.torch
        args, names = (*args, *kwargs.values()), list(kwargs)
        if torch.is_grad_enabled() and any(isinstance(a, torch.Tensor) and a.requires_grad for a in args):
            return _through(child, which, args, names)
        with torch._C.DisableTorchFunction():  # copying numbers for the judge is no part of the answer
            return _answer(child, which, args, names, False)[1]


Afar.__name__ = Afar.__qualname__ = "function"  # so an error says what it says in a notebook


def _exchanged(child, say, **fields):
    """What the judge says to something. A time limit stops an answer before this or behind it: half of what is said
    would be taken for the beginning of something else, and its author for a forger.
    """
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        child.channel.send(say, **fields)
        return child.channel.receive()[1]
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})


def _answer(child, which, args, names, gradients):
    """The number of a call, where gradients come of it, and its value. names: of the last arguments."""
    models = {i: a for i, a in enumerate(args) if isinstance(a, child.torch.nn.Module)}
    sent = [{"model": a.which, "weights": _weights(a)} if i in models else a for i, a in enumerate(args)]
    fields = _exchanged(child, "call", which=which, args=sent, names=names, gradients=gradients)
    with child.torch.no_grad():
        for i, model in models.items():  # a function may train a model that it is given
            for name, weight in fields.get("models", {}).get(str(i), {}).items():
                getattr(model, name).copy_(weight)
    if fields.get("error"):
        name, message = fields["error"]
        known = getattr(builtins, name, None)
        raise (known if known in CAUGHT else type(name, (Exception,), {}))(message)
    same = fields.get("same")
    return fields.get("number"), args[same] if same is not None else fields["value"]


def _through(child, which, args, names):
    torch = child.torch

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(context, *args):
            context.number, value = _answer(child, which, args, names, True)
            value = value.view_as(value) if any(value is a for a in args) else value
            if context.number is None and isinstance(value, torch.Tensor):  # it depends on no argument
                context.mark_non_differentiable(value)
            return value

        @staticmethod
        def backward(context, *gradients):
            return tuple(_exchanged(child, "backward", number=context.number, gradients=gradients)["gradients"])

    return Function.apply(*args)


@functools.cache
def _watch():
    """A mode of torch's that notes what is used of it: functions by their names, and beneath them all operators.

    A name can be hidden. Whatever it is called, what is computed goes through the dispatcher as "aten::_softmax", and
    an operator that the code itself has registered as one that was not there before. Of torch.cond and its like only
    the name is seen: their branches run beneath.
    """
    import frames
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    of_torch = {name.partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}

    @functools.cache
    def telling(operator):
        name = operator.__name__.partition(".")[0]  # of "_softmax.default"
        whole = f"{operator.namespace}::{name}"
        if whole not in of_torch:
            return whole + frames.ITS_OWN
        return whole if WATCHED.search(name) else None

    @functools.cache  # a loop over numbers calls the same few, a hundred thousand times
    def named(function):
        name = getattr(function, "__name__", "").partition(".")[0]
        return name if WATCHED.search(name) else None

    class Operators(TorchDispatchMode):
        supports_higher_order_operators = True  # such as torch.cond and flex_attention

        def __init__(self, used):
            super().__init__()
            self.used = used

        @classmethod
        def _should_skip_dynamo(cls):
            return False  # or torch's compiler is imported, which takes a second

        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            self.used.operations += 1
            if not isinstance(operator, torch._ops.OpOverload):  # a compiler may go through these lines
                self.used.add(operator.__name__ + frames.UNSEEN)
            elif name := telling(operator):
                self.used.add(name)
            return operator(*args, **(kwargs or {}))

    class Watch(TorchFunctionMode):
        def __init__(self, used):
            super().__init__()
            self.used, self.operators = used, Operators(used)

        def __enter__(self):
            self.operators.__enter__()
            return super().__enter__()

        def __exit__(self, *problem):
            super().__exit__(*problem)
            return self.operators.__exit__(*problem)

        def __torch_function__(self, function, types, args=(), kwargs=None):
            if name := named(function):
                self.used.add(name)
            return function(*args, **(kwargs or {}))

    return Watch


if __name__ == "__main__":
    main()
