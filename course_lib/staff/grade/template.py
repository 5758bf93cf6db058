"""The process that was forked before the command had anything to hide: it waits to become the template of students'."""

import contextlib
import json
import os
import socket
import subprocess
import time

_waiting = []  # in the command's process, the Template that nobody has taken yet


class Template:
    """A process that has imported torch, and waits to be told which file to run; as a Popen it can be waited for.

    process: its number
    control: the socket to it; where that closes, it ends
    """

    def __init__(self, process, control):
        self.process, self.control, self.has_ended = process, control, False

    def run(self, arguments, environment, folder, sockets):
        """Have it run a Python file with arguments, the last of which are the descriptors of sockets; does it?"""
        with self.control, contextlib.suppress(OSError):
            socket.send_fds(self.control, [json.dumps([arguments, environment, folder]).encode()],
                            [s.fileno() for s in sockets])
            return True
        return False

    def wait(self, seconds=None):
        """Wait until it has ended; TimeoutExpired where it has not in so many seconds."""
        ends = time.monotonic() + (seconds or 0)
        while not self.has_ended:
            self.has_ended = os.waitpid(self.process, os.WNOHANG if seconds else 0)[0] > 0
            if seconds and not self.has_ended:
                if time.monotonic() > ends:
                    raise subprocess.TimeoutExpired("template", seconds)
                time.sleep(0.01)

    def kill(self):
        """End it at once, where it has not ended."""
        if not self.has_ended:
            os.kill(self.process, 9)


def keep(template):
    """Leave a Template for whoever takes it."""
    _waiting[:] = [template]


def take():
    """The Template that was kept, once; None where there is none."""
    return _waiting.pop() if _waiting else None
