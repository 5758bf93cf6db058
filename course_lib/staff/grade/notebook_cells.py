"""The code cells in the bytes of a notebook or script that nobody vouches for."""

import ast
import json
import re

from course_lib.checks import EXERCISES
from course_lib.staff.grade.marimo_cells import marimo_cells

CONTAINERS = 4_000_000  # lists and objects in one file: each costs the reader some sixty bytes
IN_TEXT = "in a cell of text, where nothing is run"
DEFINED = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)
SURROGATE = re.compile("[\ud800-\udfff]")
NOT_CODE = {"markdown", "raw", "heading", "html"}

PERCENT = re.compile(r"# ?%%+(?:[ \t].*)?|# In\[[ 0-9]*\]:", re.ASCII)  # the second is nbconvert's
PERCENT_PROSE = re.compile(r"\[(markdown|md|raw)\]")
LIGHT_HEADER = re.compile(r"#\s+format_name: light\b")
LIGHT_START = re.compile(r"# \+(?: *[\[{].*)?")
LIGHT_MARK = re.compile(r"# (?:\+(?: .*)?|-)")
DATABRICKS, COMMAND = "# Databricks notebook source", re.compile(r"^# COMMAND -+$", re.MULTILINE)
WRITES_A_MODULE = re.compile(r"# ?(?=%%(?:write)?file )")  # jupytext comments magics out
CELL_MAGIC = re.compile(r"\s*get_ipython\(\)\.run_cell_magic\(")  # nbconvert's
JUPYTEXT = re.compile(rb"(?:\xef\xbb\xbf)?---\r?\n(?:[^-].*\n){0,9}? *jupytext:")
FENCE = re.compile(r"(?P<fence>`{3,})(?:i?python3?|\{code-cell\})(?: (?!\.noeval).*)?")
QUARTO = re.compile(r"(?P<fence>`{3,}) *\{python\b[^}]*\}")
NOT_RUN = re.compile(r"#\| *eval: *false *")
REGION, ITS_END = re.compile(r"<!-- #(?:region|raw|md)\b"), re.compile(r"<!-- #end(?:region|raw|md)\b")
OPTION = re.compile(r":[\w-]+:")
TOGETHER, TRIES = 20, 5000  # paragraphs of a broken script that are read as one, and how often that is tried


class NoNotebook(Exception):
    """Why bytes are no notebook: the rest of a sentence that begins with the file's name."""


def notebook_cells(data):
    """(cells, complaints) of an .ipynb: sources of its code cells, and what is wrong with it although it was read.

    An answer to an exercise that stands in a cell of text is a complaint, where no code cell has one: nobody runs it.
    Formats 2 to 4 are told apart by their structure. Where a key stands twice, the last one counts, as in Jupyter.
    """
    notebook = _json(data)
    if not isinstance(notebook, dict):
        raise NoNotebook("is JSON, but no notebook")
    cells, bad, in_text = [], [], set()
    for number, cell in enumerate(_all_cells(notebook), 1):
        kind = cell.get("cell_type") if isinstance(cell, dict) else None
        if kind == "code":
            source = _text(cell.get("source", cell.get("input")))
            if source is None:
                bad.append(number)
            else:
                cells.append(clean(source))
        elif not isinstance(kind, str) or kind not in NOT_CODE:
            bad.append(number)
        else:
            in_text |= {*DEFINED.findall(clean(_text(cell.get("source")) or ""))} & EXERCISES.keys()
    complaints = []
    if lost := sorted(in_text.difference(*map(DEFINED.findall, cells))):
        complaints.append(f"has {', '.join(lost)} {IN_TEXT}")
    if bad:
        complaints.append(f"has {len(bad)} malformed cell{'s' * (len(bad) > 1)}, which {_was(bad)} left out (the "
                          f"first is number {bad[0]})")
    language = _language(notebook)
    if language:
        complaints.append(f"says that its language is {language}, not Python")
    return tuple(cells), complaints


def _was(several):
    return "were" if len(several) > 1 else "was"


def script_cells(data):
    """The cells of a .py: those of jupytext, nbconvert, Databricks or marimo, else statements that no empty line parts.
    """
    text = clean(decoded(data)).removeprefix("\ufeff")
    lines = text.split("\n")
    if lines[0] == DATABRICKS:
        return tuple(part.strip("\n") for part in COMMAND.split(text) if part.strip())
    if any(PERCENT.fullmatch(line) for line in lines):
        return tuple(part for cell in _percent_cells(lines) for part in _readable(cell))
    tree = _parsed(text)
    if tree:
        return marimo_cells(tree, lines) or _light_cells(tree, lines)
    if any(LIGHT_HEADER.match(line) for line in lines) or any(LIGHT_START.fullmatch(line) for line in lines):
        text = "\n".join("\0" if LIGHT_MARK.fullmatch(line) else line for line in lines)
    return tuple(cell for part in text.split("\0") for cell in _readable(part))


def is_markdown_notebook(data):
    """Are these bytes of a Markdown file one of jupytext's notebooks, and no other text?"""
    return JUPYTEXT.match(data) is not None


def quarto_cells(data):
    """The code cells of a .qmd that Quarto would run."""
    return tuple(cell for cell in markdown_cells(data, QUARTO) if not any(map(NOT_RUN.fullmatch, cell.split("\n"))))


