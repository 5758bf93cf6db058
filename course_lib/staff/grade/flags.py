"""Which built-ins that give an answer away the code of each exercise uses, for a person to look at; nothing is run."""

import ast
import builtins
import pkgutil
import re
import sys
import time

import numpy as np
import torch

from course_lib import checks
from course_lib.staff.grade.bindings import (
    FUNCTION,
    GIVEN,
    MUTATORS,
    SCOPE,
    Bindings,
    assigned,
    constant,
    default_texts,
    defaults,
    imported,
    is_check,
    local_names,
    parsed,
)

SDPA = re.compile(r"_?scaled_dot_product_\w*attention\w*|flex_attention")
WHOLE = re.compile(r"MultiheadAttention|_?(native_)?multi_head_attention(_forward)?"
                   r"|Transformer(Encoder|Decoder)?(Layer)?|_transformer_encoder_layer_fwd")
ONLY = {"softmax": re.compile(r"_?(log_|safe_|gumbel_|special_)?softmax|(Log)?Softmax|[sS]oftmin"),
        "layer_norm": re.compile(r"(native_|fused_)?(layer|group|batch|instance)_norm"
                                 r"|(Layer|Group|Batch|Instance)Norm(\dd)?"),
        "rms_norm": re.compile(r"rms_norm|RMSNorm"),
        "causal_mask": re.compile(r"causal_(lower|upper)_\w+|CausalBias|_?generate_square_subsequent_mask")}
# The same in torch's own modules and those of other libraries, where every name that has such a part is one of theirs.
THEIRS = re.compile(r"scaled_dot_product|(flash|efficient|flex)_?attention", re.IGNORECASE)
THEIR_WHOLE = re.compile(r"multi_?head_?attention|^_?transformer", re.IGNORECASE)
THEIR_NORM = re.compile(r"(layer|group|batch|instance|rms)_?norm", re.IGNORECASE)
THEIR_OWN = {"softmax": re.compile(r"softm(ax|in)|cross_?entropy", re.IGNORECASE), "layer_norm": THEIR_NORM,
             "rms_norm": THEIR_NORM, "causal_mask": re.compile(r"causal|subsequent_mask", re.IGNORECASE)}
# They are built on attention, which the lessons let torch compute from here on.
ABOVE_ATTENTION = {"MultiHeadAttention", "SublayerConnection", "EncoderLayer", "DecoderLayer", "Transformer",
                   "EncoderClassifier", "Block", "LanguageModel", "ViT"}
# They tell right code from wrong, and may compare with anything.
TESTS_OF_CODE = {"is_version_2", "hides_the_future", "is_token_mean", "is_equivariant"}

LIBRARIES = {"transformers", "timm", "flash_attn", "xformers", "x_transformers", "keras", "tensorflow", "jax", "flax",
             "torchtext", "fairseq", "onnx", "onnxruntime", "mlx", "paddle", "torchtune", "lightning", "fairscale"}
SYSTEM = {"ctypes", "cffi", "subprocess", "socket", "multiprocessing", "threading", "signal", "atexit", "pickle",
          "marshal", "urllib", "requests", "http", "shutil", "tempfile", "pathlib", "os", "gc.get_objects",
          "gc.get_referrers", "gc.get_referents", "sys._getframe", "sys._current_frames", "sys.modules", "sys.settrace",
          "sys.setprofile", "inspect.currentframe", "inspect.stack", "io.open", "types.CodeType", "types.FunctionType",
          "unittest.mock", "torch.library", "torch.utils.cpp_extension", "torch.jit", "_pickle", "copyreg", "_thread",
          "concurrent", "asyncio.to_thread", "importlib.abc", "importlib.machinery", "importlib.util"}
