"""Stop what does not end by itself."""

import contextlib
import signal
import threading


class TookTooLong(BaseException):
    """What ran did not end in time. No Exception, so that code which catches those does not catch it."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raise TookTooLong in the block after so many seconds, and again each second until it gives up.

    Only Python code can be stopped, and only in the main thread of a system with POSIX signals; elsewhere there is no
    limit, and a person interrupts the kernel.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    inside = True

    def stop(*_):
        if inside:
            raise TookTooLong(f"it did not end within {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds, 1)
    try:
        yield
    finally:
        inside = False
        signal.setitimer(signal.ITIMER_REAL, *timer)
        signal.signal(signal.SIGALRM, before)
