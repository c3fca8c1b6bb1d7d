"""The number of elements and bytes of a shape, with or without tile padding."""

from __future__ import annotations

from math import prod

from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import COMBINE
from hlotool.shapes.shape import Shape

__all__ = ["bytes_of", "elements_of", "padded_bytes_of"]


def elements_of(shape: Shape) -> int:
    """Returns the number of elements of an array, or of all arrays in a tuple.

    An array with a dimension of unknown size counts as empty.

    >>> from hlotool.shapes.shape import array_shape, tuple_shape
    >>> elements_of(tuple_shape([array_shape("f32", (2, 3)), array_shape("s32")]))
    7
    """
    return sum(prod(max(size, 0) for size in leaf.dimensions) for leaf in shape.leaves() if leaf.is_array)


def bytes_of(shape: Shape) -> int:
    """Returns the number of bytes of the data without padding.

    An element narrower than eight bits is counted by its actual number of bits.

    >>> from hlotool.shapes.shape import array_shape
    >>> bytes_of(array_shape("f32", (2, 3)))
    24
    """
    return sum((prod(max(size, 0) for size in leaf.dimensions) * _bits(leaf) + 7) // 8 for leaf in shape.leaves() if leaf.is_array)


def _bits(leaf: Shape) -> int:
    written = leaf.layout.element_size_in_bits if leaf.layout is not None else 0
    return written or ELEMENT_TYPES[leaf.element_type].bits


def padded_bytes_of(leaf: Shape) -> int:
    """Returns the size in bytes of an array whose most minor dimensions are padded to whole tiles.

    >>> from hlotool.shapes.layout import Layout
    >>> from hlotool.shapes.shape import array_shape
    >>> padded_bytes_of(array_shape("f32", (16, 2), layout=Layout((1, 0), tiles=((8, 128),))))
    8192
    """
    layout = leaf.layout
    if layout is None or not layout.tiles or COMBINE in layout.tiles[0] or sorted(layout.minor_to_major) != list(range(leaf.rank)):
        return bytes_of(leaf)
    sizes = [max(leaf.dimensions[k], 0) for k in reversed(layout.minor_to_major)]
    tile = layout.tiles[0]
    sizes = [1] * (len(tile) - len(sizes)) + sizes
    for k, size in enumerate(tile, len(sizes) - len(tile)):
        sizes[k] = -(-sizes[k] // size) * size if size > 0 else sizes[k]
    return (prod(sizes) * _bits(leaf) + 7) // 8
