"""Indices into the parameters and the result of the entry computation.

The pairs of `input_output_alias` refer to buffers by these indices.
"""

from __future__ import annotations

from hlotool.ir.model import Instruction

__all__ = ["Index", "index_text", "producer_of"]

Index = tuple[int, ...]
"""A path into a tuple shape."""


def index_text(index: Index) -> str:
    """Returns the index in the notation of the header.

    >>> index_text((1, 0))
    '{1,0}'
    """
    return f"{{{','.join(map(str, index))}}}"


def producer_of(root: Instruction, index: Index) -> Instruction:
    """Returns the instruction that produces the part of the result at `index`.

    The search looks through tuple instructions only.
    """
    for k in index:
        if root.op.name != "tuple":
            break
        root = root.operands[k]
    return root
