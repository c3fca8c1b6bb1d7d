"""Checks graph cases: each consists of a module and its picture as a Mermaid flowchart.

A comment such as `// graph: around=dot.1 depth=1` sets options; `path=a,b` gives a pair of names.
If the module cannot be drawn, the expected output is `error: ` followed by a message. Otherwise,
the other formats must show the same graph, and boxes must not overlap.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from case_files import Case
from graph_readers import page_data, read_dot, read_mermaid

import hlotool
from checks.common import Mismatch, parsed, same
from hlotool.graph.drawing import Drawing, Rectangle, draw
from hlotool.graph.graph_options import GraphError, GraphOptions
from hlotool.graph.picture import Picture
from hlotool.graph.to_graph import picture_of
from hlotool.ir.model import Module

__all__ = ["picture_text", "pictured"]

_OPTIONS = re.compile(r"^// graph: (.+)$", re.MULTILINE)
_SVG = "{http://www.w3.org/2000/svg}"
_TOLERANCE = 0.01


def pictured(path: Path, case: Case) -> None:
    module, options = parsed(case.text), _options(case)
    text = _mermaid(module, options)
    same((case.output or "").strip(), text.strip(), "the picture")
    if text.startswith("error: "):
        return
    picture = picture_of(module, options)
    _check_same_graph(read_mermaid(text), read_dot(hlotool.to_graph(module, "dot", options)))
    drawing = draw(picture)
    _check_places(picture, drawing)
    _check_svg(hlotool.to_graph(module, "svg", options), picture)
    _check_page(page_data(hlotool.to_graph(module, "html", options)))


def picture_text(path: Path, case: Case) -> str | None:
    """Returns the expected output, for `--update`."""
    return _mermaid(parsed(case.text), _options(case))


def _mermaid(module: Module, options: GraphOptions) -> str:
    try:
        return hlotool.to_graph(module, "mermaid", options)
    except GraphError as error:
        return f"error: {error}\n"


def _options(case: Case) -> GraphOptions:
    found = _OPTIONS.search(case.text)
    values: dict[str, Any] = dict(word.split("=", 1) for word in found[1].split()) if found else {}
    if "path" in values:
        values["path"] = tuple(values["path"].split(","))
    if "depth" in values:
        values["depth"] = int(values["depth"])
    if "constants" in values:
        values["constants"] = values["constants"] == "yes"
    return GraphOptions(**values)


def _check_same_graph(mermaid: Any, dot: Any) -> None:
    """Checks that two graphs have the same boxes, groups and edges, with the same text."""
    for name, a, b in zip(("boxes", "groups", "edges"), mermaid, dot, strict=True):
        if a != b:
            raise Mismatch(f"the {name} of Mermaid and DOT differ:\n  {a}\n  {b}")


def _check_places(picture: Picture, drawing: Drawing) -> None:
    """Checks that all boxes are inside their parents, and that siblings do not overlap."""
    for box in picture.boxes:
        position = drawing.rectangles[box.number]
        inside = [drawing.rectangles[child.number] for child in box.children]
        for k, other in enumerate(inside):
            if not _contains(position, other):
                raise Mismatch(f"{other} is not inside {position}")
            if any(_overlap(other, sibling) for sibling in inside[:k]):
                raise Mismatch(f"{other} overlaps another box")


def _contains(outer: Rectangle, inner: Rectangle) -> bool:
    is_right = outer.x - _TOLERANCE <= inner.x and inner.x + inner.width <= outer.x + outer.width + _TOLERANCE
    return is_right and outer.y - _TOLERANCE <= inner.y and inner.y + inner.height <= outer.y + outer.height + _TOLERANCE


def _overlap(a: Rectangle, b: Rectangle) -> bool:
    return a.x < b.x + b.width and b.x < a.x + a.width and a.y < b.y + b.height and b.y < a.y + a.height


def _check_svg(text: str, picture: Picture) -> None:
    root = ElementTree.fromstring(text)
    tags = Counter(element.tag for element in root.iter())
    if tags[f"{_SVG}title"] != picture.closed_boxes + 1:
        raise Mismatch(f"titles in the SVG: {tags[f'{_SVG}title']}, closed boxes: {picture.closed_boxes}")
    arrows = [element for element in root.iter(f"{_SVG}path") if "marker-end" in element.attrib]
    if len(arrows) != len(picture.edges):
        raise Mismatch(f"arrows in the SVG: {len(arrows)}, edges: {len(picture.edges)}")


def _check_page(data: dict[str, Any]) -> None:
    """Checks that each instruction, and each group except the roots, is in exactly one group.

    Within its group, each of these items must have a position of its own.
    """
    groups, count = data["groups"], len(data["instructions"]["name"])
    seen = Counter(item for items in groups["items"] for item in items)
    computations = {-1 - group for group in data["computations"]}
    missing = {*range(count), *(-1 - k for k in range(len(groups["title"])))} - seen.keys() - computations
    if missing or max(seen.values(), default=1) > 1:
        raise Mismatch(f"each item must be in exactly one group; items without a group: {missing}")
    for items, rows, columns in zip(groups["items"], groups["rows"], groups["columns"], strict=True):
        if not len(items) == len(rows) == len(columns) or len({*zip(rows, columns, strict=True)}) != len(items):
            raise Mismatch(f"positions are missing or shared among the {len(items)} items of a group: rows {rows}, columns {columns}")
    lengths = {name: len(column) for name, column in data["instructions"].items() if isinstance(column, list)}
    if {*lengths.values()} != {count}:
        raise Mismatch(f"columns of different lengths: {lengths}")
