"""Which cells of a notebook are the student's own, and what of the lesson's cells their code may need."""

import ast
import functools
import itertools
import json
import re
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path, PurePosixPath

from IPython.core.inputtransformer2 import TransformerManager

from course_lib.checks import EXERCISES
from course_lib.staff.grade.notebook_cells import script_cells
from course_lib.staff.lesson_text import LESSONS, SOLUTIONS

SLOW = re.compile(r"\.optim\b|\bcompile\b|deterministic_algorithms")  # torch imports a second's worth for them
NOT_EARLY = {"ipywidgets", "onnx", "onnxruntime"}  # they want a kernel, or start threads
LONGEST = 1_000_000  # letters of a cell; nobody writes more by hand
PATIENCE = 200_000  # letters of a cell times its lines with signs: beyond, IPython's transformer takes many seconds
SIGNS = re.compile(r"^[ \t]*[%!?]|\?[ \t]*$|=[ \t]*[%!]", re.MULTILINE)
RUN_IN_PLACE = re.compile(r"\A(?:\s*%%(?:time|capture|prun)\b[^\n]*\n)+")  # what such a cell defines is there after it
WRITES = re.compile(
    r"\A\s*%%(?:write)?file[ \t]+(?:(?:-a|--append)[ \t]+)?['\"]?((?:[^\s'\"]*/)?\w+\.py)['\"]?[ \t]*\n")
RUNS = re.compile(r"^%run[ \t]+(?:-\w+[ \t]+)*(?:\"([^\"\n]+)\"|'([^'\n]+)'|(\S+))(?:[ \t].*)?$", re.MULTILINE)
ANY = "*"
DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
BINDS_ANYTHING = re.compile(r"import\s*\*|\b(?:exec|eval|globals|locals|vars|setattr)\(|\b__main__\b")
USUAL = {"torch", "np", "plt", "os", "sys", "random", "time", "F", "nn"}  # calling their functions changes no answer
COURSE = Path(__file__).parents[2]  # course_lib
OF_THE_COURSE = {"course_lib", "solutions", "tests"}  # they come along where somebody hands in all of it
TIMED = re.compile(r"^([ \t]*)%time[ \t]+(?=\S)", re.MULTILINE)


@dataclass(frozen=True)
class Piece:
    """One cell as it is run. `number` counts code cells from one, as the student sees them."""

    notebook: int
    number: int
    source: str
    is_own: bool
    defines: frozenset  # exercises
    module: str = ""  # where other cells may import what this one's script defines: its path with dots

    @property
    def name(self):
        return f"<code cell {self.number} of notebook {self.notebook + 1}>"

    @property
    def module_name(self):
        return _parts(self.module)[-1]


def pieces(submission):
    """The cells of a submission to run, in order: the student's own, and the lesson's imports and definitions.

    A lesson's cell is known by its content, wherever it stands. Its experiments and trainings are not run, and nothing
    of a notebook or of the course's folders that is as it was handed out. A cell that writes a module is run as that
    module.
    """
    run = {_stem(path) for notebook in submission.notebooks for path in _run_by(notebook)}
    notebooks = [(which, n, _module(n, run)) for which, n in enumerate(submission.notebooks) if not _is_handed_out(n)]
    known = {module for *_, module in notebooks if module}
    written = {}  # by a cell: (notebook, module) -> a number as a notebook has one
    for which, notebook, module in _imported_first(notebooks, run):
        for number, cell in enumerate(notebook.cells, 1):
            if len(cell) > LONGEST or not cell.strip():
                continue
            if _essence(cell) in lesson_cells():
                if source := _definitions(cell):
                    yield Piece(which, number, source, False, frozenset(), module)
            elif writes := WRITES.match(cell):
                cell = "\n" * writes[0].count("\n") + cell[writes.end():]
                name = _dotted(PurePosixPath(notebook.path).parent / writes[1])
                home = written.setdefault((which, name), len(submission.notebooks) + len(written))
                known.add(name)
                yield Piece(home, number, cell, True, frozenset(defined(cell)), name)
            else:
                source = _python(RUNS.sub(lambda found: _as_import(found, notebook, known), cell))  # noqa: B023
                yield Piece(which, number, source, True, frozenset(defined(cell)), module)


