"""Which answers a hand-out holds back, and what is left of a module then.

An exercise of a lesson before the first one handed out is over: it stays as it is. Of every other exercise a module
keeps the stub. Where a lesson that is handed out, or the check of one, runs on the course's own answer all the same,
it comes along as a stand-in behind its stub: coded, so that nobody reads it by accident. So is what the checks of open
exercises compare with: a loop that nobody can doubt is an answer, too. That hides it from nobody who wants to know.
"""

import ast
import base64
import re
from collections import deque
from dataclasses import dataclass
from functools import cache

from course_lib.checks import EXERCISES
from course_lib.checks.engine.mistakes import ByHand
from course_lib.staff.answers import BLANK, as_written, dedented, parsed, source_and_stub
from course_lib.staff.lesson_text import ROOT
from course_lib.staff.notebooks import without_magics

PACKAGE = ROOT / "course_lib"
KEPT, STAND_IN, WITHHELD = "kept", "stand-in", "withheld"


@dataclass(frozen=True)
class Fate:
    """What becomes of one exercise: where its answer stands, kept, stand-in or withheld, and why."""

    lesson: str
    module: str
    name: str
    what: str
    why: str


def fates(lessons, handed):
    """The Fate of every exercise, in the course's order.

    lessons: all lessons
    handed:  the numbers of those that are handed out
    """
    answers = {cell.answer: lesson.number for lesson in lessons for cell in lesson.cells if cell.answer}
    needed = _needed([lesson for lesson in lessons if lesson.number in handed], answers)
    decided = []
    for (module, name), number in answers.items():
        if number < min(handed):
            what, why = KEPT, f"lesson {number} is over"
        elif (module, name) in needed:
            what, why = STAND_IN, needed[module, name]
        else:
            what, why = WITHHELD, "nothing else that is handed out runs on it"
        decided.append(Fate(number, module, name, what, why))
    return decided


def modules(chosen, decided):
    """The modules that come along: what is handed out names them, or one that comes along imports them, or they are
    tools that have nothing to do with an open exercise.

    All others belong to later lessons, and may hold the twin of an answer: an attention that is a little faster.
    """
    open_ = {fate.module for fate in decided if fate.what != KEPT}
    last, imports = max(lesson.number for lesson in chosen), _modules()
    graph = {module: {of for of, _ in names.values()} & imports.keys() for module, names in imports.items()}
    later = {module for module in graph if (number := checked_by(module)) and number > last}
    roots = {module for module in graph if module.startswith(f"{PACKAGE.name}.checks")} - later | {PACKAGE.name}
    for lesson in chosen:
        roots |= {of for of, _ in _imports(ast.parse(_code(lesson))).values()}
        paths = re.findall(rf"{PACKAGE.name}(?:[./]\w+)+", "\n".join(cell.source for cell in lesson.cells))
        roots |= {".".join(re.split(r"[./]", path)) for path in paths} & graph.keys()
    tools = {module for module in graph if not _reached(graph, [module], blocked=set()).keys() & open_}
    return (tools | _reached(graph, sorted(roots), blocked=set()).keys()) - later


def checked_by(module):
    """The number of the lesson whose checks a module holds, such as "11b"; None where it holds none."""
    found = re.search(r"\.checks\.lesson_([^_.]+)", module)
    return found and found[1]


def spare(chosen, decided):
    """Definitions, as (module, name), that stand beside an open exercise and that nothing handed out names.

    They belong to later lessons, and may say half of an answer: the weights of a multi-head attention, for a picture.
    """
    answers = {(fate.module, fate.name): fate.lesson for fate in decided}
    open_ = {fate.module for fate in decided if fate.what != KEPT}
    held = {(fate.module, fate.name) for fate in decided if fate.what == WITHHELD}
    come = modules(chosen, decided)
    graph = {node: named for node, named in _graph().items() if node[0] in come}
    beside = {node for node in graph if node[0] in open_ and node not in answers}
    roots = {root for lesson in chosen for root, _ in _roots_of_notebook(lesson, answers)} - held
    roots |= {node for node in graph if node not in beside | held}
    roots |= {node for module in come for node in _modules()[module].values() if node[1]}
    roots |= {node for answer in held for node in _named_by_stub(*answer)} - held
    return beside - _reached(graph, sorted(roots), blocked=held).keys()


