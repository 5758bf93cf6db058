"""A sheet for each student: a notebook with their questions, and a cell for their answers."""

import ast

import nbformat
from nbformat import v4

from course_lib.staff.variants.families import variant

ABOUT = """# Questions for {student}

The numbers are yours alone. Write each answer into the last cell: as a number that is a hundredth off at most, or as a
product such as `3 * 4 / 7`. What you leave at `None` is not answered."""


def sheet(student, families, term=""):
    """The notebook of one student, as text."""
    asked = [(family.key, variant(family, student, term)) for family in families]
    cells = [v4.new_markdown_cell(ABOUT.format(student=student))]
    cells += [v4.new_markdown_cell(f"### {key}\n\n{of.text}") for key, of in asked]
    cells.append(v4.new_code_cell("\n".join(["answers = {", *(f'    "{key}": None,' for key, _ in asked), "}"])))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"  # the same file each time
    return nbformat.writes(v4.new_notebook(cells=cells))


def answers(sources):
    """{question: number, or None} as a student has written them; their code is read and never run.

    sources: of the sheet's code cells

    raises: ValueError that says in a sentence why there are none
    """
    for source in reversed(sources):
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # whatever was written there
            continue
        for node in reversed(tree.body):
            if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["answers"] \
                    and isinstance(node.value, ast.Dict):
                return {str(_plain(key)): _number(value) for key, value in
                        zip(node.value.keys, node.value.values, strict=True)}
    raise ValueError("it has no cell `answers = {…}` that can be read")


def _plain(node):
    return node.value if isinstance(node, ast.Constant) else None


def _number(node):
    """The number that an expression of numbers is; None where it is anything else."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool) and abs(value) < LARGEST:
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand) if (value := _number(operand)) is not None:
            return -value
        case ast.BinOp(left, op, right) if type(op) in DO:
            one, other = _number(left), _number(right)
            try:
                return None if one is None or other is None else DO[type(op)](float(one), float(other))
            except ArithmeticError:
                return None
    return None


LARGEST = 1e300  # what is larger, or no number, is no answer
DO = {ast.Add: float.__add__, ast.Sub: float.__sub__, ast.Mult: float.__mul__, ast.Div: float.__truediv__}
