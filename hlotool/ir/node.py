"""The base class of computations and instructions, to which attributes can refer."""

from __future__ import annotations

__all__ = ["Node"]


class Node:
    """An instruction or a computation. Nodes are compared by identity."""

    __slots__ = ()
