"""What the names in a student's cells stand for, as far as the text alone shows it; nothing is run."""

import ast
import re
import warnings
from functools import cache

MAGIC = re.compile(r"^([ \t]*)[%!?].*$", re.MULTILINE)
MUTATORS = {"append", "extend", "insert", "update", "add", "setdefault", "register_forward_hook", "register_module"}

# What the lessons import, in cells that are not the student's own.
GIVEN = {"torch": "torch", "nn": "torch.nn", "F": "torch.nn.functional", "np": "numpy", "math": "math",
         "attention": "course_lib.attention", "targets": "course_lib.targets", "transformer": "course_lib.transformer",
         "minilm": "course_lib.pretrained.minilm", "smollm2": "course_lib.pretrained.smollm2",
         "vit": "course_lib.pretrained.vit", "version_5": "course_lib.attention.self_attention",
         "attention_v2": "course_lib.attention.scaled_dot_product_attention_single"}

FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
SCOPE = FUNCTION | ast.ClassDef
BLOCK = ast.If | ast.For | ast.AsyncFor | ast.While | ast.Try | ast.TryStar | ast.With | ast.AsyncWith | ast.Match


def parsed(cell):
    """The syntax tree of a cell without IPython's lines, or None where it has none."""
    for source in (cell, MAGIC.sub(r"\1pass", cell)):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


class Bindings:
    """Everything the cells bind at their top: name -> `paths`, where it is imported from, and `nodes`, what it is.

    `checked` has what is handed to `check` as the answer to an exercise, by the name of the exercise; `known`, which
    paths a name stands for, is for whoever works that out, who stops at `until`.
    """

    def __init__(self, trees, until):
        self.known, self.until = {}, until
        self.text, self.attributes, self.is_result = map(cache, (self._text, self._attributes, self._is_result))
        self.paths, self.nodes, self.checked, self.stars, self._later = {}, {}, {}, set(), {}
        for tree in trees:
            self._statements(tree.body)
        for name, nodes in self._later.items():
            if name in self.nodes:
                self.nodes[name] += nodes

    def _text(self, name):
        """The text that a name stands for, where it is never bound to anything else; else None."""
        values = set(map(constant, self.nodes.get(name, ())))
        return values.pop() if len(values) == 1 and name not in self.paths else None

    def _attributes(self, name):
        """The attributes that a class of the student's own defines, where a name is one, or made by one; else none."""
        made_by = {getattr(node.func, "id", "") for node in self.nodes.get(name, ()) if isinstance(node, ast.Call)}
        makers = {node for node in self.nodes.get(name, ()) if not isinstance(node, ast.Call)}
        makers = makers.union(*(self.nodes.get(maker, [None]) for maker in made_by))
        if name in self.paths or not all(isinstance(maker, ast.ClassDef) for maker in makers):
            return set()
        return set.intersection(*map(local_names, makers)) if makers else set()

    def _is_result(self, name):
        """Is it what `check` returns, wherever it is bound?"""
        nodes = self.nodes.get(name, ())
        return bool(nodes) and all(map(is_check, nodes))

    def _statements(self, body):
        waiting = body[::-1]
        while waiting:  # no recursion: each `elif` lies in the one before it
            node = waiting.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                self._bind(node.name, node)
                for inner in ast.walk(node):
                    for name in inner.names if isinstance(inner, ast.Global) else ():
                        self._bind(name, node)
                continue
            if isinstance(node, ast.Import | ast.ImportFrom):
                for name, path in imported(node):
                    self._import(name, path)
            elif isinstance(node, BLOCK):
                waiting += _within(node)[::-1]
            else:
                self._expressions(node)
            for target, value in assigned(node):
                self._assign(target, value)

    def _expressions(self, node):
        """Calls at the top that bind or change a name: `setattr(a, ...)`, `a.append(...)`, `check(a, "name")`, `:=`."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                self._bind(inner.target.id, inner.value)
            elif isinstance(inner, ast.Call):
                called = getattr(inner.func, "id", "")
                if called == "check" and len(inner.args) > 1 and isinstance(name := constant(inner.args[1]), str):
                    self.checked.setdefault(name, []).append(inner.args[0])
                elif called == "setattr" and inner.args:
                    self._change(inner.args[0], inner)
                elif isinstance(inner.func, ast.Attribute) and inner.func.attr in MUTATORS:
                    self._change(inner.func, inner)

    def _assign(self, target, value):
        if isinstance(target, ast.Name):
            self._bind(target.id, value)
        elif isinstance(target, ast.Subscript) and isinstance(target.value, ast.Call) \
                and getattr(target.value.func, "id", "") in ("globals", "locals", "vars"):
            self._bind(constant(target.slice), value)
        else:
            self._change(target, value)

    def _bind(self, name, node):
        if isinstance(name, str):
            self.nodes.setdefault(name, []).append(node)

    def _change(self, target, node):
        while isinstance(target, ast.Attribute | ast.Subscript):
            target = target.value
        if isinstance(target, ast.Name):
            self._later.setdefault(target.id, []).append(node)

    def _import(self, name, path):
        if name == "*":
            self.stars.add(path)
        else:
            self.paths.setdefault(name, set()).add(path)


def _within(block):
    """The statements of a block, in order."""
    parts = [*getattr(block, "handlers", []), *getattr(block, "cases", [])]
    return [*getattr(block, "body", []), *(s for part in parts for s in part.body),
            *getattr(block, "orelse", []), *getattr(block, "finalbody", [])]


def imported(node):
    """Pairs (name, dotted path) that an import binds; the name is "*" where it binds all."""
    for alias in node.names:
        if isinstance(node, ast.Import):
            yield (alias.asname, alias.name) if alias.asname else 2 * (alias.name.split(".")[0],)
        elif alias.name == "*":
            yield "*", node.module or ""
        else:
            yield alias.asname or alias.name, f"{node.module or ''}.{alias.name}"


def assigned(node):
    """Pairs (target, value) of a statement; a tuple is taken apart where both sides have as many parts."""
    if isinstance(node, ast.Assign):
        pairs = [(target, node.value) for target in node.targets]
    elif isinstance(node, ast.AnnAssign) and node.value:
        pairs = [(node.target, node.value)]
    elif isinstance(node, ast.AugAssign):  # what it was, and more
        pairs = [(node.target, ast.BinOp(node.target, node.op, node.value))]
    elif isinstance(node, ast.For | ast.AsyncFor):
        pairs = [(node.target, node.iter)]
    elif isinstance(node, ast.With | ast.AsyncWith):
        pairs = [(item.optional_vars, item.context_expr) for item in node.items if item.optional_vars]
    else:
        return
    while pairs:
        target, value = pairs.pop()
        if isinstance(target, ast.Tuple | ast.List):
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts) \
                else len(target.elts) * [value]
            pairs += zip(target.elts, parts, strict=True)
        else:
            yield (target.value if isinstance(target, ast.Starred) else target), value


def is_check(node):
    """Is it a call of `check`?"""
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check"


def constant(node):
    """A text that is written down, in one piece or put together from constants; else None."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _joined("", [node.left, node.right])
    if isinstance(node, ast.JoinedStr):
        return _joined("", [getattr(part, "value", part) if isinstance(part, ast.FormattedValue) else part
                            for part in node.values])
    if isinstance(node, ast.Subscript) and _is_backwards(node.slice):
        return (constant(node.value) or "")[::-1] or None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "join" \
            and len(node.args) == 1 and isinstance(node.args[0], ast.List | ast.Tuple):
        glue = constant(node.func.value)
        return None if glue is None else _joined(glue, node.args[0].elts)
    return None


