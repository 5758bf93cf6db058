"""Run notebooks as they stand, and show every card: for a job on a server, at each push.

    python -m course_lib.upkeep.cards FOLDER    the notebooks in a folder, or one; prints Markdown

The exit status is 0 where every exercise that was checked is right, and every notebook ran to its end.
"""

import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError

SECONDS = 600  # for one cell
CARD = re.compile(r"(?P<mark>[✓✗…]) (?P<exercise>\w+): (?P<verdict>[^\n]+)")


def main(arguments=None):
    """Print what came of all checks; returns the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    paths = [path for word in words for path in _notebooks(Path(word))]
    if not paths:
        print("cards: name a notebook, or a folder that holds some.", file=sys.stderr)
        return 2
    found = {path: cards(path) for path in paths}
    print("| notebook | exercise | |\n|---|---|---|")
    for path, (last, stopped) in found.items():
        lines = [f"| {path.stem} | `{name}` | {card.partition(chr(10))[0].replace(f'{name}: ', '')} |"
                 for name, card in last.items()]
        print(*lines, *[f"| {path.stem} | | ✗ {stopped} |"] * bool(stopped), sep="\n")
    for last, _ in found.values():
        for name, card in last.items():
            if not card.startswith("✓"):
                print(f"\n### `{name}`\n\n```text\n{card}\n```")
    return 0 if all(card.startswith("✓") for last, _ in found.values() for card in last.values()) and not any(
        stopped for _, stopped in found.values()) else 1


def cards(path, seconds=SECONDS):
    """The card of every exercise that a notebook checks, by its name, and a sentence where it did not come to its end.

    Of several the last one, and a right one before all others: lessons show how a wrong answer looks. Cells that raise
    an error end nothing: a lesson that is half done is to be looked at, too.
    """
    try:
        notebook = nbformat.read(path, as_version=4)
    except Exception:  # nbformat's own, of half a file or none
        return {}, "cannot be read: save it once more"
    client, stopped = NotebookClient(notebook, timeout=seconds, allow_errors=True, resources={
        "metadata": {"path": str(path.parent)}}), ""
    try:
        client.execute()
    except CellTimeoutError:
        stopped = f"a cell did not end within {seconds} seconds"
    except DeadKernelError:
        stopped = "Python ended in the middle of a cell: not enough memory?"
    texts = ["".join(output.get("data", {}).get("text/plain", "") or output.get("text", ""))
             for cell in notebook.cells for output in cell.get("outputs", [])]
    found = {}
    for text in texts:
        if (card := CARD.match(text)) and not found.get(card["exercise"], "").startswith("✓"):
            found[card["exercise"]] = text.strip()
    return found, stopped


def _notebooks(path):
    return [path] if path.suffix == ".ipynb" else sorted(path.glob("*.ipynb")) if path.is_dir() else []


if __name__ == "__main__":
    sys.exit(main())
