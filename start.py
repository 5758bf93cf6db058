"""Opens the course in an environment of its own. It needs Python 3.11 or newer with pip, and nothing else.

    python3 start.py lab              open the first lesson in JupyterLab
    python3 start.py lab NOTEBOOK     open another one; options go on to JupyterLab
    python3 start.py update           get the newest version; your notebooks and answers stay
    python3 start.py test             run the tests; options go on to pytest
    python3 start.py COMMAND ...      run any command in the environment, for example: python3 start.py python

The environment is the folder .venv beside this file. The first call makes it and installs what requirements.txt
names (some minutes; 2 to 8 GB of disk); later calls start at once. To begin afresh, delete .venv.
On Windows, type py instead of python3.
"""

# Only the standard library, and no syntax newer than Python 3.6: an old Python must get as far as our sentence.
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(ROOT, ".venv")
BIN = os.path.join(VENV, "Scripts" if os.name == "nt" else "bin")
PYTHON = os.path.join(BIN, "python.exe" if os.name == "nt" else "python")
PIP = [PYTHON, "-m", "pip"]

STAMP = os.path.join(VENV, "course.json")  # written last: where .venv was made, by which Python, from what
LOG = os.path.join(VENV, "install.log")  # all that pip said
LOCK = os.path.join(ROOT, ".venv.lock")  # locked during an install; not empty: an install began and never ended

# Settings meant for another Python, or that would make pip install elsewhere or not at all. Where pip looks is kept.
FOREIGN = {"PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "PIP_QUIET", "PIP_DRY_RUN",
           "PIP_NO_DEPS", "PIP_NO_BUILD_ISOLATION"}
NO_NEWS = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}


class Stop(Exception):
    """A sentence for the person at the keyboard: what is wrong, where, and what to do about it."""


def main(arguments):
    """Make the environment ready and hand over to the command; whatever goes wrong ends in one sentence."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(__doc__.strip())
        return 0
    try:
        if arguments[0] != "update" and not is_ready():  # a new version may be what mends the environment
            make_ready()
        return hand_over(*command_for(arguments))
    except Stop as stop:
        sentence = str(stop)
    except OSError as error:
        sentence = explain(str(error), otherwise=str(error))
    except KeyboardInterrupt:
        print("\nStopped. The same command finishes it next time.", file=sys.stderr)
        return 130
    print("start.py: " + sentence, file=sys.stderr)
    return 1


# ---- Is .venv what it should be? Only small files are looked at, so that a ready course starts at once ----


def is_ready():
    """Whether .venv is whole and holds what is asked for now."""
    return not is_unfinished() and is_sound() and read_stamp().get("wants") == wants()


def is_unfinished():
    """Whether an install began and never ended: interrupted, killed, or the power went."""
    return os.path.exists(LOCK) and os.path.getsize(LOCK) > 0


def is_sound():
    """Whether .venv can be used: the folder has not moved, and its Python is neither gone nor another one by now."""
    stamp = read_stamp()
    if not stamp:
        return os.path.exists(PYTHON)  # made by uv or by hand: ours to fill
    return (
        os.path.exists(stamp.get("folder", ""))
        and os.path.samefile(stamp["folder"], ROOT)
        and os.path.exists(PYTHON)
        and os.path.isdir(stamp.get("base", ""))
        and os.path.basename(os.path.realpath(PYTHON)) == stamp.get("python")  # an upgrade makes 3.11 into 3.13
    )


def read_stamp():
    """What .venv says of itself; nothing if it does not say."""
    try:
        with open(STAMP, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def wants():
    """A fingerprint of the files that say what to install."""
    digest = hashlib.sha256()
    for name in ("requirements.txt", "pyproject.toml"):
        with open(os.path.join(ROOT, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


# ---- Making it so ----


def make_ready():
    """Bring .venv up to date; make it anew where it is missing, broken, moved or half made."""
    if sys.version_info < (3, 11):
        raise Stop(
            f"Python {this_python()} ({sys.executable}) is too old for this course: install Python 3.13 from "
            "python.org and use it by its name, for example: python3.13 start.py lab"
        )
    with open(LOCK, "a") as lock:
        wait_for(lock)
        if is_ready():  # another start.py made it so while we waited
            return
        began, anew = time.time(), is_unfinished() or not is_sound()
        lock.write("installing")
        lock.flush()
        os.fsync(lock.fileno())
        if anew:
            print("Making the environment of the course: once, some minutes.", flush=True)
            make_venv()
        else:
            print("Bringing the environment of the course up to date.", flush=True)
        give_pip()
        install_packages(lock)
        finish()
        lock.truncate(0)
        print(f"Ready after {time.time() - began:.0f} seconds.", flush=True)


def wait_for(lock):
    """Let only one start.py install at a time. If we are killed, the system takes the lock back."""
    said = False
    while not try_lock(lock):
        if not said:
            print("Another start.py is installing here; waiting for it to finish.", file=sys.stderr, flush=True)
        said = True
        time.sleep(0.3)


def try_lock(lock):
    """Take the lock if it is free."""
    try:
        if os.name == "nt":
            import msvcrt

            lock.seek(1 << 30)  # far behind the text, which others must be able to read
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass  # some network drives know no locks: go on without
    return True


def make_venv():
    """An empty environment, without pip for now: Debian's Python cannot always give it one."""
    if os.path.lexists(VENV):
        shutil.rmtree(VENV)
    try:
        import venv

        venv.create(VENV, symlinks=os.name != "nt")
    except (ImportError, ValueError, subprocess.SubprocessError) as error:
        raise Stop(f"Python ({sys.executable}) cannot make an environment in {VENV}: {error}") from error


