"""Release a version: its wheel, its site and its hand-out, or one sentence for each thing that is stale.

    python -m course_lib.staff.publish --check     only say what is stale
    python -m course_lib.staff.publish -o DIR      make them in a new folder DIR, all or none

All of it is made from what is committed. Nothing is uploaded: it prints the commands that publish the version.
"""

import argparse
import contextlib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from datetime import date
from pathlib import Path

from course_lib.experiments import stored
from course_lib.experiments.tables import ResultsError
from course_lib.staff import build
from course_lib.staff.lesson_text import ROOT, lesson_stems, number_of
from course_lib.upkeep.versions import VERSION

RELEASED = r"\((\d{4}-\d\d-\d\d)\)"  # as a released version's heading in CHANGELOG.md ends


class NotYet(Exception):
    """The version cannot be released: the message says what to do."""


def main(arguments=None):
    """Make the release; the exit status is 0 where it was made, or where nothing is stale."""
    options = _options(arguments)
    try:
        if problems := stale():
            raise NotYet("\n".join(problems))
        if not options.check:
            make(options.output.absolute())
    except NotYet as error:
        print(error, file=sys.stderr)
        return 1
    print("Nothing is stale." if options.check else f"{options.output} holds version {VERSION}. Publish it with\n"
          f"    git tag v{VERSION}\n    git push origin v{VERSION}\n"
          "GitHub makes the same of the tag, and attaches it (.github/workflows/release.yml).")
    return 0


def stale(root=ROOT, version=VERSION):
    """One sentence for each thing that is older than what it is made from."""
    return [*_uncommitted(root), *_released_before(root, version), *_news(root, version), *_notebooks(), *_results()]


def _uncommitted(root):
    said = _git(root, "status", "--porcelain").splitlines()
    more = f" and {len(said) - 1} more" if said[1:] else ""
    return [f"what is not committed cannot be released: commit or take back {said[0][3:]}{more}"] if said else []


def _released_before(root, version):
    tagged = _git(root, "tag", "--list", f"v{version}").strip()
    if not tagged or _git(root, "rev-parse", f"v{version}^{{commit}}") == _git(root, "rev-parse", "HEAD"):
        return []
    return [f"version {version} is released already: set VERSION in course_lib/upkeep/versions.py to the next one"]


def _news(root, version):
    """What CHANGELOG.md and CITATION.cff have to say of a version, and do not."""
    log, cited = ((root / name).read_text(encoding="utf-8") for name in ("CHANGELOG.md", "CITATION.cff"))
    heading, text = re.search(r"^## (.*)\n((?:(?!## ).*\n?)*)", log, re.M).groups()
    released = re.search(RELEASED, heading)
    day = released[1] if released else date.today().isoformat()
    lines = []
    if not heading.startswith(f"{version} "):
        lines.append(f"CHANGELOG.md begins with {heading.split()[0]}: put a section `## {version} ({day})` before it")
    elif not released:
        lines.append(f"CHANGELOG.md has no day for {version}: write `## {version} ({day})` for `## {heading}`")
    if not re.search(r"^- ", text, re.M):
        lines.append(f"CHANGELOG.md says nothing of what is new in {heading.split()[0]}: write a line for each change")
    if f"\nversion: {version}\n" not in cited:
        lines.append(f"CITATION.cff names another version: write the line `version: {version}`")
    if f"\ndate-released: {day}\n" not in cited:
        lines.append(f"CITATION.cff does not name the day: write the line `date-released: {day}` below its version")
    return lines


def _notebooks():
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        build.main(["--check"])
    return said.getvalue().splitlines()


def _results():
    """Stored results that do not hold what their experiments measure now."""
    lines = []
    for name in stored.MODULES:
        points = stored.plan_of(name).points
        try:
            rows = stored.stored(name)
        except ResultsError as error:
            lines.append(str(error))
            continue
        if [{what: row.get(what) for what in points[0]} for row in rows] != points:
            lines.append(f"the results {name} are of other points than their experiment measures now: run "
                         f"python -m course_lib.experiments.stored {name}")
    return lines


def make(folder, root=ROOT):
    """Build wheel, site and hand-out from the last commit; a folder that is there already is left alone."""
    if folder.exists():
        raise NotYet(f"{folder} is there already: name a folder that is not")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as scratch:
        course, made = Path(scratch) / "course", Path(scratch) / "made"
        packed = subprocess.run(["git", "archive", "HEAD"], cwd=root, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            tar.extractall(course, filter="data")
        first, last = (number_of(lesson_stems()[end]) for end in (0, -1))
        for what, command in {
            "wheel": ["pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", made, "."],
            "site": ["course_lib.staff.site", "-o", made / "site"],
            "hand-out": ["course_lib.staff.release", f"{first}-{last}", "-o", made / "handout"],
        }.items():
            print(f"Making the {what}.", flush=True)
            words = [sys.executable, "-m", *map(str, command)]
            done = subprocess.run(words, cwd=course, capture_output=True, text=True)
            if done.returncode:
                raise NotYet(f"the {what} cannot be made, and nothing was: {done.stderr.strip() or 'it said nothing'}")
        made.replace(folder)


def _git(root, *command):
    try:
        return subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        raise NotYet(f"git does not answer in {root}: a version is released from a clone of the repository") from None


def _options(arguments):
    parser = argparse.ArgumentParser(prog="python -m course_lib.staff.publish", description="Release a version.")
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--check", action="store_true", help="only say what is stale")
    either.add_argument("-o", "--output", type=Path, metavar="DIR", help="the folder to make")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