POOLS = re.compile(r"concurrent|joblib|dask|gevent|\w*ThreadPool\w*|thread_map|run_in_executor|to_thread")
HELPERS = {"experiments", "fused"}  # of the course; they compute attention, too
# They keep from us which of torch's functions an answer calls.
HIDES = re.compile(r"Disable\w*Torch(Function|Dispatch)\w*|Torch(Function|Dispatch)Mode|\w*torch_function_stack\w*"
                   r"|_(pop|disable)_\w*modes?\w*")
# A name that is looked up there by what code works out is worth a look.
COMPUTED = {"torch", "course_lib", "builtins", "numpy", "scipy", "sklearn", *LIBRARIES}
GETTERS = {"operator.attrgetter", "operator.methodcaller"}
FINDS_BY_NAME = re.compile(r"pydoc\..*|pkgutil\..*|string\.Formatter|inspect\.getmembers.*|inspect\.getattr_static"
                           r"|.*\.__getattribute__|torch\.overrides\.(get_|resolve).*|.*\.decomposition_table"
                           r"|torch\._decomp\.\w*decompositions")
AS_VALUES = {"builtins.getattr", "builtins.vars", "builtins.__import__", "importlib.import_module",
             "importlib.__import__"}  # handed on, they look up what nobody can read
# Modules of the process that runs the cells; no lesson imports them.
OF_THE_GRADER = {"__main__", "confine", "frames", "large_pages", "memory_files", "origin", "worker"}
HARMLESS = ("os.path", "os.environ", "os.cpu_count", "os.getenv", "os.getcwd", "os.sep", "os.name", "os.linesep",
            "torch.jit.script", "torch.jit.trace", "torch.jit.ignore", "torch.jit.export", "torch.jit.Final")
IN_PART = {"os", "torch.jit"}  # what is used of them counts, not their names
TEXT_AS_CODE = {"exec", "eval", "compile"}
TEXT_AS_CODE_PATHS = {f"builtins.{name}" for name in TEXT_AS_CODE}
# Modules and functions whose purpose is to run a text.
RUN_TEXTS = re.compile(
    r"(codeop|runpy|bdb|jinja2|mako|numexpr|asteval|simpleeval|RestrictedPython)\..*|code\.(Interactive\w*|interact).*"
    r"|(pdb|trace|profile|cProfile)\.(run\w*|Trace|Pdb|Profile).*"
    r"|typing(_extensions)?\.(get_type_hints|ForwardRef|_eval_type|evaluate_forward_ref)|annotationlib\..*"
    r"|inspect\.get_annotations|doctest\.(?!testmod)\w+|numpy\.testing\.(.*\.)?(runstring|rundocs|measure)"
    r"|sympy\.(.*\.)?(lambdify|sympify|parse_expr|S)|pandas\.eval|timeit\..*|torch\.utils\.benchmark\..*Timer"
    r"|torch\._dynamo\.bytecode_transformation\..*")
TIMERS = re.compile(r"timeit\..*|torch\.utils\.benchmark\..*")
IMPORTS = {"builtins.__import__", "importlib.import_module", "importlib.__import__"}
INSIDES = {"verified", "oracle", "__subclasses__", "__globals__", "__code__", "__closure__", "__builtins__", "__mro__",
           "__bases__", "__self__", "f_back", "f_globals", "f_locals", "tb_frame", "gi_frame", "cell_contents"}
EQUAL_TO_ALL = {"__eq__", "__ne__"}
TAKES_OVER = {"__torch_function__", "__torch_dispatch__", "__array_function__"}
OF_A_FUNCTION = {"__code__", "__globals__", "__closure__"}
PATCHED = {"torch", "numpy", "builtins", "course_lib", "sys"}
SETS, UPDATES = (".__setattr__", ".__delattr__"), (".__dict__.update", ".__dict__.setdefault", ".__dict__.pop")
FINDS_MODULES = ("sys.meta_path.", "sys.path_hooks.")
MANY = 50  # paths one expression may stand for; only code written to confuse has more
LONGEST = 400_000  # letters of all cells together; nobody writes more by hand
TELLING = ("the course's own", "no cell", "text as code", "belongs to the grader", "replaces", "different answers",
           "public inputs only", "hides", "calls ", "uses F.",
           "uses nn.", "uses torch.", "uses .", "names ", "computed name")
