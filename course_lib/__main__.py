"""The lessons out of an installed package, in a folder of your own.

    python -m course_lib lab [FOLDER]     copy the lessons into FOLDER and open JupyterLab there, where you were
    python -m course_lib copy [FOLDER]    only copy them

Without FOLDER it is transformers-from-version-0, here. A file that is there already is never touched. More options of
`lab` go on to JupyterLab.
"""

import argparse
import json
import os
import shutil
import site
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

NAME = "transformers-from-version-0"
CARRIED = ["lessons/*.ipynb", "solutions/*.ipynb", "docs/*.md", "docs/*.png", "README.md"]


def main(arguments=None):
    """Copy the lessons and open the first; the exit status is 0 where that could be done."""
    if not (sys.argv[1:] if arguments is None else arguments):
        print(__doc__.strip())
        return 0
    options, for_lab = _options(arguments)
    folder, source = Path(options.folder).expanduser().absolute(), home()
    if source is None:
        print("The lessons are not in this installation of the course: install its wheel again", file=sys.stderr)
        return 1
    try:
        new, kept = copy_to(folder, source)
    except OSError as error:
        print(f"{error.filename or folder} cannot be used ({error.strerror or error}): name another folder, "
              f"python -m course_lib {options.command} FOLDER", file=sys.stderr)
        return 1
    stays = f"; {kept} were there already and stay as they are" if kept else ""
    print(f"The lessons are in {folder / 'lessons'}: {new} file{'s' * (new != 1)} copied{stays}.")
    return open_lab(folder, for_lab) if options.command == "lab" else 0


def home():
    """The folder that the lessons lie in: a checkout, or where pip puts a package's data; None where they are not."""
    beside = Path(__file__).parents[1]
    shared = [Path(place) / "share" / NAME for place in (beside, sys.prefix, site.getuserbase())]
    return next((place for place in (beside, *shared) if any(place.glob("lessons/00_*.ipynb"))), None)


def copy_to(folder, source):
    """Copy what is not there yet; how many files are new, and how many were there."""
    new = kept = 0
    for path in (path for pattern in CARRIED for path in sorted(source.glob(pattern))):
        target = folder / path.relative_to(source)
        if target.exists():
            kept += 1
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
            new += 1
    return new, kept


def open_lab(folder, options):
    """JupyterLab in the folder, with a lesson open; its exit status."""
    if find_spec("jupyterlab") is None:
        python = Path(sys.executable).name
        print(f"JupyterLab is not installed: run {python} -m pip install jupyterlab", file=sys.stderr)
        return 1
    lesson = lesson_to_open(folder / "lessons")
    root = f"--ServerApp.root_dir={folder}"  # so that solutions and the glossary can be opened, too
    if getattr(os, "geteuid", lambda: 1)() == 0:  # in most containers everybody is root
        options = ["--allow-root", *options]
    return subprocess.call([sys.executable, "-m", "jupyter", "lab", f"lessons/{lesson}", root, *options], cwd=folder)


def lesson_to_open(lessons):
    """The notebook that was open last, or else the first."""
    names = sorted(path.name for path in lessons.glob("*.ipynb"))
    try:
        last = json.loads((lessons / "my_answers" / "last.json").read_text(encoding="utf-8"))["notebook"]
    except (OSError, ValueError, KeyError, TypeError):
        last = None
    return last if last in names else names[0]


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m course_lib", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["lab", "copy"])
    parser.add_argument("folder", nargs="?", default=NAME)
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command != "lab":
        parser.error(f"{options.command} takes a folder and no options: {' '.join(rest)}")
    return options, rest


if __name__ == "__main__":
    sys.exit(main())
