"""The buffers of the entry computation, to which the pairs of `input_output_alias` refer by indices into parameters and result."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.model import Instruction
from hlotool.shapes.shape import Shape

__all__ = ["Index", "index_text", "leaf_indices", "producer_of"]

Index = tuple[int, ...]
"""A path into a tuple shape."""


def index_text(index: Index) -> str:
    """The index as the header writes it.

    >>> index_text((1, 0))
    '{1,0}'
    """
    return f"{{{','.join(map(str, index))}}}"


def leaf_indices(shape: Shape) -> Iterator[tuple[Index, Shape]]:
    """The parts of a shape that are not tuples, with their indices, in order.

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
    """The instruction that produces the part of the result at `index`, as far as tuple instructions show it."""
    for k in index:
        if root.op.name != "tuple":
            break
        root = root.operands[k]
    return root
