"""Results that take too long for a lesson: read, made anew, and compared with a run of today.

    python -m course_lib.experiments.stored                        what there is, and how long each takes
    python -m course_lib.experiments.stored 04-scaling             make it anew; stopped, it goes on where it was
    python -m course_lib.experiments.stored --compare              two sides of each, run today: do they agree?
    python -m course_lib.experiments.stored 04-scaling --compare --all
"""

import argparse
import importlib
import json
import math
import platform
import sys
import time
import tomllib

from course_lib.experiments import tables
from course_lib.experiments.tables import ResultsError

MODULES = tomllib.loads((tables.FOLDER / "modules.toml").read_text(encoding="utf-8"))  # {name: module}


DIGITS = 1e-3  # a number in a file has four digits


def stored(name):
    """The points of an experiment, as they were measured.

    name:    such as "04-scaling"
    returns: list of dicts, one a point: its settings, then what was measured; numbers are numbers
    raises:  ResultsError, in one sentence, where the name is unknown or the file is not as it was written
    """
    _known(name)
    return tables.read(tables.FOLDER / f"{name}.tsv")[1]


def plan_of(name):
    """The Plan of an experiment; raises ResultsError where the name is unknown."""
    _known(name)
    return importlib.import_module(f"course_lib.experiments.{MODULES[name]}").PLANS[name]


def _known(name):
    if name not in MODULES:
        of_its_lesson = [known for known in MODULES if known[:2] == name[:2]]
        raise ResultsError(f"there are no results {name!r}; there are {', '.join(of_its_lesson or MODULES)}")


def make(name):
    """Measure every point and write the file; points that a stopped run has measured are not measured again."""
    plan, began = plan_of(name), tables.FOLDER / f"{name}.part"
    measured = _measured(began)
    keys = [json.dumps(point, ensure_ascii=False) for point in plan.points]
    todo = [(key, point) for key, point in zip(keys, plan.points, strict=True) if key not in measured]
    minutes = plan.minutes * len(todo) / len(keys)
    print(f"{name}: {len(todo)} of {len(keys)} points to go, about {math.ceil(minutes)} min on one thread", flush=True)
    with open(began, "a", encoding="utf-8") as file:
        for key, point in todo:
            start = time.process_time()
            numbers = plan.measure(**point)
            measured[key] = numbers | {"seconds": time.process_time() - start}
            file.write(json.dumps([key, measured[key]], ensure_ascii=False) + "\n")
            file.flush()
    seconds = sum(measured[key].pop("seconds") for key in keys)
    head = {name: plan.about, "made by": f"python -m course_lib.experiments.stored {name}", "with": _versions(),
            "took": f"{seconds / 60:.1f} minutes on one thread"}
    rows = [{name: str(value) for name, value in point.items()} | measured[key]  # settings to the last digit
            for key, point in zip(keys, plan.points, strict=True)]
    tables.write(tables.FOLDER / f"{name}.tsv", head, rows)
    began.unlink()


def _measured(began):
    """What a stopped run has measured, {point: its numbers}; a line that it was still writing is taken away."""
    if not began.exists():
        return {}
    whole, _, _ = began.read_text(encoding="utf-8").rpartition("\n")
    began.write_text(whole + "\n" * bool(whole), encoding="utf-8")
    return dict(map(json.loads, whole.splitlines()))


def _versions():
    import torch

    return f"torch {torch.__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"


def compare(name, every=False):
    """Run both sides of the comparison again, or all points, and say of each number that does not come out again what
    was and what is: a list of sentences. It may be off by as much as the seeds differ.
    """
    plan, kept = plan_of(name), stored(name)
    said = []
    for point in plan.points if every else plan.sides:
        was = row_of(kept, point)
        if was is None:
            said.append(f"{name}: {point} is not in its file; make it anew")
            continue
        numbers = plan.measure(**point)
        for what in plan.near:
            a, b, room = was[what], numbers[what], room_of(plan, kept, point, what)
            if not abs(a - b) <= room + DIGITS * abs(a):
                said.append(f"{name}: at {point}, {what} was {a:.4g} and is {b:.4g}, "
                            f"which is more than {room:.2g} apart")
    return said


def row_of(rows, point):
    """The row of a point, or None."""
    return next((row for row in rows if all(row[setting] == value for setting, value in point.items())), None)


def room_of(plan, rows, point, what):
    """By how much a number may be off at a point: its spread over seeds, or its resolution where that is more."""
    others = {setting: value for setting, value in point.items() if setting != "seed"}
    alike = [row[what] for row in rows if all(row[setting] == value for setting, value in others.items())]
    return max(max(alike) - min(alike), plan.near[what])


def main(arguments=None):
    """Do what the command line says; the exit status is 1 where something no longer agrees, 2 where it cannot run."""
    options = _options(arguments)
    try:
        if options.compare:
            return _compare_all(options.names or list(MODULES), options.all)
        for name in options.names:
            make(name)
        if not options.names:
            for name in MODULES:
                print(f"{name:24}{plan_of(name).minutes:4.0f} minutes   {plan_of(name).about}")
    except ResultsError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _compare_all(names, every):
    said = []
    for name in names:
        start = time.process_time()
        found = compare(name, every)
        verdict = "no longer agrees" if found else "agrees"
        print(f"{name:24}{verdict} ({time.process_time() - start:.1f} s)", *found, sep="\n    ", flush=True)
        said += found
    return 1 if said else 0


def _options(arguments):
    import torch

    torch.set_num_threads(1)
    parser = argparse.ArgumentParser(prog="python -m course_lib.experiments.stored", epilog=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="none: the list, or with --compare all of them")
    parser.add_argument("--compare", action="store_true", help="run again and say whether it still agrees")
    parser.add_argument("--all", action="store_true", help="with --compare: every point, not only two sides")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
