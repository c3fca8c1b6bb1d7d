"""Dimension numbers, and conversions between indices of elements and their positions in memory.

XLA's documentation calls these utilities ShapeUtil, LayoutUtil and IndexUtil. From 2018 to 2020,
layouts could have `padded_dimensions`; today, they have tiles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any, TypeVar

from hlotool.errors import HlotoolError
from hlotool.shapes.layout import COMBINE, default_layout
from hlotool.shapes.memory import tiled_sizes
from hlotool.shapes.shape import Shape, array_shape

__all__ = [
    "dimension_letters",
    "dimension_number",
    "from_memory_order",
    "linear_index",
    "memory_order",
    "multi_index",
    "multi_indices",
    "true_rank",
]

Value = TypeVar("Value")

_LETTERS = "pzyx"


def true_rank(shape: Shape) -> int:
    """Returns the number of dimensions whose size is more than 1.

    >>> true_rank(array_shape("f32", (4, 1, 3)))
    2
    """
    return sum(size > 1 for size in shape.dimensions)


def dimension_number(number: int, rank: int) -> int:
    """Normalizes a dimension number that may count from the end: -1 is the last dimension.

    Raises HlotoolError if the number is out of range.

    >>> dimension_number(-2, 3), dimension_number(0, 3)
    (1, 0)
    """
    if not -rank <= number < rank:
        raise HlotoolError(f"dimension {number} is out of range for rank {rank}: expected {-rank} to {rank - 1}")
    return number % rank


def dimension_letters(rank: int) -> tuple[str, ...]:
    """Returns the letters that denote the dimensions of arrays of rank 1 to 4, in order.

    Raises HlotoolError for other ranks.

    >>> dimension_letters(3)
    ('z', 'y', 'x')
    """
    if not 1 <= rank <= len(_LETTERS):
        raise HlotoolError(f"the dimensions of arrays of rank {rank} have no letters: expected rank 1 to {len(_LETTERS)}")
    return tuple(_LETTERS[-rank:])


def multi_indices(shape: Shape) -> Iterator[tuple[int, ...]]:
    """Yields the indices of all elements in row-major order, regardless of the layout.

    >>> list(multi_indices(array_shape("f32", (2, 2))))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    return product(*(range(size) for size in shape.dimensions))


# ---- positions in memory -----------------------------------------------------------------------


def linear_index(shape: Shape, index: Sequence[int]) -> int:
    """Returns the position of an element in memory, counted in elements, including tile padding.

    Raises HlotoolError if the index does not have the array's rank or is out of range.

    >>> from hlotool.shapes.layout import Layout
    >>> linear_index(array_shape("f32", (2, 3), layout=Layout((0, 1))), (1, 2))
    5
    >>> linear_index(array_shape("f32", (3, 5), layout=Layout((1, 0), ((2, 2),))), (2, 3))
    17
    """
    if len(index) != shape.rank or not all(0 <= k < size for k, size in zip(index, shape.dimensions, strict=False)):
        raise HlotoolError(f"index {list(index)} is not in {shape.text_without_layout}")
    major_to_minor = _major_to_minor(shape)
    sizes, position = [shape.dimensions[k] for k in major_to_minor], [index[k] for k in major_to_minor]
    for tile in _tiles(shape):
        position = _tiled_index(sizes, position, tile)
        sizes = tiled_sizes(sizes, tile)
    return _ravel(sizes, position)


def multi_index(shape: Shape, linear: int) -> tuple[int, ...]:
    """Returns the index of the element at a position in memory; the inverse of `linear_index`.

    Raises HlotoolError if the position is outside of the array or contains padding.

    >>> from hlotool.shapes.layout import Layout
    >>> multi_index(array_shape("f32", (2, 3), layout=Layout((0, 1))), 5)
    (1, 2)
    """
    major_to_minor = _major_to_minor(shape)
    stages = [[shape.dimensions[k] for k in major_to_minor]]
    for tile in _tiles(shape):
        stages.append(tiled_sizes(stages[-1], tile))
    if not 0 <= linear < prod(stages[-1]):
        raise HlotoolError(f"position {linear} is not in {shape.text}, which has {prod(stages[-1])} elements with padding")
    position = _unravel(stages[-1], linear)
    for sizes, tile in zip(reversed(stages[:-1]), reversed(_tiles(shape)), strict=True):
        untiled = _untiled_index(sizes, position, tile)
        if untiled is None:
            raise HlotoolError(f"position {linear} of {shape.text} is padding")
        position = untiled
    positions = dict(zip(major_to_minor, position, strict=True))
    return tuple(positions[k] for k in range(shape.rank))


