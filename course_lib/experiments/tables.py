"""Small text files of results: a head that says where they come from, then one point a line, with tabs."""

import hashlib
from pathlib import Path

FOLDER = Path(__file__).parent / "results"


class ResultsError(Exception):
    """Results cannot be had; the message is one sentence: what is wrong, and what to do."""


def write(path, head, rows):
    """Write a file at once and whole.

    head: dict, line by line; a checksum of the rows is added
    rows: list of dicts with the same keys, in whatever order
    """
    columns = list(rows[0])
    lines = [columns, *([row[name] for name in columns] for row in rows)]
    body = "".join("\t".join(map(_text, line)) + "\n" for line in lines)
    lines = [f"# {name}: {value}\n" for name, value in (head | {"checksum": _checksum(body)}).items()]
    part = path.with_suffix(".new")
    part.write_text("".join(lines) + body, encoding="utf-8", newline="\n")
    part.replace(path)


def read(path):
    """(head, rows) of a file: dict of texts, and list of dicts; a column of numbers has numbers.

    raises: ResultsError where it is not there, or not as it was written
    """
    again = f"`git checkout {path.name}` brings it back, `python -m course_lib.experiments.stored {path.stem}` makes it"
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        raise ResultsError(f"the results {path.name} cannot be read ({error.__class__.__name__}): {again}") from error
    head = dict(line[2:].rstrip("\n").partition(": ")[::2] for line in lines if line.startswith("# "))
    body = [line for line in lines if not line.startswith("# ")]
    if head.get("checksum") != _checksum("".join(body)):
        raise ResultsError(f"the results {path.name} are not as they were written: {again}")
    cells = [line.rstrip("\n").split("\t") for line in body]
    columns = [_typed(column) for column in zip(*cells[1:], strict=True)]
    return head, [dict(zip(cells[0], row, strict=True)) for row in zip(*columns, strict=True)]


def _checksum(body):
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _typed(column):
    """A column of texts as whole numbers, or else as numbers, or else as texts."""
    for kind in (int, float):
        try:
            return [kind(cell) for cell in column]
        except ValueError:
            pass
    return column
