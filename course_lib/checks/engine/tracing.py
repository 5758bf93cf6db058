"""Every value on the way through an answer: its source is run once more, with an eye on each expression.

This reads what a learner wrote, so it is for a learner's own check, in their own process; it never decides what is
right.
"""

import ast
import inspect
import linecache
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass

import numpy as np
import torch

from course_lib.checks.engine.surroundings import PUT_IN, Surroundings, stored, written_into

TIMES = 12  # that an expression is looked at in one call: of a long loop nobody reads more
EYE = "__seen__"
LOOKED_AT = ast.Name, ast.Attribute, ast.Subscript, ast.Call, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare
COUNTS = "range(", "enumerate(", "zip(", "reversed("  # are no values, but are made of some
VALUES = torch.Tensor | float | int | tuple | list | None


@dataclass(frozen=True)
class Place:
    """An expression in a source, or a statement that writes into a variable.

    lines: the numbers of its lines, and of those that decide what it does: a loop, a condition, a default
    parts: the numbers of the places it is made of
    """

    lines: frozenset
    words: str
    parts: tuple
    name: str = ""  # where it is nothing but a variable
    calls: str = ""  # the attribute of `self` that is called
    inside: str = ""  # the function that it stands in, where it calls an argument of that

    @property
    def may_be_idle(self):
        """May a right step give back what it is given: a dropout, or a call of what is looked into itself?"""
        return bool(self.calls) or "dropout" in self.words


class Traced:
    """An answer under observation: `answer` does what it did, and its `places` are looked at on the way.

    values: {(place, how many times before): its value} of the last call, in the order in which they came
    needs:  {the same: the keys of what it was made of}; None among them is what cannot be known
    """

    def __init__(self, definition, lines, usual):
        self.lines, self.places, self.sources, self.built = lines, [], {}, {}
        self.usual, self.given, self.returned = usual, set(), set()
        self.around = Surroundings(definition)
        self.is_decorated = bool(definition.decorator_list)  # then more may happen to what it returns
        self.main = definition.name if isinstance(definition, ast.FunctionDef) else "forward"
        inside = [definition] if isinstance(definition, ast.FunctionDef) else definition.body
        for function in (f for f in inside if isinstance(f, ast.FunctionDef)):
            if function.name == "__init__":
                self.built = _attributes(function)
            else:
                self._look_through(function)
        self.begin()

    def begin(self, instead=None):
        """Forget the last call. instead: {key: the value that takes the place of what is made there}."""
        self.values, self.needs, self._instead = {}, {}, instead or {}
        self._times, self._made, self._is, self._alive, self._hidden = Counter(), {}, {}, [], set()

    def seen(self, number, value):
        """Note a value on its way; what comes back goes on in its place."""
        key = number, self._times[number]
        if isinstance(value, np.ndarray | Mapping | Set):
            self._hidden.add(number)
        if key[1] >= TIMES or isinstance(value, bool) or not isinstance(value, VALUES):
            return value
        place = self.places[number]
        self.needs[key] = list(self._needs_of(place, value))
        self._times[number] += 1
        value = self._instead.get(key, value)
        self.values[key], self._is[key] = _kept(value), id(value)
        self._alive.append(value)  # or another value would get its id
        for made in (value, *(value if isinstance(value, tuple | list) else ())):
            if isinstance(made, torch.Tensor | tuple | list) and not (place.name and id(made) in self._made):
                self._made[id(made)] = key
        return value

    def _needs_of(self, place, value):
        if not place.name:
            yield from ((part, self._times[part] - 1) for part in place.parts if self._times[part])
            yield from (None for part in place.parts if part in self._hidden)
        latest = [(i, self._times[i] - 1) for i in reversed(self.sources.get(place.name, ())) if self._times[i]]
        put_in = [key for key in latest if self._is[key] == id(value)]
        if isinstance(value, list) and latest:
            yield from ((i, k) for i, last in latest for k in range(last + 1))
        elif put_in or id(value) in self._made:
            yield (*put_in, self._made.get(id(value)))[0]
        elif place.name in self.sources and place.name not in self.given:
            yield (*latest, None)[0]  # and else it is an argument, or a variable of the notebook

    def _look_through(self, function):
        """Number the places of a function, and put an eye on each."""
        given = {a.arg for a in ast.walk(function) if isinstance(a, ast.arg)}
        self.given |= given
        self._inside = {a.arg: function.name for a in function.args.args}
        for statement in function.body:
            self._number(statement, _lines_of_defaults(function, self.usual))
        for node in ast.walk(function):
            for target, value in _what_is_put_where(node):
                for name in stored(target):
                    put_in = list(_nearest(value))
                    inside = [part for i in put_in if self.places[i].words.startswith(COUNTS)
                              for part in self.places[i].parts]
                    self.sources.setdefault(name, []).extend([*inside, *put_in])
        if function.name == self.main:
            self.returned |= {node.value.number for statement in function.body for node in _returns(statement)
                              if hasattr(node.value, "number")}
        function.body = _Eyes(self, stored(function) | given).all_of(function.body)

    def _number(self, node, decided):
        """Give a number to what is looked at in a node, the inner first; `decided`: {variable: line} of loops, too."""
        if isinstance(node, ast.For):
            decided = decided | {name: node.lineno for name in stored(node.target)}
        inner = decided
        if isinstance(node, ast.If | ast.While) and not _asks_for_none(node.test):
            inner = decided | {"": (*decided.get("", ()), node.lineno)}
        for child in ast.iter_child_nodes(node):
            self._number(child, inner)
        called = isinstance(node, ast.Call) and node.func
        if hasattr(called, "number"):  # what is called is no value, but what it is a method of is
            del called.number
        if isinstance(node, LOOKED_AT) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            self.add(node, decided)

    def add(self, node, decided=None):
        """One more place."""
        decided = decided or {}
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        lines = {*range(node.lineno, node.end_lineno + 1), *decided.get("", ()),
                 *(decided[name] for name in names & decided.keys())}
        name = node.id if isinstance(node, ast.Name) else ""
        node.number = len(self.places)
        called = getattr(getattr(node, "func", None), "id", "")
        self.places.append(Place(frozenset(lines), ast.unparse(node), tuple(_parts(node)), name, _of_self(node),
                                 self._inside.get(called, "")))
        return node.number


