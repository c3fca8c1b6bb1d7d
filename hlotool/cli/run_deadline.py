"""Ends the process if a run exceeds its time by far.

Executors check the time between instructions only, and one instruction may take hours in NumPy, which neither signals nor other threads
can interrupt.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType

from hlotool.cli.output import complain

__all__ = ["Deadline"]

# The time that an executor has to notice by itself, and to tell the instruction.
_GRACE = 1.0
# The limit of timers.
_LONGEST = threading.TIMEOUT_MAX / 2


class Deadline:
    """A context that must be left within a number of seconds; None for no limit."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self.timer: threading.Timer | None = None
        if seconds is not None and seconds < _LONGEST:
            self.timer = threading.Timer(seconds + _GRACE, self._end)
            self.timer.daemon = True

    def __enter__(self) -> None:
        if self.timer is not None:
            self.timer.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self.timer is not None:
            self.timer.cancel()

    def _end(self) -> None:
        complain(f"the run took longer than {self.seconds:g} seconds; it was stopped in an instruction that cannot be interrupted")
        os._exit(2)
