"""`python -m MODULE` in a fork of a process that has imported torch and nbformat, for which a new Python needs 1.5 s.

course_lib is not among them: a command takes it from its own folder, as it would in a new Python.
"""

import atexit
import faulthandler
import gc
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path

SECONDS = 600  # after which a command ends with the places where it hangs


def run(folder, *command):
    """What a command said in a folder whose course_lib it uses: a CompletedProcess.

    command: "-m" and a module, or "-c" and some code; then its arguments
    """
    if not hasattr(os, "fork"):
        return subprocess.run([sys.executable, *command], cwd=folder, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(folder)})
    with tempfile.TemporaryDirectory() as said:
        out, err = Path(said, "out"), Path(said, "err")
        template = _template()
        template.stdin.write(json.dumps([str(folder), command, str(out), str(err)]) + "\n")
        template.stdin.flush()
        code = int(template.stdout.readline())
        return subprocess.CompletedProcess(command, code, out.read_text("utf-8"), err.read_text("utf-8"))


@cache
def _template():
    """The process that forks, of this test run; it ends with it, when nobody can ask it any more."""
    return subprocess.Popen([sys.executable, __file__], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _fork_for_ever():
    """Fork for each job that comes in and say how it ended; in the fork, return the job."""
    import nbformat  # noqa: F401
    import torch  # noqa: F401

    gc.freeze()  # nothing of it is ever looked through, or copied, in a fork
    while line := sys.stdin.readline():
        if not (child := os.fork()):
            return json.loads(line)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.exit()


def _be_a_new_python(folder, command, out, err):
    """Do what `python -m ...` or `python -c ...` would do in a folder."""
    for number, path, how in ((0, os.devnull, "rb"), (1, out, "wb"), (2, err, "wb")):
        with open(path, how) as file:
            os.dup2(file.fileno(), number)
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    os.chdir(folder)
    os.environ["PYTHONPATH"] = sys.path[0] = folder
    kind, what, *arguments = command
    sys.argv = [kind, *arguments]
    if kind == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(what, {"__name__": "__main__"})


def _exit_status(of, *arguments):
    """How a Python ends that does this; a traceback is on stderr."""
    try:
        of(*arguments)
    except SystemExit as end:
        if isinstance(end.code, int | None):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    job = _fork_for_ever()
    status = _exit_status(_be_a_new_python, *job)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)  # half a second sooner than a Python that takes torch apart
