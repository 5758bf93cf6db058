"""How good is every check? Prints a table: python -m tests.table_of_checks [--seeds 100 --first 0] [EXERCISE ...]

Right answers accepted and mistakes rejected count over all seeds: one seed that flips is one too many.
"""

import argparse
import statistics
import sys
import time
from typing import NamedTuple

import torch

from course_lib.checks import EXERCISES
from course_lib.checks.engine.asking import ask
from course_lib.checks.engine.judging import judge
from course_lib.checks.engine.naming import reply_of
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


def row(name, seeds, asks=lambda way: ask):
    """Judge every right answer and every classic mistake of an exercise, seed by seed: a seed's questions are kept.

    asks: how a classic mistake is asked; `as_known` does it in half the time, and says nothing of how long it takes
    """
    exercise, seconds, failed = EXERCISES[name], [], {}
    right = [*RIGHT_ANSWERS[name].values(), exercise.verified]
    ways = [(mistake, way) for mistake in exercise.mistakes for way in mistake.ways]

    def judged(answer, seed, how=ask):
        start = time.perf_counter()
        verdict = judge(exercise, answer, seed, how)
        seconds.append(time.perf_counter() - start)
        return verdict

    for seed in seeds:
        for answer in right:
            if judged(answer, seed).status != "right":
                failed.setdefault((answer, answer.__name__, "is not accepted"), []).append(seed)
        for mistake, way in ways:
            answer = way.answer
            verdict = judged(answer, seed, asks(way))
            if verdict.status != "wrong":
                failed.setdefault((answer, mistake.name, "passes"), []).append(seed)
            if not _names(verdict, mistake):
                failed.setdefault((answer, mistake.name, "is not named"), []).append(seed)
    flaws = [flaw for _, _, flaw in failed]
    flips = [f"{name}: {who} {flaw} with the seeds {found}" for (_, who, flaw), found in failed.items()]
    return Row(len(right), len(right) - flaws.count("is not accepted"), len(ways), len(ways) - flaws.count("passes"),
               len(ways) - flaws.count("is not named"), flips, seconds)


def as_known(way):
    """Asks a classic mistake once: what it replies is known where the catalogue has asked it the same already."""
    return lambda candidate, call, *more: (
        reply_of(way, call) if candidate is way.answer and not more else ask(candidate, call, *more))


def _names(verdict, mistake):
    """Whether a verdict gives this classic mistake as the cause, and no other."""
    fits = [m.name for m in verdict.mistakes] == [mistake.name]
    return fits or bool(verdict.failure and verdict.failure.cause == mistake.name)


def main():
    """The table; exit status 1 where a check is not perfect."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("exercises", nargs="*", default=list(EXERCISES), metavar="EXERCISE")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    options = parser.parse_args()
    torch.set_num_threads(1)
    seeds = range(options.first, options.first + options.seeds)
    print(f"seeds {seeds[0]} to {seeds[-1]}\n")
    print("| exercise | right answers accepted | mistakes rejected | by their name | median s | slowest s |")
    print("|---|---|---|---|---|---|")
    rows = []
    for name in options.exercises:
        r = row(name, seeds)
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
