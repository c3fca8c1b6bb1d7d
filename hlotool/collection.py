"""Pauses garbage collection during work that creates no cyclic garbage."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["no_garbage_collection"]


class _Pause:
    """A count of the threads that have paused the garbage collector.

    A process has only one collector. The last thread to finish turns it back on.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.holders = 0
        self.was_enabled = False

    def begin(self) -> None:
        with self.lock:
            if self.holders == 0:
                self.was_enabled = gc.isenabled()
                gc.disable()
            self.holders += 1

    def end(self) -> None:
        with self.lock:
            self.holders -= 1
            if self.holders == 0 and self.was_enabled:
                gc.enable()

    def after_fork(self) -> None:
        """Resets the counter in a forked process.

        Only the forking thread exists in the new process, and another thread may have held the
        lock.
        """
        self.lock = threading.Lock()
        if self.holders and self.was_enabled:
            gc.enable()
        self.holders = 0


_pause = _Pause()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pause.after_fork)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Pauses the garbage collector in a `with` block.

    Parsing and verifying create no cyclic garbage worth collecting, and the collector would take a
    third of their time.

    >>> with no_garbage_collection():
    ...     gc.isenabled()
    False
    """
    _pause.begin()
    try:
        yield
    finally:
        _pause.end()