def _is_backwards(piece):
    """Is it the slice `[::-1]`?"""
    return (isinstance(piece, ast.Slice) and not piece.lower and not piece.upper
            and isinstance(piece.step, ast.UnaryOp) and isinstance(piece.step.op, ast.USub)
            and getattr(piece.step.operand, "value", None) == 1)


def _joined(glue, nodes):
    parts = [constant(node) for node in nodes]
    return None if None in parts else glue.join(parts)


def local_names(scope):
    """The names that a function or class binds for itself."""
    names, free = set(), set()
    if isinstance(scope, FUNCTION):
        a = scope.args
        names |= {arg.arg for arg in [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg] if arg}
    waiting = [scope.body] if isinstance(scope, ast.Lambda) else list(scope.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Global | ast.Nonlocal):
            free |= set(node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {name for name, _ in imported(node)}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if not isinstance(node, SCOPE):
            waiting += ast.iter_child_nodes(node)
    return names - free


def defaults(arguments):
    """Pairs (argument, default) of those arguments of a function that have one."""
    named = [*arguments.posonlyargs, *arguments.args]
    return [*zip(named[len(named) - len(arguments.defaults):], arguments.defaults, strict=True),
            *((a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d)]


def default_texts(scope):
    """The arguments of a function that are a text unless a caller says otherwise, and that it never binds anew."""
    if not isinstance(scope, FUNCTION):
        return {}
    texts = {argument.arg: text for argument, default in defaults(scope.args)
             if (text := constant(default)) is not None}
    again = {node.id for node in ast.walk(scope) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)} \
        if texts else set()
    return {name: text for name, text in texts.items() if name not in again}
