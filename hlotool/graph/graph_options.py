"""Options for pictures, and the error for pictures that cannot be drawn."""

from __future__ import annotations

from hlotool.errors import HlotoolError
from hlotool.record import Record

__all__ = ["COLORINGS", "EXPANSIONS", "FORMATS", "GraphError", "GraphOptions"]

COLORINGS = {
    "opcode": "by the kind of operation",
    "bytes": "by the bytes of memory read and written",
    "flops": "by the number of arithmetic operations",
    "source": "by the source file in the metadata",
}
"""The rules for choosing colors, with their descriptions."""

EXPANSIONS = {
    "auto": "as many as fit into a picture of 100 boxes",
    "all": "",
    "none": "",
}
"""The rules for opening groups and called computations, with their descriptions."""


FORMATS = ("html", "svg", "png", "dot", "mermaid")
"""The formats of pictures."""


class GraphError(HlotoolError):
    """The error for pictures that cannot be drawn.

    Possible reasons are invalid options, a picture that is too large, and a missing library.
    """

    exit_code = 2


class GraphOptions(Record):
    """Options for the contents of a picture.

    `computation` is the name of the computation to show, by default the entry. `around` and `path`
    restrict the picture to a part of the computation: `around` is the name of an instruction, shown
    with everything up to `depth` steps away; `path` contains the names of two instructions, shown
    with everything on the paths from the first to the second. `select` is the name of an
    instruction to mark; an HTML picture is initially centered on it. Without `computation`, the
    names of instructions are looked up in all computations, starting with the entry.
    `constants=False` leaves out constants. `color_by` is "opcode", "bytes", "flops" or "source".
    `expand` is "auto", "all" or "none"; in an HTML picture, users can also open and close boxes
    themselves.

    >>> GraphOptions(around="dot.1", depth=1).color_by
    'opcode'
    """

    computation: str | None = None
    around: str | None = None
    depth: int = 2
    path: tuple[str, str] | None = None
    constants: bool = True
    color_by: str = "opcode"
    expand: str = "auto"
    select: str | None = None