def markdown_cells(data, opening=FENCE):
    """The code cells of a notebook that jupytext or MyST has written as Markdown."""
    cells, here, fence, prose = [], [], "", False
    for line in clean(decoded(data)).split("\n"):
        if fence and line.rstrip() == fence:
            cells.append("\n".join(_without_options(here)).strip("\n"))
            fence = ""
        elif fence:
            here.append(line)
        elif found := None if prose else opening.fullmatch(line.rstrip()):
            fence, here = found["fence"], []
        else:
            prose = bool(REGION.match(line)) or prose and not ITS_END.match(line)
    return tuple(cells)


def _without_options(lines):
    """A cell of MyST without the options that may lead it."""
    if lines[:1] == ["---"] and "---" in lines[1:]:
        return lines[lines.index("---", 1) + 1:]
    while lines and OPTION.match(lines[0]):
        lines = lines[1:]
    return lines


def decoded(data):
    """Bytes as text: by their byte order mark, else as UTF-8, else as Latin-1."""
    encoding = json.detect_encoding(data[:4])
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        if encoding in ("utf-8", "utf-8-sig") and b"\0" not in data:
            return data.decode("latin-1")
        raise NoNotebook("is not text") from None


def clean(source):
    """A source whose lines end as Python's do, and that can be written down: lone surrogates are replaced."""
    return SURROGATE.sub("\ufffd", source.replace("\r\n", "\n").replace("\r", "\n"))


def _json(data):
    if not data.strip():
        raise NoNotebook("is empty")
    if data.count(b"[") + data.count(b"{") > CONTAINERS:
        raise NoNotebook("has too many parts to be a notebook")
    try:
        return json.loads(decoded(data))
    except json.JSONDecodeError as error:
        why = "Git has left the marks of a conflict in it" if b"\n<<<<<<< " in data else \
            "it may be incomplete or not a notebook"
        raise NoNotebook(f"is not valid JSON at line {error.lineno}, column {error.colno}: {why}") from None
    except RecursionError:
        raise NoNotebook("is nested too deeply to be a notebook") from None
    except ValueError:  # Python reads no integer of more than some thousand digits
        raise NoNotebook("contains a number that is too long") from None


def _all_cells(notebook):
    """The cells of format 4, or of the worksheets of formats 2 and 3."""
    if isinstance(notebook.get("cells"), list):
        return notebook["cells"]
    sheets = notebook.get("worksheets")
    if isinstance(sheets, list):
        lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        if lists and all(isinstance(cells, list) for cells in lists):
            return [cell for cells in lists for cell in cells]
    raise NoNotebook("is JSON, but has no list of cells")


def _text(source):
    """A source as a text, from a text or a list of them; None where it is neither."""
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    return None


def _language(notebook):
    """The language of a notebook in a few printable characters if it is not Python, else None."""
    metadata = notebook.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    for place, key in (("language_info", "name"), ("kernelspec", "language")):
        named = metadata.get(place)
        language = named.get(key) if isinstance(named, dict) else None
        if isinstance(language, str) and language.strip():
            if "python" in language.lower():
                return None
            return "".join(c if c.isprintable() else "?" for c in language[:30])
    return None


def _percent_cells(lines):
    cells, here, prose = [], [], False
    for line in [*lines, "# %%"]:
        if not PERCENT.fullmatch(line):
            here.append(line)
            continue
        if not prose and any(code.strip() and not code.startswith("#") for code in here):
            cells.append("\n".join(here).strip("\n"))
        here, prose = [], PERCENT_PROSE.search(line) is not None
    return tuple(cells)


def _as_it_was(cell):
    """A cell with its magic again: it may write a module, and nbconvert makes a call of a cell under `%%time`."""
    cell = WRITES_A_MODULE.sub("", cell, count=1) if WRITES_A_MODULE.match(cell) else cell
    if not CELL_MAGIC.match(cell) or not (tree := _parsed(cell)) or len(tree.body) != 1:
        return cell
    call = getattr(tree.body[0], "value", None)
    texts = [a.value for a in getattr(call, "args", ()) if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return f"%%{texts[0]} {texts[1]}\n{texts[2]}" if len(texts) == 3 else cell


def _light_cells(tree, lines):
    """Statements that no empty line parts are one cell."""
    cells, end = [], None
    for statement in tree.body:
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", []))])
        if end is not None and not any(not line.strip() for line in lines[end : first - 1]):
            cells[-1][1] = statement.end_lineno
        else:
            cells.append([first - bool(WRITES_A_MODULE.match(lines[first - 2])), statement.end_lineno])
        end = statement.end_lineno
    return tuple(_as_it_was("\n".join(lines[first - 1 : last])) for first, last in cells)


def _readable(text):
    """A cell of a script, or its paragraphs where it is no Python: an export has raw text between its cells."""
    text = _as_it_was(text)
    if text.startswith("%%") or _parsed(text):
        return [text.strip("\n")] if text.strip() else []
    return map(_as_it_was, _paragraphs(text))


def _paragraphs(text):
    """Text that is no Python, in parts that are as far as can be: what cannot be read costs only its own paragraph."""
    parts, at, tries = [part for part in re.split(r"\n\s*\n(?=\S)", text) if part.strip()], 0, TRIES
    while at < len(parts):
        end, last = at + 1, min(at + TOGETHER, len(parts))
        while tries and end <= last and not _parsed("\n\n".join(parts[at:end])):
            end, tries = end + 1, tries - 1
        end = end if tries and end <= last else at + 1
        yield "\n\n".join(parts[at:end]).strip("\n")
        at = end


def _parsed(text):
    """The syntax tree of a text, or None where it has none."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
