"""The base of computations and instructions: the objects of a module that have an identity, to which attributes may refer."""

from __future__ import annotations

__all__ = ["Node"]


class Node:
    """An instruction or a computation; equal to nothing but itself."""

    __slots__ = ()
