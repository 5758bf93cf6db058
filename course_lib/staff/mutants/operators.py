"""Generic edits of an expression: what a slip of the pen or of the mind makes of it.

An operator is a function (node, place) that yields what may stand there instead, as text or as a node.
"""

import ast
from itertools import combinations

AXES = (-1, -2, 0, 1, 2)
WITH_AXES = {"flatten", "gather", "mean", "sum", "transpose", "unflatten"}  # their whole numbers by position are axes
TURNS = {"transpose", "permute", "movedim", "swapaxes"}
ALIKE = {"transpose", "swapaxes", "max", "min", "allclose"}  # the order of their arguments does not matter
SHAPES = {"flatten", "reshape", "view", "unflatten"}
COUNTS = {"arange", "range", "randint", "topk", "multinomial", "Embedding"}  # whose arguments may be off by one
COMMUTE = (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr)
INSTEAD = {  # of a function or an attribute: others with the same arguments
    "softmax": ("log_softmax",), "log_softmax": ("softmax",), "mean": ("sum", "std"), "sum": ("mean",),
    "prod": ("sum", "mean"), "tanh": ("sigmoid", "relu"), "relu": ("sigmoid", "tanh", "abs"),
    "silu": ("sigmoid", "relu", "gelu", "tanh"), "sin": ("cos",), "cos": ("sin",), "tril": ("triu",),
    "ones": ("zeros",), "zeros": ("ones",), "new_zeros": ("new_ones",), "zeros_like": ("ones_like",),
    "full_like": ("zeros_like",), "argmax": ("argmin",), "max": ("min", "mean"), "min": ("max",), "square": ("abs",),
    "all": ("any",), "any": ("all",), "cat": ("stack",), "stack": ("cat",), "randn": ("rand", "zeros"),
    "indices": ("values",), "values": ("indices",), "T": ("mT",), "mT": ("T",),
    "cross_entropy": ("nll_loss",), "numel": ("dim",), "arange": ("zeros",),
}
FLIPS = {
    ast.Add: (ast.Sub, ast.Mult), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add), ast.Div: (ast.Mult, ast.Sub),
    ast.MatMult: (ast.Mult,), ast.FloorDiv: (ast.Mod, ast.Div), ast.Mod: (ast.FloorDiv,), ast.Pow: (ast.Mult,),
    ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,),
    ast.Lt: (ast.LtE, ast.Gt), ast.LtE: (ast.Lt, ast.GtE), ast.Gt: (ast.GtE, ast.Lt), ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.And: (ast.Or,), ast.Or: (ast.And,),
}
NUMBERS = {0.0: (1.0,), 0.5: (1.0, 2.0, -0.5), 1.0: (0.0, 2.0), 10000.0: (1000.0, 100.0)}
IN_PLACE = {"masked_fill", "relu", "clamp", "square"}
BOOLEAN = ("mask", "adjacency", "finished", "seen", "real")


def text(node):
    """An expression as text that can stand anywhere."""
    return f"({ast.unparse(node)})"


def another_axis(node, place):
    """dim=-1 to -2, 0, 1, 2; x.sum(1); x.shape[-1]."""
    if number(node) is None or not is_axis(node, place):
        return
    yield from (str(axis) for axis in AXES if axis != number(node))


def is_axis(node, place):
    """Does a whole number stand where an axis is meant?"""
    parent = place.parent
    if isinstance(parent, ast.keyword):
        return parent.arg == "dim"
    if isinstance(parent, ast.Subscript):
        return parent.slice is node and called(parent.value) == "shape"
    return isinstance(parent, ast.Call) and node in parent.args and called(parent.func) in WITH_AXES


def operands_swapped(node, place):
    """a @ b to b @ a, a - b to b - a."""
    if isinstance(node, ast.BinOp) and not isinstance(node.op, COMMUTE):
        yield ast.BinOp(node.right, node.op, node.left)


def another_operator(node, place):
    """+ to -, * to +, @ to *, < to <=, `is` to `is not`, `and` to `or`."""
    if isinstance(node, ast.BinOp):
        yield from (ast.BinOp(node.left, flip(), node.right) for flip in FLIPS.get(type(node.op), ()))
    elif isinstance(node, ast.BoolOp):
        yield from (ast.BoolOp(flip(), node.values) for flip in FLIPS[type(node.op)])
    elif isinstance(node, ast.Compare):
        yield from (ast.Compare(node.left, [flip()], node.comparators) for flip in FLIPS.get(type(node.ops[0]), ()))
        if isinstance(node.ops[0], ast.Is | ast.IsNot):  # whether something is there is not whether it is true
            yield ("not " if isinstance(node.ops[0], ast.Is) else "") + text(node.left)


