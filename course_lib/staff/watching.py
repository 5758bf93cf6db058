"""Build a lesson each time that its text is saved."""

import subprocess
import sys
import time

from course_lib.staff.lesson_text import ROOT, SOLUTIONS, notebook_stems, number_of

SECONDS = 0.5  # between two looks at the texts


def watch(numbers=(), options=()):
    """Look at the texts until Ctrl-C, and print a line for each build; an error in a text is such a line, too.

    numbers: the lessons to build; all of them where it is empty
    options: of the build, for each one

    Every build is a process of its own: it sees course_lib as it is then.
    """
    try:
        before = _saved()
        print("Watching solutions/: a lesson is built when its text is saved. Ctrl-C ends this.", flush=True)
        while True:
            time.sleep(SECONDS)
            now = _saved()
            changed = sorted({number_of(stem) for stem in now if now[stem] != before.get(stem)})
            before = now  # what is saved during a build is built after it
            if chosen := [number for number in changed if not numbers or number in numbers]:
                for line in _built([*options, *chosen]):
                    print(time.strftime("%H:%M:%S"), line, flush=True)
    except KeyboardInterrupt:
        return 0


def _saved():
    """When each text was saved; one that an editor is just replacing is left out."""
    times = {}
    for stem in notebook_stems():
        try:
            found = (SOLUTIONS / f"{stem}.py").stat()
        except OSError:
            continue
        times[stem] = found.st_mtime_ns, found.st_size
    return times


def _built(arguments):
    """Build, and what there is to say about it: for each lesson a line, or why none was built."""
    done = subprocess.run([sys.executable, "-m", "course_lib.staff.build", *arguments], cwd=ROOT, text=True,
                          encoding="utf-8", errors="replace", capture_output=True)
    made = done.stdout.splitlines()
    if not done.returncode:
        return made
    said = done.stderr.strip().splitlines() or [f"the build ended with status {done.returncode}"]
    is_traceback = any(line.startswith("Traceback") for line in said)
    return made + (said[-1:] if is_traceback else said)
