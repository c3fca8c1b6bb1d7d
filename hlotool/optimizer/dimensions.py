"""Maps dimensions of arrays before a reshape or a broadcast to their counterparts after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import prod

from hlotool.ir.model import Instruction
from hlotool.shapes.layout import default_layout
from hlotool.shapes.shape import Shape

__all__ = [
    "are_plain",
    "broadcast_after_reshape",
    "broadcast_dimensions",
    "dimensions_of",
    "element_count",
    "equal_except_unit_sizes",
    "increases",
    "inverse",
    "is_empty",
    "is_plain",
    "matched_dimensions",
    "matched_groups",
]

Group = tuple[list[int], list[int]]


def is_plain(shape: Shape) -> bool:
    """Returns whether a shape is a static array whose layout is only an order of dimensions.

    Rules may derive other plain shapes from such a shape.

    >>> from hlotool.shapes.shape import array_shape
    >>> is_plain(array_shape("f32", (2, 3))), is_plain(array_shape("f32", (2, 3), (True, False)))
    (True, False)
    >>> from hlotool.text.parse.parser import parse
    >>> [is_plain(parse(f"ENTRY e {{ ROOT p = s4[2,4]{layout} parameter(0) }}").entry.root.shape) for layout in ("{0,1}", "{1,0:E(4)}")]
    [True, False]
    """
    layout = shape.layout
    if layout is None or shape.dynamic:
        return False
    rank = len(shape.dimensions)
    return layout is default_layout(rank) or not (layout.tiles or layout.memory_space or layout.element_size_in_bits or layout.split_configs)


def are_plain(x: Instruction) -> bool:
    """Returns whether the result and all operands are plain arrays of one element type.

    >>> from hlotool.text.parse.parser import parse
    >>> are_plain(parse("ENTRY e { p = f32[2] parameter(0) ROOT c = f32[4] concatenate(p, p), dimensions={0} }").entry.root)
    True
    """
    return is_plain(x.shape) and all(is_plain(y.shape) and y.shape.element_type == x.shape.element_type for y in x.operands)


def dimensions_of(x: Instruction) -> tuple[int, ...]:
    """Returns the `dimensions` attribute, which broadcasts of scalars may omit.

    >>> from hlotool.text.parse.parser import parse
    >>> dimensions_of(parse("ENTRY e { z = f32[] constant(0) ROOT b = f32[4] broadcast(z) }").entry.root)
    ()
    """
    dimensions: tuple[int, ...] = x.attributes.get("dimensions", x.op.attributes["dimensions"].default)
    return dimensions


def is_empty(shape: Shape) -> bool:
    """Returns whether an array has no elements.

    >>> from hlotool.shapes.shape import array_shape
    >>> is_empty(array_shape("f32", (2, 0))), is_empty(array_shape("f32"))
    (True, False)
    """
    return 0 in shape.dimensions


def matched_groups(before: Sequence[int], after: Sequence[int]) -> list[Group]:
    """Returns the groups of dimensions that a reshape splits or merges.

    Each group has the same number of elements before and after the reshape, and is as small as
    possible. Dimensions of size 1 are in no group. The arrays must have the same number of
    elements, which must not be zero.

    >>> matched_groups((2, 3, 1, 4), (6, 2, 2))
    [([0, 1], [0]), ([3], [1, 2])]
    """
    first, second = ([k for k, size in enumerate(sizes) if size != 1] for sizes in (before, after))
    groups: list[Group] = []
    i = j = 0
    while i < len(first):
        start, (left, right) = (i, j), (before[first[i]], after[second[j]])
        i, j = i + 1, j + 1
        while left != right:
            if left < right:
                left, i = left * before[first[i]], i + 1
            else:
                right, j = right * after[second[j]], j + 1
        groups.append((first[start[0] : i], second[start[1] : j]))
    return groups


def equal_except_unit_sizes(before: Sequence[int], after: Sequence[int]) -> bool:
    """Returns whether two lists of sizes are equal except for dimensions of size 1.

    >>> equal_except_unit_sizes((2, 1, 3), (2, 3, 1)), equal_except_unit_sizes((2, 3), (3, 2))
    (True, False)
    """
    return [size for size in before if size != 1] == [size for size in after if size != 1]


def matched_dimensions(before: Sequence[int], after: Sequence[int]) -> dict[int, int] | None:
    """Maps each dimension that is not of size 1 to its number after a reshape.

    Returns None unless the reshape only adds and drops dimensions of size 1.

    >>> matched_dimensions((1, 2, 3), (2, 1, 3)), matched_dimensions((2, 3), (6,))
    ({1: 0, 2: 2}, None)
    """
    if not equal_except_unit_sizes(before, after):
        return None
    first, second = ([k for k, size in enumerate(sizes) if size != 1] for sizes in (before, after))
    return dict(zip(first, second, strict=True))


def increases(numbers: Sequence[int]) -> bool:
    """Returns whether each number is greater than the one before it.

    >>> increases((0, 2, 5)), increases((0, 0))
    (True, False)
    """
    return all(a < b for a, b in pairwise(numbers))


def inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    """Returns the inverse of a permutation.

    >>> inverse((2, 0, 1))
    (1, 2, 0)
    """
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def broadcast_dimensions(sizes: Sequence[int], known: Mapping[int, int], result: Sequence[int]) -> tuple[int, ...] | None:
    """Returns the `dimensions` attribute of a broadcast from an array with these sizes.

    `known` maps the dimensions that are not of size 1 to dimensions of the result. Dimensions of
    size 1 need counterparts of size 1 in the result; returns None if there are too few.

    >>> broadcast_dimensions((1, 4), {1: 2}, (1, 3, 4)), broadcast_dimensions((1, 4), {1: 1}, (3, 4))
    ((0, 2), None)
    """
    free = iter([k for k, size in enumerate(result) if size == 1])
    dimensions = [known[k] if size != 1 else next(free, -1) for k, size in enumerate(sizes)]
    return None if -1 in dimensions else tuple(dimensions)


def broadcast_after_reshape(x: Instruction, sizes: Sequence[int]) -> tuple[int, ...] | None:
    """Returns the `dimensions` of a broadcast that equals a reshape of the broadcast `x`.

    The new broadcast has the same operand as `x`, and its result has these sizes. Returns None if
    there is no such broadcast.

    >>> from hlotool.text.parse.parser import parse
    >>> x = parse("ENTRY e { p = f32[3] parameter(0) ROOT b = f32[2,3,4] broadcast(p), dimensions={1} }").entry.root
    >>> broadcast_after_reshape(x, (2, 1, 3, 2, 2)), broadcast_after_reshape(x, (6, 4))
    ((2,), None)
    """
    source = x.operands[0].shape.dimensions
    mapped = {dimension: k for k, dimension in enumerate(dimensions_of(x))}
    known: dict[int, int] = {}
    for before, after in matched_groups(x.shape.dimensions, sizes):
        count = sum(k in mapped for k in before)
        if not count:
            continue
        if len(before) > 1 or len(after) > 1:
            return None
        known[mapped[before[0]]] = after[0]
    return broadcast_dimensions(source, known, sizes)


def element_count(shape: Shape) -> int:
    """Returns the number of elements of a static array.

    >>> from hlotool.shapes.shape import array_shape
    >>> element_count(array_shape("f32", (2, 3)))
    6
    """
    return prod(shape.dimensions)
