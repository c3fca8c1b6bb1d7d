"""Reads runs of lines with regular expressions, for the parser's fast path and the formatter.

Decides where a run can begin; subclasses read the lines.
"""

from __future__ import annotations

from abc import abstractmethod

from hlotool.text.parse.line_reader import LineReader
from hlotool.text.parse.patterns import Patterns, patterns
from hlotool.text.source.trivia import skip_trivia

__all__ = ["RunReader"]


class RunReader(LineReader):
    """A reader of lines that are spelled as XLA prints them."""

    def __init__(self) -> None:
        self.patterns: Patterns = patterns()
        self.reserved = self.patterns.reserved
        # The offsets of the last failed attempts, so that the attempts are not repeated.
        self._failed_run = -1
        self._failed_computation = -1

    @abstractmethod
    def _read_header(self, text: str, position: int) -> bool:
        """Reads a module's header for `_take_header`; returns False if it needs the grammar."""

    @abstractmethod
    def _take_header(self) -> int:
        """Consumes the header that was read last and returns the offset after it."""

    @abstractmethod
    def _computations(self, text: str, position: int) -> tuple[int, bool]:
        """Consumes computations.

        Returns the offset after them, and whether the last one is still open there.
        """

    @abstractmethod
    def _run(self, text: str, position: int) -> int:
        """Consumes instructions; returns the offset after them, or `position` if there are none."""

    def announce(self, text: str, position: int, accepted: frozenset[str]) -> str | None:
        if "FAST_HEADER" in accepted:
            return "FAST_HEADER" if self._read_header(text, position) else None
        start = skip_trivia(text, position)
        if start and "\n" not in text[position:start]:
            # The patterns are tried only at the start of a line: trying them at every word of a
            # long line would take quadratic time.
            return None
        if "FAST_COMPUTATIONS" in accepted:
            if start != self._failed_computation and self.patterns.computation.match(text, start):
                return "FAST_COMPUTATIONS"
        elif "FAST_RUN" in accepted and start != self._failed_run and self.patterns.line.match(text, start):
            return "FAST_RUN"
        return None

    def consume(self, kind: str, text: str, position: int) -> tuple[int, bool]:
        if kind == "FAST_HEADER":
            return self._take_header(), False
        start = skip_trivia(text, position)
        if kind == "FAST_COMPUTATIONS":
            end, still_open = self._computations(text, start)
            if end == start:
                self._failed_computation = start
            return end, still_open
        end = self._run(text, start)
        if end == start:
            self._failed_run = start
        return end, False
