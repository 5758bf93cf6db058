"""API pages: the modules that lessons import, in the words of their docstrings."""

import ast

from course_lib.checks import EXERCISES
from course_lib.staff import site
from course_lib.staff.lesson_text import ROOT, lesson_stems
from course_lib.staff.site.page import REFERENCE, Page

MODULES = ("checks", "attention", "fused", "masks", "layers", "positions", "transformer", "targets", "decoding",
           "language_model", "cache", "online_softmax", "vision", "rollout", "message_passing", "llama", "circuits",
           "black_box_tests", "training", "runs", "data", "pretrained", "shipped", "display", "classifier",
           "experiments")
PACKAGES = {"runs": ("checkpoints", "long_runs"), "experiments": ("stored", "scaling", "twins", "recipe"),
            "display": ("plots", "drawings", "drawings.one_query", "drawings.encoder", "drawings.clock_hands",
                        "drawings.transformer", "diagrams", "style"),
            "data": ("assets", "film_reviews", "pairs", "small_french", "vocabulary"),
            "shipped": ("models", "word_vectors", "photographs", "things"),
            "pretrained": ("minilm", "smollm2", "vit")}


def pages():
    """A page with all modules, and one for each of them."""
    return [_contents(), *(page(module) for module in MODULES)]


def page(module):
    """One module, or a package with its modules."""
    parts = [f"{module}.{part}" for part in PACKAGES.get(module, ())]
    text = [f"# course_lib.{module}", _introduction(module)]
    text += _members(module, "##")
    for part in parts:
        text += [f"## course_lib.{part}", _introduction(part), *_members(part, "###")]
    made_of = tuple(_file(name).relative_to(ROOT).as_posix() for name in (module, *parts))
    return Page(f"api/{module}.md", "\n\n".join(text) + "\n", made_of)


def public(module):
    """The definitions of a module that are meant for others; `main` is for the command line."""
    tree = ast.parse(_file(module).read_text(encoding="utf-8"))
    return [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
            and not node.name.startswith("_") and node.name != "main"]


def _contents():
    lines = [f"- [course_lib.{module}]({module}.md) · {_introduction(module).split(chr(10))[0]}" for module in MODULES]
    tree = "\n".join(["```{toctree}", ":hidden:", "", *MODULES, "```"])
    text = "\n".join(["# The library", "", "What lessons import, module by module: "
                      "`from course_lib.attention import MultiHeadAttention`.", "", *lines, "", tree, ""])
    made_of = tuple(_file(module).relative_to(ROOT).as_posix() for module in MODULES)
    return Page("api/index.md", text, made_of, REFERENCE)


def _file(module):
    path = ROOT / "course_lib" / module.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _introduction(module):
    return ast.get_docstring(ast.parse(_file(module).read_text(encoding="utf-8"))) or ""


def _members(module, heading):
    return [_member(module, node, heading) for node in public(module)]


def _member(module, node, heading):
    """A heading, how it is called, what for, and where it is asked for and written."""
    text = [f"{heading} {node.name}", _fence("python", _call(node)), *_words(node)]
    if isinstance(node, ast.ClassDef):
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_") and ast.get_docstring(method):
                text += [_fence("python", f"{node.name}.{_call(method)}"), *_words(method)]
    source = f"[Source]({site.on_github(_file(module).relative_to(ROOT).as_posix())}#L{node.lineno})"
    return "\n\n".join([*text, " · ".join([*_asked_in(module, node.name), source])])


def _call(node):
    """A definition as one would call it."""
    if isinstance(node, ast.FunctionDef):
        arguments = ast.unparse(node.args).removeprefix("self").removeprefix(", ")
        return f"{node.name}({arguments})"
    for item in node.body:
        if isinstance(item, ast.FunctionDef) and item.name == "__init__":
            return _call(item).replace("__init__", node.name, 1)
    fields = [ast.unparse(item) for item in node.body if isinstance(item, ast.AnnAssign)]
    return f"{node.name}({', '.join(fields)})" if fields else node.name


def _words(node):
    """A docstring: its first paragraph as prose, the rest as its author aligned it."""
    first, _, rest = (ast.get_docstring(node) or "").partition("\n\n")
    return [text for text in (first, rest and _fence("text", rest)) if text]


def _fence(language, text):
    return f"```{language}\n{text}\n```"


def _asked_in(module, name):
    exercise = EXERCISES.get(name)
    if exercise is None or exercise.verified.__module__ != f"course_lib.{module}":
        return []
    stem = next(stem for stem in lesson_stems() if stem.startswith(exercise.lesson))
    return [f"Exercise of [lesson {exercise.lesson}](../lessons/{stem}.ipynb)"]
