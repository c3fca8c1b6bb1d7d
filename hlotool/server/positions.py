"""Converts between offsets into a string and positions of the Language Server Protocol.

A position consists of a line and a column, both 0-based. Columns are measured in code units of the
position encoding: UTF-8, UTF-16 or UTF-32.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate

from lsprotocol import types

__all__ = ["LineTable"]

_LINE_END = re.compile(r"\r\n|\n|\r")
_LAST_BMP_CHARACTER = "\uffff"


def _utf16(text: str) -> int:
    return len(text) + sum(c > _LAST_BMP_CHARACTER for c in text)


def _utf8(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


_UNITS: dict[str, Callable[[str], int]] = {
    types.PositionEncodingKind.Utf8.value: _utf8,
    types.PositionEncodingKind.Utf16.value: _utf16,
    types.PositionEncodingKind.Utf32.value: len,
}
"""Functions that count the code units of a string, by encoding."""


class LineTable:
    """A table of the lines of a string, by their start offsets.

    As in the protocol, a line ends with a line feed, a carriage return, or both.

    >>> table = LineTable("a\\U0001f600b\\nc")
    >>> table.position(2), table.offset(types.Position(0, 3)), table.offset(types.Position(7, 0))
    (0:3, 2, 5)
    """

    def __init__(self, text: str, encoding: str = types.PositionEncodingKind.Utf16.value) -> None:
        self.text = text
        self._units = _UNITS[encoding]
        # In most documents, every character is one code unit.
        self._is_plain = text.isascii()
        if "\r" in text:
            self.starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
        else:
            self.starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))][:-1]

    def line_of(self, offset: int) -> int:
        """Returns the line number of an offset, counted from 0."""
        return max(0, bisect_right(self.starts, offset) - 1)

    def line_span(self, line: int) -> tuple[int, int]:
        """Returns the start and end offsets of a line, excluding its line break.

        Lines outside the text are clamped.
        """
        line = max(0, min(line, len(self.starts) - 1))
        start = self.starts[line]
        end = self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text)
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        return start, end

    def position(self, offset: int) -> types.Position:
        """Returns the position of an offset; offsets outside the text are clamped."""
        offset = max(0, min(offset, len(self.text)))
        line = self.line_of(offset)
        start = self.starts[line]
        return types.Position(line, offset - start if self._is_plain else self._units(self.text[start:offset]))

    def range(self, start: int, end: int) -> types.Range:
        """Returns the range between two offsets."""
        return types.Range(self.position(start), self.position(max(start, end)))

    def offset(self, position: types.Position) -> int:
        """Returns the offset of a position; positions outside the text are clamped.

        This is the inverse of `position`.
        """
        if position.line < 0:
            return 0
        if position.line >= len(self.starts):
            return len(self.text)
        start, end = self.line_span(position.line)
        column = max(0, position.character)
        if self._is_plain or self._units is len:
            return min(start + column, end)
        for at in range(start, end):
            if column <= 0:
                return at
            column -= self._units(self.text[at])
        return end

    def span(self, area: types.Range) -> tuple[int, int]:
        """Returns the start and end offsets of a range, the smaller offset first."""
        start, end = self.offset(area.start), self.offset(area.end)
        return min(start, end), max(start, end)
