"""What each picture shows, for those who do not see it: one file of descriptions per lesson, looked up by key."""

import difflib
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
    words = {key: text for file in described().values() for key, text in file.items()}
    if key not in words:
        near = difflib.get_close_matches(key, words, 1)
        meant = f", unless you mean {near[0]!r}" if near else ""
        raise ValueError(f"no picture is described as {key!r}: add it to course_lib/display/descriptions/NN.toml, "
                         f"where NN is the lesson's number{meant}.")
    return words[key]


def described():
    """Every file's descriptions: {lesson: {key: words}}."""
    stamps = tuple((path, path.stat().st_mtime_ns) for path in sorted(FOLDER.glob("*.toml")))
    return _read(stamps)


@cache
def _read(stamps):
    return {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path, _ in stamps}
