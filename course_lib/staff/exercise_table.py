"""docs/exercises.md: every exercise with its signature and what is right, from its definition and its check."""

import ast

from course_lib.display.markup import typeset
from course_lib.staff.answers import as_written
from course_lib.staff.lesson_text import ROOT

CHECKS = ROOT / "course_lib" / "checks"
HEAD = """# All exercises

The name of an exercise is its id: in its lesson, in `course_lib`, in checks and in reports. Tensors are torch tensors,
batch first; a mask is True where a query may attend. Unless its row says otherwise, an answer is differentiable, leaves
its arguments as they are, follows their dtype and device, and fits any sizes. Shapes stand in the docstrings.

| lesson | exercise | what is right |
|---|---|---|"""


def page(lessons):
    """The page, a row for each exercise of each lesson; nothing of the checks is imported."""
    asked, lines = what_is_right(), [HEAD]
    for lesson in lessons:
        for cell in (cell for cell in lesson.cells if cell.answer):
            definition = ast.parse(as_written(*cell.answer, lesson.stem)).body[0]
            right = asked.get(definition.name, "").replace("|", "\\|")
            lines.append(f"| [{lesson.number}](../lessons/{lesson.stem}.ipynb) | `{signature(definition)}` | {right} |")
    return "\n".join(lines) + "\n"


def what_is_right():
    """{exercise: what its check asks for}, read from the text of the checks."""
    asked = {}
    for path in sorted(CHECKS.glob("lesson_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Exercise":
                given = {keyword.arg: keyword.value for keyword in node.keywords}
                name = ast.unparse(given["verified"]).rpartition(".")[2]
                asked[name] = typeset(" ".join(ast.literal_eval(given["asked"]).split()))
    return asked


def signature(definition):
    """A function as it is called; a module as it is built, and then called."""
    if isinstance(definition, ast.FunctionDef):
        return f"{definition.name}({ast.unparse(definition.args)})"
    methods = {part.name: ast.unparse(part.args).removeprefix("self").removeprefix(", ") for part in definition.body
               if isinstance(part, ast.FunctionDef)}
    called = next((name for name in ("forward", "embed") if name in methods), None)
    built = f"{definition.name}({methods.get('__init__', '')})"
    return f"{built}.{called}({methods[called]})" if called else built
