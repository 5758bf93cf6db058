"""An answer as it stands in course_lib: its source for the solution, its stub for the lesson."""

import ast

from course_lib.staff.lesson_text import ROOT, LessonError

BLANK = "raise NotImplementedError"


def source_and_stub(module, name, where):
    """The source of a function or class and the same cut to a stub; `where` names the cell that asks for it."""
    path = ROOT / (module.replace(".", "/") + ".py")
    if not path.exists():
        raise LessonError(f"{where}: there is no module {module}")
    text = path.read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            if ast.get_docstring(node) is None:
                raise LessonError(f"{where}: {module}.{name} has no docstring, and the docstring is the exercise")
            lines = text.splitlines()
            return dedented(lines, node), "\n".join(_stub_lines(lines, node))
    raise LessonError(f"{where}: {module} has no function or class named {name}")


def dedented(lines, node):
    """The text of a definition, its decorators included."""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return "\n".join(lines[first - 1 : node.end_lineno])


def _stub_lines(lines, node):
    """The lines of a definition with its body blank; of a class, `__init__` stays and every other body goes."""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    if isinstance(node, ast.FunctionDef):
        return _blank(lines, node, first)
    kept, at = [], first
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name != "__init__":
            kept += lines[at - 1 : item.lineno - 1] + _blank(lines, item, item.lineno)
            at = item.end_lineno + 1
    return kept + lines[at - 1 : node.end_lineno]


def _blank(lines, node, first):
    """Signature and docstring, then the blank."""
    documented = ast.get_docstring(node) is not None
    kept_until = node.body[0].end_lineno if documented else node.body[0].lineno - 1
    indent = " " * (node.col_offset + 4)
    return lines[first - 1 : kept_until] + [indent + BLANK]
