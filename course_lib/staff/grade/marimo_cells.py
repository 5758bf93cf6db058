"""The cells of a notebook of marimo's, which is a .py, in an order in which each finds what it uses."""

import ast
import textwrap

DEFINITIONS = "function", "class_definition"
KINDS = "cell", "setup", *DEFINITIONS


def marimo_cells(tree, lines):
    """The code cells of a script by its syntax tree and lines; None where it is no notebook of marimo's.

    marimo runs a cell after those whose names its function takes, wherever they stand in the file.
    """
    app = next((s.targets[0].id for s in tree.body if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)
                and ast.unparse(s.value).startswith("marimo.App(")), None)
    if app is None:
        return None
    cells = [cell for s in tree.body if (cell := _cell(s, app, lines))]
    defined, ordered = {name for _, _, gives in cells for name in gives}, []
    while cells:  # a name that no cell defines is nothing to wait for; nor is anything in a circle
        ready = next((c for c in cells if not c[1] & defined), cells[0])
        cells.remove(ready)
        defined -= ready[2]
        ordered.append(ready[0])
    return tuple(ordered)


def _cell(statement, app, lines):
    """(source, names it takes, names it gives) of a statement that is a cell, or None."""
    if isinstance(statement, ast.With) and _kind(statement.items[0].context_expr, app) == "setup":
        return _source(statement.body, lines), set(), _bound(statement.body)
    if isinstance(statement, ast.Expr) and ast.unparse(statement).startswith(f"{app}._unparsable_cell("):
        text = next((a.value for a in statement.value.args if isinstance(a, ast.Constant)), "")
        return textwrap.dedent(str(text)).strip("\n"), set(), set()
    kinds = [kind for d in getattr(statement, "decorator_list", ()) if (kind := _kind(d, app))]
    if not kinds:
        return None
    if kinds[-1] in DEFINITIONS:
        statement.decorator_list = statement.decorator_list[1:]
        return _source([statement], lines), _used(statement), {statement.name}
    body = statement.body[:-1] if isinstance(statement.body[-1], ast.Return) else statement.body
    taken = {a.arg for a in statement.args.args}
    return (_source(body, lines), taken, _bound(body)) if body else None


def _kind(node, app):
    """Of `app.cell` and `app.cell(...)`, "cell"; of what is not the app's, nothing."""
    of = node.func if isinstance(node, ast.Call) else node
    is_its = isinstance(of, ast.Attribute) and getattr(of.value, "id", "") == app
    return of.attr if is_its and of.attr in KINDS else ""


def _source(statements, lines):
    """The lines of statements, comments between them included, moved to the margin."""
    first = min([statements[0].lineno, *(d.lineno for d in getattr(statements[0], "decorator_list", ()))])
    return textwrap.dedent("\n".join(lines[first - 1 : statements[-1].end_lineno]))


def _bound(statements):
    """The names that statements bind: those of a cell, and more that do no harm."""
    names = set()
    for node in (node for statement in statements for node in ast.walk(statement)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return names


def _used(statement):
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)} - {statement.name}
