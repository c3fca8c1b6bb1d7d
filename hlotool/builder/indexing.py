"""Conversion of Python indices to slices and reshapes."""

from __future__ import annotations

from operator import index as as_index
from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.inference import Bound, bounds, count
from hlotool.record import Record
from hlotool.shapes.shape import Shape
from hlotool.shapes.values import SliceRange

__all__ = ["Part", "select_part"]


class Part(Record):
    """The slice and the reshape that extract a part of an array.

    `ranges` is None if the part contains all elements; `dimensions` is None if no dimension is
    removed or added.
    """

    ranges: tuple[SliceRange, ...] | None = None
    dimensions: tuple[int, ...] | None = None
    dynamic: tuple[bool, ...] = ()


def select_part(shape: Shape, index: Any) -> Part:
    """Returns the part of an array that an index selects, as in Python.

    The index consists of integers, slices, `...` and None; None adds a dimension. Raises Violation
    for indices that are out of range or of another type, and for steps that are not positive.

    >>> from hlotool.shapes.shape import array_shape
    >>> select_part(array_shape("f32", (4, 6)), (1, slice(None, None, 2))).dimensions
    (3,)
    """
    if not shape.is_array:
        raise Violation("T099", "index", f"only arrays can be indexed, not {shape.text_without_layout}")
    entries = list(index) if isinstance(index, tuple) else [index]
    entries = _expand_ellipsis(entries, shape)
    ranges: list[SliceRange] = []
    kept: list[Bound] = []
    sizes = iter(bounds(shape))
    for entry in entries:
        if entry is None:
            kept.append((1, False))
            continue
        size, dynamic = next(sizes)
        if isinstance(entry, slice):
            ranges.append(_range(entry, size))
            length = len(range(ranges[-1].start, ranges[-1].limit, ranges[-1].stride))
            kept.append((length, dynamic))
        else:
            ranges.append(_single(entry, size, len(ranges)))
    whole = all(part == SliceRange(0, size) for part, size in zip(ranges, shape.dimensions, strict=True))
    same_rank = len(kept) == shape.rank and len(entries) == shape.rank
    return Part(
        None if whole else tuple(ranges),
        None if same_rank else tuple(size for size, _ in kept),
        tuple(dynamic for _, dynamic in kept),
    )


def _expand_ellipsis(entries: list[Any], shape: Shape) -> list[Any]:
    """Returns the entries, with full slices for dimensions omitted by `...` or at the end."""
    positions = [k for k, entry in enumerate(entries) if entry is Ellipsis]
    if len(positions) > 1:
        raise Violation("T025", "index", "an index can have only one '...'")
    given = sum(entry is not None and entry is not Ellipsis for entry in entries)
    if given > shape.rank:
        most = count(shape.rank, "index", "indices")
        raise Violation("T025", "index", f"expected at most {most} for {shape.text_without_layout}, got {given}")
    filler = [slice(None)] * (shape.rank - given)
    if not positions:
        return [*entries, *filler]
    return [*entries[: positions[0]], *filler, *entries[positions[0] + 1 :]]


def _range(entry: slice, size: int) -> SliceRange:
    start, limit, step = entry.indices(size)
    if step < 1:
        raise Violation("T027", "index", f"steps must be positive, got {step}", "use `rev` to reverse the order of elements")
    return SliceRange(start, max(start, limit), step)


def _single(entry: Any, size: int, dimension: int) -> SliceRange:
    try:
        number = as_index(entry)
    except TypeError:
        hint = "use dynamic_slice or gather for indices that are computed at run time"
        raise Violation("S017", "index", f"expected an integer, a slice, '...' or None, found {type(entry).__name__}", hint) from None
    if not -size <= number < size:
        raise Violation("T026", "index", f"index {number} is out of range for dimension {dimension} of size {size}")
    start = number % size
    return SliceRange(start, start + 1)
