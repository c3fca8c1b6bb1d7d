"""The function `hlotool.to_graph`, which draws pictures of modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, overload

from hlotool.errors import nearest
from hlotool.graph.dot import dot
from hlotool.graph.graph_options import COLORINGS, EXPANSIONS, FORMATS, GraphError, GraphOptions
from hlotool.graph.groups import Group, make_group
from hlotool.graph.mermaid import mermaid
from hlotool.graph.outline import Outline
from hlotool.graph.page import page
from hlotool.graph.painting import Paint, paint
from hlotool.graph.picture import Picture, make_picture
from hlotool.graph.png import png
from hlotool.graph.selection import select
from hlotool.graph.svg import svg
from hlotool.ir.model import Instruction, Module

__all__ = ["picture_of", "to_graph"]

TextFormat = Literal["dot", "html", "mermaid", "svg"]

_STATIC: Mapping[str, Callable[[Picture, Paint], str | bytes]] = {"dot": dot, "mermaid": mermaid, "png": png, "svg": svg}
_MAX_UNGROUPED_PART = 60
"""The maximum number of instructions of a part of a computation that is shown without groups."""


@overload
def to_graph(module: Module, format: TextFormat = "html", options: GraphOptions | None = None) -> str: ...
@overload
def to_graph(module: Module, format: Literal["png"], options: GraphOptions | None = None) -> bytes: ...
@overload
def to_graph(module: Module, format: str, options: GraphOptions | None = None) -> str | bytes: ...
def to_graph(module: Module, format: str = "html", options: GraphOptions | None = None) -> str | bytes:  # noqa: A002
    """Returns a picture of a module: bytes for the format "png", a string for the other formats.

    The formats are "html", "svg", "png", "dot" and "mermaid". The format "html" is a single HTML
    file that loads no other files. The formats "svg", "png" and "html" require the `graph` extra
    (`hlotool[graph]`). Raises GraphError for names that do not exist, for conflicting options, if
    the picture is too large for the format, and if a library is missing.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("ENTRY e { p = f32[2] parameter(0) ROOT negate.1 = f32[2] negate(p) }")
    >>> print(to_graph(module, "mermaid").partition("classDef")[0].rstrip())
    flowchart TD
      n1["p<br/>parameter f32[2]"]
      n2["negate.1<br/>f32[2]"]
      n1 --> n2
    """
    options = GraphOptions() if options is None else options
    _check("format", format, FORMATS)
    if format == "html":
        shown = _contents(module, options)
        return page(module, shown.group, shown.outline, options, shown.named)
    picture = picture_of(module, options)
    return _STATIC[format](picture, paint(picture, module, options.color_by))


def picture_of(module: Module, options: GraphOptions) -> Picture:
    """Returns the boxes and edges of a picture, for all formats except "html".

    Raises GraphError as `to_graph` does.
    """
    shown = _contents(module, options)
    return make_picture(shown.group, shown.outline, options.expand, shown.named)


class _Contents(NamedTuple):
    group: Group
    outline: Outline
    named: frozenset[Instruction]


def _contents(module: Module, options: GraphOptions) -> _Contents:
    """Returns the contents of a picture. Raises GraphError if the options are not valid."""
    _check("coloring", options.color_by, COLORINGS)
    _check("expansion", options.expand, EXPANSIONS)
    selection = select(module, options)
    outline = Outline(with_constants=options.constants)
    name, instructions = selection.computation.name, selection.instructions
    if selection.is_whole:
        group = outline.group_of(selection.computation)
    elif len(instructions) <= _MAX_UNGROUPED_PART:
        group = make_group(name, "computation", outline.shown(instructions))
    else:
        group = outline.group_part(name, instructions)
    return _Contents(group, outline, frozenset(selection.named))


def _check(kind: str, value: str, known: Mapping[str, str] | tuple[str, ...]) -> None:
    if value not in known:
        meant = nearest(value, known)
        raise GraphError(f"there is no {kind} '{value}'; " + (f"did you mean '{meant}'?" if meant else f"choose one of {', '.join(known)}"))
