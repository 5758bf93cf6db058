"""Packages that an instructor lets students use beside the course's own: installed once, and written down."""

import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

NAME = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(\[[\w, -]+\])?((?:[<>=!~]=?)[\w.*+!<>=~-]+)?")  # "einops>=0.8"


class PackagesError(ValueError):
    """A package cannot be had; one sentence says why."""


def installed(names):
    """Install what is not there, and leave what is there as it is.

    names:   as pip takes them, such as "einops" or "einops>=0.8"
    returns: names and versions, as in "einops 0.8.1, jaxtyping 0.3.2"
    raises:  PackagesError
    """
    for name in names:
        if not NAME.fullmatch(name):
            raise PackagesError(f"--with: {name!r} is no name of a package, as in einops or einops>=0.8.")
    plain = {name: NAME.fullmatch(name)[1] for name in names}
    if wanted := [name for name in names if name != plain[name] or _version(name) is None]:
        _install(wanted)
    return ", ".join(sorted(f"{name} {_version(name)}" for name in plain.values()))


def missing(said):
    """Those of the words of `installed` that do not hold here any more."""
    return [words for words in filter(None, said.split(", ")) if _version(words.split(" ")[0]) != words.split(" ")[1]]


def _version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _install(names):
    """By pip, which may change nothing that is there: another torch would give other verdicts."""
    there = {f"{package.name}=={package.version}" for package in metadata.distributions() if package.name}
    with tempfile.TemporaryDirectory() as folder:
        constraints = Path(folder, "constraints.txt")
        constraints.write_text("\n".join(sorted(there)), encoding="utf-8")
        done = _pip("install", "--quiet", "--disable-pip-version-check", "--constraint", str(constraints), *names)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip gave no reason"]
        raise PackagesError(f"{', '.join(names)} cannot be installed: {said[-1].removeprefix('ERROR: ').rstrip('.')}.")


def _pip(*arguments):
    return subprocess.run([sys.executable, "-m", "pip", *arguments], capture_output=True, text=True)
