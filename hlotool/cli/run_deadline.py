"""Ends the process when a run goes on long after its time.

The evaluator asks for the time between instructions, and one instruction may take hours in NumPy, which neither signals nor other threads can stop.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType

from hlotool.cli.output import complain

__all__ = ["Deadline"]

# What the evaluator needs at most between instructions to find out by itself, and say where it was.
_GRACE = 1.0
# Timers cannot wait longer.
_LONGEST = threading.TIMEOUT_MAX / 2


class Deadline:
    """A context that must be left within so many seconds; None for any time."""

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