def give_pip():
    """Put pip into .venv: Python's own copy of it, or, where that was left out, what the pip outside can get."""
    outside = [sys.executable, "-m", "pip", "--python", PYTHON, "install", "pip"]
    words = []
    for command in (PIP + ["--version"], [PYTHON, "-m", "ensurepip"], outside):
        tried = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment())
        if tried.returncode == 0:
            return
        words.append(tried.stdout.decode(errors="replace"))
    with open(LOG, "w", encoding="utf-8") as log:
        log.writelines(words)
    if re.search("No module named pip|no such option: --python", words[-1]):
        sentence = (f"Python ({sys.executable}) comes without pip: install it (on Debian and Ubuntu: sudo apt install "
                    "python3-venv), and run the same command again")
        raise Stop(explain("".join(words), otherwise=sentence))
    raise Stop(explain_pip("".join(words)))


def install_packages(lock):
    """Have pip install everything; show where it is, and keep its words in the log."""
    scratch = os.path.join(VENV, "tmp")  # on the same disk, and gone with .venv if pip is killed
    os.makedirs(scratch, exist_ok=True)
    os.set_inheritable(lock.fileno(), True)  # if we are killed, pip keeps the lock for as long as it lives on
    pip = subprocess.Popen(
        PIP + ["install", "--no-input", "--progress-bar=off", "-r", "requirements.txt", "-e", "."],
        cwd=ROOT, env=environment(TMPDIR=scratch, TEMP=scratch, TMP=scratch), close_fds=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )
    said = ""
    with pip, open(LOG, "w", encoding="utf-8") as log:
        for line in pip.stdout:
            line = line.decode(errors="replace")
            said += line
            log.write(line)
            log.flush()
            show(line)
    shutil.rmtree(scratch, ignore_errors=True)
    if pip.returncode:
        if "Installing collected packages" not in said:
            lock.truncate(0)  # pip had not touched anything yet: what is in .venv is whole
        raise Stop(explain_pip(said))


def show(line):
    """Tell the person which package pip has come to."""
    begins, wheel = r"\s*(?:Downloading|Using cached|Processing) ", r"(?:.*[/\\])?([^-/\\]+)-([^-]+)-\S+\.whl\s"
    wheel = re.match(begins + wheel + r"(\(.*[MG]B\))?", line)
    if wheel:
        print("  fetching", *filter(None, wheel.groups()), flush=True)
    elif line.startswith("Installing collected packages:"):
        print(f"  installing {line.count(',') + 1} packages; this takes longest, one to three minutes", flush=True)


def finish():
    """Keep JupyterLab from asking the network for news; then say, on the disk itself, that .venv is whole."""
    settings = os.path.join(VENV, "share", "jupyter", "lab", "settings")
    os.makedirs(settings, exist_ok=True)
    with open(os.path.join(settings, "overrides.json"), "w", encoding="utf-8") as file:
        json.dump(NO_NEWS, file)
    base = subprocess.check_output([PYTHON, "-I", "-c", "import sys; print(sys.base_prefix)"]).decode().strip()
    python = os.path.basename(os.path.realpath(PYTHON))
    getattr(os, "sync", lambda: None)()  # a power cut must not leave a stamp on half a package
    with open(STAMP, "w", encoding="utf-8") as file:
        json.dump({"folder": ROOT, "base": base, "python": python, "wants": wants()}, file)


