"""Setting up: the four files that say what is installed agree, and start.py gets there or says in one sentence why not.

No test here uses the network or installs a package: a small script stands in for pip, in a copy of the course made of
start.py and two files.
"""

import ast
import builtins
import errno
import functools
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import venv
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[1]
POSIX = pytest.mark.skipif(os.name == "nt", reason="uses POSIX signals")

# ---- The files agree ----


def requirements():
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def pyproject():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def conda():
    return yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]


def extras():
    return {name: [Requirement(line) for line in lines]
            for name, lines in pyproject()["project"]["optional-dependencies"].items()}


def test_every_requirement_is_pinned_to_one_version_and_named_once():
    """An open range gave each learner another set of packages, and plain `torch` several GB of it."""
    assert requirements()
    course, named = pyproject()["project"]["name"], requirements() + [r for lines in extras().values() for r in lines]
    others = [requirement for requirement in named if requirement.name != course]
    for requirement in others:
        assert re.fullmatch(r"==[\d.]+", str(requirement.specifier)), requirement
    names = [requirement.name.lower() for requirement in others]
    assert len(set(names)) == len(names)


IMPORTED_AS = {"scikit-learn": "sklearn", "pytest-xdist": "xdist", "PyYAML": "yaml"}


def test_lessons_bring_nothing_that_only_tests_and_authors_need():
    """Every learner installed a browser driver, three test frameworks and two engines for files of weights."""
    lessons = " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "solutions").glob("*.py"))
    library = " ".join(path.read_text(encoding="utf-8") for path in (ROOT / "course_lib").rglob("*.py")
                       if "staff" not in path.parts)
    for requirement in requirements():
        name = IMPORTED_AS.get(requirement.name, requirement.name)
        used = re.search(rf"^\s*(?:import|from) {name}\b", lessons + library, re.MULTILINE)
        assert used or name in ("jupyterlab", "ipykernel"), f"{name} is imported by no lesson"
    for requirement in extras()["build"] + extras()["test"][1:]:
        name = IMPORTED_AS.get(requirement.name, requirement.name)
        assert not re.search(rf"^\s*(?:import|from) {name}\b", lessons + library, re.MULTILINE), name


def test_conda_users_and_binder_get_the_same_packages():
    """The conda file listed packages of its own and fell behind; and a machine without a GPU got GPU libraries."""
    lines = (ROOT / ".binder/requirements.txt").read_text().splitlines()
    index = f"--extra-index-url {start().CPU_BUILDS}"
    assert [line for line in lines if not line.startswith("#")] == [index, "-r ../requirements.txt"]
    assert [part["pip"] for part in conda() if isinstance(part, dict)] == [[index, "-r requirements.txt"]]
    assert {re.split("[=<>]", part)[0] for part in conda() if isinstance(part, str)} == {"python", "pip"}


