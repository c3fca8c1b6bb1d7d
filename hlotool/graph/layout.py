"""The arrangement of boxes in layers, with users below their operands.

igraph orders the boxes of a layer so that few edges cross. Positions are on a grid that ignores the
sizes of boxes; `placing.py` adds space for the contents of boxes. Therefore, the layout of a group
does not depend on which of its inner groups are open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

from hlotool.graph.graph_options import GraphError

__all__ = ["Arrangement", "arrange"]

_MAX_ROW_WIDTH = 12
_MAX_ROUTE_LENGTH = 8
"""The maximum number of rows that an edge with bends spans.

Longer edges are straight, because more bends would not make them easier to follow.
"""
_ITERATIONS = 24
_MIN_FOR_LIBRARY = 3
_HALF_LANE = 0.125
"""Half of the minimum distance between the bends of two edges, in columns."""
_STEPS = 64
"""The number of positions per column; a power of two, so that sums with halves are exact."""


class Arrangement(NamedTuple):
    """The row and the horizontal position of each item, and the bends of edges.

    An edge bends where it crosses the rows between its ends. Positions are measured in columns;
    items in the same row are at least 1 column apart.
    """

    rows: list[int]
    columns: list[float]
    bends: dict[tuple[int, int], list[float]]


def arrange(count: int, edges: Iterable[tuple[int, int]]) -> Arrangement:
    """Arranges items that are numbered so that most edges lead from a smaller to a larger number.

    Edges in the other direction lead upward. Connected components are placed side by side until the
    line is full; the next component starts a new line below. Raises GraphError if igraph is not
    installed.
    """
    forward = sorted({(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]})
    shelves = _Shelves(count)
    for members in _components(count, forward):
        numbers = {k: j for j, k in enumerate(members)}
        inside = [(numbers[a], numbers[b]) for a, b in forward if a in numbers] if len(members) > 1 else []
        shelves.add(members, _arrange_connected(len(members), inside))
    return shelves.arrangement


def _components(count: int, edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Returns the connected components of the items, in the order of their first items."""
    leader = list(range(count))

    def leader_of(k: int) -> int:
        while leader[k] != k:
            leader[k] = leader[leader[k]]
            k = leader[k]
        return k

    for a, b in edges:
        a, b = leader_of(a), leader_of(b)
        leader[max(a, b)] = min(a, b)
    components: dict[int, list[int]] = {}
    for k in range(count):
        components.setdefault(leader_of(k), []).append(k)
    return list(components.values())


class _Shelves:
    """Arrangements placed side by side, in lines of limited width."""

    def __init__(self, count: int) -> None:
        self.arrangement = Arrangement([0] * count, [0.0] * count, {})
        self._row = self._height = 0
        self._width = 0.0

    def add(self, members: Sequence[int], part: Arrangement) -> None:
        every = [*part.columns, *(x for bends in part.bends.values() for x in bends)]
        left, width, height = min(every), max(every) - min(every) + 1, max(part.rows) + 1
        if self._width and self._width + width > _MAX_ROW_WIDTH:
            self._row, self._height, self._width = self._row + self._height, 0, 0.0
        shift = self._width - left
        for j, k in enumerate(members):
            self.arrangement.rows[k] = self._row + part.rows[j]
            self.arrangement.columns[k] = part.columns[j] + shift
        for (a, b), bends in part.bends.items():
            self.arrangement.bends[members[a], members[b]] = [x + shift for x in bends]
        self._width += width
        self._height = max(self._height, height)


