"""Sizes of arrays in memory, and reshapes that move no elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod

from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import COMBINE, default_layout
from hlotool.shapes.shape import UNBOUNDED, Shape

__all__ = ["array_bytes", "data_size", "format_bytes", "is_physical_reshape", "sizes_differ", "stored_size", "tiled_sizes"]

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def _element_bits(shape: Shape) -> int:
    layout = shape.layout
    bits = ELEMENT_TYPES[shape.element_type].bits
    # Without E(n), elements smaller than a byte take a byte each.
    return layout.element_size_in_bits if layout is not None and layout.element_size_in_bits else max(8, bits)


def data_size(shape: Shape) -> int:
    """Returns the size of an array's elements in bytes, without the padding of tiles.

    The size of a dynamic dimension is taken to be its bound.

    >>> from hlotool.shapes.shape import array_shape
    >>> data_size(array_shape("bf16", (3, 5)))
    30
    """
    return -(-prod(shape.dimensions) * _element_bits(shape) // 8)


def stored_size(shape: Shape) -> int:
    """Returns the size of an array in memory in bytes, with tile padding and padding at the end.

    >>> from hlotool.shapes.layout import Layout
    >>> from hlotool.shapes.shape import array_shape
    >>> stored_size(array_shape("f32", (3, 5), layout=Layout((1, 0), tiles=((2, 4),))))
    128
    """
    layout = shape.layout
    if layout is None or (not layout.tiles and layout.tail_padding_alignment_in_elements == 1):
        return data_size(shape)
    sizes = [shape.dimensions[k] for k in reversed(_order(shape))]
    for tile in layout.tiles:
        sizes = tiled_sizes(sizes, tile)
    alignment = max(1, layout.tail_padding_alignment_in_elements)
    elements = -(-prod(sizes) // alignment) * alignment
    return -(-elements * _element_bits(shape) // 8)


def sizes_differ(first: Shape, second: Shape, measure: Callable[[Shape], int] = stored_size) -> bool:
    """Returns whether two arrays have different sizes on all targets.

    Targets store the actual sizes of dynamic dimensions in different ways. So dynamic arrays can
    only be compared if they have the same rank, and a static array is known to differ from a
    dynamic array only if it is smaller.

    >>> from hlotool.shapes.shape import array_shape
    >>> dynamic = array_shape("f32", (3,), dynamic=(True,))
    >>> sizes_differ(dynamic, array_shape("f32", (4,))), sizes_differ(dynamic, array_shape("f32", (2,)))
    (False, True)
    """
    if UNBOUNDED in first.dimensions or UNBOUNDED in second.dimensions:
        return False
    sizes = measure(first), measure(second)
    if bool(first.dynamic) != bool(second.dynamic):
        static, dynamic = sizes if second.dynamic else sizes[::-1]
        return static < dynamic
    return sizes[0] != sizes[1] and (first.rank == second.rank or not first.dynamic)


def array_bytes(shape: Shape) -> int:
    """Returns `stored_size`, or 0 for shapes other than arrays and for arrays of unknown size.

    >>> from hlotool.shapes.shape import array_shape
    >>> array_bytes(array_shape("f32", (3, 5))), array_bytes(array_shape("f32", (UNBOUNDED,)))
    (60, 0)
    """
    row = ELEMENT_TYPES.get(shape.element_type)
    return 0 if row is None or not row.bits or UNBOUNDED in shape.dimensions else stored_size(shape)


def format_bytes(count: int) -> str:
    """Returns a size in bytes as text, in the largest unit that fits.

    >>> format_bytes(512), format_bytes(3 << 29)
    ('512 B', '1.5 GiB')
    """
    size, unit = float(count), 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:.1f}".removesuffix(".0") + f" {_UNITS[unit]}"


def tiled_sizes(sizes: list[int], tile: Sequence[int]) -> list[int]:
    """Tiles the last dimensions of `sizes`, a list that begins with the most major dimension.

    Returns the dimensions that are not tiled, the numbers of tiles, and the sizes of a tile.

    >>> tiled_sizes([3, 5], (2, 2))
    [2, 3, 2, 2]
    """
    sizes = [1] * (len(tile) - len(sizes)) + sizes
    outer, covered = sizes[: len(sizes) - len(tile)], sizes[len(sizes) - len(tile) :]
    counts: list[int] = []
    inner: list[int] = []
    combined = 1
    for size, part in zip(covered, tile, strict=True):
        if part == COMBINE:
            combined *= size
            continue
        # A tile of size 0 is invalid; the verifier reports it.
        counts.append(-(-size * combined // max(part, 1)))
        inner.append(max(part, 1))
        combined = 1
    return [*outer, *counts, *inner, *([combined] if combined != 1 else [])]


def is_physical_reshape(operand: Shape, result: Shape) -> bool:
    """Returns whether a row-major reshape moves no elements in memory, given both layouts.

    Always true for tiled layouts, which are not examined.

    >>> from hlotool.shapes.layout import Layout
    >>> from hlotool.shapes.shape import array_shape
    >>> column_major = array_shape("f32", (2, 3), layout=Layout((0, 1)))
    >>> flat, deeper = array_shape("f32", (6,)), array_shape("f32", (1, 2, 3), layout=Layout((1, 0, 2)))
    >>> is_physical_reshape(column_major, flat), is_physical_reshape(column_major, deeper)
    (False, True)
    """
    tiled = any(shape.layout is not None and shape.layout.tiles for shape in (operand, result))
    if tiled or min((*operand.dimensions, *result.dimensions), default=1) <= 0 or prod(operand.dimensions) != prod(result.dimensions):
        return True
    return all(_is_same_run(*runs) for runs in _matching_runs(_sizes_and_strides(operand), _sizes_and_strides(result)))


_Run = list[tuple[int, int]]
"""Sizes and strides of adjacent dimensions."""


def _order(shape: Shape) -> Sequence[int]:
    """Returns the dimensions from minor to major; row-major if the layout does not match."""
    order = shape.layout.minor_to_major if shape.layout is not None else ()
    return order if sorted(order) == list(range(shape.rank)) else default_layout(shape.rank).minor_to_major


def _sizes_and_strides(shape: Shape) -> _Run:
    """Returns the size and the stride of each dimension whose size is not 1."""
    strides, step = [0] * shape.rank, 1
    for dimension in _order(shape):
        strides[dimension] = step
        step *= shape.dimensions[dimension]
    return [(size, stride) for size, stride in zip(shape.dimensions, strides, strict=True) if size != 1]


def _matching_runs(first: _Run, second: _Run) -> list[tuple[_Run, _Run]]:
    """Returns the shortest pairs of runs, one from each list, with the same number of elements."""
    runs: list[tuple[_Run, _Run]] = []
    i = j = 0
    # Both lists have the same number of elements, so they end together.
    while i < len(first):
        start, other = i, j
        a, b = first[i][0], second[j][0]
        i, j = i + 1, j + 1
        while a != b:
            if a < b:
                a *= first[i][0]
                i += 1
            else:
                b *= second[j][0]
                j += 1
        runs.append((first[start:i], second[other:j]))
    return runs


def _is_same_run(first: _Run, second: _Run) -> bool:
    """Returns whether two matching runs have their elements at the same offsets.

    They do if both are contiguous and have the same smallest stride.
    """
    return all(_is_contiguous(run) for run in (first, second)) and first[-1][1] == second[-1][1]


def _is_contiguous(run: _Run) -> bool:
    return all(stride == size * inner for (_, stride), (size, inner) in pairwise(run))
