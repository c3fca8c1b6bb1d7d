"""Finds changed lines, in nearly linear time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hlotool.analysis.sequences import longest_increasing

__all__ = ["LineChange", "line_changes"]

# The number of lines to search for the next equal line.
_MAX_LOOKAHEAD = 200


class LineChange(NamedTuple):
    """A replacement of lines.

    The lines `first` to `last` before the change are replaced with the lines `new_first` to
    `new_last` after the change. The ends are exclusive.
    """

    first: int
    last: int
    new_first: int
    new_last: int


def line_changes(before: Sequence[str], after: Sequence[str]) -> Iterator[LineChange]:
    """Yields the changes between two sequences of lines, in order.

    Lines that occur once in each sequence, as most lines of a module do, are matched at any
    distance, as in a patience diff. Between two such lines, a search for the next equal line finds
    the changes.

    >>> [tuple(change) for change in line_changes("abcde", "acdxe")]
    [(1, 2, 1, 1), (4, 4, 3, 4)]
    """
    start, pending = (0, 0), None
    for anchor in (*_anchors(before, after), (len(before), len(after))):
        for change in _between(before, after, *start, *anchor):
            if pending is not None and (pending.last, pending.new_last) == (change.first, change.new_first):
                pending = LineChange(pending.first, change.last, pending.new_first, change.new_last)
                continue
            if pending is not None:
                yield pending
            pending = change
        start = anchor
    if pending is not None:
        yield pending


def _anchors(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Returns the positions of lines that occur once in each sequence, except for moved lines."""
    counts, other_counts = Counter(before), Counter(after)
    positions = {line: k for k, line in enumerate(after) if other_counts[line] == 1}
    pairs = [(k, positions[line]) for k, line in enumerate(before) if counts[line] == 1 and line in positions]
    kept = longest_increasing([position for _, position in pairs])
    return [pair for k, pair in enumerate(pairs) if k in kept]


def _between(before: Sequence[str], after: Sequence[str], i: int, j: int, last: int, new_last: int) -> Iterator[LineChange]:
    """Yields the changes from the lines `i` to `last` to the lines `j` to `new_last`."""
    while i < last or j < new_last:
        if i < last and j < new_last and before[i] == after[j]:
            i, j = i + 1, j + 1
            continue
        x, y = _next_equal(before, after, i, j, last, new_last)
        yield LineChange(i, x, j, y)
        i, j = x, y


def _next_equal(before: Sequence[str], after: Sequence[str], i: int, j: int, last: int, new_last: int) -> tuple[int, int]:
    """Returns the nearest positions of equal lines, from `i` and `j` on.

    If there are none, returns the ends of the search.
    """
    for distance in range(1, 2 * _MAX_LOOKAHEAD):
        for x in range(max(0, distance - _MAX_LOOKAHEAD), min(distance, _MAX_LOOKAHEAD) + 1):
            a, b = i + x, j + distance - x
            if a < last and b < new_last and before[a] == after[b] and _is_anchor(before, after, a, b):
                return a, b
        if distance >= last - i + new_last - j:
            return last, new_last
    return min(i + _MAX_LOOKAHEAD, last), min(j + _MAX_LOOKAHEAD, new_last)


def _is_anchor(before: Sequence[str], after: Sequence[str], a: int, b: int) -> bool:
    """Returns whether to continue at two equal lines.

    Empty lines and braces occur everywhere, so the two lines after them must be equal, too.
    """
    return len(before[a]) > 3 or before[a + 1 : a + 3] == after[b + 1 : b + 3]
