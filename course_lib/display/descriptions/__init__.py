"""What pictures show, in words, for who cannot see them: one file for each lesson, a sentence or two for each key."""

import tomllib
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent


def of(key):
    """What the picture of a key shows; a ValueError in one sentence for a key that no file has."""
    known = every()
    if key not in known:
        raise ValueError(f"no picture is described under {key}: a lesson's descriptions are in course_lib/display/"
                         "descriptions/NN.toml")
    return known[key]


@cache
def every():
    """All descriptions by key; a ValueError in one sentence where two lessons use one key."""
    found = {}
    for path in sorted(HERE.glob("*.toml")):
        for key, says in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if key in found:
                raise ValueError(f"{path.name} describes {key}, which an earlier file has described")
            found[key] = says
    return found
