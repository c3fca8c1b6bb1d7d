"""Which parts of a text the formatter must leave as they are: between `fmt: off` marks, and outside the lines it was asked for."""

from __future__ import annotations

import re
from bisect import bisect_right

__all__ = ["KeptText", "kept_text"]

_MARK = re.compile(
    r"^[ \t]*+//[ \t]*+hlotool:[ \t]*+fmt[ \t]++(?P<word>off|on)\b[^\n]*+$|//[ \t]*+hlotool:[ \t]*+fmt[ \t]++(?P<skip>skip)\b", re.MULTILINE
)


class KeptText:
    """Ranges of whole lines, sorted and apart, as offsets; an item is kept when it touches one, and so is the whitespace around it.

    >>> kept = KeptText([(10, 20)])
    >>> kept.touches(15, 30), kept.touches(20, 30), kept.cuts(5, 25)
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

    def touches(self, start: int, end: int) -> bool:
        """Whether text[start:end] has a kept character."""
        k = bisect_right(self.ends, start)
        return k < len(self.starts) and self.starts[k] < end

    def cuts(self, start: int, end: int) -> list[tuple[int, int, bool]]:
        """text[start:end] in parts, each with whether it is kept."""
        parts, at = [], start
        k = bisect_right(self.ends, start)
        while k < len(self.starts) and self.starts[k] < end:
            low, high = max(self.starts[k], at), min(self.ends[k], end)
            if low > at:
                parts.append((at, low, False))
            parts.append((low, high, True))
            at = high
            k += 1
        if at < end:
            parts.append((at, end, False))
        return parts


def kept_text(text: str, selected: tuple[int, int] | None) -> KeptText:
    """What is kept of a text: by its own marks, and when offsets of whole lines are selected, everything outside."""
    ranges = []
    if "hlotool:" in text:
        ranges = _marked(text)
    if selected is not None:
        ranges += [(0, selected[0]), (selected[1], len(text))]
    return KeptText([(start, end) for start, end in ranges if start < end])


def _marked(text: str) -> list[tuple[int, int]]:
    ranges = []
    off = -1
    for mark in _MARK.finditer(text):
        line_end = text.find("\n", mark.end()) + 1 or len(text)
        if mark["skip"]:
            ranges.append((text.rfind("\n", 0, mark.start()) + 1, line_end))
        elif mark["word"] == "off" and off < 0:
            off = mark.start()
        elif mark["word"] == "on" and off >= 0:
            ranges.append((off, line_end))
            off = -1
    if off >= 0:
        ranges.append((off, len(text)))
    return ranges