TOO_LONG = "is too long to be looked through to its end"
TOO_DEEP = "is nested too deeply to be looked through"
DEEP = 10_000
DATA = re.compile(r"\"[^\"\n]{1000,}\"|'[^'\n]{1000,}'")  # a long text is no code, and quickly looked through
SETTINGS = re.compile(
    r"torch\.backends\..*|.*\.config\..*|sys\.(path|std|argv|tracebacklimit|ps1|ps2|\w*hook$).*|builtins\.print"
    r"|.*\.(__repr__|__str__|__format__|__path__)|numpy\.(bool|int|float|object|str|complex|long|unicode)")
# Where these have no such name, nothing is replaced by giving them one.
PUBLIC = {"torch": torch, "torch.nn": torch.nn, "torch.nn.functional": torch.nn.functional,
          "torch.Tensor": torch.Tensor, "torch.nn.Module": torch.nn.Module, "numpy": np}
OF_THE_CHECKS = {module.name for module in pkgutil.iter_modules(checks.__path__)}  # no lesson imports one of them


class TooSlow(Exception):
    """The code of some cells takes longer to look through than anybody waits."""


def scan(cells, exercise_names, until=float("inf")):
    """What a person should look at: exercise -> tuple of words such as "uses F.scaled_dot_product_attention".

    cells: the student's own code cells, in order. A cell that is no valid Python is passed over.
    until: on time.monotonic's clock; what is looked through later is said to be too long

    All definitions of an exercise count, and whatever names of the cells they use, over any number of steps. What
    the exercise is meant to use does not, nor does the course's implementation of another exercise.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEP)  # an `elif` lies in the one before it, six hundred deep
    try:
        return _scanned(cells, exercise_names, until)
    except RecursionError:
        return dict.fromkeys(exercise_names, (TOO_DEEP,))
    finally:
        sys.setrecursionlimit(limit)


def _scanned(cells, exercise_names, until):
    trees, patches, left = [], set(), LONGEST
    for cell in cells:
        length = max(len(DATA.sub("", cell)), len(cell) // 10)
        if length > left:
            patches.add(TOO_LONG)
            continue
        left -= length
        if tree := parsed(cell):
            trees.append(tree)
    bound = Bindings(trees, until)
    patches |= {word for tree in trees for word in _patches(tree, bound)}
    return {name: _flags(name, bound, patches) for name in exercise_names}


def ranked(words):
    """Words once each, what replaces an answer first and what many an honest notebook does last."""
    return sorted(dict.fromkeys(words), key=lambda word: next(
        (i for i, telling in enumerate(TELLING) if telling in word), len(TELLING)))


def _flags(exercise, bound, patches):
    if not any(exercise in names for names in (bound.nodes, bound.paths, bound.checked)):
        return tuple({TOO_LONG} & patches)
    look = _Look(exercise, bound)
    try:
        look.follow(exercise)
    except RecursionError:
        look.words.append(TOO_DEEP)
    except TooSlow:
        look.words.append(TOO_LONG)
    words = list(dict.fromkeys(look.words))
    uses = [word for word in words if not word.startswith("names ")]
    ends = "\n".join([*uses, ""])
    hidden = [word for word in words if word.startswith("names ") and word.split(" ")[1] + "\n" not in ends]
    return tuple(dict.fromkeys([*uses, *hidden, *sorted(patches)]))


def _not_too_many(paths):
    return paths if len(paths) <= MANY else set(sorted(paths)[:MANY])


class _Resolver(ast.NodeVisitor):
    """Knows the dotted paths that an expression may stand for, at any place of a tree."""

    def __init__(self, bound):
        self.bound, self.scopes = bound, []
        self.round = self.before = None  # what top names stand for, as far as this round and the one before it know
        self.texts = []  # for each scope, what its arguments are where they are a text if nobody says otherwise
        self.inner = set()  # nodes that are called, or of which an attribute is taken
        self.used = []  # top names that were met

    def paths(self, node):
        """What a piece of code may stand for: a set of dotted paths, empty where that cannot be said."""
        return _not_too_many(self._paths(node))

    def _paths(self, node):
        if isinstance(node, ast.Name):
            return self.of_name(node.id)
        if isinstance(node, ast.Attribute):
            return {f"{path}.{node.attr}" for path in self.paths(node.value)}
        if isinstance(node, ast.NamedExpr | ast.Await):
            return self.paths(node.value)
        if isinstance(node, ast.IfExp):
            return self.paths(node.body) | self.paths(node.orelse)
        if isinstance(node, ast.BoolOp):
            return set().union(*map(self.paths, node.values))
        if isinstance(node, ast.Call):
            return self.of_call(node)
        return self.of_subscript(node) if isinstance(node, ast.Subscript) else set()

    def of_name(self, name):
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        self.used.append(name)
        if name in self.bound.paths or name in self.bound.nodes:
            return self.of_top_name(name)
        stars = {f"{star}.{name}" for star in self.bound.stars
                 if not (star.startswith("course_lib") and hasattr(builtins, name))}
        return stars | ({GIVEN[name]} if name in GIVEN else {f"builtins.{name}"} if hasattr(builtins, name) else set())

    def text(self, node):
        """The text that an expression stands for: one that is written down, here or where its name is bound."""
        if not isinstance(node, ast.Name):
            return constant(node)
        for scope, texts in zip(reversed(self.scopes), reversed(self.texts), strict=True):
            if node.id in scope:
                return texts.get(node.id)
        return self.bound.text(node.id)

    def of_top_name(self, name):
        """What a name stands for at the top of the cells, which is worked out once for all of them.

        Names in a circle stand for what any of them does. Whichever is met second then misses something, but the first
        does not: a second round begins with what that one stands for.
        """
        if name in self.bound.known:
            return self.bound.known[name]
        if self.round is not None:
            return self.of_name_in_a_circle(name)
        self.round, self.before = {}, {}
        try:
            self.of_name_in_a_circle(name)
            self.round, self.before = {}, self.round
            self.of_name_in_a_circle(name)
        finally:  # what is too deep once need not be tried again
            self.bound.known |= self.round
            self.round = None
        return self.bound.known[name]

    def of_name_in_a_circle(self, name):
        if name not in self.round:
            self.round[name] = self.before.get(name, set()) | self.bound.paths.get(name, set())
            outer, self.scopes, self.texts = (self.scopes, self.texts), [], []
            for node in self.bound.nodes.get(name, ()):
                self.round[name] = _not_too_many(self.round[name] | self.paths(node))
            self.scopes, self.texts = outer
        return self.round[name]

    def of_call(self, node):
        """The paths of `getattr(a, "b")`, `import_module("a")`, `vars(a)` and of a module's `__dict__`."""
        called, text = self.paths(node.func), [self.text(arg) for arg in node.args]
        if "builtins.getattr" in called and len(text) > 1 and text[1]:
            return {f"{path}.{text[1]}" for path in self.paths(node.args[0])}
        if called & IMPORTS and text and text[0]:
            return {text[0], text[0].split(".")[0]} if "builtins.__import__" in called else {text[0]}
        if "builtins.vars" in called and node.args:
            return {f"{path}.__dict__" for path in self.paths(node.args[0])}
        return set()

    def of_subscript(self, node):
        """The paths of `a.__dict__["b"]`, `sys.modules["a"]`, `globals()["a"]`."""
        text = self.text(node.slice)
        if text is None:
            return set()
        if isinstance(node.value, ast.Call) and self.paths(node.value.func) & {"builtins.globals", "builtins.vars"} \
                and not node.value.args:
            return self.of_name(text)
        bases = self.paths(node.value)
        return {text if base == "sys.modules" else f"{base.removesuffix('.__dict__')}.{text}" for base in bases
                if base == "sys.modules" or base.endswith(".__dict__")}

    def visit(self, node):
        if time.monotonic() > self.bound.until:
            raise TooSlow
        if not node._fields:  # a third of all nodes: `pass`, operators, and whether a name is read or written
            return
        if isinstance(node, SCOPE):
            self.enter(node)
            return
        if isinstance(node, ast.Call):
            self.inner.add(node.func)
        elif isinstance(node, ast.Attribute) or isinstance(node, ast.Subscript) and self.text(node.slice):
            self.inner.add(node.value)
        self.see(node)
        self.generic_visit(node)
        if self.scopes and isinstance(node, ast.stmt | ast.NamedExpr):
            self.remember(node)

    def enter(self, node):
        """Look through a function or class: decorators, defaults and bases outside, its body inside its own scope."""
        self.see(node)
        outside = [*getattr(node, "decorator_list", []), *getattr(node, "bases", []), *getattr(node, "keywords", [])]
        scope = {name: set() for name in local_names(node)}
        if isinstance(node, FUNCTION):
            outside += [default for _, default in defaults(node.args)]
            scope |= {argument.arg: self.paths(default) for argument, default in defaults(node.args)}
        for part in outside:
            self.visit(part)
        self.scopes.append(scope)
        self.texts.append(default_texts(node))
        for part in [node.body] if isinstance(node, ast.Lambda) else node.body:
            self.visit(part)
        self.scopes.pop()
        self.texts.pop()

    def remember(self, node):
        """Other names that a function gives to what it uses."""
        scope = self.scopes[-1]
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, path in imported(node):
                scope.setdefault(name, set()).add(path)
        for target, value in assigned(node):
            if isinstance(target, ast.Name) and target.id in scope:
                scope[target.id] = _not_too_many(scope[target.id] | self.paths(value))
        if isinstance(node, ast.NamedExpr) and node.target.id in scope:
            scope[node.target.id] = _not_too_many(scope[node.target.id] | self.paths(node.value))

    def see(self, node):
        """What a kind of look does with a node."""
        raise NotImplementedError


