"""An answer as it stands in course_lib: its source for the solution, its stub for the lesson.

A stub is the signature and the docstring, with `raise NotImplementedError` for the body; a class keeps its `__init__`.
Where statements of a function are marked, its stub keeps the body, and leaves out these alone:

    scores = inputs @ query  # (N,)
    weights = torch.softmax(scores, dim=0)  # (N,)  # blank: weights that are positive and sum to 1
    return weights @ inputs

becomes

    scores = inputs @ query  # (N,)
    # weights that are positive and sum to 1
    raise NotImplementedError
    return weights @ inputs

`# blank: words` begins a blank, and `# blank` alone carries it on to the next statement of the same block. At the head
of a `for`, an `if` or a `with` a mark stands for the whole block. A solution shows the source without the marks.

Every blank raises, not the first one alone. So an answer with one blank filled and another one open is still "not
answered yet", where an `...` would let it run on into an error of its own; and it is what nbgrader puts into a region.
"""

import ast
import io
import re
import tokenize
from dataclasses import dataclass, replace
from functools import lru_cache

from course_lib.staff.lesson_text import ROOT, LessonError

BLANK = "raise NotImplementedError"
LOOKS_LIKE_A_MARK = re.compile(r"#\s*blank\b", re.IGNORECASE)
MARK = re.compile(r"# blank(?:: *(\S.*?))?\s*")
FORM = "a mark is written `# blank: what is left out, in words`"


class MarkError(ValueError):
    """A mark that nothing can be made of: `line` is its number, from one, and the message says why."""

    def __init__(self, line, says):
        super().__init__(says)
        self.line = line


@dataclass(frozen=True)
class Blank:
    """Lines that a stub leaves out, numbered from one: a whole body, or what is marked, with its words."""

    first: int
    last: int
    indent: str
    words: str = ""

    @property
    def hint(self):
        """The words as a comment: one line, or none."""
        return [f"{self.indent}# {self.words}"] if self.words else []


def source_and_stub(module, name, where):
    """The source of a function or class and the same cut to a stub; `where` names the cell that asks for it."""
    path, lines, node = _found(module, name, where)
    definition = dedented(lines, node)
    try:
        return without_marks(definition), stub(definition)
    except MarkError as error:
        raise LessonError(f"{path}:{_first_line(node) - 1 + error.line}: {error}") from None


def as_written(module, name, where):
    """The source of a function or class as it stands in its module, with its marks."""
    _, lines, node = _found(module, name, where)
    return dedented(lines, node)


def dedented(lines, node):
    """The text of a definition, its decorators included."""
    return "\n".join(lines[_first_line(node) - 1 : node.end_lineno])


def stub(definition):
    """A definition without what is blank."""
    lines, found = definition.splitlines(), blanks(definition)
    for blank in reversed(found):
        lines[blank.first - 1 : blank.last] = [*blank.hint, blank.indent + BLANK]
    left = "\n".join(lines)
    if _marks(definition):
        try:
            compile(left, "<stub>", "exec")
        except SyntaxError as error:
            raise MarkError(found[0].first, f"without what is marked, the rest is no Python: {error.msg}") from None
    return left


def without_marks(definition):
    """A definition as a solution shows it."""
    lines = definition.splitlines()
    for number, (column, _) in _marks(definition).items():
        lines[number - 1] = lines[number - 1][:column].rstrip()
    return "\n".join(lines)


def blanks(definition):
    """The Blanks of a definition, in order; those of a class are in its methods.

    raises: MarkError
    """
    (node,), marks, lines = parsed(definition).body, dict(_marks(definition)), definition.splitlines()
    functions = [node]
    if isinstance(node, ast.ClassDef):
        functions = [item for item in node.body if isinstance(item, ast.FunctionDef)]
    found = [blank for function in functions for blank in _of_function(function, marks, lines)]
    for line, (column, _) in sorted(marks.items()):
        code = lines[line - 1][:column].strip()
        if not code or code.startswith("#"):
            raise MarkError(line, "a mark stands at the end of a line of code, not on a line of its own")
        raise MarkError(line, f"`{code}` cannot be left out: a mark belongs to a whole statement of a body")
    return found


def marks_outside(exercises):
    """One line for each mark in course_lib that leaves nothing out. exercises: a set of (module, name)"""
    found = []
    for path in sorted((ROOT / "course_lib").rglob("*.py")):
        inside, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        if inside.startswith(("course_lib/staff/", "course_lib/checks/")) or not LOOKS_LIKE_A_MARK.search(text):
            continue
        module = inside.removesuffix(".py").replace("/", ".")
        own = {line for node in parsed(text).body if (module, getattr(node, "name", "")) in exercises
               for line in range(_first_line(node), node.end_lineno + 1)}
        try:
            found += [f"{inside}:{line}: a mark outside of every exercise" for line in _marks(text) if line not in own]
        except MarkError as error:  # where it is within an exercise, the stub cannot be made either
            found += [] if error.line in own else [f"{inside}:{error.line}: {error}"]
    return found


