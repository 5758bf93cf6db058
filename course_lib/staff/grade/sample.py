"""A class made up to try the grader on.

    python -m course_lib.staff.grade.sample DIR [--students 30]

Each student hands in one notebook with four small exercises; about one answer in four is wrong, in a classic way.
"""

import argparse
import json
import random
import sys
from pathlib import Path

ANSWERS = {  # right, and wrong
    "reweight": ("def reweight(x):\n    return torch.softmax(x @ x.T, -1) @ x",
                 "def reweight(x):\n    return torch.softmax(x @ x.T / x.shape[1] ** 0.5, -1) @ x"),
    "causal_mask": ("def causal_mask(T):\n    return torch.ones(T, T).tril().bool()",
                    "def causal_mask(T):\n    return torch.ones(T, T).triu().bool()"),
    "shift_right": ("def shift_right(labels, bos_id):\n"
                    "    return torch.cat([torch.full_like(labels[:, :1], bos_id), labels[:, :-1]], 1)",
                    "def shift_right(labels, bos_id):\n    return labels"),
    "dot_product_attention": ("def dot_product_attention(query, inputs):\n"
                              "    return torch.softmax(inputs @ query, 0) @ inputs",
                              "def dot_product_attention(query, inputs):\n"
                              "    return torch.softmax(inputs @ query / len(query) ** 0.5, 0) @ inputs"),
}


def main(arguments=None):
    """Write the class; exit status 2 where the folder holds something already."""
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.grade.sample", description=__doc__)
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--students", type=int, default=30)
    options = parser.parse_args(arguments)
    try:
        write_class(options.folder, options.students)
    except OSError as error:
        print(f"sample: {options.folder} cannot be made: {error.strerror}; name a folder that is not there yet.",
              file=sys.stderr)
        return 2
    print(f"{options.students} submissions in {options.folder}; grade them with --exercises {','.join(ANSWERS)}.")
    return 0


def write_class(folder, students):
    """One notebook for each student, the same ones every time. Raises FileExistsError where there is such a folder."""
    folder.mkdir(parents=True)
    for student in range(students):
        (folder / f"student{student:05d}.ipynb").write_text(notebook(map(cell, submission(student))), encoding="utf-8")


def submission(student):
    """The cells of one student: the set-up, then an answer to each exercise."""
    chance = random.Random(student)
    return ["import torch", *(answers[chance.random() < 0.25] for answers in ANSWERS.values())]


def cell(source):
    """A code cell with nothing in it but its source."""
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}


def notebook(cells):
    """The text of a notebook."""
    cells = [cell | {"id": f"cell{i}"} for i, cell in enumerate(cells)]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})


if __name__ == "__main__":
    sys.exit(main())
