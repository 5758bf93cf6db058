"""How good is every check? Prints a table: python -m tests.table_of_checks [--seeds 100] [EXERCISE ...]

Right answers accepted and mistakes rejected count over all seeds: one seed that flips is one too many.
"""

import argparse
import statistics
import sys
import time
from typing import NamedTuple

import torch

from course_lib.checks import EXERCISES
from course_lib.checks.exercise import mistake_name
from course_lib.checks.judging import judge
from tests.right_answers import RIGHT_ANSWERS


class Row(NamedTuple):
    """What the check of one exercise did with all the answers we have, over some seeds."""

    right: int  # right answers, the course's own among them
    accepted: int  # of these, with every seed
    mistakes: int
    rejected: int
    named: int  # rejected by their own name, and by no other
    seconds: list  # of each check

    @property
    def perfect(self):
        return self.accepted == self.right and self.rejected == self.named == self.mistakes


def row(name, seeds):
    """Judge every right answer and every classic mistake of an exercise, with every seed."""
    exercise, seconds = EXERCISES[name], []

    def verdicts(answer):
        for seed in seeds:
            start = time.perf_counter()
            yield judge(exercise, answer, seed)
            seconds.append(time.perf_counter() - start)

    right = [*RIGHT_ANSWERS[name].values(), exercise.verified]
    accepted = sum(all(v.status == "right" for v in verdicts(answer)) for answer in right)
    found = [[(v.status == "wrong", v.mistakes == (m,) or v.failure and v.failure.cause == mistake_name(m))
              for v in verdicts(m)] for m in exercise.mistakes]
    rejected = sum(all(wrong for wrong, _ in verdict) for verdict in found)
    named = sum(all(name for _, name in verdict) for verdict in found)
    return Row(len(right), accepted, len(exercise.mistakes), rejected, named, seconds)


def main():
    """The table; exit status 1 where a check is not perfect."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("exercises", nargs="*", default=list(EXERCISES), metavar="EXERCISE")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"seeds 0 to {options.seeds - 1}\n")
    print("| exercise | right answers accepted | mistakes rejected | by their name | median s | slowest s |")
    print("|---|---|---|---|---|---|")
    rows = []
    for name in options.exercises:
        r = row(name, range(options.seeds))
        rows.append(r)
        print(f"| `{name}` | {r.accepted} of {r.right} | {r.rejected} of {r.mistakes} | {r.named} of {r.mistakes} "
              f"| {statistics.median(r.seconds):.2f} | {max(r.seconds):.2f} |", flush=True)
    seconds = sorted(s for r in rows for s in r.seconds)
    print(f"| all | {sum(r.accepted for r in rows)} of {sum(r.right for r in rows)} "
          f"| {sum(r.rejected for r in rows)} of {sum(r.mistakes for r in rows)} "
          f"| {sum(r.named for r in rows)} of {sum(r.mistakes for r in rows)} "
          f"| {statistics.median(seconds):.2f} | {seconds[-1]:.2f} |")
    return int(not all(r.perfect for r in rows))


if __name__ == "__main__":
    sys.exit(main())