def cut(module, text, decided, spared=frozenset()):
    """The text of a module without the answers that are not kept: stubs, and stand-ins behind them. No mark is left.

    spared: definitions, as (module, name), that are left out altogether
    """
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and (module, node.name) in spared:
            text = text.replace(dedented(lines, node), "")
    text = re.sub(r"\n{4,}", "\n\n\n", text).rstrip() + "\n"
    for fate in decided:
        if fate.module == module:
            source, stub = source_and_stub(module, fate.name, module)
            left = {KEPT: source, STAND_IN: f"{stub}\n\n\n{_coded(source)}",
                    WITHHELD: f"{_refusing(stub, fate)}\n\n\n{fate.name}.stands_in = False"}
            text = text.replace(as_written(module, fate.name, module), left[fate.what])
    return text


def without_heirs(text, decided):
    """The text of a module, with those classes coded that inherit from an open answer: they do what it does."""
    lines, open_ = text.splitlines(), {fate.name for fate in decided if fate.what != KEPT}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef) and {getattr(base, "id", "") for base in node.bases} & open_:
            source = dedented(lines, node)
            text = text.replace(source, _coded(source, "It inherits from what is still to be written."))
    return text


def without_twins(module, text):
    """The text of a check, with those functions coded that do what an answer does.

    They are the oracles, which it judges by, those that a learner's own test is tried on, and what these run on.
    """
    tree, lines = parsed(text), text.splitlines()
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [k.value for call in calls for k in call.keywords if k.arg == "oracle"]
    named += [argument for call in calls if getattr(call.func, "id", "") == "line_up" for argument in call.args]
    roots = sorted((module, node.id) for node in named if isinstance(node, ast.Name))
    twins = _reached(_graph(), roots, blocked=set())
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and (module, node.name) in twins:
            source = dedented(lines, node)
            text = text.replace(source, _coded(source, "What the check compares with."))
    return text


def _refusing(stub, fate):
    """A stub that says what is missing when it is called."""
    says = (f"{fate.name} has no stand-in in this hand-out: "
            f"your own answer to the exercise of lesson {fate.lesson} is needed first")
    return re.sub(f"^( +){BLANK}$", rf'\1{BLANK}(\n\1    "{says}")', stub, flags=re.M)


def _coded(source, what="A stand-in until your own is right."):
    """A statement that runs a definition and does not show it."""
    data = base64.b64encode(source.encode()).decode()
    lines = "\n".join(f'    "{data[i : i + 100]}"' for i in range(0, len(data), 100))
    return f"# {what}\nexec(__import__(\"base64\").b64decode(\n{lines}\n))"


# What runs on what


def _needed(handed, answers):
    """The answers that lessons run on, or their checks, each with the reason in words."""
    graph, needed = _graph(), {}
    for lesson in handed:
        own = {answer for answer, number in answers.items() if number == lesson.number}
        for root, how in _roots_of_notebook(lesson, answers):
            # What a lesson asks for it gets from the learner, and hands on; unless it names the course's own itself.
            for node, by in _reached(graph, [root], blocked=set() if root in own else own).items():
                needed.setdefault(node, f"lesson {lesson.number} {how}" if node == root else
                                        f"lesson {lesson.number} runs {by[1]}, which needs it")
        for module in (module for module in _modules() if checked_by(module) == lesson.number):
            roots = [node for node in graph if node[0] == module] + _roots_of_mistakes(lesson.number)
            for node in _reached(graph, roots, blocked=set()):
                needed.setdefault(node, f"the check of lesson {lesson.number} runs it")
    return needed


