"""Conversion of positions on a grid to positions in a picture.

Columns become as wide, and rows as high, as their contents require.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from hlotool.graph.layout import Arrangement

__all__ = ["GAP_X", "GAP_Y", "Placement", "place"]

GAP_X = 18.0
"""The minimum distance between boxes of a row."""
GAP_Y = 30.0
"""The distance between rows, which leaves space for edges."""


class Placement(NamedTuple):
    """The centers of items, the total size, and the bends of edges."""

    centers: list[tuple[float, float]]
    width: float
    height: float
    bends: dict[tuple[int, int], list[tuple[float, float]]]


def place(arrangement: Arrangement, sizes: Sequence[tuple[float, float]]) -> Placement:
    """Places items with the given widths and heights.

    The items do not overlap, and rows and columns keep their order.

    >>> place(Arrangement([0, 1], [0.0, 0.0], {}), [(100, 20), (60, 20)]).centers
    [(50.0, 10.0), (50.0, 60.0)]
    """
    if not sizes:
        return Placement([], 0.0, 0.0, {})
    rows, columns = arrangement.rows, arrangement.columns
    position = _Stretch(columns, [width + GAP_X for width, _ in sizes])
    heights = [0.0] * (max(rows) + 1)
    for row, (_, height) in zip(rows, sizes, strict=True):
        heights[row] = max(heights[row], height)
    tops = [0.0, *accumulate(height + GAP_Y for height in heights)]
    middles = [top + height / 2 for top, height in zip(tops, heights, strict=False)]
    xs = [position.center(x) for x in columns]
    bends = {edge: [position.at(x) for x in points] for edge, points in arrangement.bends.items()}
    ends = [x for points in bends.values() for x in points]
    left = min([*(x - width / 2 for x, (width, _) in zip(xs, sizes, strict=True)), *ends])
    right = max([*(x + width / 2 for x, (width, _) in zip(xs, sizes, strict=True)), *ends])
    centers = [(x - left, middles[row]) for x, row in zip(xs, rows, strict=True)]
    routes = {(a, b): [(x - left, middles[rows[a] + k]) for k, x in enumerate(points, 1)] for (a, b), points in bends.items()}
    return Placement(centers, right - left, tops[-1] - GAP_Y, routes)


class _Stretch:
    """A monotonic function from the grid to the picture.

    On the grid, the column of an item has width 1; in the picture, the column is wide enough for
    the item. The function is the average of two functions: one puts everything as far to the left
    as possible, and the other as far to the right as possible.
    """

    def __init__(self, columns: Sequence[float], widths: Sequence[float]) -> None:
        self.marks = sorted({x + side for x in columns for side in (-0.5, 0.5)})
        numbers = {mark: k for k, mark in enumerate(self.marks)}
        ends = [(numbers[x - 0.5], numbers[x + 0.5], width) for x, width in zip(columns, widths, strict=True)]
        last = len(self.marks) - 1
        from_left = _distances(last, ends)
        from_right = _distances(last, [(last - right, last - left, width) for left, right, width in ends])
        self.values = [(from_left[k] - from_right[last - k]) / 2 for k in range(last + 1)]

    def at(self, x: float) -> float:
        """Returns the position in the picture of a point on the grid."""
        k = min(max(bisect_right(self.marks, x), 1), len(self.marks) - 1)
        before, after = self.marks[k - 1], self.marks[k]
        share = min(max((x - before) / (after - before), 0.0), 1.0)
        return self.values[k - 1] + share * (self.values[k] - self.values[k - 1])

    def center(self, x: float) -> float:
        """Returns the position in the picture of the center of an item."""
        return (self.at(x - 0.5) + self.at(x + 0.5)) / 2


def _distances(last: int, ends: Iterable[tuple[int, int, float]]) -> list[float]:
    """Returns `last` + 1 nondecreasing values, as small as possible, with the required distances.

    For each (left, right, width), the values at positions `left` and `right` are at least `width`
    apart.
    """
    ending: list[list[tuple[int, float]]] = [[] for _ in range(last + 1)]
    for left, right, width in ends:
        ending[right].append((left, width))
    values = [0.0] * (last + 1)
    for k in range(1, last + 1):
        values[k] = max([values[k - 1], *(values[left] + width for left, width in ending[k])])
    return values
