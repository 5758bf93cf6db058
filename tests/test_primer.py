"""The primer: every line of it is run, and gives what stands below it."""

import doctest
import re
from pathlib import Path

PRIMER = Path(__file__).resolve().parents[1] / "docs" / "primer.md"


def test_every_snippet_gives_what_the_page_says():
    """A first page of code that fails, or whose output is of an older PyTorch."""
    failed, tried = doctest.testfile(str(PRIMER), module_relative=False, encoding="utf-8")
    assert failed == 0 and tried > 20


def test_it_is_short_and_no_code_of_it_is_left_out():
    """A primer of an evening; or a block that is shown and not run."""
    text = PRIMER.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    blocks = re.findall(r"```(\w*)\n(.*?)```", text, re.S)
    assert all(language == "python" and code.startswith(">>> ") for language, code in blocks)