def memory_order(shape: Shape, values: Sequence[Value], padded_dimensions: Sequence[int] = (), padding_value: Any = None) -> list[Value]:
    """Reorders the values of an array from row-major order to memory order.

    With `padded_dimensions`, the array is padded at the high end to these sizes with
    `padding_value`. Raises HlotoolError if the number of values is wrong, or if a padded size is
    smaller than the array's size.

    >>> from hlotool.shapes.layout import Layout
    >>> "".join(memory_order(array_shape("u8", (2, 3), layout=Layout((0, 1))), "abcdef", [3, 5], "0"))
    'ad0be0cf0000000'
    """
    if len(values) != prod(shape.dimensions):
        number = prod(shape.dimensions)
        raise HlotoolError(f"expected {number} {'value' if number == 1 else 'values'} for {shape.text_without_layout}, got {len(values)}")
    padded = _pad(shape, padded_dimensions)
    positions = [linear_index(padded, index) for index in multi_indices(shape)]
    ordered: list[Any] = [padding_value] * (_size_in_memory(padded))
    for linear, value in zip(positions, values, strict=True):
        ordered[linear] = value
    return ordered


def from_memory_order(shape: Shape, values: Sequence[Value], padded_dimensions: Sequence[int] = ()) -> list[Value]:
    """Reorders the values of an array from memory order to row-major order.

    This is the inverse of `memory_order`: the values include the padding, which is removed. Raises
    HlotoolError if the number of values is wrong.

    >>> from hlotool.shapes.layout import Layout
    >>> "".join(from_memory_order(array_shape("u8", (2, 3), layout=Layout((0, 1))), "ad0be0cf0000000", [3, 5]))
    'abcdef'
    """
    padded = _pad(shape, padded_dimensions)
    number = _size_in_memory(padded)
    if len(values) != number:
        raise HlotoolError(f"expected {number} {'value' if number == 1 else 'values'} (with padding) for {padded.text}, got {len(values)}")
    return [values[linear_index(padded, index)] for index in multi_indices(shape)]


def _pad(shape: Shape, sizes: Sequence[int]) -> Shape:
    if not len(sizes):
        return shape
    if len(sizes) != shape.rank or any(new < old for new, old in zip(sizes, shape.dimensions, strict=False)):
        raise HlotoolError(
            f"padded_dimensions {list(sizes)} must have a size for each dimension of {shape.text_without_layout}, at least as large as the dimension"
        )
    return array_shape(shape.element_type, tuple(sizes), layout=shape.layout)


def _size_in_memory(shape: Shape) -> int:
    """Returns the number of elements in memory, including tile padding."""
    sizes = [shape.dimensions[k] for k in _major_to_minor(shape)]
    for tile in _tiles(shape):
        sizes = tiled_sizes(sizes, tile)
    return prod(sizes)


def _major_to_minor(shape: Shape) -> tuple[int, ...]:
    layout = shape.layout if shape.layout is not None else default_layout(shape.rank)
    return tuple(reversed(layout.minor_to_major))


def _tiles(shape: Shape) -> tuple[tuple[int, ...], ...]:
    return shape.layout.tiles if shape.layout is not None else ()


def _ravel(sizes: Sequence[int], position: Sequence[int]) -> int:
    linear = 0
    for size, k in zip(sizes, position, strict=True):
        linear = linear * size + k
    return linear


def _unravel(sizes: Sequence[int], linear: int) -> list[int]:
    position = []
    for size in reversed(sizes):
        linear, k = divmod(linear, size)
        position.append(k)
    return position[::-1]


def _tile_groups(count: int, tile: Sequence[int]) -> Iterator[tuple[list[int], int | None]]:
    """Yields the runs of dimensions that are combined by a tile, each with the run's tile size.

    The last run has no tile size (None) and may be empty.
    """
    run: list[int] = []
    for k, part in enumerate(tile, count - len(tile)):
        run.append(k)
        if part != COMBINE:
            yield run, part
            run = []
    yield run, None


def _widen(values: Sequence[int], tile: Sequence[int], filler: int) -> list[int]:
    """Prepends fillers as major dimensions if a tile has more dimensions than the array."""
    return [filler] * (len(tile) - len(values)) + list(values)


def _tiled_index(sizes: Sequence[int], position: Sequence[int], tile: Sequence[int]) -> list[int]:
    """Converts a position in `sizes` to the dimensions that `tiled_sizes` returns."""
    sizes, position = _widen(sizes, tile, 1), _widen(position, tile, 0)
    outer = position[: len(position) - len(tile)]
    counts: list[int] = []
    inner: list[int] = []
    for run, part in _tile_groups(len(sizes), tile):
        linear = _ravel([sizes[k] for k in run], [position[k] for k in run])
        if part is not None:
            counts.append(linear // part)
            inner.append(linear % part)
        elif prod(sizes[k] for k in run) != 1:
            inner.append(linear)
    return [*outer, *counts, *inner]


def _untiled_index(sizes: Sequence[int], position: Sequence[int], tile: Sequence[int]) -> list[int] | None:
    """Inverts `_tiled_index`; returns None for padding."""
    wide = _widen(sizes, tile, 1)
    groups = list(_tile_groups(len(wide), tile))
    outer = list(position[: len(wide) - len(tile)])
    parts = [part for _, part in groups if part is not None]
    rest = position[len(outer) :]
    counts, inner = rest[: len(parts)], iter(rest[len(parts) :])
    found = outer
    for (run, part), count in zip(groups, [*counts, 0], strict=False):
        extents = [wide[k] for k in run]
        linear = count * part + next(inner) if part is not None else next(inner, 0)
        if linear >= prod(extents):
            return None
        found += _unravel(extents, linear)
    return found[len(wide) - len(sizes) :]
