"""Which claims of a lesson fall when its stored results are measured anew, with their seeds moved?

    python -m course_lib.staff.seeds.sweeps 05 --into moved          all stored results of lesson 05, then its claims
    python -m course_lib.staff.seeds.sweeps 17-heads --into moved    one of them, then the claims of lesson 17

The results go into a folder for each seed; what has been measured there is not measured again. The lesson trains with
its own seeds, so a claim that it comes out as it is stored may fall too, and means nothing here.
"""

import argparse
import shutil
import sys
from pathlib import Path

import torch

from course_lib.experiments import stored, tables
from course_lib.staff.lesson_text import lesson_stems, number_of
from course_lib.staff.seeds.__main__ import STEP, fallen, run_one
from course_lib.staff.seeds.moved import move_all


def main(arguments=None):
    """Measure, ask, and print what fell; the exit status is 1 where something did, 2 where nothing can be asked."""
    options = _options(arguments)
    names = [name for name in stored.MODULES if {name, _lesson(name)} & set(options.names)]
    if unknown := sorted(set(options.names) - {*names, *map(_lesson, names)}):
        print(f"no results are stored for {', '.join(unknown)}; there are {', '.join(stored.MODULES)}",
              file=sys.stderr)
        return 2
    folder = Path(options.into) / str(options.seed)
    try:
        measure(names, folder, STEP * options.seed)
    except OSError as error:
        print(f"{folder}: {error}", file=sys.stderr)
        return 2
    stems = [stem for stem in lesson_stems() if number_of(stem) in set(map(_lesson, names))]
    falls = fallen({(stem, 0, "here"): run_one(stem, 0, "here", str(folder)) for stem in stems})
    for stem, line, claim in sorted(falls):
        print(f"{stem}.py:{line}: {claim}")
    return int(bool(falls))


def measure(names, folder, by):
    """Write these results into a folder that has all others as they are stored."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in tables.FOLDER.glob("*.t*"):  # tables, and which module plans them; not what a stopped run began
        if not (folder / file.name).exists():
            shutil.copy(file, folder)
    as_stored = {name: (tables.FOLDER / f"{name}.tsv").read_bytes() for name in names}
    torch.set_num_threads(1)
    move_all(by)  # before an experiment is imported
    tables.FOLDER = folder
    for name in names:
        if (folder / f"{name}.tsv").read_bytes() == as_stored[name]:
            stored.make(name)


def _lesson(name):
    return name.partition("-")[0]


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.seeds.sweeps", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NN", help="a lesson such as 05, or a result such as 17-heads")
    parser.add_argument("--seed", type=int, default=1, metavar="K", help="how far all seeds move, in thousands (1)")
    parser.add_argument("--into", required=True, metavar="FOLDER", help="where new results are kept, by seed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
