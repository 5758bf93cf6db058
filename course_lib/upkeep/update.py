"""Bring the course up to date and lose nothing of a learner's: python3 start.py update.

Every notebook that was worked in is copied to my_work/ first. Where its authors have not changed it, it stays as it is;
where they have, the new one comes with the learner's answers in it, and the whole old one is in my_work/.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


class NoUpdate(Exception):
    """The course could not be brought up to date; one sentence says why, and nothing is lost."""


def main(root=ROOT):
    """Update, and say what was done with each notebook; exit status 1 where it could not be done."""
    try:
        for line in update(root):
            print(line)
    except NoUpdate as error:
        print(f"update: {error}", file=sys.stderr)
        return 1
    return 0


def update(root):
    """Pull the newest version below the learner's work; yields a sentence for every notebook of theirs."""
    before = _git(root, "rev-parse", "HEAD")
    worked_in = [root / line[3:] for line in _git(root, "status", "--porcelain", "--", "lessons").splitlines()
                 if line.startswith(" M") and line.endswith(".ipynb")]
    kept = {notebook: _copy(notebook, root / "my_work") for notebook in worked_in}
    handed_out = {notebook: _git(root, "show", f"HEAD:lessons/{notebook.name}") for notebook in worked_in}
    for notebook in worked_in:
        _git(root, "checkout", "--", f"lessons/{notebook.name}")
    try:
        _git(root, "pull", "--ff-only")
    except NoUpdate:
        for notebook, copy in kept.items():
            shutil.copy(copy, notebook)
        raise
    for notebook, copy in kept.items():
        yield _bring_back(notebook, copy, handed_out[notebook])
    is_new = before != _git(root, "rev-parse", "HEAD")
    yield f"This is the newest version {'now' if is_new else 'already'}."


def _bring_back(notebook, copy, old):
    """Put a learner's notebook, or the answers of it, where the new one lies."""
    if not notebook.exists():
        return f"{notebook.name} is no longer part of the course; yours is {copy}."
    if json.loads(notebook.read_text(encoding="utf-8")) == json.loads(old):
        shutil.copy(copy, notebook)
        return f"{notebook.name} is as you left it."
    try:
        new, count = with_answers(json.loads(notebook.read_text(encoding="utf-8")),
                                  json.loads(copy.read_text(encoding="utf-8")), json.loads(old))
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{notebook.name} was changed by its authors, and yours cannot be read as a notebook: it is {copy}."
    partial = notebook.with_suffix(".partial")
    partial.write_text(json.dumps(new, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(partial, notebook)
    answers = "1 answer is" if count == 1 else f"{count} answers are"
    return f"{notebook.name} was changed by its authors: your {answers} in the new one, and all of yours is {copy}."


def with_answers(new, mine, old):
    """A new notebook with the answers out of a learner's.

    new, mine, old: notebooks as JSON: the new one, the learner's, and what the learner's was made from
    returns:        the new one with them, and how many they are
    """
    blank = {name: source for name, source in _answers(old)}
    given = {name: source for name, source in _answers(mine) if source != blank.get(name)}
    count = 0
    for cell in new["cells"]:
        names = _defined(_source(cell)) & set(given) if "exercise" in cell["metadata"].get("tags", []) else set()
        if names:
            cell["source"] = given[names.pop()]
            count += 1
    return new, count


def _answers(notebook):
    """The names that the code cells of a notebook define, each with the source of its cell."""
    return [(name, _source(cell)) for cell in notebook["cells"] if cell["cell_type"] == "code"
            for name in _defined(_source(cell))]


def _source(cell):
    return "".join(cell["source"])


def _defined(source):
    try:
        return {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    except SyntaxError:
        return set()


def _copy(notebook, folder):
    """A copy that replaces no other one."""
    folder.mkdir(exist_ok=True)
    copy, count = folder / notebook.name, 1
    while copy.exists() and copy.read_bytes() != notebook.read_bytes():
        count += 1
        copy = folder / f"{notebook.stem}-{count}.ipynb"
    shutil.copy(notebook, copy)
    return copy


def _git(root, *command):
    """What git says; NoUpdate where it cannot do it."""
    try:
        done = subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, encoding="utf-8")
    except FileNotFoundError:
        raise NoUpdate("git is not installed: install it, or download the course into a new folder, and copy "
                       "my_answers/ and your notebooks there.") from None
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no word"])[-1]
        raise NoUpdate(f"git {command[0]} says: {said} (your notebooks are as they were, with copies in my_work/).")
    return done.stdout.rstrip("\n")


if __name__ == "__main__":
    sys.exit(main())
