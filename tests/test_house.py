"""Which room may know which: arrows between modules run one way."""

import ast
import graphlib
from pathlib import Path

COURSE = Path(__file__).parents[1] / "course_lib"


def imports():
    """{module: the modules of the course that it imports}, as names; imports for editors alone do not count."""
    names = {_name(path): path for path in COURSE.rglob("*.py")}
    found = {}
    for name, path in names.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)]:
            node.body = []
        asked = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                asked |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                asked |= {f"{node.module}.{alias.name}" if f"{node.module}.{alias.name}" in names else node.module
                          for alias in node.names}
        found[name] = {module for module in asked if module in names and module != name}
    return found


def _name(path):
    return ".".join(("course_lib", *path.relative_to(COURSE).with_suffix("").parts)).removesuffix(".__init__")


def test_no_module_imports_one_that_imports_it():
    """A circle: six modules of which none can be read, or changed, without the other five."""
    graphlib.TopologicalSorter(imports()).prepare()  # raises CycleError, with the circle


def test_a_room_knows_nothing_of_those_above_it():
    """Predictions that import the checks; a lesson's library that imports what only authors need."""
    above = {"course_lib.predictions": ("checks", "staff"), "course_lib.display": ("checks", "predictions", "staff"),
             "course_lib.upkeep": ("checks", "predictions", "staff"), "course_lib.checks": ("staff",),
             "course_lib.experiments": ("staff",), "course_lib.shipped": ("checks", "predictions", "staff")}
    for module, asked in imports().items():
        for room, forbidden in above.items():
            if module.startswith(room):
                wrong = [name for name in asked if name.split(".")[1:2] and name.split(".")[1] in forbidden]
                assert not wrong, (module, wrong)