def _roots_of_notebook(lesson, answers):
    """The definitions of course_lib that a lesson's own cells name, each with how they do it."""
    tree = ast.parse(_code(lesson))
    yield from ((node, "names it") for node in sorted(_named(tree, "", _imports(tree))))
    by_name = {name: (module, name) for module, name in answers}
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "mine":
            if call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value in by_name:
                yield by_name[call.args[0].value], "asks for it by mine()"


def _code(lesson):
    """A lesson's own cells as one text."""
    return "\n".join(without_magics(c.source) for c in lesson.cells if c.kind == "code" and not c.answer)


def _roots_of_mistakes(number):
    """The definitions of course_lib that the mistakes of a lesson name: each runs beside the answer that it edits.

    Answers of the lesson itself are not among them: they come along within the mistakes, coded.
    """
    found, of_lesson = set(), [e for e in EXERCISES.values() if e.lesson == number]
    for exercise in of_lesson:
        module = exercise.verified.__module__
        tree = ast.parse((ROOT / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8"))
        known = {name: (module, name) for node in tree.body for name in _defines(node)} | _imports(tree)
        for own in of_lesson:
            known.pop(own.name, None)
        for mistake in exercise.mistakes:
            if not isinstance(mistake, ByHand):
                for way in mistake.ways:
                    found |= _named(ast.parse(way.source), module, known)
    return sorted(found)


def _named_by_stub(module, name):
    """The definitions of course_lib that a stub itself names."""
    tree = parsed((ROOT / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8"))
    known = {other: (module, other) for node in tree.body for other in _defines(node)} | _imports(tree)
    return _named(ast.parse(source_and_stub(module, name, module)[1]), module, known) - {(module, name)}


def _reached(graph, roots, blocked):
    """All definitions that some definitions run on, themselves among them, each with the one that named it."""
    seen, waiting = {root: root for root in roots}, deque(roots)
    while waiting:
        node = waiting.popleft()
        for other in sorted(graph.get(node, ())):
            if other not in seen and other not in blocked:
                seen[other] = node
                waiting.append(other)
    return seen


@cache
def _graph():
    """Every definition at the top of a module of course_lib, as (module, name), and the definitions it names."""
    graph = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if "staff" not in path.parts:
            module, tree = _module_name(path), ast.parse(path.read_text(encoding="utf-8"))
            known = {name: (module, name) for node in tree.body for name in _defines(node)} | _imports(tree)
            for node in tree.body:
                for name in _defines(node):
                    graph[module, name] = _named(node, module, known) - {(module, name)}
    return graph


@cache
def _modules():
    """What every module of course_lib imports of others, as _imports has it; those of the staff stay at home."""
    return {_module_name(path): _imports(parsed(path.read_text(encoding="utf-8")))
            for path in sorted(PACKAGE.rglob("*.py")) if "staff" not in path.relative_to(PACKAGE).parts}


def _defines(node):
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    return [t.id for t in node.targets if isinstance(t, ast.Name)] if isinstance(node, ast.Assign) else []


def _imports(tree):
    """What the names that a piece of code imports of course_lib stand for: (module, name); a module has no name."""
    known = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "course_lib":
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                known[alias.asname or alias.name] = (whole, "") if _is_module(whole) else (node.module, alias.name)
    return known


def _named(tree, module, known):
    """The definitions that a piece of code names. To take a class's weights or its contract is not to run it."""
    found, waiting = set(), [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.keyword) and node.arg == "verified":
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "random_weights":
            waiting += node.args[1:]
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            of, name = known.get(node.value.id, ("", None))
            found |= {(of, node.attr)} if name == "" else set()
        if isinstance(node, ast.Name):
            found |= {known[node.id]} if node.id in known else set()
        if isinstance(node, ast.ImportFrom) and not module:
            found |= {known[alias.asname or alias.name] for alias in node.names
                      if (alias.asname or alias.name) in known}
        waiting += ast.iter_child_nodes(node)
    return {node for node in found if node[1]}


def _is_module(dotted):
    path = ROOT / dotted.replace(".", "/")
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def _module_name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