@lru_cache(maxsize=512)  # many answers stand in one module
def parsed(text):
    """The syntax tree of some code, for looking at."""
    return ast.parse(text)


def _found(module, name, where):
    """The path, the lines and the node of a definition, whose docstring is the exercise."""
    path = ROOT / (module.replace(".", "/") + ".py")
    if not path.exists():
        raise LessonError(f"{where}: there is no module {module}")
    text, inside = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
    try:
        tree = parsed(text)
    except SyntaxError as error:
        raise LessonError(f"{inside}:{error.lineno}: {error.msg}") from None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            if ast.get_docstring(node) is None:
                raise LessonError(f"{where}: {module}.{name} has no docstring, and the docstring is the exercise")
            return inside, text.splitlines(), node
    raise LessonError(f"{where}: {module} has no function or class named {name}")


def _first_line(node):
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])


# Marks


@lru_cache(maxsize=512)
def _marks(text):
    """{line: (the column it begins in, its words)} of all marks in some code."""
    found = {}
    if LOOKS_LIKE_A_MARK.search(text):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and (looks := LOOKS_LIKE_A_MARK.search(token.string)):
                mark = MARK.fullmatch(token.string, looks.start())
                if mark is None:
                    raise MarkError(token.start[0], FORM)
                found[token.start[0]] = token.start[1] + looks.start(), mark[1] or ""
    return found


def _of_function(function, marks, lines):
    """The Blanks of a function; those of its marks that make one are taken out of `marks`."""
    documented = ast.get_docstring(function) is not None
    if not any(_first_line(function) <= line <= function.end_lineno for line in marks):
        first = function.body[0].end_lineno + 1 if documented else function.body[0].lineno
        whole = Blank(first, function.end_lineno, " " * (function.col_offset + 4))
        return [] if function.name == "__init__" else [whole]
    body = function.body[documented:]
    found = _of_block(body, marks, lines)
    if body and all(any(blank.first <= s.lineno <= blank.last for blank in found) for s in body):
        raise MarkError(found[0].first, f"nothing of {function.name} is left but blanks: without any mark, all of its "
                                        "body is one")
    return found


def _of_block(block, marks, lines):
    """The same of a block of statements and of the blocks within it."""
    found, carries_on = [], False
    for statement in block:
        words = _words(statement, marks, lines)
        if words is None:
            found += [blank for inner in _blocks(statement) for blank in _of_block(inner, marks, lines)]
        elif words:
            found.append(Blank(statement.lineno, statement.end_lineno, " " * statement.col_offset, words))
        elif carries_on:
            found[-1] = replace(found[-1], last=statement.end_lineno)
        else:
            raise MarkError(statement.lineno, f"there is no blank above that this one could carry on: {FORM}")
        carries_on = words is not None
    return found


def _words(statement, marks, lines):
    """The words of the mark on a statement, which is taken out; None where it has none, or cannot be left out."""
    inner = _blocks(statement)
    head = max(statement.lineno, inner[0][0].lineno - 1) if inner else statement.end_lineno
    at = [n for n in range(statement.lineno, head + 1) if n in marks and _is_code(lines[n - 1][: marks[n][0]])]
    if not at or not _is_whole(statement, lines):
        return None
    words = marks.pop(at[0])[1]
    again = [n for n in range(statement.lineno, statement.end_lineno + 1) if n in marks]
    if again:
        raise MarkError(again[0], "what this mark leaves out is left out by another one already")
    return words


def _blocks(statement):
    """The blocks of statements within a statement, in order."""
    parts = [statement, *getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
    found = [getattr(part, name, None) for part in parts for name in ("body", "orelse", "finalbody")]
    return sorted(filter(None, found), key=lambda block: block[0].lineno)


def _is_code(text):
    return bool(text.strip()) and not text.lstrip().startswith("#")


def _is_whole(statement, lines):
    """Is it alone on its lines, and more than an `elif` of another one? A definition within an answer is given."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    before = lines[statement.lineno - 1].encode()[: statement.col_offset].decode()
    after = lines[statement.end_lineno - 1].encode()[statement.end_col_offset :].decode()
    is_elif = isinstance(statement, ast.If) and re.match(r"\s*elif\b", lines[statement.lineno - 1])
    return not before.strip() and not _is_code(after) and not is_elif
