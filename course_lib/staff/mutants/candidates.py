"""All single edits of a source, each as lines to take out and to put in, as they stand in a file of mistakes."""

import ast
from dataclasses import dataclass, field

from course_lib.staff.mutants.operators import OPERATORS, called, is_self
from course_lib.staff.mutants.statements import STATEMENTS, is_definition, sets_itself


@dataclass(frozen=True)
class Candidate:
    """A source with one edit. `edit` is what a file of mistakes would have: "- " and "+ " lines."""

    operator: str
    source: str
    edit: tuple

    @property
    def id(self):
        """Its new lines; where there are none, what is missing."""
        new = " / ".join(line[2:].strip() for line in self.edit if line.startswith("+"))
        return new or "without " + " / ".join(line[2:].strip() for line in self.edit)


@dataclass
class Place:
    """Where a node stands: what it is part of, and what is known there."""

    parent: ast.AST | None = None
    function: str = ""
    parameters: tuple = ()
    names: tuple = ()  # variables that have a value there
    called: frozenset = frozenset()  # of all of them those that are called somewhere
    made_by: dict = field(default_factory=dict)  # attribute of self: what was called to make it
    defaults: dict = field(default_factory=dict)  # of arguments


def candidates(source):
    """Every single edit of a source, without those that are written the same."""
    tree, found = ast.parse(source), {ast.unparse(ast.parse(source)): None}
    for operator, edited in _edits(tree):
        if edited in found:
            continue
        try:
            compile(edited, "<candidate>", "exec")
        except SyntaxError:
            continue
        found[edited] = Candidate(operator, edited, _as_edit(source.splitlines(), edited.splitlines()))
    return [candidate for candidate in found.values() if candidate]


def _edits(tree):
    """Pairs (operator, source), of every operator at every place."""
    for node, put, place in _expressions(tree):
        for operator, edit in OPERATORS.items():
            for other in list(edit(node, place)):
                put(ast.parse(other, mode="eval").body if isinstance(other, str) else other)
                yield operator, _written(tree)
                put(node)
    for body, i, place in _statements(tree):
        for operator, edit in STATEMENTS.items():
            for count, others in list(edit(body, i, place)):
                old = body[i : i + count]
                body[i : i + count] = others
                yield operator, _written(tree)
                body[i : i + len(others)] = old


def _written(tree):
    """A tree as source, as it would be written again: without brackets that are not needed."""
    text = ast.unparse(ast.fix_missing_locations(tree))
    try:
        return ast.unparse(ast.parse(text))
    except SyntaxError:
        return text


# Places


def _expressions(tree):
    """(node, put, place) of every expression; put(other) puts another one there."""
    for function in _functions(tree):
        known = _known(tree, function)
        for parent in _walk(ast.Module(function.body, [])):
            for name, value in ast.iter_fields(parent):
                for i, node in enumerate(value if isinstance(value, list) else [value]):
                    if isinstance(node, ast.expr):
                        names = tuple(n for n, line in known["lines"].items() if line < node.lineno)
                        place = Place(parent, function.name, known["parameters"], names, known["called"],
                                      known["made_by"], known["defaults"])
                        yield node, _putter(parent, name, value, i), place


def _walk(node):
    """All nodes but what is raised: nobody looks at the words of an error."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.Raise):
            yield from _walk(child)


def _putter(parent, name, value, i):
    def put(other):
        if isinstance(value, list):
            value[i] = other
        else:
            setattr(parent, name, other)
    return put


def _statements(tree):
    """(body, i, place) of every statement that may be edited; the head of a function is one, too."""
    for parent in ast.walk(tree):
        function = next((f for f in _functions(tree) if parent in ast.walk(f)), None)
        known = _known(tree, function) if function else {}
        place = Place(parent, function.name if function else "", known.get("parameters", ()))
        for name in ("body", "orelse"):
            body = getattr(parent, name, None)
            for i in range(len(body) if isinstance(body, list) else 0):
                if not is_definition(body[i]) and not sets_itself(body[i]):
                    yield body, i, place


def _functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def _known(tree, function):
    """What the names in a function stand for: the line from which each has a value, and which are called."""
    lines = {a.arg: 0 for a in function.args.args if a.arg != "self"}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id != "_":
            lines.setdefault(node.id, node.lineno)
    calls = {node.func.id for node in ast.walk(function)
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    made_by = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute) \
                and is_self(node.targets[0].value):
            made_by[node.targets[0].attr] = called(node.value) if isinstance(node.value, ast.Call) else "a number"
    parameters = tuple(a.arg for a in function.args.args)
    defaults = {name: default.value for name, default in zip(reversed(parameters), reversed(function.args.defaults),
                                                             strict=False) if isinstance(default, ast.Constant)}
    return {"lines": lines, "called": frozenset(calls), "made_by": made_by, "parameters": parameters,
            "defaults": defaults}


# Lines


def _as_edit(old, new):
    """What changes, as "- " and "+ " lines. The "- " lines stand once in the old ones, one behind the other."""
    first = _same_lines(old, new)
    last = _same_lines(old[first:][::-1], new[first:][::-1])
    start, after = _to_be_found([line.strip() for line in old], first, len(old) - last)
    out, into = old[start:after], new[start : len(new) - len(old) + after]
    margin = min(map(_depth, [*out, *into]))
    return (*(f"- {line[margin:]}" for line in out), *(f"+ {line[margin:]}" for line in into))


def _depth(line):
    return len(line) - len(line.lstrip())


def _same_lines(one, other):
    """How many lines are the same at the beginning of both."""
    differ = (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differ, min(len(one), len(other)))


def _to_be_found(lines, first, after):
    """The same lines with as many more, before or after them, as it takes to stand once."""
    while first == after or _times(lines, lines[first:after]) > 1:
        if first > 0 and lines[first - 1]:
            first -= 1
        elif after < len(lines):
            after += 1
        else:
            break
    return first, after


def _times(lines, wanted):
    return sum(lines[i : i + len(wanted)] == wanted for i in range(len(lines)))
