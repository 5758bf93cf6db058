"""Edits that are known to leave an answer right, each with the reason: what a check accepts beside them is a hole.

A line of equivalents.txt is an exercise, the new line of the edit, and why it is right all the same:

    reweight: scores = x @ x.mT  # of a matrix, .mT is .T

`…` stands for anything. Where an edit only takes lines away, `without` and what is missing stand there; where it puts
several in, " / " is between them.
"""

import re
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).with_name("equivalents.txt")


class EquivalentsError(ValueError):
    """A line of the file is no such line."""


@dataclass(frozen=True)
class Equivalent:
    """One line of the file."""

    exercise: str
    edit: str
    why: str

    def fits(self, candidate):
        pattern = ".*".join(map(re.escape, self.edit.split("…")))
        return bool(re.fullmatch(pattern, candidate.id, re.DOTALL))


def equivalents():
    """{exercise: [Equivalent]} of the file."""
    found = {}
    for number, line in enumerate(FILE.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = re.fullmatch(r"(\w+): (.+)  # (.+)", line)
        if parts is None:
            raise EquivalentsError(f"{FILE.name}:{number}: `{line}` is not EXERCISE: EDIT  # WHY")
        found.setdefault(parts[1], []).append(Equivalent(*parts.groups()))
    return found
