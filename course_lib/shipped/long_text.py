"""A long text to learn from and to be judged by: the manual of Python."""

from course_lib.shipped.things import read


def manual():
    """Python's manual in ASCII: {"train", "validation", "test": text}, whole topics in each, and
    no paragraph of the test text in another."""
    texts = read("manual.bz2")[1]
    return {part: texts[part] for part in ("train", "validation", "test")}
