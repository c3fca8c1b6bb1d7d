"""What stands between two items: comments and empty lines, made even; and text that must stay as it is.

It reads the source and returns text; which items there are is the writer's business.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from hlotool.text.formatting.kept import KeptText
from hlotool.text.source.trivia import COMMENT

__all__ = ["Gap", "read_gap"]

_COMMENT = re.compile(COMMENT)


class _Remark(NamedTuple):
    """A comment, or kept text, and the number of line ends before it."""

    lines: int
    text: str
    is_kept: bool


class Gap(NamedTuple):
    """The remarks of a gap, and the number of line ends after the last."""

    remarks: list[_Remark]
    lines: int

    @property
    def joins_next(self) -> bool:
        """Whether what follows stands on the line of the last remark."""
        if self.lines or not self.remarks:
            return False
        last = self.remarks[-1]
        return last.is_kept or (last.lines > 0 and not last.text.startswith("//"))

    def text(self, newline: str, indent: str, *, at_start: bool, empty_first: int | None, empty_last: int | None) -> str:
        """The remarks on their lines, and the line end before what follows.

        `empty_first` and `empty_last` are the numbers of empty lines before the first line and before what follows the gap; None
        keeps one where there is one.
        """
        out: list[str] = []
        fresh = at_start
        wish = empty_first
        for lines, text, is_kept in self.remarks:
            if not lines and not fresh:
                out.append(text if is_kept else f" {text}")
                # Kept text brings its own empty lines.
                wish = None if is_kept else wish
            else:
                out.append("" if fresh else _line_end(newline, lines, wish))
                out.append(text if is_kept else indent + text)
                wish = None
            fresh = False
        if self.joins_next:
            out.append("" if self.remarks[-1].is_kept else " ")
        elif not fresh:
            out.append(_line_end(newline, self.lines, empty_last if wish is None or empty_last == 0 else wish))
        return "".join(out)


def _line_end(newline: str, lines: int, empty: int | None) -> str:
    return newline * (1 + (int(lines > 1) if empty is None else empty))


def read_gap(source: str, start: int, end: int, kept: KeptText, hoisted: list[str]) -> Gap:
    """The gap source[start:end]; `hoisted` comments are added after its own, each on a line."""
    remarks: list[_Remark] = []
    # What stands first in a text begins a line.
    lines = int(start == 0)
    for low, high, is_kept in kept.cuts(start, end) if kept else ((start, end, False),):
        if is_kept:
            text = source[low:high]
            # The line end that it brings along is counted, so that what follows need not know.
            bare = text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
            remarks.append(_Remark(lines, bare, True))
            lines = int(bare is not text)
            continue
        at = low
        for match in _COMMENT.finditer(source, low, high):
            remarks.append(_Remark(lines + source.count("\n", at, match.start()), match[0].rstrip(), False))
            lines, at = 0, match.end()
        lines += source.count("\n", at, high)
    if hoisted:
        first = max(lines, 1)
        remarks += [_Remark(first if k == 0 else 1, comment, False) for k, comment in enumerate(hoisted)]
        lines = 1
    return Gap(remarks, lines)