def traced(answer, usual=()):
    """A Traced of a function or class, or None where its source cannot be had, or cannot stand alone.

    usual: (argument, what it is by default) where that is no mistake
    """
    outside, answer = answer, inspect.unwrap(answer)
    code = _code(answer)
    lines = linecache.getlines(code.co_filename) if code else []
    try:
        tree = ast.parse("".join(lines))
        if not any(c.co_code == code.co_code for c in _codes(compile("".join(lines), "", "exec"))):
            return None  # the lines have changed since
    except (SyntaxError, AttributeError):
        return None
    kind = ast.ClassDef if isinstance(answer, type) else ast.FunctionDef
    found = [n for n in ast.walk(tree) if isinstance(n, kind) and n.name == answer.__name__
             and _first_line(n) <= code.co_firstlineno <= n.end_lineno]
    if len(found) != 1 or not _can_be_made_anew(found[0], outside is not answer):
        return None
    try:
        names = _names(answer)
    except ValueError:  # a variable around it has no value
        return None
    of = Traced(found[0], [line.rstrip("\n") for line in lines], usual)
    names[EYE] = of.seen
    try:
        exec(compile(ast.fix_missing_locations(ast.Module(found, [])), code.co_filename, "exec"), names)
    except Exception:  # whatever a class needs in order to be made
        return None
    of.answer = names[answer.__name__]
    return of


def _first_line(definition):
    """Of a definition with its decorators."""
    return min(node.lineno for node in (definition, *definition.decorator_list))


def _can_be_made_anew(definition, is_wrapped):
    """Is it wrapped by the decorators above it, if at all, and can what these make of it be followed by an eye?"""
    decorators = definition.decorator_list
    return bool(decorators) == is_wrapped and not any("compile" in ast.unparse(d) for d in decorators)


def _method(answer):
    return next((f for f in vars(answer).values() if hasattr(f, "__code__")), None) \
        if isinstance(answer, type) else answer