class _Look(_Resolver):
    """A look at all code that one exercise uses."""

    def __init__(self, exercise, bound):
        super().__init__(bound)
        self.exercise, self.words = exercise, []

    def follow(self, name):
        """Look at an answer and at all top names that it uses."""
        seen = set()
        for node in self.bound.checked.get(name, ()):
            self.visit(node)
        waiting = [name, *self.used]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            self.used = []
            for path in sorted(self.bound.paths.get(name, ())):
                self.judge(path)
            if name == self.exercise and name in self.bound.nodes:
                self.words = [f"{word}, beside an answer" for word in self.words]
            for node in self.bound.nodes.get(name, ()):
                self.visit(node)
            waiting += self.used

    def see(self, node):
        if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
            for path in sorted(self.paths(node)):
                self.judge(path)
                if node not in self.inner:
                    self.judge_value(path)
        if isinstance(node, ast.Call):
            self.see_call(node)
        elif isinstance(node, ast.Name) and node.id == "__builtins__":
            self.words.append("reads __builtins__")
        elif isinstance(node, ast.Subscript) and self.text(node.slice) is None:
            self.see_computed({base.removesuffix(".__dict__") for base in self.paths(node.value) if "__dict__" in base})
        elif isinstance(node, ast.ImportFrom | ast.Import):
            for name, path in imported(node):
                self.judge(path if name != "*" else f"{path}.*")
        elif isinstance(node, ast.Attribute):
            if node.attr == "get_field":
                self.words.append("looks up a computed name by get_field")
            if node.attr in INSIDES and not (node.attr == "verified" and self.is_result(node.value)):
                self.words.append(f"reads .{node.attr}")
            elif self.is_itself(node.attr) and not self.paths(node) and not self.is_own(node):  # of an argument, say
                self.words.append(f"uses .{node.attr}")
            elif node.attr == "__class__" and isinstance(node.ctx, ast.Store):
                self.words.append("changes .__class__")
        elif isinstance(node, ast.FunctionDef) and node.name in TAKES_OVER:
            self.words.append(f"defines {node.name}")
        elif isinstance(node, ast.ClassDef):
            self.see_class(node)
        elif isinstance(node, ast.Constant | ast.BinOp | ast.JoinedStr):
            text = constant(node)
            if text and text.isidentifier() and self.is_built_in(text) and self.exercise != text:
                self.words.append(f"names {text} in a text")
            elif text in INSIDES and text.startswith("__"):
                self.words.append(f"names {text} in a text")

    def see_class(self, node):
        """A kind of tensor may be equal to anything; a class that stands on nothing else is compared by nobody."""
        if any("torch.Tensor" in self.paths(base) for base in node.bases):
            self.words.append("makes a kind of torch.Tensor")
        if any(self.paths(base) - {"builtins.object"} or not isinstance(base, ast.Name) for base in node.bases):
            self.words += [f"defines {part.name}" for part in node.body
                           if isinstance(part, ast.FunctionDef) and part.name in EQUAL_TO_ALL]

    def see_call(self, node):
        called = self.paths(node.func)
        texts = [self.text(argument) for argument in node.args]
        if "builtins.dir" in called and node.args:
            self.see_computed(self.paths(node.args[0]))
        if "builtins.getattr" in called and len(texts) > 1 and texts[1] is None:
            self.see_computed(self.paths(node.args[0]))
        if called & GETTERS and None in texts:
            self.words.append("looks up a computed name by operator")
        if called & IMPORTS and texts and texts[0] is None:
            self.words.append("imports a computed name")
        for path in called:
            if path.startswith("inspect.getsource"):
                self.words.append(f"copies code through {path}")

    def see_computed(self, paths):
        """Code looks up, in these modules, a name that cannot be read."""
        self.words += [f"looks up a computed name in {p}" for p in sorted(paths) if p.split(".")[0] in COMPUTED]

    def judge_value(self, path):
        """Note the words for a dotted path that is handed on as it is, and neither called nor taken an attribute of."""
        if path in AS_VALUES:
            self.words.append(f"looks up a computed name by {path.split('.')[1]}")
        elif path.endswith(".__dict__"):
            self.see_computed({path.removesuffix(".__dict__")})
        elif path in IN_PART:
            self.words.append(f"uses {path}")

    def is_own(self, node):
        """Is it an attribute that a class of the student's own defines, `My.softmax` or `My().softmax`?"""
        name = getattr(node.value.func if isinstance(node.value, ast.Call) else node.value, "id", "")
        return node.attr in self.bound.attributes(name) and not any(name in scope for scope in self.scopes)

    def is_result(self, node):
        """Is it what `check` returns, as the lessons use it?"""
        return self.bound.is_result(node.id) if isinstance(node, ast.Name) else is_check(node)

    def judge(self, path):
        """Note the words for a dotted path, if it gives something away."""
        parts = path.split(".")
        if parts[0] == "builtins" and parts[-1] in TEXT_AS_CODE:
            self.words.append(f"runs a text as code ({parts[-1]})")
        elif path == "builtins.open":
            self.words.append("opens files")
        elif ".__dict__." in path:
            self.see_computed({path.partition(".__dict__.")[0]})
        elif FINDS_BY_NAME.fullmatch(path):
            self.words.append(f"looks up a computed name by {path}")
        elif parts[0] == "torch" and any(map(HIDES.fullmatch, parts)):
            self.words.append(f"hides what it calls by {path}")
        elif parts[0] in ("torch", "scipy", "sklearn") and any(map(self.is_theirs, parts[1:])):
            last = next(i for i, part in enumerate(parts) if i and self.is_theirs(part))
            self.words.append(f"uses {_short('.'.join(parts[: last + 1]))}")
        elif parts[0] == "course_lib":
            self.judge_course(parts)
        elif parts[0] in LIBRARIES:
            self.words.append(f"uses {parts[0]}")
        if not path.startswith(HARMLESS) and path not in IN_PART:
            self.words += [f"uses {name}" for name in sorted(SYSTEM) if f"{path}.".startswith(f"{name}.")]

    def judge_course(self, parts):
        if self.exercise in parts[1:]:
            self.words.append(f"imports the course's own {self.exercise}")
        elif parts[-1].startswith("_") or HELPERS & set(parts) and self.exercise not in ABOVE_ATTENTION:
            self.words.append(f"uses the course's own {parts[-1]}")
        elif parts[1:2] in (["checks"], ["staff"]) and parts[2:] not in ([], ["check"], ["mine"], ["hints"]):
            self.words.append(f"reads {'.'.join(parts[:3])}")

    def is_built_in(self, name):
        """Does a function or class of torch give this exercise away?"""
        if self.exercise in TESTS_OF_CODE:
            return False
        return bool(WHOLE.fullmatch(name) or self.is_itself(name)
                    or self.exercise not in ABOVE_ATTENTION and SDPA.fullmatch(name))

    def is_theirs(self, name):
        """Does a name within torch's modules, or another library's, give this exercise away?"""
        if self.exercise in TESTS_OF_CODE:
            return False
        own = THEIR_OWN.get(self.exercise)
        return bool(self.is_built_in(name) or THEIR_WHOLE.search(name) or own and own.search(name)
                    or self.exercise not in ABOVE_ATTENTION and THEIRS.search(name))

    def is_itself(self, name):
        """Is it this very exercise, as torch has it?"""
        return self.exercise in ONLY and bool(ONLY[self.exercise].fullmatch(name))


