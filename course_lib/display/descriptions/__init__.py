"""What each picture shows, for those who do not see it: one file of descriptions per lesson, looked up by key."""

import tomllib
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent


def description(key):
    """The words for a picture.

    key:    a key of one of the files here, or the words themselves: whatever has a space in it
    raises: ValueError where no file has the key
    """
    if " " in key:
        return key
    if key not in _every():
        raise ValueError(f"no picture is described as {key!r}: add it to course_lib/display/descriptions/NN.toml, "
                         "where NN is the lesson's number.")
    return _every()[key]


@cache
def _every():
    texts = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.toml"))]
    return {key: words for text in texts for key, words in tomllib.loads(text).items()}
