"""The positions of everything in a picture: a rectangle for each box, and a line for each edge."""

from __future__ import annotations

from typing import NamedTuple

from hlotool.graph.arrangements import Arrangements
from hlotool.graph.groups import Group
from hlotool.graph.labels import group_lines, instruction_lines
from hlotool.graph.layout import Arrangement
from hlotool.graph.picture import Box, Edge, Picture
from hlotool.graph.placing import Placement, place

__all__ = ["CHARACTER_WIDTH", "HEADER", "LINE_HEIGHT", "PADDING", "TEXT_MARGIN", "Drawing", "Rectangle", "draw", "lines_of", "size_of_lines"]

CHARACTER_WIDTH = 6.7
"""The width of a character in boxes, which use a monospaced font."""
LINE_HEIGHT = 14.0
TEXT_MARGIN = 8.0
PADDING = 14.0
"""The distance between the border of an open group and its contents."""
HEADER = 24.0
"""The height of the title of an open group."""

Point = tuple[float, float]


class Rectangle(NamedTuple):
    """A rectangle: left, top, width and height."""

    x: float
    y: float
    width: float
    height: float


class Drawing(NamedTuple):
    """The rectangles of boxes, by box number, and the points of each edge: start, bends and end."""

    rectangles: list[Rectangle]
    lines: dict[Edge, list[Point]]
    width: float
    height: float


def lines_of(box: Box) -> tuple[str, ...]:
    """Returns the lines of text for a box; an open box shows only the first line, as its title."""
    return group_lines(box.item) if isinstance(box.item, Group) else instruction_lines(box.item)


def size_of_lines(lines: tuple[str, ...]) -> tuple[float, float]:
    """Returns the width and height of a box with these lines of text.

    >>> size_of_lines(("add.1", "f32[2]"))
    (56.2, 36.0)
    """
    longest = max(map(len, lines))
    return round(longest * CHARACTER_WIDTH + 2 * TEXT_MARGIN, 1), len(lines) * LINE_HEIGHT + TEXT_MARGIN


def draw(picture: Picture) -> Drawing:
    """Returns the layout of a picture. Raises GraphError if igraph is not installed."""
    arrangements = Arrangements()
    sizes: list[tuple[float, float]] = [(0.0, 0.0)] * len(picture.boxes)
    placements: dict[int, Placement] = {}
    # Boxes precede their children, so the reverse order visits children first, and their sizes are known.
    for box in reversed(picture.boxes):
        if not box.is_open:
            sizes[box.number] = size_of_lines(lines_of(box))
            continue
        placement = place(_arrangement(box, arrangements), [sizes[child.number] for child in box.children])
        placements[box.number] = placement
        title, _ = size_of_lines(lines_of(box)[:1])
        sizes[box.number] = max(placement.width, title) + 2 * PADDING, placement.height + HEADER + 2 * PADDING
    rectangles = [Rectangle(0.0, 0.0, *size) for size in sizes]
    for box in picture.boxes:
        if box.is_open:
            _place_children(box, placements[box.number], rectangles)
    lines = {edge: _points(picture, edge, rectangles, placements) for edge in picture.edges}
    return Drawing(rectangles, lines, *sizes[0])


def _arrangement(box: Box, arrangements: Arrangements) -> Arrangement:
    if isinstance(box.item, Group):
        return arrangements.get(box.item)
    # The computations that an instruction calls are placed side by side.
    count = len(box.children)
    return Arrangement([0] * count, [float(k) for k in range(count)], {})


def _place_children(box: Box, placement: Placement, rectangles: list[Rectangle]) -> None:
    left, top = _origin(box, placement, rectangles)
    for child, (x, y) in zip(box.children, placement.centers, strict=True):
        _, _, width, height = rectangles[child.number]
        rectangles[child.number] = Rectangle(left + x - width / 2, top + y - height / 2, width, height)


def _origin(box: Box, placement: Placement, rectangles: list[Rectangle]) -> Point:
    x, y, width, _ = rectangles[box.number]
    return x + (width - placement.width) / 2, y + HEADER + PADDING


def _points(picture: Picture, edge: Edge, rectangles: list[Rectangle], placements: dict[int, Placement]) -> list[Point]:
    source, target = picture.boxes[edge.source], picture.boxes[edge.target]
    first, last = rectangles[edge.source], rectangles[edge.target]
    start = first.x + first.width / 2, first.y + first.height
    end = last.x + last.width / 2, last.y
    parent = source.parent
    if parent is None or parent is not target.parent or not isinstance(parent.item, Group):
        return [start, end]
    placement = placements[parent.number]
    left, top = _origin(parent, placement, rectangles)
    positions = source.number - parent.children[0].number, target.number - parent.children[0].number
    return [start, *((left + x, top + y) for x, y in placement.bends.get(positions, ())), end]