def _arrange_connected(count: int, edges: Sequence[tuple[int, int]]) -> Arrangement:
    rows = _narrow(_rows(count, edges), edges)
    if count < _MIN_FOR_LIBRARY:
        return Arrangement(rows, [0.0] * count, {})
    layers = list(rows)
    links: list[tuple[int, int]] = []
    routes: dict[tuple[int, int], range] = {}
    for a, b in edges:
        span = rows[b] - rows[a]
        if span > _MAX_ROUTE_LENGTH:
            continue
        between = range(len(layers), len(layers) + span - 1)
        layers += range(rows[a] + 1, rows[b])
        stops = [a, *between, b]
        links += pairwise(stops)
        if between:
            routes[a, b] = between
    graph = _igraph().Graph(len(layers), links, directed=True)
    layout = graph.layout_sugiyama(layers=layers, maxiter=_ITERATIONS)
    columns = _separate(layers, [float(x) for x, _ in layout.coords[: len(layers)]], count)
    return Arrangement(rows, columns[:count], {edge: [columns[k] for k in between] for edge, between in routes.items()})


def _separate(layers: Sequence[int], columns: Sequence[float], count: int) -> list[float]:
    """Returns the columns after moving the items of each layer at least 1 apart.

    igraph does not guarantee this distance. Bends, which come after the items in the list, may be
    closer together.
    """
    members: dict[int, list[int]] = {}
    for k, layer in enumerate(layers):
        members.setdefault(layer, []).append(k)
    result = [0.0] * len(columns)
    for found in members.values():
        found.sort(key=lambda k: columns[k])
        gaps = [(_half(a, count) + _half(b, count)) for a, b in pairwise(found)]
        from_left = [columns[k] for k in found]
        from_right = list(from_left)
        for j, gap in enumerate(gaps, 1):
            from_left[j] = max(from_left[j], from_left[j - 1] + gap)
        for j in reversed(range(len(gaps))):
            from_right[j] = min(from_right[j], from_right[j + 1] - gaps[j])
        # Both lists respect the gaps, and so does their average, which moves items in both
        # directions. Multiples of 1 / _STEPS are exact floats, since _STEPS is a power of two.
        for k, a, b in zip(found, from_left, from_right, strict=True):
            result[k] = round((a + b) / 2 * _STEPS) / _STEPS
    return result


def _half(k: int, count: int) -> float:
    return 0.5 if k < count else _HALF_LANE


def _igraph() -> Any:
    try:
        return import_module("igraph")
    except ImportError as error:
        raise GraphError("layouts require the package igraph: pip install 'hlotool[graph]'; the formats dot and mermaid do not require it") from error


def _rows(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Returns the row of each item, below all of its operands.

    An item with more users than shared operands (operands that have other users) is directly above
    its first user. For example, constants are placed this way, since they have no operands.
    """
    operands: list[list[int]] = [[] for _ in range(count)]
    users: list[list[int]] = [[] for _ in range(count)]
    for a, b in edges:
        operands[b].append(a)
        users[a].append(b)
    rows = [0] * count
    for k in range(count):
        rows[k] = max((rows[a] + 1 for a in operands[k]), default=0)
    for k in reversed(range(count)):
        # Operands that only this item uses do not count, since they can move down with it.
        held = sum(len(users[a]) > 1 for a in operands[k])
        if held < len(users[k]):
            rows[k] = min(rows[b] for b in users[k]) - 1
    return rows


def _narrow(rows: Sequence[int], edges: Sequence[tuple[int, int]]) -> list[int]:
    """Returns the row of each item after dividing wide rows. Rows are numbered without gaps from 0.

    Any division is valid, since no edge joins items of the same row. Items without incoming edges
    go to the first part, and items without outgoing edges to the last.
    """
    members: dict[int, list[int]] = {}
    for k, row in enumerate(rows):
        members.setdefault(row, []).append(k)
    sources, targets = {a for a, _ in edges}, {b for _, b in edges}
    result = [0] * len(rows)
    row = 0
    for _, found in sorted(members.items()):
        found.sort(key=lambda k: (k in targets) + (k not in sources))
        # All parts of a row have nearly the same length.
        lines = -(-len(found) // _MAX_ROW_WIDTH)
        width = -(-len(found) // lines)
        for position, k in enumerate(found):
            result[k] = row + position // width
        row += lines
    return result
