"""Which buffers of the entry computation share memory: parameters, results and the pairs in which the header names them.

Facts only; nothing here judges them.
"""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.model import Instruction
from hlotool.shapes.shape import Shape

__all__ = ["Index", "leaf_indices", "producer_of", "spelled"]

Index = tuple[int, ...]
"""A path into a tuple shape."""


def spelled(index: Index) -> str:
    """The index as the header spells it.

    >>> spelled((1, 0))
    '{1,0}'
    """
    return f"{{{','.join(map(str, index))}}}"


def leaf_indices(shape: Shape) -> Iterator[tuple[Index, Shape]]:
    """The parts of a shape that are no tuples, with their indices, in order.

    >>> from hlotool.shapes.shape import array_shape, tuple_shape
    >>> [index for index, _ in leaf_indices(tuple_shape([array_shape("f32"), tuple_shape([array_shape("s32")])]))]
    [(0,), (1, 0)]
    """
    stack: list[tuple[Index, Shape]] = [((), shape)]
    while stack:
        index, part = stack.pop()
        if part.is_tuple:
            stack += [((*index, k), part.elements[k]) for k in range(len(part.elements) - 1, -1, -1)]
        else:
            yield index, part


def producer_of(root: Instruction, index: Index) -> Instruction:
    """The instruction that makes the part of the result at this index, as far as tuple instructions show it."""
    for k in index:
        if root.op.name != "tuple":
            break
        root = root.operands[k]
    return root