def start():
    """start.py as a module."""
    spec = importlib.util.spec_from_file_location("start", ROOT / "start.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_condas_python_is_one_that_the_course_allows():
    """The conda file pinned a Python that the package then refused."""
    (pin,) = [part.split("=")[1] for part in conda() if isinstance(part, str) and part.startswith("python=")]
    assert pin in SpecifierSet(pyproject()["project"]["requires-python"])


def test_the_package_takes_its_dependencies_from_requirements_txt():
    """A second list in pyproject.toml, which nobody kept up to date."""
    assert "dependencies" not in pyproject()["project"]
    assert "dependencies" in pyproject()["project"]["dynamic"]
    assert pyproject()["tool"]["setuptools"]["dynamic"]["dependencies"] == {"file": ["requirements.txt"]}


@pytest.mark.parametrize("name", ["requirements.txt", "pyproject.toml", "environment.yml", "start.py",
                                  ".binder/requirements.txt"])
def test_no_file_says_where_packages_come_from_but_for_pytorchs_cpu_builds(name):
    """An extra index that cannot be reached costs a minute and a half of retries, and nobody's own mirror was asked."""
    text = (ROOT / name).read_text()
    for known in (start().CPU_BUILDS, *pyproject()["project"]["urls"].values()):
        text = text.replace(known, "")
    assert not re.search(r"https?://|find-links|-f ", text)


def test_uv_takes_torch_and_nothing_else_from_pytorchs_cpu_builds():
    """uv brought 3 GB of GPU libraries to every Linux; an index that is not explicit is asked for all packages."""
    uv = pyproject()["tool"]["uv"]
    assert uv["index"] == [{"name": "pytorch-cpu", "url": start().CPU_BUILDS, "explicit": True}]
    assert uv["sources"] == {"torch": {"index": "pytorch-cpu", "marker": "sys_platform == 'linux'"}}


def test_the_files_about_python_agree_with_start_py():
    """start.py let a Python pass that pip then refused, in words of its own; or CI never ran the newest one."""
    allowed = SpecifierSet(pyproject()["project"]["requires-python"])
    (least, most), newest = start().OLDEST, start().NEWEST
    assert [f"3.{minor}" for minor in range(20) if f"3.{minor}" in allowed] == [
        f"{least}.{minor}" for minor in range(most, newest[1] + 1)]
    ci = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert ci["jobs"]["test"]["strategy"]["matrix"]["python"] == [f"3.{minor}" for minor in range(most, newest[1] + 1)]
    told = f"{least}.{most} to {newest[0]}.{newest[1]}"
    assert f"Python {told}" in start().__doc__ and told in (ROOT / "README.md").read_text(encoding="utf-8")


# ---- start.py, in a copy of the course, with a script for pip ----

FAKE_PIP = """
import pathlib, sys, time
here = pathlib.Path({folder!r})
if "install" not in sys.argv:
    sys.exit(0)
with open(here / "pip-calls", "a") as calls:
    calls.write("call " + " ".join(sys.argv) + "\\n")
{body}
"""

copy_tree = functools.partial(shutil.copytree, symlinks=True)

BUSY_UNTIL_GO = """
(here / 'busy').touch()
for _ in range(250):  # not for ever, should the test have failed
    time.sleep(0 if (here / 'go').exists() else 0.02)
"""

BUSY_UNTIL_ORPHANED = """
(here / 'busy').touch()
for _ in range(250):
    time.sleep(0.02)
    print('working', flush=True)
"""


class Course:
    """A copy of the course small enough to install in a moment."""

    def __init__(self, folder):
        self.folder, self.handed = folder, []
        folder.mkdir()
        shutil.copy(ROOT / "start.py", folder)
        (folder / "requirements.txt").write_text("tqdm==4.70.1\ntorch==2.13.0\n")
        extras = "[project.optional-dependencies]\nsite = []\ntest = []\n"
        (folder / "pyproject.toml").write_text(f"{extras}[tool]\nno = []\n")
        self.load()
        self.pip_does("")

    def load(self):
        """The copy's start.py as a module that hands over to nobody."""
        spec = importlib.util.spec_from_file_location("start_under_test", self.folder / "start.py")
        self.start = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self.start)
        self.start.PIP = [sys.executable, str(self.folder / "fake_pip.py")]
        self.start.hand_over = lambda command, folder: self.handed.append((command, folder)) or 0
        self.start.is_linux_without_gpu = lambda: False  # else torch is asked for first, by itself

    def pip_does(self, body):
        (self.folder / "fake_pip.py").write_text(FAKE_PIP.format(folder=str(self.folder), body=body))

    def pip_fails(self, said):
        self.pip_does(f"print({said!r}); sys.exit(1)")

    def pip_was_called(self):
        """The arguments of every install."""
        calls = self.folder / "pip-calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def pip_calls(self):
        return len(self.pip_was_called())

    def call(self, *arguments):
        return self.start.main(list(arguments or ["python"]))

    def process(self, *arguments, **options):
        """start.py as a process of its own, with the same stand-in for pip."""
        code = (
            "import os, sys, start; os.sync = lambda: None;"
            "start.is_linux_without_gpu = lambda: False;"
            f"start.PIP = {self.start.PIP!r}; sys.exit(start.main({list(arguments or ['python', '-c', ''])!r}))"
        )
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([sys.executable, "-c", code], cwd=self.folder, **pipes, **options)

    def leave_a_trace(self):
        (self.folder / ".venv" / "trace").touch()

    def has_the_trace(self):
        return (self.folder / ".venv" / "trace").exists()


