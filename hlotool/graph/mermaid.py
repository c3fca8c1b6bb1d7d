"""Pictures for Mermaid, which GitHub and many notebooks display."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.graph.drawing import lines_of
from hlotool.graph.painting import Paint
from hlotool.graph.picture import Box, Picture

__all__ = ["mermaid"]


def mermaid(picture: Picture, paint: Paint) -> str:
    """Returns a Mermaid flowchart; open groups become subgraphs. Mermaid computes the layout."""
    return "\n".join(_lines(picture, paint)) + "\n"


def _lines(picture: Picture, paint: Paint) -> Iterator[str]:
    yield "flowchart TD"
    stack: list[tuple[Box | None, int]] = [(child, 1) for child in reversed(picture.boxes[0].children)]
    classes: dict[str, list[str]] = {}
    while stack:
        box, depth = stack.pop()
        indent = "  " * depth
        if box is None:
            yield f"{indent}end"
        elif box.is_open:
            yield f"{indent}subgraph n{box.number} [{_quote(lines_of(box)[:1])}]"
            stack.append((None, depth))
            stack += [(child, depth + 1) for child in reversed(box.children)]
        else:
            yield f"{indent}n{box.number}[{_quote(lines_of(box))}]"
            classes.setdefault(paint.colors[box.number], []).append(f"n{box.number}")
    for edge in picture.edges:
        yield f"  n{edge.source} {'-.->' if edge.is_control else '-->'} n{edge.target}"
    for k, (color, members) in enumerate(classes.items()):
        yield f"  classDef c{k} fill:{color},stroke:#6e7781,color:#1f2328"
        yield f"  class {','.join(members)} c{k}"
    named = [f"n{box.number}" for box in picture.boxes if box.item in picture.named and not box.is_open]
    for name in named:
        yield f"  style {name} stroke-width:4px"


def _quote(lines: tuple[str, ...]) -> str:
    """Returns a quoted label.

    Mermaid may interpret labels as Markdown or HTML. Therefore, all characters become entities,
    except for letters, digits and the characters that occur in shapes.
    """
    return '"' + "<br/>".join("".join(c if c.isalnum() or c in _UNESCAPED else f"#{ord(c)};" for c in line) for line in lines if line) + '"'


_UNESCAPED = " .,-_:/()[]{}"
