"""The map of concepts: what the course teaches, in which lesson and cell, and what proves it."""

import csv
from importlib.resources import files


def rows():
    """The rows of the map, as dicts: id, lesson, cell, proof (an exercise or a claim), concept."""
    with files("course_lib").joinpath("concepts.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
