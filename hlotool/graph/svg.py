"""SVG pictures without scripts or external resources."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from hlotool.graph.drawing import CHARACTER_WIDTH, HEADER, LINE_HEIGHT, PADDING, TEXT_MARGIN, Drawing, Point, Rectangle, draw, lines_of
from hlotool.graph.graph_options import GraphError
from hlotool.graph.groups import Group
from hlotool.graph.painting import Paint
from hlotool.graph.picture import Box, Edge, Picture

__all__ = ["size_of_svg", "svg"]

_MAX_BOXES = 5_000
"""The maximum number of closed boxes; browsers and image viewers are slow with more elements."""
_FONT = "DejaVu Sans Mono, Menlo, Consolas, monospace"
_MARGIN = 16.0
_LEGEND = 30.0
_SWATCH = 12.0
_FONT_SIZE = 11


def svg(picture: Picture, paint: Paint) -> str:
    """Returns the picture as an SVG document.

    Raises GraphError if the picture has too many boxes, or if igraph is not installed.
    """
    if picture.closed_boxes > _MAX_BOXES:
        raise GraphError(
            f"a picture of {picture.closed_boxes:,} boxes is too large for svg and png, which are limited to {_MAX_BOXES:,}; use the html format,"
            " or show less with --expand auto, --computation, --around or --path"
        )
    return "\n".join(_lines(picture, paint, draw(picture))) + "\n"


def _lines(picture: Picture, paint: Paint, drawing: Drawing) -> Iterator[str]:
    legend = list(_legend(paint, drawing.height + 2 * _MARGIN))
    width = max(drawing.width, _legend_width(paint)) + 2 * _MARGIN
    height = drawing.height + 2 * _MARGIN + (_LEGEND if legend else 0)
    yield f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">'
    yield f"<title>{_text(lines_of(picture.boxes[0])[0])}</title>"
    yield '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    yield '<path d="M0,1 L7,4 L0,7 z" fill="#57606a"/></marker></defs>'
    yield f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>'
    yield f'<g transform="translate({_MARGIN:.0f},{_MARGIN:.0f})" font-family="{_FONT}" font-size="{_FONT_SIZE}" fill="#1f2328">'
    for box in picture.boxes:
        if box.is_open:
            yield from _frame(box, drawing.rectangles[box.number])
    yield '<g fill="none" stroke="#57606a" stroke-width="1">'
    for edge, points in drawing.lines.items():
        yield _edge(edge, points)
    yield "</g>"
    for box in picture.boxes:
        if not box.is_open:
            yield from _box(box, drawing.rectangles[box.number], paint.colors[box.number], is_named=box.item in picture.named)
    yield "</g>"
    yield from legend
    yield "</svg>"


def _frame(box: Box, rectangle: Rectangle) -> Iterator[str]:
    stroke = "#8c959f" if isinstance(box.item, Group) else "#8250df"
    yield f'<rect {_corners(rectangle)} rx="8" fill="#8c959f" fill-opacity="0.07" stroke="{stroke}"/>'
    yield f'<text x="{rectangle.x + PADDING:.1f}" y="{rectangle.y + HEADER - TEXT_MARGIN:.1f}" font-weight="bold">{_text(lines_of(box)[0])}</text>'


def _box(box: Box, rectangle: Rectangle, color: str, *, is_named: bool) -> Iterator[str]:
    item = box.item
    title = item.title if isinstance(item, Group) else f"{item.name} = {item.shape.text_without_layout} {item.opcode}"
    radius, stroke = (2, "#57606a") if isinstance(item, Group) else (6, "#8c959f")
    yield f"<g><title>{_text(title)}</title>"
    if isinstance(item, Group):
        yield f'<rect {_corners(rectangle._replace(x=rectangle.x + 3, y=rectangle.y + 3))} rx="{radius}" fill="{color}" stroke="{stroke}"/>'
    yield f'<rect {_corners(rectangle)} rx="{radius}" fill="{color}" stroke="{"#cf222e" if is_named else stroke}"{_THICK if is_named else ""}/>'
    for k, line in enumerate(lines_of(box)):
        weight = ' font-weight="bold"' if k == 0 else ""
        yield f'<text x="{rectangle.x + TEXT_MARGIN:.1f}" y="{rectangle.y + (k + 1) * LINE_HEIGHT:.1f}"{weight}>{_text(line)}</text>'
    yield "</g>"


_THICK = ' stroke-width="3"'


def _corners(rectangle: Rectangle) -> str:
    return f'x="{rectangle.x:.1f}" y="{rectangle.y:.1f}" width="{rectangle.width:.1f}" height="{rectangle.height:.1f}"'


def _edge(edge: Edge, points: list[Point]) -> str:
    """Returns a curve that passes through all points vertically."""
    (x, y), *others = points
    parts = [f"M{x:.1f},{y:.1f}"]
    for end_x, end_y in others:
        middle = max((end_y - y) / 2, 12.0)
        parts.append(f"C{x:.1f},{y + middle:.1f} {end_x:.1f},{end_y - middle:.1f} {end_x:.1f},{end_y:.1f}")
        x, y = end_x, end_y
    dashes = ' stroke-dasharray="4 3"' if edge.is_control else ""
    return f'<path d="{" ".join(parts)}"{dashes} marker-end="url(#arrow)"/>'


def _legend(paint: Paint, top: float) -> Iterator[str]:
    x = _MARGIN
    for color, meaning in paint.legend:
        yield f'<rect x="{x:.1f}" y="{top:.1f}" width="{_SWATCH}" height="{_SWATCH}" fill="{color}" stroke="#8c959f"/>'
        yield (
            f'<text x="{x + _SWATCH + 5:.1f}" y="{top + _SWATCH - 2:.1f}" font-family="{_FONT}" font-size="{_FONT_SIZE}" fill="#1f2328">'
            f"{_text(meaning)}</text>"
        )
        x += _legend_step(meaning)


def _legend_step(meaning: str) -> float:
    return _SWATCH + 24 + len(meaning) * CHARACTER_WIDTH


def _legend_width(paint: Paint) -> float:
    return sum(_legend_step(meaning) for _, meaning in paint.legend)


def _text(text: str) -> str:
    """Returns the escaped text, with spaces in place of characters that XML does not allow."""
    return escape("".join(c if c.isprintable() and not "\ud800" <= c <= "\udfff" else " " for c in text))


def size_of_svg(text: str) -> tuple[int, int]:
    """Returns the width and height of an SVG document written by this module."""
    _, width, _, height, *_ = text[text.index(" width=") : text.index(" viewBox")].split('"')
    return int(width), int(height)