# ---- One sentence for whatever went wrong ----


def explain(said, otherwise):
    """The sentence for a full disk or a locked folder, wherever it was met."""
    if re.search(r"\[Errno (28|69|122)\]|No space left|\[WinError 112\]", said):
        free = shutil.disk_usage(ROOT).free // 2**20
        return f"the disk under {ROOT} is full ({free} MB left): make room, 2 to 8 GB, and run the same command again"
    denied = re.search(r"\[(Errno (?:1|13|30)|WinError (?:5|32))\][^'\n]*(?:'(.*?)')?", said)
    if denied:
        in_use = "Win" in denied.group(1)
        advice = "close the programs that use it" if in_use else "copy the course to a folder of your own"
        return f"{denied.group(2) or ROOT} cannot be written: {advice}, and run start.py again"
    return otherwise


def explain_pip(said):
    """The sentence for a failure of pip's; where we do not know it, pip's own."""
    missing = re.search(r"No matching distribution found for (\S+)", said)
    errors = re.findall(r"^\s*(?:ERROR|error): (?!Exception:)(.*)", said, re.MULTILINE)
    sentence = "pip failed: " + (errors or said.strip().splitlines() or ["it said nothing"])[-1]
    if re.search("connection broken|Could not fetch|name resolution|TimeoutError|ConnectionPool|IncompleteRead", said):
        sentence = ("the packages cannot be downloaded: check the connection to the internet, and run the same "
                    "command again")
    elif missing:
        sentence = (f"there is no {missing.group(1)} for Python {this_python()} on this kind of machine: use a 64-bit "
                    "Python 3.11, 3.12 or 3.13")
    return explain(said, otherwise=f"{sentence} (all that pip said: {LOG})")


def this_python():
    """The version as people say it."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


# ---- Handing over ----


def environment(**more):
    """The caller's environment with .venv in front."""
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    kept.setdefault("PIP_RETRIES", "2")  # without a network, say so soon
    path = BIN + os.pathsep + kept.get("PATH", os.defpath)
    ours = {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return {**kept, **ours, "VIRTUAL_ENV": VENV, "PATH": path, **more}


def command_for(arguments):
    """What to run, and in which folder."""
    name, rest = arguments[0], arguments[1:]
    if name == "lab":
        named = [os.path.abspath(word) if os.path.exists(word) else word for word in rest]
        if not any(word.endswith(".ipynb") or os.path.isdir(word) for word in named):
            named = first_lesson() + named
        paths = [os.path.join(ROOT, word) for word in named if not word.startswith("-")]
        if all(path.startswith(ROOT + os.sep) for path in paths) and "root_dir" not in " ".join(rest):
            named.append("--ServerApp.root_dir=" + ROOT)  # solutions and the glossary can be opened, too
        if getattr(os, "geteuid", lambda: 1)() == 0:  # in most containers everybody is root
            named.append("--allow-root")
        return [PYTHON, "-m", "jupyter", "lab"] + named, ROOT
    if name == "test":
        return [PYTHON, "-m", "pytest"] + rest, ROOT
    if name == "update":
        python = PYTHON if os.path.exists(PYTHON) else sys.executable
        return [python, "-m", "upkeep.update"] + rest, os.path.join(ROOT, "course_lib")
    program = shutil.which(name, path=environment()["PATH"])
    if not program:
        raise Stop(f"there is no command {name!r} here; `python3 start.py --help` shows what there is")
    return [program] + rest, os.getcwd()


def first_lesson():
    """The notebook a learner begins with, if the lessons are there."""
    folder = os.path.join(ROOT, "lessons")
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    return [os.path.join("lessons", name) for name in names if name.endswith(".ipynb")][:1]


def hand_over(command, folder):
    """Become the command; where Windows has no such thing, wait for it and pass its exit status on."""
    os.chdir(folder)
    if os.name != "nt":
        os.execve(command[0], command, environment())
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the command's to answer
    return subprocess.call(command, env=environment())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
