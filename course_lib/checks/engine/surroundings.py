"""Which lines of a source decide what becomes of others: how often a loop goes round, what is put in between."""

import ast
from collections import defaultdict

PUT_IN = "append", "extend", "insert"


class Surroundings:
    """What stands around the lines of a function, or of the methods of a class."""

    def __init__(self, definition):
        self.reads, self.changes, self.puts = defaultdict(set), defaultdict(set), defaultdict(set)
        self.writes, self.ends, self.loops = set(), set(), []  # lines; (the head, the body) of each loop
        self.called = {n.func.id for n in ast.walk(definition)
                       if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
        for node in ast.walk(definition):
            self._look_at(node)

    def _look_at(self, node):
        if isinstance(node, ast.Name):
            self.reads[node.lineno].add(node.id)
        elif isinstance(node, ast.For | ast.While):
            self.loops.append((node.lineno, set(range(node.body[0].lineno, node.end_lineno + 1))))
        elif isinstance(node, ast.Return | ast.Break | ast.Continue):
            self.ends.add(node.lineno)
        elif isinstance(node, ast.Assign) and (written_into(node.targets) or isinstance(node.value, ast.Name)) \
                or isinstance(node, ast.AugAssign):
            self.writes.add(node.lineno)
        elif isinstance(node, ast.Call) and _changes_what_it_is_a_method_of(node):
            self.changes[node.func.value.id].add(node.lineno)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.For) else []
        for name in set().union(*map(stored, targets)):
            self.puts[name].add(node.lineno)

    def of(self, lines):
        """Lines with those that decide what comes of them."""
        names = {name for line in lines for name in self.reads[line]}
        made = {line for name in names & self.called for line in self.puts[name]}
        made |= {line for other in made for name in self.reads[other] for line in self.puts[name]}
        changed = {line for name in names for line in self.changes[name]}
        lines = lines | made | changed | {line for line in self.writes if min(lines) < line < max(lines)}
        for head, body in self.loops:
            lines |= {head, *(self.ends & body)} if body & lines else set()
        return lines


def _changes_what_it_is_a_method_of(call):
    """Is it `rows.append(x)` or `mask.fill_(x)`?"""
    return isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) \
        and call.func.attr.endswith((*PUT_IN, "_"))


def written_into(targets):
    """The variables of `x[...]` among some targets, each once."""
    each = [t for target in targets for t in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return list(dict.fromkeys(t.value.id for t in each if isinstance(t, ast.Subscript)
                              and isinstance(t.value, ast.Name)))


def stored(node):
    """The names that a node puts something into."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
