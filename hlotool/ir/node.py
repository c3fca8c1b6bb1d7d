"""The base class of computations and instructions, the nodes that attributes can refer to."""

from __future__ import annotations

__all__ = ["Node"]


class Node:
    """An instruction or a computation. Nodes are compared by identity."""

    __slots__ = ()
