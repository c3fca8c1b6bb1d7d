"""How many bytes an array takes in memory, from its shape and layout.

Tuples are tables of pointers that only some targets have, so here they have no size; nothing says where a buffer lies.
"""

from __future__ import annotations

from math import prod

from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import COMBINE, Layout
from hlotool.shapes.shape import UNBOUNDED, Shape

__all__ = ["array_bytes", "readable_bytes"]

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def array_bytes(shape: Shape) -> int:
    """The bytes of one array, padding of tiles included; a dynamic dimension counts with its bound, an unbounded one as nothing.

    >>> from hlotool.shapes.shape import array_shape
    >>> array_bytes(array_shape("f32", (3, 5)))
    60
    >>> array_bytes(array_shape("f32", (3, 5), layout=Layout((1, 0), tiles=((8, 128),))))
    4096
    """
    row = ELEMENT_TYPES.get(shape.element_type)
    if row is None or not row.bits or UNBOUNDED in shape.dimensions:
        return 0
    layout = shape.layout
    if layout is None:
        return prod(shape.dimensions) * max(row.bits, 8) // 8
    sizes = _in_memory(shape, layout)
    for tile in layout.tiles:
        sizes = _tiled(sizes, tile)
    elements, alignment = prod(sizes), max(layout.tail_padding_alignment_in_elements, 1)
    elements += -elements % alignment
    # Narrow types take a byte each, unless the layout packs them.
    return (elements * (layout.element_size_in_bits or max(row.bits, 8)) + 7) // 8


def _in_memory(shape: Shape, layout: Layout) -> list[int]:
    """The sizes from the most major to the most minor dimension."""
    order = layout.minor_to_major
    if sorted(order) != list(range(shape.rank)):
        return list(shape.dimensions)
    return [shape.dimensions[dimension] for dimension in reversed(order)]


def _tiled(sizes: list[int], tile: tuple[int, ...]) -> list[int]:
    """The sizes after the minor dimensions are cut into tiles, the last of them padded; each tile's own dimensions come last.

    A tile dimension `*` merges a dimension into the next more minor one first.
    """
    missing = len(tile) - len(sizes)
    sizes = [1] * max(missing, 0) + sizes
    kept, covered = sizes[: len(sizes) - len(tile)], sizes[len(sizes) - len(tile) :]
    merged: list[tuple[int, int]] = []
    carried = 1
    for size, extent in zip(covered, tile, strict=True):
        if extent == COMBINE:
            carried *= size
        else:
            merged.append((carried * size, max(extent, 1)))
            carried = 1
    return [*kept, *(-(-size // extent) for size, extent in merged), *(extent for _, extent in merged)]


def readable_bytes(count: int) -> str:
    """A size in the unit that suits it.

    >>> readable_bytes(512), readable_bytes(3 << 29)
    ('512 B', '1.5 GiB')
    """
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f}".removesuffix(".0") + f" {_UNITS[unit]}"