def _is_handed_out(notebook):
    """Is it a lesson or a file of the course in which nobody has written anything?"""
    return _came_along(notebook) or all(
        _essence(cell) in lesson_cells() for cell in notebook.cells if len(cell) <= LONGEST and cell.strip())


def _imported_first(notebooks, run):
    """Triples (index, notebook, module) in order, but first what another one imports or runs; packages after theirs."""
    imports = set().union(*(_imports(_python(c)) for _, n, _ in notebooks for c in n.cells if len(c) <= LONGEST))
    words = {part for name in imports for part in name.split(".")} | run

    def key(triple):
        module = triple[2]
        return not words & set(_parts(module)[-2:]), module.endswith("__init__")

    return sorted(notebooks, key=key)


def _run_by(notebook):
    """The paths of what the cells of a notebook run with %run."""
    return [next(filter(None, found)) for cell in notebook.cells if len(cell) <= LONGEST
            for found in RUNS.findall(cell)]


def _as_import(found, notebook, known):
    """A line with %run as an import of all that is defined there, if it was handed in or written by a cell."""
    path = next(filter(None, found.groups()))
    there = [module for module in sorted(known) if _parts(module)[-1] == _stem(path)]
    beside = _dotted(PurePosixPath(notebook.path).parent / path)
    best = max(there, key=lambda module: module == beside, default=None)
    return f"from {best} import *" if best else found[0]


def _module(notebook, run):
    """The dotted path that a script is imported by, or a notebook that another one runs; "" for other notebooks."""
    path = PurePosixPath(notebook.path)
    if _stem(path) in run:
        return _dotted(path)
    return _dotted(path, path.stem.replace(".", "_")) if path.suffix == ".py" else ""


def _dotted(path, stem=""):
    """A path as Python's imports have it: `ada/week 7/mix.py` as `ada.week_7.mix`."""
    folders = [_identifier(part) for part in PurePosixPath(path).parent.parts if part.strip("./")]
    return ".".join([*folders, stem or _stem(path)])


def _stem(path):
    """The name of a script or notebook as a module's, with its ending or without."""
    return _identifier(re.sub(r"\.(py|ipynb)$", "", PurePosixPath(path).name))


def _identifier(name):
    name = re.sub(r"\W", "_", name)
    return name if name.isidentifier() and not iskeyword(name) else f"_{name}"


def _parts(module):
    """The names in a dotted path; a package's __init__ has the package's own."""
    return module.removesuffix(".__init__").split(".")


def _came_along(notebook):
    """Is it a file of the course, in which nobody has written an answer?"""
    if not OF_THE_COURSE & set(PurePosixPath(notebook.path).parts[:-1]):
        return False
    return all(_is_stub(cell) or _essence(cell) in _course_cells() for cell in notebook.cells if defined(cell))


def _is_stub(cell):
    """Is it a function or class without an answer, as the course's hand-outs have it?"""
    try:
        [node] = ast.parse(cell).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return isinstance(node, ast.FunctionDef | ast.ClassDef) and "raise NotImplementedError" in ast.unparse(node)


@functools.cache
def _course_cells():
    """The cells of the course's own files, answers and all."""
    scripts = [*COURSE.rglob("*.py"), *COURSE.with_name("tests").rglob("*.py")]
    cells = {_essence(cell) for path in scripts for cell in script_cells(path.read_bytes())}
    for path in SOLUTIONS.glob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells |= {_essence("".join(c["source"])) for c in notebook["cells"] if c["cell_type"] == "code"}
    return frozenset(cells)


