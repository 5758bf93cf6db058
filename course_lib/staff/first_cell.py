"""The cell that every notebook runs first: it installs the course where it is missing, and says its version."""

import re

from course_lib.upkeep.versions import SOURCE, VERSION

TAG = "installs"
# Packages come as they are there already, in whatever version; the course itself comes in the notebook's own.
TEXT = """#@title Installs the course where it is missing, as on Colab. Elsewhere it does nothing.
from importlib.util import find_spec

if find_spec("course_lib") is None:
    course = "git+{source}@v{version}"
    %pip install -qqq {packages}
    %pip install -qqq --no-deps $course
    if find_spec("course_lib") is None:
        import subprocess
        from shutil import which

        class NotInstalled(Exception):
            def _render_traceback_(self):
                return [str(self)]

        where, _, tag = course.removeprefix("git+").rpartition("@")
        ask = ["git", "ls-remote", where, f"refs/tags/{{tag}}"]
        tags = which("git") and subprocess.run(ask, capture_output=True, stdin=subprocess.DEVNULL)
        missing = tags and not tags.returncode and not tags.stdout
        why = (f"There is no tag {{tag}}: it is not released." if missing
               else "Is there a network?" if tags else "Git is not installed.")
        raise NotInstalled(f"The course could not be installed. {{why}} %pip install {{course}} in a cell says more.")

import course_lib

course_lib.made_for("{version}")"""


def first_cell(requirements):
    """The source of the cell. requirements: the text of requirements.txt, what a learner needs."""
    names = re.findall(r"^([A-Za-z][\w.-]*)==", requirements, re.M)
    packages = " ".join(name for name in names if name not in ("jupyterlab", "ipykernel"))
    return TEXT.format(packages=packages, source=SOURCE, version=VERSION)