def arguments_swapped(node, place):
    """f(a, b) to f(b, a), (a, b) to (b, a), [a, b] to [b, a]."""
    items = node.args if isinstance(node, ast.Call) else node.elts if isinstance(node, ast.Tuple | ast.List) else []
    if called(node) in ALIKE:
        return
    for i, j in combinations(range(len(items)), 2):
        if ast.dump(items[i]) == ast.dump(items[j]) or any(isinstance(item, ast.Slice) for item in items):
            continue
        new = list(items)
        new[i], new[j] = new[j], new[i]
        yield ast.Call(node.func, new, node.keywords) if isinstance(node, ast.Call) else type(node)(new, node.ctx)


def argument_dropped(node, place):
    """f(x, dim=-1, keepdim=True) to f(x, dim=-1); f(a, b) to f(a)."""
    if not isinstance(node, ast.Call):
        return
    for i in range(len(node.keywords)):
        yield ast.Call(node.func, node.args, node.keywords[:i] + node.keywords[i + 1 :])
    if len(node.args) > 1:
        yield ast.Call(node.func, node.args[:-1], node.keywords)


def another_name(node, place):
    """A variable for another one that is known there; in __init__ only for one of the same call."""
    if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load) or node.id not in place.names \
            or isinstance(place.parent, ast.Attribute) and place.parent.attr in ("device", "dtype"):
        return
    is_called = isinstance(place.parent, ast.Call) and place.parent.func is node
    for name in place.names:
        if name != node.id and (name in place.called) == is_called \
                and (place.function != "__init__" or name in names_in(place.parent)):
            yield name


def names_in(node):
    """The variables that an expression reads."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def another_submodule(node, place):
    """self.norm1 for self.norm2, self.d_head for self.num_heads: what was made by the same kind of call."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and is_self(node.value):
        kind = place.made_by.get(node.attr)
        yield from (f"self.{other}" for other, made_by in place.made_by.items() if made_by == kind
                    and other != node.attr and kind is not None)


def dropped(node, place):
    """A factor, a summand, a call, a sign, `~`, `.T`, an index: what is left without it."""
    if isinstance(node, ast.BinOp):
        yield from (node.left, node.right)
    elif isinstance(node, ast.BoolOp):
        yield from node.values
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.UnaryOp) and number(node) is None:
        yield node.operand
    elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT") or isinstance(node, ast.Subscript):
        yield node.value
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and not is_library(node.func.value) and not is_self(node.func.value):
            yield node.func.value
        elif node.args:
            yield node.args[0]


def sign_flipped(node, place):
    """-x for x, where x is what a softmax gets or what is returned; ~mask for mask."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and any(word in node.id for word in BOOLEAN) \
            and not isinstance(place.parent, ast.UnaryOp | ast.Attribute | ast.Compare):
        yield f"~{node.id}"
    into_softmax = isinstance(place.parent, ast.Call) and "softmax" in called(place.parent.func)
    if into_softmax and node is place.parent.args[0] or isinstance(place.parent, ast.Return):
        yield f"-{text(node)}"


def off_by_one(node, place):
    """An index, a slice bound, a count or a whole number, one more and one less; 0 for -1."""
    value = number(node)
    if value is not None and type(value) is int and not is_axis(node, place) \
            and not isinstance(place.parent, ast.UnaryOp):
        yield from (str(other) for other in dict.fromkeys((value + 1, value - 1, -1 - value if abs(value) < 2 else 0))
                    if other != value)
    elif value is None and is_count(node, place.parent):
        yield from (f"{text(node)} + 1", f"{text(node)} - 1")


def is_count(node, parent):
    """Does an expression stand as a bound of a slice, an index, or the number of things?"""
    if isinstance(parent, ast.Slice):
        return True
    return isinstance(parent, ast.Call) and node in parent.args and called(parent.func) in COUNTS


def another_number(node, place):
    """0.5 to 1.0, 10000.0 to 1000.0, a small number to a larger one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield from map(repr, NUMBERS.get(node.value, (node.value * 100, 0.0)))
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield repr(not node.value)


