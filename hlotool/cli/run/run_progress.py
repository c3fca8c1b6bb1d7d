"""A line on the terminal that shows the progress of a long run until the run ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

from hlotool.cli.output import visible
from hlotool.interp.engine.observers import Observer, RunPosition
from hlotool.ir.model import Instruction

__all__ = ["RunProgress", "is_wanted"]

_PATIENCE, _INTERVAL = 2.0, 0.25
_CLEAR = "\r\x1b[K"
_WIDTH = 78


def is_wanted(*, quiet: bool) -> bool:
    """Returns whether standard error is a terminal and progress is not switched off."""
    return not quiet and sys.stderr is not None and sys.stderr.isatty()


class RunProgress(Observer):
    """The progress line: the outermost and the innermost instruction being computed.

    For a loop, the line also shows the iteration.
    """

    needs_only_reached = True

    def __init__(self) -> None:
        self.start_time = time.monotonic()
        self.due = self.start_time + _PATIENCE
        self.done = 0
        self.is_shown = False
        self.current: Instruction | None = None
        self.iteration = -1

    def started(self, where: RunPosition, instruction: Instruction) -> None:
        now = time.monotonic()
        if now >= self.due:
            self._show(self.line(where, now), now)

    def reached(self, instruction: Instruction) -> None:
        # A loop is also reached once before its first iteration.
        self.iteration = self.iteration + 1 if instruction is self.current else -1
        self.current = instruction
        now = time.monotonic()
        if now >= self.due:
            iteration = f" iteration {self.iteration}" if self.iteration >= 0 else ""
            self._show(f"{now - self.start_time:.0f} s  {instruction.name}{iteration}", now)

    def _show(self, line: str, now: float) -> None:
        self.due = now + _INTERVAL
        self.is_shown = True
        sys.stderr.write(_CLEAR + visible(line)[:_WIDTH])
        sys.stderr.flush()

    def ended(self, where: RunPosition, instruction: Instruction, operands: Sequence[Any], value: Any) -> None:
        self.done += 1

    def line(self, where: RunPosition, now: float) -> str:
        """Returns a line such as `12 s  3,456 instructions  while.5 iteration 17  dot.3`."""
        names = []
        for frame in (where.frames[0], where.frames[-1]) if len(where.frames) > 1 else where.frames:
            names.append(frame.instruction.name + ("" if frame.iteration is None else f" iteration {frame.iteration}"))
        return f"{now - self.start_time:.0f} s  {self.done:,} {'instruction' if self.done == 1 else 'instructions'}  {'  '.join(names)}"

    def clear(self) -> None:
        """Removes the line."""
        if self.is_shown:
            self.is_shown = False
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
