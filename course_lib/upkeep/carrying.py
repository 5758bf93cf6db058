"""What a learner did in a notebook, put into the new version of that notebook."""

import ast
from collections import Counter
from dataclasses import dataclass


@dataclass
class Carried:
    """How many cells of the learner's are in the new notebook, and how many are not as the learner had them."""

    answers: int = 0  # exercises answered
    edited: int = 0  # cells of the course that the learner changed and its authors did not
    own: int = 0  # cells that the learner added
    replaced: int = 0  # cells that both have changed: the authors' is there
    back: int = 0  # cells that the learner had deleted

    def __str__(self):
        of_yours = [(self.answers, "answer", "answers"), (self.edited, "edited cell", "edited cells"),
                    (self.own, "cell of your own", "cells of your own")]
        words = [f"{count} {one if count == 1 else many}" for count, one, many in of_yours if count]
        says = "has your " + " and ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else "is in place"
        if self.replaced:
            says += f"; where both of you changed a cell ({self.replaced}), it has the authors'"
        if self.back:
            says += f"; what you had deleted is there again ({self.back})"
        return says


def carry(new, mine, old):
    """Put a learner's cells into a new notebook.

    new, mine, old: notebooks as JSON: the new one, which is changed, the learner's, and what that was made from
    returns:        Carried, what is in the new one
    raises:         ValueError, KeyError, TypeError or AttributeError where one of them is no notebook
    """
    page, done = _Page(new["cells"]), Carried()
    left, known = Counter(map(_text, old["cells"])), {cell["id"] for cell in old["cells"] if "id" in cell}
    for cell in mine["cells"]:
        if left[_text(cell)]:  # as the authors wrote it
            left[_text(cell)] -= 1
            page.go_to(page.same(cell))
        elif page.go_to(page.slot(cell)):
            page.cells[page.at]["source"] = cell["source"]
            done.answers += 1
        elif cell.get("id") in known:
            if page.go_to(page.ids.get(cell["id"])):
                page.cells[page.at] = cell
                done.edited += 1
            else:
                done.replaced += 1
        elif _source(cell).strip():
            page.added.setdefault(page.at, []).append(cell)
            done.own += 1
    originals = set(left)
    done.back = sum(_text(cell) in originals for i, cell in enumerate(page.cells) if i not in page.used)
    new["cells"] = page.filled()
    return done


def follow(new, mine, old, now):
    """Put a learner's answers into a notebook that their exercises have moved to.

    new:     the notebook that has the exercises now, as JSON; it is changed
    mine:    the learner's notebook, in which they were; old: what that was made from; now: its new version
    returns: the names of the exercises
    raises:  ValueError, KeyError, TypeError or AttributeError where one of them is no notebook
    """
    page, stay = _Page(new["cells"]), _Page(now["cells"]).slots
    written, moved = {_text(cell) for cell in old["cells"]}, []
    for cell in mine["cells"]:
        for name in _defined(cell):
            if name in page.slots and name not in stay and _text(cell) not in written:
                page.cells[page.slots[name]]["source"] = cell["source"]
                moved.append(name)
    return moved


class _Page:
    """The cells of the new notebook, while those of the learner's come into it from top to bottom."""

    def __init__(self, cells):
        self.cells = cells
        self.ids = {cell["id"]: i for i, cell in enumerate(cells) if "id" in cell}
        self.slots = {name: i for i, cell in enumerate(cells) for name in _defined(cell)
                      if "exercise" in cell["metadata"].get("tags", [])}
        self.added = {}  # after which cell: cells of the learner's
        self.used = set()  # what is also in the learner's
        self.at = -1

    def go_to(self, where):
        """Come to a cell that is also in the learner's; False where there is none."""
        if where is None:
            return False
        self.used.add(where)
        self.at = where
        return True

    def same(self, cell):
        """Where the same cell is, or None."""
        return next((i for i, c in enumerate(self.cells) if i not in self.used and _text(c) == _text(cell)), None)

    def slot(self, cell):
        """Where the exercise is that a cell answers, unless another has answered it."""
        where = [self.slots[name] for name in _defined(cell) if name in self.slots]
        return next((i for i in where if i not in self.used), None)

    def filled(self):
        """All cells in their order, each with an id of its own."""
        after = [self.added.get(-1, [])] + [[cell, *self.added.get(i, [])] for i, cell in enumerate(self.cells)]
        cells, seen = [cell for row in after for cell in row], set()
        for i, cell in enumerate(cells):
            if cell.get("id") in seen | {None}:
                cell["id"] = f"carried-{i}"
            seen.add(cell["id"])
        return cells


def _text(cell):
    return cell["cell_type"], _source(cell)


def _source(cell):
    return "".join(cell["source"])


def _defined(cell):
    """The functions and classes that a cell defines."""
    if cell["cell_type"] != "code":
        return []
    try:
        return [node.name for node in ast.parse(_source(cell)).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    except SyntaxError:
        return []