def another_index(node, place):
    """x[:-1] to x[1:], x[:, None] to x[None], x[:, a] to x[a], 0::2 to 1::2."""
    if not isinstance(node, ast.Subscript):
        return
    items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for i, item in enumerate(items):
        for other in other_indices(item):
            yield f"{text(node.value)}[{', '.join([*map(bare, items[:i]), other, *map(bare, items[i + 1 :])])}]"
    for i, j in combinations(range(len(items)), 2):
        new = list(items)
        new[i], new[j] = new[j], new[i]
        if bare(items[i]) != bare(items[j]):
            yield f"{text(node.value)}[{', '.join(map(bare, new))}]"
    if len(items) > 1:
        yield from (f"{text(node.value)}[{', '.join(map(bare, part))}]" for part in (items[1:], items[:-1]))


def bare(node):
    """An index as text, without brackets around a slice."""
    return ast.unparse(node)


def other_indices(item):
    """What else might stand at one axis of an index."""
    if isinstance(item, ast.Slice) and item.step is None:
        lower, upper = (bare(bound) if bound else "" for bound in (item.lower, item.upper))
        if bool(lower) != bool(upper):
            yield f"{upper}:{lower}"
            yield ":"
            yield f"{-1 * int(lower or upper)}:" if (lower or upper).lstrip("-").isdigit() else f":-({lower or upper})"


def reshaped(node, place):
    """x.reshape(...) to the shape that a transpose would have, or that a transpose and a flatten would have."""
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield f"{text(node.value)}.reshape({text(node)}.shape)"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        inner = node.func.value
        if node.func.attr in TURNS:
            yield f"{text(inner)}.reshape({text(node)}.shape)"
        if node.func.attr in SHAPES and isinstance(inner, ast.Call) and called(inner.func) in TURNS:
            yield f"{text(inner.func.value)}.reshape({text(node)}.shape)"


