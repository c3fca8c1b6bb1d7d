"""Ends the process if its work continues well past its time limit.

Executors check the time only between instructions, and one instruction may take hours in NumPy,
which neither signals nor other threads can interrupt.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from hlotool.cli.interruption import end_process
from hlotool.cli.output import OutputError, complain
from hlotool.errors import HlotoolError

__all__ = ["Deadline", "TimeoutExceeded"]

# The time, in seconds, that an executor has to notice the timeout itself and report the
# instruction.
_GRACE = 1.0
# In seconds. Timers cannot wait much longer than this.
_LONGEST = threading.TIMEOUT_MAX / 2


class TimeoutExceeded(HlotoolError):
    """Raised when a command has exceeded its time limit."""

    exit_code = 2


class Deadline:
    """A context manager whose block must end within a number of seconds; None means no limit.

    `work` is the name of the limited work in messages.
    """

    def __init__(self, seconds: float | None, work: str = "run") -> None:
        self.seconds = seconds
        self.work = work
        self.end = None if seconds is None else time.monotonic() + seconds
        self.timer: threading.Timer | None = None
        if seconds is not None and seconds < _LONGEST:
            self.timer = threading.Timer(seconds + _GRACE, self._end)
            self.timer.daemon = True

    def __enter__(self) -> Self:
        if self.timer is not None:
            self.timer.start()
        return self

    def check(self) -> None:
        """Raises TimeoutExceeded if the time is up; called between the phases of a command."""
        if self.end is not None and time.monotonic() > self.end:
            raise TimeoutExceeded(f"the {self.work} took longer than {self.seconds:g} s")

    def stop(self) -> None:
        """Lifts the limit, since the limited work is done."""
        self.end = None
        if self.timer is not None:
            self.timer.cancel()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        self.stop()

    def _end(self) -> None:
        try:
            complain(f"the {self.work} took longer than {self.seconds:g} s; it was stopped in an operation that cannot be interrupted")
        except OutputError:
            # Standard output is closed or full, so nothing can be reported.
            pass
        finally:
            end_process(2)
