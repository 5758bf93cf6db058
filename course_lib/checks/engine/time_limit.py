"""Stop what does not end by itself."""

import contextlib
import math
import signal
import threading
import time

HAD = ", of which it had the processor for"


class Allowance:
    """So many seconds of work of this thread, and no more than three times as many on the clock on the wall.

    Whoever waits for it waits longer beside a training that runs, and is told no less.
    """

    def __init__(self, seconds=math.inf):
        self.work, self.wall = time.thread_time() + seconds, time.monotonic() + 3 * seconds

    def is_over(self):
        return time.thread_time() > self.work or time.monotonic() > self.wall


UNBOUNDED = Allowance()


class TookTooLong(BaseException):
    """What ran did not end in time. No Exception, so that code which catches those does not catch it."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raise TookTooLong in the block after so many seconds, and again each second until it gives up.

    Where it had less than half of that time of a processor, since others worked or it waited, the message says so.
    Only Python code can be stopped, and only in the main thread of a system with POSIX signals; elsewhere there is no
    limit, and a person interrupts the kernel.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    inside, began = True, time.process_time()

    def stop(*_):
        if inside:
            worked = time.process_time() - began
            waited = f"{HAD} {worked:.1f}" if worked < seconds / 2 else ""
            raise TookTooLong(f"it did not end within {seconds:g} seconds{waited}")

    before = signal.signal(signal.SIGALRM, stop)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        inside = False
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)
