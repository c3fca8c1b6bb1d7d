"""Increasing subsequences, for comparisons that preserve order."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

__all__ = ["longest_increasing"]


def longest_increasing(values: Iterable[int]) -> set[int]:
    """Returns the positions of a longest increasing subsequence of distinct numbers.

    >>> sorted(longest_increasing([4, 1, 2, 9, 3])), sorted(longest_increasing([5, 6, 1, 2, 3])), longest_increasing([])
    ([1, 2, 4], [2, 3, 4], set())
    """
    tails: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for position, value in enumerate(values):
        at = bisect_left(tails, value)
        before.append(ends[at - 1] if at else -1)
        if at == len(tails):
            tails.append(value)
            ends.append(position)
        else:
            tails[at], ends[at] = value, position
    kept: set[int] = set()
    at = ends[-1] if ends else -1
    while at >= 0:
        kept.add(at)
        at = before[at]
    return kept
