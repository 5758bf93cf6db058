"""The same grading, spread over the workers of a Dask cluster (an extra: pip install -e ".[dask]")."""

import tempfile
import threading
from pathlib import Path

from course_lib.staff.grade import confine
from course_lib.staff.grade.lane import LaneError, write_root
from course_lib.staff.grade.lanes import marker, timed

SECONDS = 20  # in which the scheduler has to answer
_one_at_a_time = threading.Lock()  # a judge speaks with one child
_judge = None  # of this worker: (recipe, Marker, the folder of its template)


def graded(waiting, recipe, address):
    """Grade submissions on a cluster: yields (Submission, Marks, seconds) as they are done.

    waiting: an iterator of Submissions, of which two for each worker's thread are held at once
    recipe:  as `lanes.marker` takes it; the folder and the level are each worker's own
    address: of the scheduler, such as tcp://host:8786
    raises:  LaneError where the cluster cannot be reached, or a worker cannot confine students' code
    """
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise LaneError('--dask needs the extra "dask": run pip install -e ".[dask]".') from None
    try:
        client = Client(address, timeout=SECONDS)
    except (OSError, ValueError) as error:
        raise LaneError(f"the Dask scheduler {address} cannot be reached: {error}") from None
    with client:
        doing, done = {}, as_completed()

        def give():
            if submission := next(waiting, None):
                future = client.submit(mark_one, recipe, submission, pure=False, retries=3)
                doing[future.key] = submission
                done.add(future)

        for _ in range(2 * max(1, sum(client.nthreads().values()))):
            give()
        for future in done:
            yield (doing.pop(future.key), *future.result())
            give()


def mark_one(recipe, submission):
    """The Marks of one submission and the seconds it took, on a worker."""
    global _judge
    with _one_at_a_time:
        if _judge is None or _judge[0] != recipe:
            _judge = (recipe, *_begin(recipe))
        return timed(_judge[1], submission)


def _begin(recipe):
    """A judge with a template of its own, at the best level that this worker enforces."""
    _, _, exercises, seed, stamp, limits = recipe
    level = confine.probe()
    if level == "C" and "unsandboxed" not in stamp:
        raise LaneError(f"a Dask worker cannot confine students' code. {confine.missing(level)}")
    folder = tempfile.TemporaryDirectory(prefix="grade-")
    write_root(Path(folder.name))
    stamp = level if level != "C" else stamp
    return marker((folder.name, level, exercises, seed, stamp, limits)), folder