def _short(path):
    for module, name in (("torch.nn.functional.", "F."), ("torch.nn.", "nn.")):
        if path.startswith(module) and path.count(".") == module.count("."):
            return name + path.removeprefix(module)
    return path


class _Patches(_Resolver):
    """A look for what a cell replaces outside of itself."""

    def __init__(self, bound):
        super().__init__(bound)
        self.words = set()

    def see(self, node):
        if isinstance(node, ast.Name | ast.Attribute):
            self.see_paths(node)
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            target = node if isinstance(node, ast.Attribute) else node.value
            self.replaced(self.paths(target))
            self.words |= {f"replaces .{node.attr}"} if getattr(node, "attr", "") in OF_A_FUNCTION else set()
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for _, path in imported(node):
                self.see_import(path.split("."))
        elif isinstance(node, ast.Call):
            self.see_call(node)

    def see_import(self, parts):
        if parts[0] in OF_THE_GRADER or parts[:2] == ["course_lib", "staff"] \
                or parts[:2] == ["course_lib", "checks"] and OF_THE_CHECKS & set(parts[2:3]):
            self.words.add(f"imports {'.'.join(parts)}, which belongs to the grader")
        self.see_threads(parts)

    def see_threads(self, parts):
        """Nothing sees what of torch's runs in another thread."""
        if any(map(POOLS.fullmatch, parts)) and parts[0] not in ("torch", "course_lib"):
            self.words.add(f"uses threads ({'.'.join(parts)})")

    def see_paths(self, node):
        for path in self.paths(node):
            parts = path.split(".")
            if parts[:2] == ["course_lib", "checks"] and OF_THE_CHECKS & set(parts[2:3]):
                self.words.add(f"reads {'.'.join(parts[:3])}, which belongs to the grader")
            elif path in ("builtins.setattr", "builtins.delattr") and node not in self.inner:
                self.words.add("replaces something by setattr")
            elif RUN_TEXTS.fullmatch(path) and not TIMERS.fullmatch(path):
                self.words.add(f"runs a text as code ({path})")

    def see_call(self, node):
        called = self.paths(node.func)
        if (run := called & TEXT_AS_CODE_PATHS) and not _is_a_number(node.args, self.paths):
            self.words |= {f"runs a text as code ({path.split('.')[1]})" for path in run}
        if any(k.arg == "eval_str" for k in node.keywords):
            self.words.add("runs a text as code (eval_str)")
        if len(node.args) > 1 and called & {"builtins.setattr", "builtins.delattr"}:
            self.replaced_in(self.paths(node.args[0]), node.args[1])
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        for path in called:
            if TIMERS.fullmatch(path) and not all(map(self.only_calls, given)):
                self.words.add(f"runs a text as code ({path})")
            elif path in ("operator.setitem", "operator.delitem") and node.args:
                self.replaced(f"{base.removesuffix('.__dict__')}.something" for base in self.paths(node.args[0]))
            elif path.endswith(SETS) and node.args:
                whose = path.rpartition(".")[0]
                other = whose in ("builtins.type", "builtins.object") and len(node.args) > 1
                self.replaced_in(self.paths(node.args[0]) if other else {whose}, node.args[int(other)])
            elif path.endswith(UPDATES):
                self.replaced({f"{path.rpartition('.__dict__')[0]}.something"})
            elif path.startswith(FINDS_MODULES):
                self.replaced({path.rpartition(".")[0]})

    def only_calls(self, node):
        """Is what is to be timed no text, or a text that defines and changes nothing?"""
        text = self.text(node)
        if text is None:
            return not isinstance(node, ast.BinOp | ast.JoinedStr | ast.Subscript)
        tree = parsed(text)
        return tree is not None and not any(
            isinstance(part, ast.Lambda | ast.NamedExpr | ast.FunctionDef | ast.ClassDef)
            or isinstance(part, ast.Attribute) and part.attr in MUTATORS
            or isinstance(part, ast.Subscript | ast.Attribute) and not isinstance(part.ctx, ast.Load)
            or isinstance(part, ast.Name) and part.id in ("setattr", "exec", "eval", "globals", "vars")
            for part in ast.walk(tree))

    def replaced_in(self, paths, name):
        self.replaced({f"{path}.{constant(name) or 'something'}" for path in paths})

    def replaced(self, paths):
        self.words |= {f"replaces {path}" for path in paths if path.split(".")[0] in PATCHED
                       and "." in path and not SETTINGS.fullmatch(path) and not _is_new(path)}


def _is_new(path):
    """Does torch, or numpy, have no such name, so that giving it one replaces nothing?"""
    whose, _, name = path.rpartition(".")
    return whose in PUBLIC and name != "something" and not name.startswith("__") and not hasattr(PUBLIC[whose], name)


def _is_a_number(arguments, paths):
    """Is what `eval` gets typed in, or a constant that holds no code?"""
    parts = arguments[0].values if arguments and isinstance(arguments[0], ast.BoolOp) else arguments[:1]
    return bool(parts) and all(
        isinstance(part, ast.Call) and "builtins.input" in paths(part.func)
        or isinstance(part, ast.Constant) and isinstance(tree := parsed(str(part.value)), ast.Module)
        and not any(isinstance(n, ast.Name | ast.Call | ast.Lambda | ast.Attribute) for n in ast.walk(tree))
        for part in parts)


def _patches(tree, bound):
    look = _Patches(bound)
    try:
        look.visit(tree)
    except RecursionError:
        look.words.add(TOO_DEEP)
    except TooSlow:
        look.words.add(TOO_LONG)
    return look.words