def another_function(node, place):
    """mean to sum, sin to cos, tril to triu, cat to stack, masked_fill to a product, repeat_interleave to repeat."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield from (ast.Attribute(node.value, other, node.ctx) for other in INSTEAD.get(node.attr, ()))
    if isinstance(node, ast.Name) and place.parent and isinstance(place.parent, ast.Call) \
            and place.parent.func is node:
        yield from INSTEAD.get(node.id, ())
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    inner, name = text(node.func.value), node.func.attr
    if name == "masked_fill":
        yield f"{inner} * ~{text(node.args[0])}"
        yield from (f"{inner}.masked_fill({bare(node.args[0])}, {fill})"
                    for fill in ("-torch.inf", "-1e9", "0.0", "-1.0", "torch.inf") if fill != bare(node.args[1]))
    if name == "repeat_interleave":
        yield f"torch.cat([{inner}] * {text(node.args[0])}, {', '.join(map(bare, node.keywords))})"
    if name in IN_PLACE:
        yield ast.Call(ast.Attribute(node.func.value, f"{name}_", node.func.ctx), node.args, node.keywords)


def moved(node, place):
    """f(a + b) to a + f(b) and f(a) + b, a + f(b) to f(a + b), f(g(x)) to g(f(x)), (a + b) / c to a + b / c."""
    if isinstance(node, ast.Call) and len(node.args) >= 1:
        first, rest = node.args[0], node.args[1:]
        if isinstance(first, ast.BinOp):
            yield ast.BinOp(first.left, first.op, ast.Call(node.func, [first.right, *rest], node.keywords))
            yield ast.BinOp(ast.Call(node.func, [first.left, *rest], node.keywords), first.op, first.right)
            yield from _before(node, first)
        if isinstance(first, ast.Call) and first.args:
            inside = ast.Call(node.func, [first.args[0], *rest], node.keywords)
            yield ast.Call(first.func, [inside, *first.args[1:]], first.keywords)
    if isinstance(node, ast.BinOp):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, ast.Call) and one.args and not isinstance(one.func, ast.Attribute) \
                    or isinstance(one, ast.Call) and one.args and called(one.func) not in TURNS | SHAPES:
                both = (one.args[0], other) if one is node.left else (other, one.args[0])
                yield ast.Call(one.func, [ast.BinOp(both[0], node.op, both[1]), *one.args[1:]], one.keywords)
        if isinstance(node.left, ast.BinOp) and isinstance(node.op, ast.Div | ast.Mult | ast.Pow) \
                and not isinstance(node.left.op, ast.MatMult):
            inner = node.left  # (a + b) / c to a + b / c
            yield ast.BinOp(inner.left, inner.op, ast.BinOp(inner.right, node.op, node.right))


def _before(node, total):
    """norm(x + f(x)) to x + f(norm(x)): what came after a sum comes before its second part."""
    if isinstance(total.left, ast.Name) and isinstance(total.op, ast.Add) and total.left.id in names_in(total.right):
        outside = ast.unparse(ast.Call(node.func, [total.left, *node.args[1:]], node.keywords))
        inside = _Renamed(total.left.id, outside).visit(ast.parse(ast.unparse(total.right), mode="eval").body)
        yield ast.BinOp(total.left, total.op, inside)


class _Renamed(ast.NodeTransformer):
    """Puts an expression in the place of a variable."""

    def __init__(self, name, expression):
        self.name, self.expression = name, expression

    def visit_Name(self, node):
        return ast.parse(self.expression, mode="eval").body if node.id == self.name else node


def one_more(node, place):
    """softmax(softmax(x)), norm(norm(x)), dropout around a layer, a softmax around what is returned."""
    if isinstance(place.parent, ast.Return) and not isinstance(node, ast.Constant | ast.Tuple):
        yield f"torch.softmax({bare(node)}, dim=-1)"
    if not isinstance(node, ast.Call) or not node.args:
        return
    of_self = isinstance(node.func, ast.Attribute) and is_self(node.func.value)
    if of_self and len(node.args) == 1 or "softmax" in called(node.func) or called(node.func) in ("relu", "normalize"):
        yield ast.Call(node.func, [node, *node.args[1:]], node.keywords)
    if of_self and "dropout" in place.made_by and called(node.func) != "dropout" and called(node.func) in place.made_by:
        yield f"self.dropout({bare(node)})"


def fixed(node, place):
    """An argument that has a default is never looked at."""
    default = place.defaults.get(node.id) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else None
    if default is not None and place.function != "__init__":
        yield repr(default)


def changed_in_place(node, place):
    """x + y to x.add_(y), where x came as an argument."""
    methods = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_"}
    if isinstance(node, ast.BinOp) and type(node.op) in methods and isinstance(node.left, ast.Name) \
            and node.left.id in place.parameters:
        yield f"{node.left.id}.{methods[type(node.op)]}({bare(node.right)})"


def part_of_a_loop(node, place):
    """A loop over the first only, over all but the last, backwards."""
    if isinstance(place.parent, ast.For) and place.parent.iter is node:
        yield from (f"list({bare(node)})[:1]", f"list({bare(node)})[:-1]", f"reversed(list({bare(node)}))")


def one_for_all(node, place):
    """[Layer() for _ in range(n)] to [Layer()] * n: one and the same."""
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        loop = node.generators[0]
        names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        if called(loop.iter) == "range" and not names & names_in(node.elt):
            yield f"[{bare(node.elt)}] * {text(loop.iter.args[0])}"


def number(node):
    """The value of a number, with its sign, or None; of True and False none."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number(node.operand)
        return None if inner is None else -inner
    is_number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
    return node.value if is_number else None


def called(node):
    """The last name of a function or an attribute: "softmax" of torch.softmax."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_self(node):
    return isinstance(node, ast.Name) and node.id == "self"


def is_library(node):
    return isinstance(node, ast.Name) and node.id in ("torch", "F", "nn", "math") \
        or isinstance(node, ast.Attribute) and is_library(node.value)


OPERATORS = {
    "another axis": another_axis, "operands swapped": operands_swapped, "another operator": another_operator,
    "arguments swapped": arguments_swapped, "an argument dropped": argument_dropped, "another name": another_name,
    "another submodule": another_submodule, "a part dropped": dropped, "a sign flipped": sign_flipped,
    "off by one": off_by_one, "another number": another_number, "another index": another_index,
    "reshape for transpose": reshaped, "another function": another_function, "a part moved": moved,
    "one call more": one_more, "a fixed number": fixed, "changed in place": changed_in_place,
    "part of a loop": part_of_a_loop, "one for all": one_for_all,
}