def is_imported(name, piece, modules):
    """Does a cell bind a name by an import from one of these modules, and in no other way?"""
    if not modules:
        return False
    try:
        nodes = list(ast.walk(ast.parse(piece.source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    imports = [n for n in nodes if isinstance(n, ast.ImportFrom) and (n.module or "").split(".")[-1] in modules]
    bound = any(name in (getattr(n, "name", ""), getattr(n, "id", "")) for n in nodes
                if isinstance(n, DEFINITION) or isinstance(getattr(n, "ctx", None), ast.Store))
    return not bound and any(name == (a.asname or a.name) for n in imports for a in n.names)


def left_blank(submission):
    """The exercises whose cell is there as it was handed out, or is not read, and why: {name: sentence}."""
    blank = {}
    for notebook in submission.notebooks:
        for number, cell in enumerate(notebook.cells, 1):
            if len(cell) > LONGEST:
                blank |= dict.fromkeys(_made_at_a_glance(cell), f"Code cell {number} of {notebook.path}, which "
                                       f"defines it, was not read: it is {len(cell):,} letters long, and "
                                       f"{LONGEST:,} is the most.")
            elif cell.strip() and _essence(cell) in lesson_cells():
                blank = dict.fromkeys(defined(cell), "Its cell is as it was handed out.") | blank
    return blank


def answer_of(name, piece):
    """The last answer that a cell's own statements give to a name: its syntax tree as a text, without comments and
    docstrings. A stub is none, nor is what comes from the course or by an import; None where there is none.
    """
    try:
        tree = ast.parse(piece.source)
        for node in ast.walk(tree):
            if isinstance(node, DEFINITION) and ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
        given = [value for node in _statements(tree) for value in _given(name, node)]
        return ast.dump(given[-1]) if given else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "".join(piece.source.split())


def _statements(tree):
    """The statements of a cell and of its `if`, `try`, `with` and loops, and not those of its functions and classes."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.stmt | ast.ExceptHandler):
            yield node
            if not isinstance(node, DEFINITION):
                yield from _statements(node)


def _given(name, node):
    """What of its own a statement gives to a name."""
    if isinstance(node, DEFINITION) and node.name == name and not _is_unanswered(node):
        return [node]
    if not isinstance(node, ast.Assign | ast.AnnAssign) or not node.value:
        return []
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [value for target in targets for one, value in _pairs(target, node.value)
            if getattr(one, "id", "") == name and not _is_plain(value)]


def _is_unanswered(node):
    """Is it a stub: a function that raises NotImplementedError at once, or a class with such a one?"""
    firsts = [n.body[:1] for n in ast.walk(node) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    return any(isinstance(f, ast.Raise) and "NotImplementedError" in ast.unparse(f) for [f] in filter(None, firsts))


def code_of(name, own):
    """The source of the student's cells that define an exercise."""
    return "\n\n".join(p.source for p in own if name in p.defines)


def _made_at_a_glance(cell):
    """The exercises that a cell defines by its look."""
    return set(re.findall(r"^[ \t]*(?:def|class)[ \t]+(\w+)", cell, re.MULTILINE)) & set(EXERCISES)


@functools.lru_cache(maxsize=1024)
def defined(cell):
    """The exercises a cell gives a value to; by its look where it is no valid Python."""
    try:
        tree = ast.parse(_python(cell))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _made_at_a_glance(cell)
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    made = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    made |= {a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) for a in n.names}
    named = {a.value for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "check"
             for a in [*n.args[1:], *(k.value for k in n.keywords)] if isinstance(a, ast.Constant)}
    return {name for name in stored | made | {n for n in named if isinstance(n, str)} if name in EXERCISES}


def other_exercises(name, run):
    """The exercises whose names, or other names for them, occur in the cells that one needs."""
    words, of_modules, imported, also = set(), set(), set(), {}
    homes = {p.notebook for p in run if name in p.defines}
    for piece in (p for p in needed_for(name, run) if p.notebook in homes):
        try:
            tree = ast.parse(piece.source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                also |= {a.asname: a.name for a in node.names if a.asname and a.name in EXERCISES}
                imported |= {(a.asname or a.name).split(".")[0] for a in node.names}
            elif isinstance(node, ast.Assign) and len(node.targets) == 1:
                for target, value in _pairs(node.targets[0], node.value):
                    args = value.args if isinstance(value, ast.Call) else ()
                    given = {a.value for a in args if isinstance(a, ast.Constant)}
                    also |= {getattr(target, "id", ""): g for g in given if g in EXERCISES}
            elif piece.is_own and isinstance(node, ast.Name):
                words.add(node.id)
            elif piece.is_own and isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                of_modules.add((node.value.id, node.attr))
    words |= {attr for module, attr in of_modules if module in imported - USUAL}
    return {other for other in {also.get(w, w) for w in words} if other in EXERCISES and other != name}


def imported_exercises(name, run):
    """The exercises that the cells one needs import from the course, where there are stubs of them."""
    return set().union(*(_from_the_course(piece.source) for piece in needed_for(name, run))) - {name}


@functools.cache
def imports_of_a_lesson(name):
    """The exercises of other lessons that the lesson of an exercise imports before its answer: it may use them."""
    (path,) = LESSONS.glob(f"{EXERCISES[name].lesson}_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    found = set().union(*(_from_the_course(_python("".join(c["source"]))) for c in cells if c["cell_type"] == "code"))
    return frozenset(other for other in found if EXERCISES[other].lesson != EXERCISES[name].lesson)


def _nodes(source):
    """All nodes of some code; none of what is no valid Python."""
    try:
        return list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


@functools.lru_cache(maxsize=4096)
def _from_the_course(source):
    """The exercises that some code imports from course_lib."""
    nodes = _nodes(source)
    return frozenset(alias.name for n in nodes if isinstance(n, ast.ImportFrom) and n.module
                     and n.module.split(".")[0] == "course_lib" for alias in n.names if alias.name in EXERCISES)


def _pairs(target, value):
    """Which name gets which value: one of each, or as many in a row, as in `a, b = mine("x"), mine("y")`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return list(zip(target.elts, value.elts, strict=True))
    return [(target, value)]


def needed_for(name, run):
    """The pieces that an exercise's cells need, by the names they use, and those cells: a set."""
    needed, waiting, seen = {p for p in run if not p.is_own}, [name, ANY], set()
    binding = _binding(tuple(p for p in run if p.is_own))
    while waiting:
        for piece in binding.get(waiting.pop(), ()):
            if piece not in needed:
                needed.add(piece)
                _, loaded = _names_in(piece.source)
                waiting += loaded - seen
                seen |= loaded
    return needed


def until_defined(name, run, needed):
    """The needed pieces without those behind an answer that bind names of before it once more; None where none does."""
    last = max((i for i, piece in enumerate(run) if piece.is_own and name in piece.defines), default=len(run))
    before = set().union(*(_names_in(piece.source)[0] for piece in run[:last + 1] if piece in needed))
    again = {piece for piece in run[last + 1:] if piece in needed and piece.is_own
             and before & _names_in(piece.source)[0] and not _only_imports(piece.source)}
    return needed - again if again else None


def until_checked(name, run, needed):
    """For each answer that was checked and then written anew, the newest first, the needed pieces without those behind.

    Lessons say: try it wrong on purpose, too. Who does so in a cell of its own has the right answer further up.
    """
    defining = [i for i, piece in enumerate(run) if piece.is_own and name in piece.defines]
    checks = re.compile(rf"\bcheck\(\s*(?:{name}\b|[^)]*['\"]{name}['\"])")
    for first, after in reversed(list(itertools.pairwise(defining))):
        if run[first].notebook == run[after].notebook and any(checks.search(p.source) for p in run[first:after]):
            yield needed - {run[i] for i in defining if i >= after}


def _only_imports(source):
    """Is there nothing but imports, which give a name the value that it has?"""
    return all(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.parse(source).body)


@functools.lru_cache(maxsize=4)
def _binding(pieces):
    """The pieces that bind each name, {name: [piece]}."""
    found = {}
    for piece in pieces:
        for name in {*_names_in(piece.source)[0], *piece.defines, *_parts(piece.module)}:
            found.setdefault(name, []).append(piece)
    return found


@functools.lru_cache(maxsize=4096)
def _names_in(source):
    """The names that some code binds or changes, and those it uses, also as a text where they are an exercise's.

    Code that may bind any name at all binds ANY.
    """
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(), set()
    stored = {ANY} if BINDS_ANYTHING.search(source) else set()
    stored |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    modules = {part for n in nodes if isinstance(n, ast.ImportFrom) for part in (n.module or "").split(".")}
    modules |= {part for n in nodes if isinstance(n, ast.Import) for a in n.names for part in a.name.split(".")}
    stored |= {base for n in nodes if (base := _changed_by(n)) and base not in modules | USUAL}
    stored |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    stored |= {(a.asname or a.name).split(".")[0] for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)
               for a in n.names}
    loaded = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    texts = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return stored, loaded | modules | texts & set(EXERCISES)


def _changed_by(node):
    """The name whose value a node changes: `a.b = 1`, `a[0] = 1`, or `a.append(1)` on a line of its own."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        node = node.value.func
    elif not isinstance(getattr(node, "ctx", None), ast.Store):
        return None
    if not isinstance(node, ast.Attribute | ast.Subscript):
        return None
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return getattr(node, "id", None)


@functools.cache
def lesson_cells():
    """The code cells of all lessons as they are handed out, without what does not matter."""
    cells = set()
    for path in LESSONS.glob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        cells |= {_essence("".join(c["source"])) for c in notebook["cells"] if c["cell_type"] == "code"}
    return frozenset(cells)


def early_imports(run):
    """The modules that a submission imports and the lessons do, too: what a template may import before it forks."""
    found = set().union(*(_imports(piece.source) for piece in run))
    late = {"torch._dynamo"} if any(SLOW.search(piece.source) for piece in run) else set()
    return sorted(found & _lesson_imports() | late)


@functools.cache
def _lesson_imports():
    return frozenset(name for cell in lesson_cells() for name in _imports(_python(cell))
                     if name.split(".")[0] not in NOT_EARLY)


@functools.lru_cache(maxsize=4096)
def _imports(source):
    """The modules that some code imports; of `from a import b` both a and a.b, of which one may not exist."""
    nodes = _nodes(source)
    plain = {alias.name for n in nodes if isinstance(n, ast.Import) for alias in n.names}
    return frozenset(plain.union(*({n.module, *(f"{n.module}.{alias.name}" for alias in n.names)} for n in nodes
                                   if isinstance(n, ast.ImportFrom) and n.module and not n.level)))


def _essence(cell):
    return "\n".join(line.rstrip() for line in cell.strip().splitlines() if line.strip())


@functools.lru_cache(maxsize=4096)
def _python(cell):
    """A cell without IPython's own signs; what is timed or captured is plain code."""
    cell = TIMED.sub(r"\1", RUN_IN_PLACE.sub(lambda top: "\n" * top[0].count("\n"), cell))
    signs = len(SIGNS.findall(cell))
    if not signs:
        return cell
    if signs * len(cell) > PATIENCE:
        return re.sub(r"=[ \t]*[%!].*", "= []", re.sub(r"^([ \t]*)[%!?].*", r"\1pass", cell, flags=re.MULTILINE))
    try:
        return _transformer().transform_cell(cell)
    except (SyntaxError, ValueError, RecursionError, RuntimeError):
        return cell


@functools.cache
def _transformer():
    return TransformerManager()


@functools.lru_cache(maxsize=4096)
def _definitions(cell):
    """What of a lesson's cell other code may need: imports, definitions, constants, `mine` and `check`."""
    try:
        body = ast.parse(_python(cell)).body
    except SyntaxError:
        return ""
    return "\n".join(ast.unparse(node) for node in body if _is_definition(node))


def _is_definition(node):
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return node.name not in EXERCISES
    if not isinstance(node, ast.Assign):
        return isinstance(node, ast.Import | ast.ImportFrom)
    return all(_is_plain(value) for target in node.targets for _, value in _pairs(target, node.value))


def _is_plain(value):
    """A constant, or what `mine` and `check` give."""
    value = value.value if isinstance(value, ast.Attribute) else value
    if isinstance(value, ast.Call):
        return getattr(value.func, "id", "") in ("check", "mine")
    return all(isinstance(n, ast.Constant | ast.Tuple | ast.List | ast.Dict | ast.UnaryOp | ast.USub | ast.Load)
               for n in ast.walk(value))
