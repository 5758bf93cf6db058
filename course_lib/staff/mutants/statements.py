"""Generic edits of statements: one is dropped, moved, swapped with its neighbour, cached, cut off from the gradient.

An edit is a function (body, i, place) that yields lists of statements to stand where the one at i stands, and as many
more as it names: pairs (how many, statements).
"""

import ast

from course_lib.staff.mutants.operators import is_self

DEFAULTS = {"0": (1, -1), "0.0": (0.1,), "1.0": (0.0, 2.0)}


def dropped(body, i, place):
    """A statement is missing."""
    if not isinstance(body[i], ast.FunctionDef):
        yield 1, [] if len(body) > 1 else [ast.Pass()]


def swapped(body, i, place):
    """Two neighbours in the other order, where one of them uses what the other one makes."""
    if i + 1 < len(body) and not any(isinstance(s, ast.FunctionDef) for s in body[i : i + 2]):
        one, other = body[i : i + 2]
        if _written(one) & (_read(other) | _written(other)) or _read(one) & _written(other):
            yield 2, [other, one]


def _read(statement):
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}


def _written(statement):
    """The variables that a statement gives a value or, as a method or an index may do, changes."""
    changed = {n.value.id for n in ast.walk(statement) if isinstance(n, ast.Subscript | ast.Attribute)
               and isinstance(n.value, ast.Name) and isinstance(n.ctx, ast.Store)}
    return changed | {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def into_the_loop(body, i, place):
    """What comes after a loop stands in it, and the last of it stands after it."""
    loop = body[i]
    if not isinstance(loop, ast.For | ast.While):
        return
    if i + 1 < len(body):
        yield 2, [_with_body(loop, [*loop.body, body[i + 1]])]
    if len(loop.body) > 1:
        yield 1, [_with_body(loop, loop.body[:-1]), loop.body[-1]]


def _with_body(loop, body):
    fields = {name: value for name, value in ast.iter_fields(loop) if name != "body"}
    return type(loop)(body=body, **fields)


def unconditional(body, i, place):
    """What stands under `if` is always done."""
    if isinstance(body[i], ast.If):
        yield 1, body[i].body


def detached(body, i, place):
    """No gradient goes through what is kept under a name, or returned."""
    statement = body[i]
    if isinstance(statement, ast.Assign | ast.Return) and statement.value and place.function != "__init__" \
            and not isinstance(statement.value, ast.Constant | ast.Tuple):
        yield 1, [_with_value(statement, f"({ast.unparse(statement.value)}).detach()")]


def cached(body, i, place):
    """What was worked out first is kept for good, or for the same shape."""
    statement = body[i]
    if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name) \
            or place.function == "__init__":
        return
    name, value = statement.targets[0].id, ast.unparse(statement.value)
    owner = "self" if "self" in place.parameters else place.function
    yield 1, [_with_value(statement, f"vars({owner}).setdefault('{name}', {value})")]
    first = next((p for p in place.parameters if p != "self"), None)
    if first:
        key = f"('{name}', getattr({first}, 'shape', 0))"
        yield 1, [_with_value(statement, f"vars({owner}).setdefault({key}, {value})")]


def assigned(body, i, place):
    """`=` for `+=`."""
    if isinstance(body[i], ast.AugAssign):
        yield 1, [ast.Assign([body[i].target], body[i].value, lineno=0)]


def targets_swapped(body, i, place):
    """`B, C, H, W = x.shape` with two neighbours in the other order."""
    statement = body[i]
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
        names = statement.targets[0].elts
        for j in range(len(names) - 1):
            new = [*names[:j], names[j + 1], names[j], *names[j + 2 :]]
            yield 1, [ast.Assign([ast.Tuple(new, ast.Store())], statement.value, lineno=0)]


def default_changed(body, i, place):
    """Another default, or none."""
    function = body[i]
    if not isinstance(function, ast.FunctionDef):
        return
    for j, default in enumerate(function.args.defaults):
        for other in _other_defaults(default):
            yield 1, [_with_defaults(function, [*function.args.defaults[:j], other, *function.args.defaults[j + 1 :]])]
    if function.args.defaults:
        yield 1, [_with_defaults(function, function.args.defaults[1:])]


def _other_defaults(default):
    value = default.value if isinstance(default, ast.Constant) else None
    if value is not None:
        yield from map(ast.Constant, DEFAULTS.get(repr(value), (value / 10, value * 10)))


def _with_defaults(function, defaults):
    fields = {name: value for name, value in ast.iter_fields(function.args) if name != "defaults"}
    arguments = ast.arguments(defaults=defaults, **fields)
    return ast.FunctionDef(**{**dict(ast.iter_fields(function)), "args": arguments}, lineno=0)


def decorator_dropped(body, i, place):
    """No `@torch.no_grad()`."""
    if isinstance(body[i], ast.FunctionDef) and body[i].decorator_list:
        yield 1, [ast.FunctionDef(**{**dict(ast.iter_fields(body[i])), "decorator_list": []}, lineno=0)]


def _with_value(statement, value):
    value = ast.parse(value, mode="eval").body
    return ast.Return(value) if isinstance(statement, ast.Return) else \
        ast.Assign(statement.targets, value, lineno=0)


def is_definition(statement):
    """Is it an import, or the head of the answer itself?"""
    return isinstance(statement, ast.Import | ast.ImportFrom | ast.ClassDef)


def sets_itself(statement):
    """`self.x = x`: without it, Python says what is missing."""
    return isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute) \
        and is_self(statement.targets[0].value)


STATEMENTS = {
    "a statement dropped": dropped, "neighbours swapped": swapped, "in or out of a loop": into_the_loop,
    "without its condition": unconditional, "cut off from the gradient": detached, "a result kept": cached,
    "= for +=": assigned, "names swapped": targets_swapped, "another default": default_changed,
    "a decorator dropped": decorator_dropped,
}
