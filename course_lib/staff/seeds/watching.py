"""Rewrite a cell so that no claim stops it, and note how near to falling each claim was."""

import ast
import operator

import torch

SIGNS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
HOLDS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


class Book:
    """What the claims of one run said: {line: [name, held]}, and of what they compare, the smallest room."""

    def __init__(self):
        self.claims, self.compared = {}, {}

    def functions(self):
        """The names that rewritten cells call."""
        return {"_claimed": self.claimed, "_compared": self.compare, "_close": self.close}

    def claimed(self, line, name, held):
        """Note an assertion; in a loop, the last time it falls."""
        before = self.claims.get(line, (name, True))[1]
        self.claims[line] = (name, before and bool(held))

    def compare(self, claim, text, signs, operands):
        """The value of a comparison of numbers or tensors, noted."""
        value = True
        for sign, left, right in zip(signs.split(), operands, operands[1:], strict=False):
            value = value and HOLDS[sign](left, right)
            self._note(claim, text, left, right, lambda a=left, b=right, up="<" in sign: b - a if up else a - b)
        return value

    def close(self, claim, text, ours, theirs, rtol=1e-5, atol=1e-8, equal_nan=False):
        """torch.allclose, noted."""
        distance = (ours - theirs).abs()
        self._note(claim, text, distance.max(), atol, lambda: atol + rtol * theirs.abs() - distance)
        return torch.allclose(ours, theirs, rtol, atol, equal_nan)

    def _note(self, claim, text, left, right, room):
        try:
            room, left, right = (_least(x) for x in (room(), left, right))
        except (TypeError, ValueError, RuntimeError):
            return  # words, sets, dates: they hold or do not, and have no room
        key = f"{claim}: {text}"
        if key not in self.compared or room < self.compared[key][2]:
            self.compared[key] = (left, right, room)


class Watch(ast.NodeTransformer):
    """An assertion or a claim becomes a note, and so does every comparison in the line that computes it."""

    def __init__(self, line):
        self.line, self.claim, self.claims = line, None, set()

    def visit_Module(self, node):
        self.claims = {n.test.id for n in ast.walk(node) if isinstance(n, ast.Assert) and isinstance(n.test, ast.Name)}
        return ast.fix_missing_locations(self.generic_visit(node))

    def visit_Assert(self, node):
        line, name = ast.Constant(self.line + node.lineno), ast.Constant(ast.unparse(node.test))
        return ast.copy_location(ast.Expr(_call("_claimed", line, name, node.test)), node)

    def visit_Assign(self, node):
        self.claim = next((t.id for t in node.targets if isinstance(t, ast.Name) and t.id in self.claims), None)
        self.generic_visit(node)
        self.claim = None
        return node

    def visit_Compare(self, node):
        text, signs = ast.unparse(node), [SIGNS.get(type(op)) for op in node.ops]
        self.generic_visit(node)
        if self.claim is None or None in signs:
            return node
        operands = ast.Tuple([node.left, *node.comparators], ast.Load())
        return _call("_compared", *map(ast.Constant, (self.claim, text, " ".join(signs))), operands)

    def visit_Call(self, node):
        text = ast.unparse(node)
        if ast.unparse(node.func) == "claim" and len(node.args) == 2:
            self.claim = ast.literal_eval(node.args[0])
            held, line = self.visit(node.args[1]), ast.Constant(self.line + node.lineno)
            self.claim = None
            return ast.copy_location(_call("_claimed", line, node.args[0], held), node)
        self.generic_visit(node)
        if self.claim is None or ast.unparse(node.func) != "torch.allclose":
            return node
        return _call("_close", *map(ast.Constant, (self.claim, text)), *node.args, keywords=node.keywords)


def _call(name, *arguments, keywords=()):
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), list(keywords))


def _least(x):
    return float(x.min()) if hasattr(x, "min") else float(x)
