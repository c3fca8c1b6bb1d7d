"""What a picture shows, and the errors of what cannot be shown."""

from __future__ import annotations

from hlotool.errors import HlotoolError
from hlotool.record import Record

__all__ = ["COLORINGS", "EXPANSIONS", "FORMATS", "GraphError", "GraphOptions"]

COLORINGS = {
    "opcode": "by the kind of operation",
    "bytes": "by the bytes of memory that are read and written",
    "flops": "by the operations of arithmetic",
    "source": "by the source file in the metadata",
}
"""What colors can stand for."""

EXPANSIONS = {
    "auto": "as many as fit into a picture of 100 boxes",
    "all": "all of them",
    "none": "none of them",
}
"""Which groups and called computations are open."""


FORMATS = ("html", "svg", "png", "dot", "mermaid")
"""The formats of pictures."""


class GraphError(HlotoolError):
    """Raised for a picture that cannot be made: of a name that does not exist, of too much, or without the libraries that it needs."""

    exit_code = 2


class GraphOptions(Record):
    """What a picture shows.

    `computation` is the name of the computation to show, the entry by default. Only a part of it is shown with `around`, the name of an
    instruction, with what is up to `depth` steps away from it, or with `path`, the names of two instructions, with what is computed from the
    first one and leads to the second. `select` is the name of an instruction that is marked, and that a page shows first. Without `computation`,
    these names are looked for in the entry first. `constants` are shown or left out. `color_by` is one of COLORINGS, `expand` one of EXPANSIONS; a
    page expands what its reader clicks.

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