def _code(answer):
    return getattr(_method(answer), "__code__", None)


def _codes(code):
    """A code and all within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            yield from _codes(constant)


def _names(answer):
    """What an answer knows: the variables around it."""
    function = _method(answer)
    inner = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return dict(function.__globals__) | {name: cell.cell_contents for name, cell in inner if name != "__class__"}


def _parts(node):
    """The numbers of the places that a node is made of, the nearest of each."""
    for child in ast.iter_child_nodes(node):
        yield from _nearest(child)


def _nearest(node):
    yield from [node.number] if hasattr(node, "number") else _parts(node)


def _what_is_put_where(node):
    """Pairs (target, value) of a statement or a loop."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            yield from zip(target.elts, node.value.elts, strict=False) if both else [(target, node.value)]
    elif isinstance(node, ast.For | ast.comprehension):
        yield node.target, node.iter
    elif isinstance(node, ast.AugAssign | ast.NamedExpr | ast.AnnAssign) and node.value:
        yield node.target, node.value
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in PUT_IN and node.args:
        yield ast.Name(getattr(node.func.value, "id", ""), ast.Store()), node.args[-1]


def _returns(node):
    """Those of a function, and not of others within it."""
    if isinstance(node, ast.Return):
        yield node
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _returns(child)


def _asks_for_none(test):
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is | ast.IsNot)


def _lines_of_defaults(function, usual):
    """{argument: line} of the arguments that have a number by default which is not the usual one."""
    by_place = [*function.args.posonlyargs, *function.args.args]
    args = by_place[len(by_place) - len(function.args.defaults):] + function.args.kwonlyargs
    defaults = [*function.args.defaults, *function.args.kw_defaults]
    numbers = {a.arg: (d.lineno, _plain(d)) for a, d in zip(args, defaults, strict=True) if d}
    return {name: line for name, (line, number) in numbers.items()
            if number is not None and (name, number) not in usual}


def _plain(default):
    """What an argument is by default, None where that is no plain value."""
    try:
        return ast.literal_eval(default)
    except ValueError:
        return None


def _attributes(function):
    """{attribute: lines} of what a function puts into `self`."""
    return {target.attr: range(node.lineno, node.end_lineno + 1) for node in ast.walk(function)
            if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Attribute)}


def _of_self(node):
    """The attribute of `self` that a node calls."""
    of = node.func if isinstance(node, ast.Call) else None
    return of.attr if isinstance(of, ast.Attribute) and getattr(of.value, "id", "") == "self" else ""


class _Eyes(ast.NodeTransformer):
    """Puts each numbered expression into a call of the eye, and an eye behind what writes into a variable."""

    def __init__(self, of, local):
        self.of, self.local = of, local

    def all_of(self, statements):
        """Statements with eyes."""
        new = (self.visit(statement) for statement in statements)
        return [s for one in new for s in (one if isinstance(one, list) else [one])]

    def generic_visit(self, node):
        """From the inside out."""
        super().generic_visit(node)
        return _under_an_eye(node, node.number) if hasattr(node, "number") else node

    def visit_AugAssign(self, node):
        """Behind `x += y`, what x is then."""
        base = node.target.value if isinstance(node.target, ast.Subscript) else node.target
        return self._written(node, [base.id] if isinstance(base, ast.Name) else [])

    def visit_Assign(self, node):
        """Behind `x[...] = y`, what x is then."""
        return self._written(node, written_into(node.targets))

    def _written(self, node, names):
        again = []
        for name in (name for name in names if name in self.local):
            number = self.of.add(node)
            del node.number
            self.of.sources.setdefault(name, []).append(number)
            seen = _under_an_eye(ast.Name(name, ast.Load()), number, node)
            again.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], seen), node))
        return [self.generic_visit(node), *again]


def _under_an_eye(node, number, where=None):
    call = ast.Call(ast.Name(EYE, ast.Load()), [ast.Constant(number), node], [])
    return ast.copy_location(call, where or node)


def _kept(value):
    """A value as it is now, whatever is written into it later."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return tuple(map(_kept, value)) if isinstance(value, tuple | list) else value
