"""What do single edits of a right answer do that no named mistake covers, and does the check let one through?

    python -m course_lib.staff.mutants layer_norm     the edits it accepts, and those that no name fits
    python -m course_lib.staff.mutants --all          a row for each exercise, and all that is accepted

Edits that reply alike to the check's own questions are one behaviour. It is covered where the card names a mistake or
says itself what is wrong: an error, a missing weight, a gradient that is cut off. The others are listed with their
lines as a file of mistakes has them, and with the smallest question that shows them. Exit status 1 where an edit is
accepted that course_lib/staff/mutants/equivalents.txt does not explain.
"""

import argparse
import difflib
import sys
from collections import Counter

import torch

from course_lib.checks import EXERCISES
from course_lib.checks.notebook.card import card_rows
from course_lib.staff.mutants.behaviours import behaviours
from course_lib.staff.mutants.equivalents import EquivalentsError, equivalents

WIDTH = 160  # characters of an argument or a result


def main(arguments=None):
    """Print; the exit status is 0 where every edit that is accepted is a known equivalent."""
    options = _options(arguments)
    names = list(EXERCISES) if options.all else options.exercises
    for name in names:
        if name not in EXERCISES:
            near = difflib.get_close_matches(name, EXERCISES, n=1)
            print(f"there is no exercise {name}" + (f"; did you mean {near[0]}?" if near else ""), file=sys.stderr)
            return 2
    try:
        known = equivalents()
    except EquivalentsError as error:
        print(error, file=sys.stderr)
        return 2
    torch.set_num_threads(1)
    return _table(names, known) if options.all else max(_report(name, known.get(name, [])) for name in names)


def _table(names, known):
    """One row for each exercise, and then what is accepted; 1 where something of it is not known."""
    print("| exercise | candidates | distinct behaviours | covered | uncovered | accepted | of these not known |")
    print("|---|---|---|---|---|---|---|")
    rows, accepted = [], []
    for name in names:
        found = behaviours(EXERCISES[name])
        of_exercise = _accepted(found, known.get(name, []))
        unknown = sum(why is None for _, why in of_exercise)
        rows.append((*_counts(found), unknown))
        accepted += [(name, candidate, why) for candidate, why in of_exercise]
        print(f"| `{name}` | {' | '.join(map(str, rows[-1]))} |", flush=True)
    print(f"| all | {' | '.join(str(sum(column)) for column in zip(*rows, strict=True))} |")
    for name, candidate, why in accepted:
        print(f"\n{name}: accepted, {candidate.operator}")
        _print_edit(candidate, why)
    return int(any(why is None for *_, why in accepted))


def _report(name, known):
    """All of one exercise; 1 where something is accepted that is not known."""
    found = behaviours(EXERCISES[name])
    candidates, behaviours_, covered, uncovered, _ = _counts(found)
    accepted = _accepted(found, known)
    print(f"{name}: {candidates} candidates, {behaviours_} behaviours: {covered} covered, {uncovered} uncovered; "
          f"candidates accepted: {len(accepted)}\n")
    for candidate, why in accepted:
        print(f"ACCEPTED, {candidate.operator}")
        _print_edit(candidate, why)
        print()
    by_operator = {}
    for behaviour in filter(lambda b: b.is_uncovered, found):
        by_operator.setdefault(behaviour.candidates[0].operator, []).append(behaviour)
    for operator, of_operator in by_operator.items():
        print(f"{operator.upper()} ({len(of_operator)})\n")
        for behaviour in of_operator:
            _print_uncovered(behaviour)
    told = ", ".join(f"{n} {cause}" for cause, n in Counter(b.told for b in found if b.told).most_common())
    print(f"Told without a mistake: {told or 'nothing'}\n")
    for equivalent in known:
        if not any(equivalent.fits(candidate) for candidate, _ in accepted):
            print(f"no longer accepted: {equivalent.edit}")
    return int(any(why is None for _, why in accepted))


def _counts(found):
    """How many candidates, behaviours, of these covered and uncovered, and candidates that are accepted."""
    return (sum(len(b.candidates) for b in found), len(found), sum(b.is_named or bool(b.told) for b in found),
            sum(b.is_uncovered for b in found), sum(len(b.candidates) for b in found if b.is_accepted))


def _accepted(found, known):
    """Pairs (candidate, why it is right all the same, or None)."""
    return [(candidate, next((e.why for e in known if e.fits(candidate)), None))
            for behaviour in found if behaviour.is_accepted for candidate in behaviour.candidates]


def _print_edit(candidate, why):
    print(*(f"  {line}" for line in candidate.edit), sep="\n")
    print(f"    {why or 'not known: a hole in the check, or a line for equivalents.txt'}")


def _print_uncovered(behaviour):
    """The edit as a file of mistakes has it, and two lines that show what it does."""
    print(*(f"  {line}" for line in behaviour.candidates[0].edit), sep="\n")
    rows = dict(card_rows(behaviour.verdict))
    print(f"    {_short(rows.get('Example', ''))}")
    print(f"    expected {_short(rows['Expected'])}, got {_short(rows['Got'])}" if "Got" in rows else
          f"    {_short(rows['What failed'])}")
    if closest := behaviour.verdict.closest:
        print(f"    closest mistake: {closest.mistake.name}, {closest.same} of {closest.wrong}")
    others = len(behaviour.candidates) - 1
    if others:
        print(f"    {others} more edits do the same" if others > 1 else "    1 more edit does the same")
    print()


def _short(text):
    """One line, cut where it is long."""
    line = ", ".join(text.split("\n"))
    return line if len(line) <= WIDTH else line[:WIDTH] + " …"


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.mutants", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("exercises", nargs="*", metavar="NAME", help="such as layer_norm")
    parser.add_argument("--all", action="store_true", help="all exercises, one row for each")
    options = parser.parse_args(arguments)
    if bool(options.exercises) == options.all:
        parser.error("either names of exercises or --all")
    return options


if __name__ == "__main__":
    sys.exit(main())
