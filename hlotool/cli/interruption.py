"""Ends commands on Ctrl-C and SIGTERM, cleaning up their files and processes.

This works even during a long NumPy call, when Python handles no signals.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType, TracebackType

__all__ = ["TERMINATED", "PromptEnd", "Terminated", "end_process", "raise_on_termination"]

TERMINATED = 128 + 15
"""The exit code that shells report for a program ended by SIGTERM."""

# The time, in seconds, that a command has to end by itself.
_GRACE = 0.5


class Terminated(BaseException):
    """Raised when SIGTERM is received.

    It is not an Exception, so that no handler mistakes it for an error in one file.
    """


def raise_on_termination() -> None:
    """Makes SIGTERM raise Terminated, so that cleanup code runs.

    Has an effect only in the main thread.
    """

    def terminated(number: int, frame: FrameType | None) -> None:
        raise Terminated

    # If the parent ignores the signal, as nohup ignores SIGHUP, its children should ignore it, too.
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, terminated)


def end_process(exit_code: int) -> None:
    """Ends the process at once, without leaving temporary files."""
    # If the module has not been imported, nothing has been written.
    writing = sys.modules.get("hlotool.workspace.writing")
    if writing is not None:
        writing.remove_temporaries()
    os._exit(exit_code)


class PromptEnd:
    """A context manager that makes signals end the process promptly.

    Python handles signals only between bytecode instructions, and one NumPy call may take
    minutes, so a thread waits for signals, too.
    """

    def __init__(self) -> None:
        self.left = threading.Event()
        self.before = -1
        self.written = -1

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        read, self.written = os.pipe()
        os.set_blocking(self.written, False)
        self.before = signal.set_wakeup_fd(self.written, warn_on_full_buffer=False)
        threading.Thread(target=self._wait, args=(read,), daemon=True).start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.left.set()
        if self.written >= 0:
            signal.set_wakeup_fd(self.before)
            os.close(self.written)

    def _wait(self, read: int) -> None:
        while numbers := os.read(read, 1):
            if numbers[0] in (signal.SIGINT, signal.SIGTERM) and not self.left.wait(_GRACE):
                end_process(128 + numbers[0])
        os.close(read)
