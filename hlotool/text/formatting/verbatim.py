"""Finds the parts of a source that the formatter keeps verbatim.

These are the lines between `fmt: off` and `fmt: on`, lines with `fmt: skip`, and unselected lines.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from hlotool.text.source.trivia import comment_spans

__all__ = ["VerbatimRanges", "verbatim_ranges"]

_DIRECTIVE = re.compile(
    r"^[ \t]*+//[ \t]*+hlotool:[ \t]*+fmt[ \t]++(?P<word>off|on)\b[^\n]*+$|//[ \t]*+hlotool:[ \t]*+fmt[ \t]++(?P<skip>skip)\b", re.MULTILINE
)


class VerbatimRanges:
    """Sorted, disjoint ranges of whole lines, as offsets.

    An item that overlaps a range stays verbatim, as does the whitespace around it.

    >>> verbatim = VerbatimRanges([(10, 20)])
    >>> verbatim.overlaps(15, 30), verbatim.overlaps(20, 30), verbatim.split(5, 25)
    (True, False, [(5, 10, False), (10, 20, True), (20, 25, False)])
    """

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        for start, end in sorted(ranges):
            if self.ends and start <= self.ends[-1]:
                self.ends[-1] = max(end, self.ends[-1])
            else:
                self.starts.append(start)
                self.ends.append(end)

    def __bool__(self) -> bool:
        return bool(self.starts)

    def overlaps(self, start: int, end: int) -> bool:
        """Returns whether text[start:end] has any verbatim characters."""
        k = bisect_right(self.ends, start)
        return k < len(self.starts) and self.starts[k] < end

    def split(self, start: int, end: int) -> list[tuple[int, int, bool]]:
        """Splits text[start:end] at the bounds of the ranges, into (start, end, is verbatim)."""
        parts, position = [], start
        k = bisect_right(self.ends, start)
        while k < len(self.starts) and self.starts[k] < end:
            low, high = max(self.starts[k], position), min(self.ends[k], end)
            if low > position:
                parts.append((position, low, False))
            parts.append((low, high, True))
            position = high
            k += 1
        if position < end:
            parts.append((position, end, False))
        return parts


def verbatim_ranges(text: str, selected: tuple[int, int] | None) -> VerbatimRanges:
    """Returns the ranges between directives, and everything outside the `selected` lines.

    `selected` is given as start and end offsets.
    """
    ranges = []
    if "hlotool:" in text:
        ranges = _directive_ranges(text)
    if selected is not None:
        ranges += [(0, selected[0]), (selected[1], len(text))]
    verbatim = VerbatimRanges([(start, end) for start, end in ranges if start < end])
    if not verbatim or "/*" not in text:
        return verbatim
    # If any part of a comment is verbatim, the whole comment is kept verbatim.
    return VerbatimRanges([*zip(verbatim.starts, verbatim.ends, strict=True), *(span for span in comment_spans(text) if verbatim.overlaps(*span))])


def _directive_ranges(text: str) -> list[tuple[int, int]]:
    ranges = []
    off_start = -1
    for directive in _DIRECTIVE.finditer(text):
        line_end = text.find("\n", directive.end()) + 1 or len(text)
        if directive["skip"]:
            ranges.append((text.rfind("\n", 0, directive.start()) + 1, line_end))
        elif directive["word"] == "off" and off_start < 0:
            off_start = directive.start()
        elif directive["word"] == "on" and off_start >= 0:
            ranges.append((off_start, line_end))
            off_start = -1
    if off_start >= 0:
        ranges.append((off_start, len(text)))
    return ranges
