"""A long text to learn from and to be judged by: the manual of Python."""

import bz2
import json

from course_lib.shipped.things import whole


def manual():
    """Python's manual in ASCII: {"train", "validation", "test": text}, whole topics in each, and
    no paragraph of the test text in another."""
    texts = json.loads(bz2.decompress(whole("manual.bz2")))
    return {part: texts[part] for part in ("train", "validation", "test")}
