"""Which built-ins that give an answer away the code of each exercise uses, for a person to look at; nothing is run."""

import ast
import builtins
import re
import sys

from course_lib.staff.grade.bindings import (
    FUNCTION,
    GIVEN,
    SCOPE,
    Bindings,
    assigned,
    constant,
    imported,
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
# They are built on attention, which the lessons let torch compute from here on.
ABOVE_ATTENTION = {"MultiHeadAttention", "SublayerConnection", "EncoderLayer", "DecoderLayer", "Transformer",
                   "LanguageModel", "ViT"}
# They tell right code from wrong, and may compare with anything.
TESTS_OF_CODE = {"is_version_2", "hides_the_future", "is_token_mean"}

LIBRARIES = {"transformers", "timm", "flash_attn", "xformers", "x_transformers", "keras", "tensorflow", "jax", "flax",
             "torchtext", "fairseq"}
SYSTEM = {"ctypes", "cffi", "subprocess", "socket", "multiprocessing", "threading", "signal", "atexit", "pickle",
          "marshal", "urllib", "requests", "http", "shutil", "tempfile", "pathlib", "os", "gc.get_objects",
          "gc.get_referrers", "gc.get_referents", "sys._getframe", "sys._current_frames", "sys.modules", "sys.settrace",
          "sys.setprofile", "inspect.currentframe", "inspect.stack", "io.open", "types.CodeType", "types.FunctionType",
          "unittest.mock", "torch.library", "torch.utils.cpp_extension", "torch.jit", "_pickle", "copyreg", "_thread",
          "concurrent", "asyncio.to_thread", "importlib.abc", "importlib.machinery", "importlib.util"}
HELPERS = {"attention_patterns", "experiments", "fused"}  # of the course; they compute attention, too
# They keep from us which of torch's functions an answer calls.
HIDES = re.compile(r"Disable\w*Torch(Function|Dispatch)\w*|Torch(Function|Dispatch)Mode|\w*torch_function_stack\w*"
                   r"|_(pop|disable)_\w*modes?\w*")
COMPUTED = ("torch", "course_lib", "builtins")  # a name that is looked up there by what code works out is worth a look
GETTERS = {"operator.attrgetter", "operator.methodcaller"}
# Modules of the process that runs the cells; no lesson imports them.
OF_THE_GRADER = {"__main__", "confine", "frames", "large_pages", "memory_files", "origin", "worker"}
HARMLESS = ("os.path", "os.environ", "os.cpu_count")
TEXT_AS_CODE = {"exec", "eval", "compile"}
TEXT_AS_CODE_PATHS = {f"builtins.{name}" for name in TEXT_AS_CODE}
RUN_TEXTS = ("code.", "codeop.", "runpy.", "typing.get_type_hints", "inspect.get_annotations", "timeit.Timer")
IMPORTS = {"builtins.__import__", "importlib.import_module", "importlib.__import__"}
INSIDES = {"verified", "oracle", "__subclasses__", "__globals__", "__code__", "__closure__", "__builtins__", "__mro__",
           "__bases__", "__self__", "f_back", "f_globals", "f_locals", "tb_frame", "gi_frame", "cell_contents"}
EQUAL_TO_ALL = {"__eq__", "__ne__", "__torch_function__", "__torch_dispatch__", "__array_function__"}
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
SETTINGS = ("torch.backends.", "sys.path", "sys.std")


def scan(cells, exercise_names):
    """What a person should look at: exercise -> tuple of words such as "uses F.scaled_dot_product_attention".

    cells: the student's own code cells, in order. A cell that is no valid Python is passed over.

    All definitions of an exercise count, and whatever names of the cells they use, over any number of steps. What
    the exercise is meant to use does not, nor does the course's implementation of another exercise.
    """
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(DEEP)  # an `elif` lies in the one before it, six hundred deep
    try:
        return _scanned(cells, exercise_names)
    except RecursionError:
        return dict.fromkeys(exercise_names, (TOO_DEEP,))
    finally:
        sys.setrecursionlimit(limit)


def _scanned(cells, exercise_names):
    trees, patches, left = [], set(), LONGEST
    for cell in cells:
        if len(cell) > left:
            patches.add(TOO_LONG)
            continue
        left -= len(cell)
        if tree := parsed(cell):
            trees.append(tree)
    bound = Bindings(trees)
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
    uses = [word for word in look.words if not word.startswith("names ")]
    hidden = [word for word in look.words if word.startswith("names ")
              and not any(known.endswith(word.split(" ")[1]) for known in uses)]
    return tuple(dict.fromkeys([*uses, *hidden, *sorted(patches)]))


class _Resolver(ast.NodeVisitor):
    """Knows the dotted paths that an expression may stand for, at any place of a tree."""

    def __init__(self, bound):
        self.bound, self.scopes, self.known = bound, [], {}
        self.used = []  # top names that were met

    def paths(self, node):
        """What a piece of code may stand for: a set of dotted paths, empty where that cannot be said."""
        found = self._paths(node)
        return found if len(found) <= MANY else set(sorted(found)[:MANY])

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
        stars = {f"{star}.{name}" for star in self.bound.stars}
        return stars | ({GIVEN[name]} if name in GIVEN else {f"builtins.{name}"} if hasattr(builtins, name) else set())

    def of_top_name(self, name):
        if name not in self.known:
            self.known[name] = set(self.bound.paths.get(name, ()))
            outer, self.scopes = self.scopes, []
            for node in self.bound.nodes.get(name, ()):
                self.known[name] = self.known[name] | self.paths(node)
            self.scopes = outer
        return self.known[name]

    def of_call(self, node):
        """The paths of `getattr(a, "b")`, `import_module("a")`, `vars(a)` and of a module's `__dict__`."""
        called, text = self.paths(node.func), [constant(arg) for arg in node.args]
        if "builtins.getattr" in called and len(text) > 1 and text[1]:
            return {f"{path}.{text[1]}" for path in self.paths(node.args[0])}
        if called & IMPORTS and text and text[0]:
            return {text[0], text[0].split(".")[0]} if "builtins.__import__" in called else {text[0]}
        if "builtins.vars" in called and node.args:
            return {f"{path}.__dict__" for path in self.paths(node.args[0])}
        return set()

    def of_subscript(self, node):
        """The paths of `a.__dict__["b"]`, `sys.modules["a"]`, `globals()["a"]`."""
        text = constant(node.slice)
        if text is None:
            return set()
        if isinstance(node.value, ast.Call) and self.paths(node.value.func) & {"builtins.globals", "builtins.vars"} \
                and not node.value.args:
            return self.of_name(text)
        bases = self.paths(node.value)
        return {text if base == "sys.modules" else f"{base.removesuffix('.__dict__')}.{text}" for base in bases
                if base == "sys.modules" or base.endswith(".__dict__")}

    def visit(self, node):
        if isinstance(node, SCOPE):
            self.enter(node)
            return
        self.see(node)
        self.generic_visit(node)
        if self.scopes:
            self.remember(node)

    def enter(self, node):
        """Look through a function or class: decorators, defaults and bases outside, its body inside its own scope."""
        self.see(node)
        outside = [*getattr(node, "decorator_list", []), *getattr(node, "bases", []), *getattr(node, "keywords", [])]
        scope = {name: set() for name in local_names(node)}
        if isinstance(node, FUNCTION):
            arguments = node.args
            named = [*arguments.posonlyargs, *arguments.args]
            defaults = [*zip(named[len(named) - len(arguments.defaults):], arguments.defaults, strict=True),
                        *((a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d)]
            outside += [default for _, default in defaults]
            scope |= {argument.arg: self.paths(default) for argument, default in defaults}
        for part in outside:
            self.visit(part)
        self.scopes.append(scope)
        for part in [node.body] if isinstance(node, ast.Lambda) else node.body:
            self.visit(part)
        self.scopes.pop()

    def remember(self, node):
        """Other names that a function gives to what it uses."""
        scope = self.scopes[-1]
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name, path in imported(node):
                scope.setdefault(name, set()).add(path)
        for target, value in assigned(node):
            if isinstance(target, ast.Name) and target.id in scope:
                scope[target.id] = scope[target.id] | self.paths(value)
        if isinstance(node, ast.NamedExpr) and node.target.id in scope:
            scope[node.target.id] = scope[node.target.id] | self.paths(node.value)

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
        if isinstance(node, ast.Call):
            self.see_call(node)
        elif isinstance(node, ast.Name) and node.id == "__builtins__":
            self.words.append("reads __builtins__")
        elif isinstance(node, ast.Subscript) and constant(node.slice) is None:
            self.see_computed({base.removesuffix(".__dict__") for base in self.paths(node.value) if "__dict__" in base})
        elif isinstance(node, ast.ImportFrom | ast.Import):
            for name, path in imported(node):
                self.judge(path if name != "*" else f"{path}.*")
        elif isinstance(node, ast.Attribute):
            if node.attr in INSIDES and not (node.attr == "verified" and self.is_result(node.value)):
                self.words.append(f"reads .{node.attr}")
            elif self.is_itself(node.attr) and not self.paths(node) and not self.is_own(node):  # of an argument, say
                self.words.append(f"uses .{node.attr}")
            elif node.attr == "__class__" and isinstance(node.ctx, ast.Store):
                self.words.append("changes .__class__")
        elif isinstance(node, ast.FunctionDef) and node.name in EQUAL_TO_ALL:
            self.words.append(f"defines {node.name}")
        elif isinstance(node, ast.ClassDef):
            if any("torch.Tensor" in self.paths(base) for base in node.bases):
                self.words.append("makes a kind of torch.Tensor")
        elif isinstance(node, ast.Constant | ast.BinOp | ast.JoinedStr):
            text = constant(node)
            if text and text.isidentifier() and self.is_built_in(text) and self.exercise != text:
                self.words.append(f"names {text} in a text")

    def see_call(self, node):
        called = self.paths(node.func)
        texts = [constant(argument) for argument in node.args]
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

    def is_own(self, node):
        """Is it an attribute that a class of the student's own defines, `My.softmax` or `My().softmax`?"""
        name = getattr(node.value.func if isinstance(node.value, ast.Call) else node.value, "id", "")
        makers = [m for n in self.bound.nodes.get(name, ()) for m in (
            self.bound.nodes.get(getattr(n.func, "id", ""), (n,)) if isinstance(n, ast.Call) else (n,))]
        return bool(makers) and name not in self.bound.paths and not any(name in scope for scope in self.scopes) \
            and all(isinstance(m, ast.ClassDef) and node.attr in local_names(m) for m in makers)

    def is_result(self, node):
        """Is it what `check` returns, as the lessons use it?"""
        if isinstance(node, ast.Name):
            nodes = self.bound.nodes.get(node.id, ())
            return bool(nodes) and all(isinstance(n, ast.Call) and self.is_result(n) for n in nodes)
        return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check"

    def judge(self, path):
        """Note the words for a dotted path, if it gives something away."""
        parts = path.split(".")
        if parts[0] == "builtins" and parts[-1] in TEXT_AS_CODE:
            self.words.append(f"runs a text as code ({parts[-1]})")
        elif path == "builtins.open":
            self.words.append("opens files")
        elif path.startswith(RUN_TEXTS):
            self.words.append(f"runs a text as code ({path})")
        elif parts[0] == "torch" and any(map(HIDES.fullmatch, parts)):
            self.words.append(f"hides what it calls by {path}")
        elif parts[0] in ("torch", "scipy", "sklearn") and any(map(self.is_built_in, parts[1:])):
            last = next(i for i, part in enumerate(parts) if i and self.is_built_in(part))
            self.words.append(f"uses {_short('.'.join(parts[: last + 1]))}")
        elif parts[0] == "course_lib":
            self.judge_course(parts)
        elif parts[0] in LIBRARIES:
            self.words.append(f"uses {parts[0]}")
        if not path.startswith(HARMLESS):
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
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            target = node if isinstance(node, ast.Attribute) else node.value
            self.replaced(self.paths(target))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            modules = {path.split(".")[0] for _, path in imported(node)}
            self.words |= {f"imports {name}, which belongs to the grader" for name in modules & OF_THE_GRADER}
        elif isinstance(node, ast.Call) and (run := self.paths(node.func) & TEXT_AS_CODE_PATHS):
            self.words |= {f"runs a text as code ({path.split('.')[1]})" for path in run}
        elif isinstance(node, ast.Call) and len(node.args) > 1 \
                and self.paths(node.func) & {"builtins.setattr", "builtins.delattr"}:
            self.replaced_in(self.paths(node.args[0]), node.args[1])
        elif isinstance(node, ast.Call):
            for path in self.paths(node.func):
                if path.endswith(SETS) and node.args:
                    whose = path.rpartition(".")[0]
                    other = whose in ("builtins.type", "builtins.object") and len(node.args) > 1
                    self.replaced_in(self.paths(node.args[0]) if other else {whose}, node.args[int(other)])
                elif path.endswith(UPDATES):
                    self.replaced({f"{path.rpartition('.__dict__')[0]}.something"})
                elif path.startswith(FINDS_MODULES):
                    self.replaced({path.rpartition(".")[0]})

    def replaced_in(self, paths, name):
        self.replaced({f"{path}.{constant(name) or 'something'}" for path in paths})

    def replaced(self, paths):
        self.words |= {f"replaces {path}" for path in paths if path.split(".")[0] in PATCHED
                       and "." in path and not path.startswith(SETTINGS)}


def _patches(tree, bound):
    look = _Patches(bound)
    try:
        look.visit(tree)
    except RecursionError:
        look.words.add(TOO_DEEP)
    return look.words
