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
from course_lib.checks.engine.judging import judge
from tests.right_answers import RIGHT_ANSWERS


class Row(NamedTuple):
    """What the check of one exercise did with all the answers we have, over some seeds."""

    right: int  # right answers, the course's own among them
    accepted: int  # of these, with every seed
    mistakes: int
    rejected: int
    named: int  # rejected by their own name, and by no other
    flips: list  # a sentence for each answer that was judged otherwise than it should, with its seeds
    seconds: list  # of each check

    @property
    def perfect(self):
        return self.accepted == self.right and self.rejected == self.named == self.mistakes


def row(name, seeds):
    """Judge every right answer and every classic mistake of an exercise, with every seed."""
    exercise, seconds, flips = EXERCISES[name], [], []

    def verdicts(answer):
        found = []
        for seed in seeds:
            start = time.perf_counter()
            found.append(judge(exercise, answer, seed))
            seconds.append(time.perf_counter() - start)
        return found

    def with_every_seed(flags, answer, flaw):
        failed = [seed for seed, fine in zip(seeds, flags, strict=True) if not fine]
        if failed:
            flips.append(f"{name}: {answer.__name__} {flaw} with the seeds {failed}")
        return not failed

    accepted = rejected = named = 0
    right = [*RIGHT_ANSWERS[name].values(), exercise.verified]
    for answer in right:
        accepted += with_every_seed([v.status == "right" for v in verdicts(answer)], answer, "is not accepted")
    ways = [(mistake, way.answer) for mistake in exercise.mistakes for way in mistake.ways]
    for mistake, answer in ways:
        found = verdicts(answer)
        rejected += with_every_seed([v.status == "wrong" for v in found], answer, "passes")
        named += with_every_seed([_names(v, mistake) for v in found], answer, "is not named")
    return Row(len(right), accepted, len(ways), rejected, named, flips, seconds)


def _names(verdict, mistake):
    """Whether a verdict gives this classic mistake as the cause, and no other."""
    return verdict.mistakes == (mistake,) or bool(verdict.failure and verdict.failure.cause == mistake.name)


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
        print(*r.flips, sep="\n", end="\n" * bool(r.flips), file=sys.stderr, flush=True)
    seconds = sorted(s for r in rows for s in r.seconds)
    print(f"| all | {sum(r.accepted for r in rows)} of {sum(r.right for r in rows)} "
          f"| {sum(r.rejected for r in rows)} of {sum(r.mistakes for r in rows)} "
          f"| {sum(r.named for r in rows)} of {sum(r.mistakes for r in rows)} "
          f"| {statistics.median(seconds):.2f} | {seconds[-1]:.2f} |")
    return int(not all(r.perfect for r in rows))


if __name__ == "__main__":
    sys.exit(main())
