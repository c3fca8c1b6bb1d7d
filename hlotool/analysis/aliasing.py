"""Which buffers of the entry computation share memory: parameters, results and the pairs in which the header names them.

Facts only; nothing here judges them.
"""

from __future__ import annotations

from hlotool.ir.model import Instruction

__all__ = ["Index", "producer_of", "spelled"]

Index = tuple[int, ...]
"""A path into a tuple shape."""


def spelled(index: Index) -> str:
    """The index as the header spells it.

    >>> spelled((1, 0))
    '{1,0}'
    """
    return f"{{{','.join(map(str, index))}}}"


def producer_of(root: Instruction, index: Index) -> Instruction:
    """The instruction that makes the part of the result at this index, as far as tuple instructions show it."""
    for k in index:
        if root.op.name != "tuple":
            break
        root = root.operands[k]
    return root
