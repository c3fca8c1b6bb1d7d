"""Pictures in the DOT language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.graph.drawing import lines_of
from hlotool.graph.painting import Paint
from hlotool.graph.picture import Box, Picture

__all__ = ["dot"]


def dot(picture: Picture, paint: Paint) -> str:
    """Returns the picture in DOT; open groups become clusters, and Graphviz computes the layout."""
    return "\n".join(_lines(picture, paint)) + "\n"


def _lines(picture: Picture, paint: Paint) -> Iterator[str]:
    yield f"digraph {_quote(lines_of(picture.boxes[0])[0])} {{"
    yield "  compound=true;"
    yield '  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=10, color="#6e7781"];'
    yield '  edge [color="#57606a", arrowsize=0.6];'
    # The boxes that remain to be written, in reverse; None marks the end of a cluster.
    stack: list[tuple[Box | None, int]] = [(child, 1) for child in reversed(picture.boxes[0].children)]
    while stack:
        box, depth = stack.pop()
        indent = "  " * depth
        if box is None:
            yield f"{indent}}}"
        elif box.is_open:
            yield f"{indent}subgraph cluster_{box.number} {{"
            yield f'{indent}  label={_quote(lines_of(box)[0])}; style="rounded,filled"; fillcolor="{_cluster_color(depth)}"; color="#6e7781";'
            stack.append((None, depth))
            stack += [(child, depth + 1) for child in reversed(box.children)]
        else:
            label = _quote("\n".join(filter(None, lines_of(box))))
            width = ", penwidth=3" if box.item in picture.named else ""
            yield f'{indent}n{box.number} [label={label}, fillcolor="{paint.colors[box.number]}"{width}];'
    for edge in picture.edges:
        source, target = picture.boxes[edge.source], picture.boxes[edge.target]
        attributes = [f"ltail=cluster_{source.number}"] if source.is_open else []
        attributes += [f"lhead=cluster_{target.number}"] if target.is_open else []
        attributes += ["style=dashed"] if edge.is_control else []
        shown = f" [{', '.join(attributes)}]" if attributes else ""
        yield f"  n{_closed_box(source).number} -> n{_closed_box(target).number}{shown};"
    yield "}"


def _closed_box(box: Box) -> Box:
    """Returns the box if it is closed, or a closed box inside it; edges cannot end at clusters."""
    while box.is_open:
        box = box.children[-1]
    return box


def _cluster_color(depth: int) -> str:
    return ("#f6f8fa", "#ffffff")[depth % 2]


def _quote(text: str) -> str:
    """Returns the text as a DOT string.

    Backslashes are doubled, so that Graphviz does not expand escapes such as backslash N, which
    stands for the name of the node.
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