@pytest.fixture
def course(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sync", lambda: None, raising=False)
    return Course(tmp_path / "course")


@pytest.fixture
def sentence(capfd):
    """What came out on stderr, which must be one line and no traceback."""

    def read():
        said = capfd.readouterr().err.strip()
        assert len(said.splitlines()) == 1 and "Traceback" not in said, said
        return said

    return read


def wait_until(condition, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def test_the_first_call_installs_and_the_next_ones_start_at_once(course, monkeypatch):
    """Every call asked pip whether all was there: seconds of waiting before each command."""
    assert course.call() == 0
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a ready course started a process"))
    assert course.call() == 0
    assert course.pip_calls() == 1 and len(course.handed) == 2


@POSIX
def test_pytorch_s_own_compiled_tests_do_not_stay(course):
    """An eighth of what a learner's disk held were programs that test PyTorch's C++."""
    torch = course.folder / ".venv/lib/python3.11/site-packages/torch"
    files = ["test/basic", "bin/protoc", "bin/torch_shm_manager", "testing/test_it.py", "lib/libtorch.so"]
    course.pip_does(f"for name in {files!r}:\n    (path := pathlib.Path({str(torch)!r}, name))"
                    ".parent.mkdir(parents=True, exist_ok=True)\n    path.touch()")
    assert course.call() == 0
    assert [name for name in files if (torch / name).exists()] == files[2:]


def test_a_changed_requirement_is_installed_into_what_is_there(course):
    """After a pull with a new package the lessons ended in ModuleNotFoundError."""
    course.call()
    course.leave_a_trace()
    for name in ("requirements.txt", "pyproject.toml"):
        with open(course.folder / name, "a") as file:
            file.write("# new\n")
        before = course.pip_calls()
        assert course.call() == 0
        assert course.pip_calls() == before + 1
    assert course.has_the_trace()


def test_tests_bring_what_they_need_and_lessons_do_not(course):
    """A learner waited for 340 MB of test tools; or a later `lab` threw out what `test` had brought."""
    course.call("lab")
    assert course.pip_was_called()[-1].endswith(" -e .")
    course.call("test")
    assert course.pip_was_called()[-1].endswith(" -e .[test]")
    course.call("lab")
    course.call("test")
    assert course.pip_calls() == 2


def test_extras_are_kept_up_to_date_and_survive_a_move(course):
    """After a pull the tests ran with last month's tools: what had been added by hand was forgotten."""
    assert course.call("install", "site") == 0 and course.call("test") == 0
    with open(course.folder / "requirements.txt", "a") as file:
        file.write("# new\n")
    course.call("lab")
    assert course.pip_was_called()[-1].endswith(" -e .[site,test]")
    course.folder = Path(shutil.move(course.folder, course.folder.parent / "moved"))
    course.load()
    course.pip_does("")
    course.call("lab")
    assert course.pip_was_called()[-1].endswith(" -e .[site,test]")


@pytest.mark.parametrize("names", [[], ["sites"], ["site", "no"]])
def test_an_extra_that_does_not_exist_is_one_sentence(course, sentence, names):
    """pip warns of an unknown extra, installs nothing and is content."""
    assert course.call("install", *names) == 1
    assert "one or more of these: site, test" in sentence() and course.pip_calls() == 0


def test_without_a_gpu_torch_comes_from_pytorchs_cpu_builds(course):
    """3 GB of GPU libraries on a laptop that has no GPU. Only torch is asked for there, and never twice."""
    course.start.is_linux_without_gpu = lambda: True
    assert course.call() == 0
    first, second = course.pip_was_called()
    assert "--no-deps --index-url " + course.start.CPU_BUILDS in first and first.endswith(" torch==2.13.0")
    assert "index" not in second and second.endswith("-r requirements.txt -e .")


def test_where_pytorchs_cpu_builds_cannot_be_reached_the_usual_ones_come(course, capfd):
    """A school's network that lets only one index through."""
    course.start.is_linux_without_gpu = lambda: True
    course.pip_does("sys.exit('no index' if '--index-url' in sys.argv else 0)")
    assert course.call() == 0 and course.pip_calls() == 3, "torch's own index, a small package, and then all"
    assert "trying its usual one" in capfd.readouterr().out


def test_without_any_network_nobody_speaks_of_3_gb(course, capfd):
    """“Trying its usual one, with 3 GB more”, to somebody whose cable is out."""
    course.start.is_linux_without_gpu = lambda: True
    course.pip_fails(OFFLINE)
    assert course.call() == 1
    said = capfd.readouterr()
    assert "check the connection" in said.err and "GB more" not in said.out


@pytest.mark.parametrize("platform, path, smi, cpu", [
    ("linux", None, None, True), ("linux", "/proc/driver/nvidia", None, False), ("linux", None, "nvidia-smi", False),
    ("darwin", None, None, False), ("win32", None, None, False)])
def test_a_gpu_is_known_by_its_driver(monkeypatch, platform, path, smi, cpu):
    """A CPU build beside a GPU, or an index that other systems do not need."""
    module = start()
    monkeypatch.setattr(module.os.path, "exists", lambda name: name == path)
    monkeypatch.setattr(module.shutil, "which", lambda name: smi)
    monkeypatch.setattr(module.sys, "platform", platform)
    assert module.is_linux_without_gpu() is cpu
    assert f"about {5 if platform == 'linux' and not cpu else 1.5} GB" in module.what_it_takes()


PIP_SAYS = """Collecting torch==2.13.0 (from -r requirements.txt (line 2))
  Downloading torch-2.13.0-cp313-cp313-manylinux_2_28_x86_64.whl.metadata (30 kB)
Downloading torch-2.13.0-cp313-cp313-manylinux_2_28_x86_64.whl (190.5 MB)
Using cached numpy-2.4.6-cp313-cp313-manylinux_2_28_x86_64.whl (16.9 MB)
Processing /wheels/tiny_thing-1.0-py3-none-any.whl
Downloading small-1.0-py3-none-any.whl (600 kB)
Installing collected packages: torch, numpy, tiny_thing, small
"""


@pytest.mark.parametrize("screen", [True, False])
def test_what_is_fetched_is_counted_in_one_line(course, capfd, monkeypatch, screen):
    """153 lines of `fetching` between the command and the lesson."""
    course.pip_does(f"print({PIP_SAYS!r})")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: screen, raising=False)
    assert course.call() == 0
    said = capfd.readouterr().out
    lines = [line.split("\r")[-1].rstrip() for line in said.strip().split("\n")]
    assert lines[1:3] == ["  fetched 4 packages, 208 MB", "  installing 4 packages"] and len(lines) == 4
    assert ("\r" in said) is screen


@pytest.mark.parametrize("move", [shutil.move, copy_tree], ids=["moved", "copied"])
def test_a_moved_or_copied_folder_gets_a_new_environment(course, move, capfd):
    """The scripts in .venv/bin name the old folder: `jupyter: bad interpreter`, or the other copy's lessons."""
    course.call()
    course.leave_a_trace()
    capfd.readouterr()
    course.folder = Path(move(course.folder, course.folder.parent / "moved"))
    course.load()
    course.pip_does("")
    assert course.call() == 0
    said = capfd.readouterr().out.splitlines()[0]
    assert "was moved or copied" in said and "the old .venv is deleted, and a new one takes some minutes and" in said
    assert course.start.is_ready([]) and not course.has_the_trace()


@pytest.mark.parametrize("what", ["gone", "another", "base gone"])
def test_a_python_that_is_gone_or_upgraded_gets_a_new_environment(course, what):
    """A system upgrade took 3.11 away, and .venv/bin/python pointed at nothing, or at a Python without our packages."""
    course.call()
    course.leave_a_trace()
    if what == "gone":
        os.remove(course.start.PYTHON)
        os.symlink("/nowhere/python3.11", course.start.PYTHON)
    else:
        stamp = course.start.read_stamp()
        stamp.update({"python": "python3.8"} if what == "another" else {"base": "/nowhere"})
        Path(course.start.STAMP).write_text(json.dumps(stamp))
    assert course.call() == 0
    assert course.start.is_ready([]) and not course.has_the_trace()


def test_an_environment_that_uv_made_is_filled_and_kept(course):
    """A .venv without pip and without our stamp was deleted, or taken for ready."""
    venv.create(course.folder / ".venv", symlinks=os.name != "nt")
    course.leave_a_trace()
    assert course.call() == 0
    assert course.pip_calls() == 1 and course.has_the_trace()


@POSIX
def test_an_install_that_was_killed_is_made_anew_by_the_next_call(course):
    """After kill -9 half a package lay in .venv, and every later call failed in it."""
    course.pip_does(BUSY_UNTIL_ORPHANED)
    first = course.process()
    wait_until((course.folder / "busy").exists)
    course.leave_a_trace()
    first.send_signal(signal.SIGKILL)
    first.communicate()
    course.pip_does("")
    assert course.call() == 0
    assert course.start.is_ready([]) and not course.has_the_trace()


def test_an_update_that_was_killed_and_then_taken_back_is_made_anew(course):
    """The stamp from before the update said that all was well: half the packages were already other ones."""
    course.call()
    course.leave_a_trace()
    Path(course.start.LOCK).write_text("installing")
    assert course.call() == 0
    assert course.start.is_ready([]) and not course.has_the_trace()


def test_ctrl_c_ends_in_one_sentence_and_the_next_call_begins_anew(course, sentence, monkeypatch):
    """Ctrl-C printed a traceback and left an environment that looked whole."""

    def interrupted(*_):
        course.leave_a_trace()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(course.start, "install_packages", interrupted)
        assert course.call() == 130
    assert "Stopped" in sentence()
    assert course.call() == 0
    assert course.start.is_ready([]) and not course.has_the_trace()


def test_a_second_caller_waits_says_so_and_does_not_install_again(course):
    """Two calls at once installed into each other."""
    course.pip_does(BUSY_UNTIL_GO)
    first = course.process()
    wait_until((course.folder / "busy").exists)
    second = course.process()
    assert "Another start.py is installing here" in second.stderr.readline()
    (course.folder / "go").touch()
    assert first.wait(10) == 0 and second.wait(10) == 0
    assert second.communicate()[1] == ""
    first.communicate()
    assert course.pip_calls() == 1


@POSIX
def test_pip_that_outlives_a_killed_start_py_keeps_the_lock(course):
    """The second call deleted .venv while the first one's pip was still writing into it."""
    course.pip_does(BUSY_UNTIL_GO)
    first = course.process()
    wait_until((course.folder / "busy").exists)
    first.kill()
    first.communicate()
    second = course.process()
    assert "Another start.py is installing here" in second.stderr.readline()
    course.pip_does("")
    (course.folder / "go").touch()
    assert second.wait(10) == 0
    second.communicate()


# ---- Each failure is one sentence ----

OFFLINE = """WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError()': /simple/torch/
ERROR: Could not find a version that satisfies the requirement torch==2.13.0 (from versions: none)
ERROR: No matching distribution found for torch==2.13.0"""


def test_no_network_is_one_sentence_and_keeps_what_was_there(course, sentence):
    """Without a network pip said `No matching distribution found for torch`, as if torch did not exist."""
    course.call()
    course.leave_a_trace()
    with open(course.folder / "requirements.txt", "a") as file:
        file.write("numpy==2.4.6\n")
    course.pip_fails(OFFLINE)
    assert course.call() == 1
    assert "check the connection" in sentence()
    course.pip_does("")
    assert course.call() == 0 and course.has_the_trace()


def test_a_connection_that_breaks_in_a_download_is_the_network_too(course, sentence):
    """The traceback of a read that timed out was shown as pip's last word."""
    course.pip_fails("ERROR: Exception:\nTraceback (most recent call last):\nReadTimeoutError: Read timed out.")
    assert course.call() == 1
    assert "check the connection" in sentence()


def test_without_a_network_pip_does_not_retry_for_minutes(course, monkeypatch):
    """Five retries for each index and package, with growing pauses, looked like a hang."""
    monkeypatch.delenv("PIP_RETRIES", raising=False)
    assert int(course.start.environment()["PIP_RETRIES"]) <= 2


def test_a_python_without_wheels_is_told_which_python_to_take(course, sentence):
    """On a Python that torch has no wheel for, the sentence blamed the network."""
    course.pip_fails("ERROR: No matching distribution found for torch==2.13.0")
    assert course.call() == 1
    assert re.search("no torch==2.13.0 for Python .* 3.11 to 3.14", sentence())


def test_a_failure_that_we_do_not_know_is_told_in_pips_last_error(course, sentence):
    """`pip failed with exit status 1`, and nowhere to look."""
    course.pip_fails("ERROR: first\nERROR: ResolutionImpossible: it says this\nnote: more")
    assert course.call() == 1
    said = sentence()
    assert "ResolutionImpossible: it says this" in said and course.start.LOG in said
    assert "first" in Path(course.start.LOG).read_text()


def test_a_disk_that_fills_while_pip_works_is_named(course, sentence):
    """`OSError: [Errno 28]` in a page of pip's output; and the half-filled .venv was then taken for whole."""
    course.pip_fails("Installing collected packages: torch\nERROR: [Errno 28] No space left on device: '/x'")
    assert course.call() == 1
    said = sentence()
    assert "is full" in said and str(course.folder) in said
    assert course.start.is_unfinished()


@pytest.mark.parametrize("step", ["make_venv", "install_packages", "finish"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_under_ourselves_is_named(course, sentence, monkeypatch, step, code):
    """A traceback from the writing of our own log; and a student's quota is a full disk, too."""

    def full(*_):
        raise OSError(code, os.strerror(code), "/x")

    monkeypatch.setattr(course.start, step, full)
    assert course.call() == 1
    assert "is full" in sentence()


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES])
def test_a_folder_that_cannot_be_written_is_named(course, sentence, monkeypatch, code):
    """A course on a read-only share ended in a traceback about a lock file."""

    def read_only(path, mode="r", **more):
        if mode != "r" and mode != "rb":
            raise OSError(code, os.strerror(code), path)
        return builtins.open(path, mode, **more)

    monkeypatch.setattr(course.start, "open", read_only, raising=False)
    assert course.call() == 1
    said = sentence()
    assert "cannot be written" in said and str(course.folder) in said and "copy the course" in said


def test_a_ready_course_in_a_read_only_folder_still_works(course, monkeypatch):
    """A course that an administrator had installed for a class could only be used by the administrator."""
    course.call()
    monkeypatch.setattr(course.start, "make_ready", lambda: pytest.fail("wanted to write"))
    assert course.call() == 0


@pytest.mark.parametrize("version, word", [((3, 8, 10), "old"), ((3, 15, 0), "new")])
def test_a_python_that_is_too_old_or_too_new_is_told_so(course, sentence, monkeypatch, version, word):
    """SyntaxError, or pip's complaint after minutes of downloading."""
    monkeypatch.setattr(sys, "version_info", version)
    code = course.call()
    monkeypatch.undo()
    said = sentence()
    assert code == 1 and f"Python 3.{version[1]} " in said and f"too {word}" in said and "install Python 3.1" in said
    assert not (course.folder / ".venv").exists()


def test_start_py_can_be_read_by_python_3_6():
    """A newer syntax, or an import that old or other systems lack, comes before any sentence of ours."""
    tree = ast.parse((ROOT / "start.py").read_text(), feature_version=(3, 6))
    imported = {name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names}
    assert imported == {"glob", "hashlib", "json", "os", "re", "shutil", "subprocess", "sys", "time"}
    assert not any(isinstance(node, ast.ImportFrom) for node in tree.body)


def answers(codes, said=b""):
    """A subprocess.run whose calls end with these codes, and the commands it was given."""
    commands = []

    def run(command, **_):
        commands.append(command)
        return subprocess.CompletedProcess(command, codes[len(commands) - 1], stdout=said)

    return run, commands


def test_without_ensurepip_the_pip_outside_brings_pip_in(course, monkeypatch):
    """Debian without python3-venv: `ensurepip is not available`."""
    run, commands = answers([1, 1, 0])
    monkeypatch.setattr(subprocess, "run", run)
    course.start.give_pip()
    assert commands[1][1:] == ["-m", "ensurepip"]
    assert commands[2] == [sys.executable, "-m", "pip", "--python", course.start.PYTHON, "install", "pip"]


def test_without_any_pip_one_sentence_says_what_to_install(course, sentence, monkeypatch):
    """`No module named pip`, which tells a beginner nothing."""
    run, _ = answers([1, 1, 1], b"/usr/bin/python3: No module named pip\n")
    monkeypatch.setattr(subprocess, "run", run)
    assert course.call() == 1
    assert "sudo apt install python3-venv" in sentence()


def test_when_pip_is_there_but_the_network_is_not_pip_is_not_called_missing(course, sentence, monkeypatch):
    """The first thing tried says `No module named pip` of .venv; the sentence said it of the learner's Python."""
    commands = []

    def run(command, **_):
        commands.append(command)
        said = b"No module named pip" if len(commands) < 3 else OFFLINE.encode()
        return subprocess.CompletedProcess(command, 1, stdout=said)

    monkeypatch.setattr(subprocess, "run", run)
    assert course.call() == 1
    assert "check the connection" in sentence()
    assert "connection broken" in Path(course.start.LOG).read_text()


# ---- What is run, and how ----


def test_an_unknown_command_is_one_sentence(course, sentence):
    """FileNotFoundError for `start.py labb`."""
    assert course.call("labb") == 1
    assert "no command 'labb'" in sentence()


def test_lab_opens_the_first_lesson_or_the_one_that_is_named(course, monkeypatch):
    """Lab opened two notebooks; or looked for the learner's in another folder than the one the learner stood in."""
    lessons = course.folder / "lessons"
    lessons.mkdir()
    for name in ("01_b.ipynb", "00_a.ipynb", "README.md"):
        (lessons / name).touch()
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    course.call("lab", "--no-browser")
    monkeypatch.chdir(lessons)
    course.call("lab", "01_b.ipynb")
    first, second = course.handed
    root = f"--ServerApp.root_dir={course.folder}"
    assert first[0][1:] == ["-m", "jupyter", "lab", os.path.join("lessons", "00_a.ipynb"), "--no-browser", root]
    assert second[0][1:] == ["-m", "jupyter", "lab", str(lessons / "01_b.ipynb"), root]
    assert first[1] == second[1] == str(course.folder)


@pytest.mark.parametrize("kept", ["", "no JSON", "[]", '{"notebook": ["01_b.ipynb"]}', '{"notebook": "02_gone.ipynb"}',
                                  '{"notebook": "01_b.ipynb"}'])
def test_lab_opens_the_lesson_that_was_open_last(course, kept):
    """Who comes back stood before the first lesson again; or a damaged note kept JupyterLab shut."""
    lessons = course.folder / "lessons"
    (lessons / "my_answers").mkdir(parents=True)
    for name in ("01_b.ipynb", "00_a.ipynb"):
        (lessons / name).touch()
    (lessons / "my_answers" / "last.json").write_text(kept)
    course.call("lab")
    opened = "01_b.ipynb" if kept.endswith('"01_b.ipynb"}') else "00_a.ipynb"
    assert course.handed[0][0][4] == os.path.join("lessons", opened)


def test_jupyterlabs_root_is_the_course_where_the_notebook_is_in_it(course, monkeypatch, tmp_path):
    """`lessons/` was the root: no link to a solution or to the glossary could be followed."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    elsewhere = tmp_path / "mine.ipynb"
    elsewhere.touch()
    for words in ([str(elsewhere)], ["--ServerApp.root_dir=/"], ["--port", "9000"]):
        course.call("lab", *words)
    roots = [[word for word in handed[0] if "root_dir" in word] for handed in course.handed]
    assert roots == [[], ["--ServerApp.root_dir=/"], [f"--ServerApp.root_dir={course.folder}"]]


def test_an_update_needs_no_environment(course, monkeypatch):
    """An environment that could not be made any more kept the version that can from coming."""
    shutil.rmtree(course.folder / ".venv", ignore_errors=True)
    course.call("update")
    assert course.handed == [([sys.executable, "-m", "upkeep.update"], str(course.folder / "course_lib"))]
    assert not (course.folder / ".venv").exists()


def test_lab_opens_for_root_too(course, monkeypatch):
    """In a container, where everybody is root, JupyterLab refused to start."""
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    course.call("lab")
    assert course.handed[0][0][-1] == "--allow-root"


def test_test_runs_pytest_from_the_root(course):
    """From another folder pytest found other settings, and no tests."""
    course.call("test", "-x")
    assert course.handed == [([course.start.PYTHON, "-m", "pytest", "-x"], str(course.folder))]


def test_the_exit_status_and_the_environment_are_passed_through(course, monkeypatch):
    """CI stayed green: start.py ended in 0 whatever the tests said. And another Python's PYTHONPATH came along.

    Or a container's wish for no bytecode: each process of the course took 4 seconds to start, and not 2.
    """
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("PIP_TARGET", "/elsewhere")
    monkeypatch.setenv("PIP_USER", "1")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/mine")
    monkeypatch.delenv("PYTHONHOME", raising=False)
    names = ["PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PIP_TARGET", "PIP_USER", "PIP_INDEX_URL", "VIRTUAL_ENV"]
    code = f"import json, os, sys; print(json.dumps([os.environ.get(n) for n in {names}] + [sys.prefix])); sys.exit(7)"
    process = course.process("python", "-c", code, env={**os.environ, "PYTHONPATH": str(course.folder)})
    said = process.communicate(timeout=20)[0]
    home = str(course.folder / ".venv")
    assert process.returncode == 7
    assert json.loads(said.splitlines()[-1]) == [None, None, None, "0", "http://127.0.0.1:9/mine", home, home]


def test_jupyterlab_does_not_ask_the_network_for_news(course):
    """A pop-up about news in front of the first lesson, and a call to the network in a course that needs none."""
    course.call()
    settings = json.loads((course.folder / ".venv/share/jupyter/lab/settings/overrides.json").read_text())
    assert settings == {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}


@pytest.mark.parametrize("arguments", [[], ["--help"]])
def test_help_names_the_commands_and_installs_nothing(course, capsys, arguments):
    """`start.py --help` began to download two gigabytes."""
    assert course.start.main(arguments) == 0
    said = capsys.readouterr().out
    assert "start.py lab" in said and "start.py test" in said
    assert not (course.folder / ".venv").exists()


def test_what_runs_before_a_commit_is_what_the_house_has():
    """A hook that names a command which was renamed passes nothing, or everything."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    for hook in hooks:
        module = re.fullmatch(r"python3 start\.py python -m (\S+) .+", hook["entry"])[1]
        assert importlib.util.find_spec(module), module
    assert re.match(hooks[1]["files"], "solutions/04_scaling.py") and re.match(hooks[1]["files"], "README.md")
