"""What is run in a fork of a prepared process ends as in a new Python, and uses its own folder's course."""

import subprocess
import sys

import pytest

from tests import prepared_python


@pytest.mark.parametrize("code", [
    "import sys\nprint('ü', sys.argv)\nprint(sys.stdin.read(), file=sys.stderr)", "raise SystemExit", "exit(3)",
    "exit('no')", "1 / 0", "import atexit\natexit.register(print, 'the end')", "import os\nos._exit(7)"])
def test_a_fork_ends_as_a_new_python_does(tmp_path, code):
    """A command that fails for its author, and passes in its test."""
    command = ["-c", code, "one", "two"]
    new = subprocess.run([sys.executable, *command], cwd=tmp_path, text=True, capture_output=True,
                         stdin=subprocess.DEVNULL)
    fork = prepared_python.run(tmp_path, *command)
    assert (fork.returncode, fork.stdout) == (new.returncode, new.stdout)
    assert fork.stderr.splitlines()[-1:] == new.stderr.splitlines()[-1:]


def test_a_fork_takes_the_course_of_its_folder(tmp_path):
    """The repository's own code, tested again in the place of a copy that a test has changed."""
    for number in (1, 2):
        module = tmp_path / str(number) / "course_lib" / "made_up.py"
        module.parent.mkdir(parents=True)
        (module.parent / "__init__.py").touch()
        module.write_text(f"import os, sys\nprint({number}, os.getcwd(), sys.argv[0] == __file__)")
        fork = prepared_python.run(tmp_path / str(number), "-m", "course_lib.made_up")
        assert (fork.returncode, fork.stdout) == (0, f"{number} {tmp_path / str(number)} True\n"), fork.stderr
