"""Run notebooks as they stand, and show every card: for a job on a server, at each push.

    python -m course_lib.upkeep.cards FOLDER    the notebooks in a folder, or one; prints Markdown

The exit status is 0 where every exercise that was checked is right, and every notebook ran to its end.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

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
    all_cards = [(name, card) for last, _ in found.values() for name, card in last.items()]
    for name, card in all_cards:
        if not card.startswith("✓"):
            print(f"\n### `{name}`\n\n```text\n{card}\n```")
    return int(any(stopped for _, stopped in found.values()) or not all(card.startswith("✓") for _, card in all_cards))


def cards(path, seconds=SECONDS):
    """The card of every exercise that a notebook checks, by its name, and a sentence where it did not come to its end.

    Of several the last one, and a right one before all others: lessons show how a wrong answer looks. Cells that raise
    an error end nothing: a lesson that is half done is to be looked at, too.
    """
    cells, stopped = _run(path, seconds)
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    if any(output.get("ename") == "KeyboardInterrupt" for output in outputs):
        stopped = f"a cell did not end within {seconds} seconds"
    found = {}
    for output in outputs:
        text = "".join(output.get("data", {}).get("text/plain", "") or output.get("text", ""))
        if (card := CARD.match(text)) and not found.get(card["exercise"], "").startswith("✓"):
            found[card["exercise"]] = text.strip()
    return found, stopped


def _run(path, seconds):
    """The cells of a notebook with what they have put out now; none, and a sentence, where it cannot be run.

    By nbconvert, which comes with JupyterLab.
    """
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return [], "cannot be read: save it once more"
    done = subprocess.run([
        sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--allow-errors", "--stdout",
        f"--ExecutePreprocessor.timeout={seconds}", "--ExecutePreprocessor.interrupt_on_timeout=True", str(path)],
        capture_output=True)
    try:
        return json.loads(done.stdout)["cells"], ""
    except ValueError:
        died = b"DeadKernel" in done.stderr
        return [], "Python ended in the middle of a cell: not enough memory?" if died else "cannot be run"


def _notebooks(path):
    return [path] if path.suffix == ".ipynb" else sorted(path.glob("*.ipynb")) if path.is_dir() else []


if __name__ == "__main__":
    sys.exit(main())
