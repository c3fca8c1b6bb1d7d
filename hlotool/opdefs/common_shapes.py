"""Shape arithmetic that several families of op definitions share: type precedence, size compatibility, windows.

Follows the leniency of XLA's shape inference, which is wider than its verifier; never looks at instructions or text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NoReturn

from hlotool.errors import Violation
from hlotool.opdefs.base import require
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.shapes.layout import COMBINE
from hlotool.shapes.shape import UNBOUNDED, Shape, array_shape, tuple_shape
from hlotool.shapes.values import WindowDimension

__all__ = [
    "array_of",
    "array_operand",
    "check_layout",
    "checked_array",
    "checked_tuple",
    "count",
    "dynamic_flags",
    "equal_types",
    "equal_types_up_to_precision",
    "higher_precision",
    "is_complex",
    "is_floating",
    "is_scalar",
    "require_array",
    "same_dimensions",
    "same_size",
    "shape_must_be_written",
    "shapes_match",
    "window_result",
    "with_leaves",
]

TypeComparison = Callable[[str, str], bool]

_INT64_LIMIT = 1 << 63


def shape_must_be_written(opcode: str) -> NoReturn:
    """Refuses inference for an opcode whose result shape XLA's parser never infers."""
    raise Violation("S037", "shape", f"cannot infer the result shape of '{opcode}'")


def count(number: int, noun: str) -> str:
    """The number with its noun, in the plural where English wants it.

    >>> count(1, "operand"), count(2, "operand")
    ('1 operand', '2 operands')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def array_of(shape: Shape) -> Shape | None:
    """The array itself, or the array in a buffer; None for tuples, tokens and opaque values.

    XLA's accessors for element type and dimensions look through a buffer, so its checks do too unless they exclude buffers.
    """
    if shape.element_type == "buffer":
        return shape.elements[0]
    return shape if shape.is_array else None


def require_array(shape: Shape, at: str, opcode: str) -> None:
    """Refuses tuples, tokens, opaque values and buffers."""
    if not shape.is_array:
        raise Violation("T099", at, f"'{opcode}' needs an array operand, got {shape.text_without_layout}")


def array_operand(shape: Shape, at: str, opcode: str) -> Shape:
    """The array itself or the array in a buffer; refuses everything else."""
    array = array_of(shape)
    if array is None:
        raise Violation("T099", at, f"'{opcode}' needs an array operand, got {shape.text_without_layout}")
    return array


def is_scalar(shape: Shape) -> bool:
    """Whether the shape is an array of rank 0, or a buffer of one."""
    array = array_of(shape)
    return array is not None and not array.dimensions


def _row(element_type: str) -> ElementType | None:
    return ELEMENT_TYPES.get(element_type)


def is_floating(element_type: str) -> bool:
    row = _row(element_type)
    return row is not None and row.kind == "float"


def is_complex(element_type: str) -> bool:
    row = _row(element_type)
    return row is not None and row.kind == "complex"


def equal_types(first: str, second: str) -> bool:
    return first == second


def equal_types_up_to_precision(first: str, second: str) -> bool:
    """Whether the types are equal or both floating-point."""
    return first == second or (is_floating(first) and is_floating(second))


def dynamic_flags(shape: Shape) -> tuple[bool, ...]:
    """One flag for each dimension, also where the shape stores none because all are static."""
    return shape.dynamic or (False,) * len(shape.dimensions)


def same_size(first: int, second: int) -> bool:
    """Whether two dimension sizes may be the same at run time: an unbounded one fits every other."""
    return first in (second, UNBOUNDED) or second == UNBOUNDED


def same_dimensions(first: Sequence[int], second: Sequence[int]) -> bool:
    """Whether two lists of sizes agree, unbounded ones fitting every other."""
    return len(first) == len(second) and all(map(same_size, first, second))


def shapes_match(first: Shape, second: Shape, types: TypeComparison = equal_types) -> bool:
    """Whether two shapes agree up to layouts and dynamic marks, as ShapeUtil::Compatible decides.

    Differs from `shapes.shape.compatible` in that an unbounded dimension matches every size.

    >>> shapes_match(array_shape("f32", (2,)), array_shape("f32", (UNBOUNDED,), (True,)))
    True
    """
    stack = [(first, second)]
    while stack:
        a, b = stack.pop()
        if a is b:
            continue
        if a.is_array and b.is_array:
            if not types(a.element_type, b.element_type) or not same_dimensions(a.dimensions, b.dimensions):
                return False
        elif a.element_type != b.element_type or len(a.elements) != len(b.elements):
            return False
        else:
            stack.extend(zip(a.elements, b.elements, strict=True))
    return True


def _precedence(element_type: str) -> tuple[bool, int, int, int, bool]:
    """What decides which of two types is the higher one, most important part first: range, then precision, then width."""
    row = ELEMENT_TYPES[element_type]
    component = ELEMENT_TYPES["f32" if row.bits == 64 else "f64"] if row.kind == "complex" else row
    form = component.float_format
    exponent = significand = -1
    if form is not None:
        # IEEE formats keep the largest exponent code for infinity and NaN, e8m0 for NaN; the others use it for finite values.
        reserved = 2 if form.nonfinite in ("ieee", "e8m0") else 1
        exponent = (1 << form.exponent_bits) - reserved - form.bias + 1
        significand = form.mantissa_bits + 1
    bits = 1 if row.kind == "pred" else row.bits
    return row.kind == "complex", exponent, significand, bits, row.kind == "signed"


def higher_precision(first: str, second: str) -> str:
    """The type of the result when operands differ in type: wider range wins, then precision, width and sign.

    Some pairs have no winner (f8e5m2 and f8e5m2fnuz, pred and u1); XLA aborts there.

    >>> higher_precision("f16", "bf16"), higher_precision("s8", "u8"), higher_precision("f64", "c64")
    ('bf16', 's8', 'c64')
    """
    if first == second:
        return first
    one, other = _precedence(first), _precedence(second)
    require(one != other, "T085", "operands", f"neither of {first} and {second} is the higher-precision type")
    return first if one > other else second


def checked_array(element_type: str, dimensions: Sequence[int], dynamic: Sequence[bool] = ()) -> Shape:
    """An array shape with the default layout; refuses negative sizes and more bytes than an int64 counts."""
    bytes_ = max(1, ELEMENT_TYPES[element_type].bits // 8)
    for size in dimensions:
        if size == UNBOUNDED:
            continue
        require(size >= 0, "T084", "shape", f"dimension size {size} is negative")
        bytes_ *= size
        # Checked after each factor: a later zero does not rescue a product that has overflowed.
        require(bytes_ < _INT64_LIMIT, "T084", "shape", f"{element_type}{list(dimensions)} is too large")
    return array_shape(element_type, tuple(dimensions), tuple(dynamic))


def check_layout(array: Shape, at: str) -> None:
    """Refuses a layout that makes no sense for its array, which the text format itself does outside tuples not enforce."""
    layout, rank = array.layout, len(array.dimensions)
    if layout is None:
        return
    order = layout.minor_to_major
    require(all(0 <= k < rank for k in order), "L003", at, f"the layout of {array.text} names a dimension that does not exist")
    require(len(set(order)) == rank, "L002", at, f"the layout of {array.text} does not name each dimension once")
    tiles = all(tile and all(size > 0 or size == COMBINE for size in tile) for tile in layout.tiles)
    require(tiles, "L004", at, f"a tile of {array.text} is empty or has a size that is not positive")
    require(layout.element_size_in_bits >= 0, "L006", at, f"the element size of {array.text} is negative")
    # Only sparse arrays had these, and there are none any more.
    typed = layout.index_type is not None or layout.pointer_type is not None
    require(not typed, "S037", at, f"the layout of {array.text} has an index or pointer type, which no array takes")
    split = [dimension for dimension, _ in layout.split_configs]
    named_once = len(set(split)) == len(split) and all(0 <= dimension < rank for dimension in split)
    require(named_once, "L027", at, f"the split configuration of {array.text} repeats a dimension or names none")
    for dimension, indices in layout.split_configs:
        # Splits count dimensions from the most major one, whatever it is called; an unbounded one (-1) has no place to split at.
        borders = (0, *indices, array.dimensions[order[rank - 1 - dimension]])
        inside = not indices or all(low < high for low, high in pairwise(borders))
        require(inside, "L027", at, f"the split indices of {array.text} do not ascend inside dimension {dimension}")


def checked_tuple(elements: Sequence[Shape], at: str) -> Shape:
    """A tuple shape; refuses elements with layouts that make no sense, as XLA does when it builds a tuple."""
    for element in elements:
        for leaf in element.leaves():
            array = array_of(leaf)
            if array is not None:
                check_layout(array, at)
    return tuple_shape(elements)


def with_leaves(shape: Shape, leaves: Iterator[Shape]) -> Shape:
    """A shape of the same nesting with other leaves, taken in order."""
    if not shape.is_tuple:
        return next(leaves)
    # An explicit stack: shapes may nest deeper than Python's recursion limit.
    frames: list[tuple[Iterator[Shape], list[Shape]]] = [(iter(shape.elements), [])]
    while True:
        pending, done = frames[-1]
        child = next(pending, None)
        if child is None:
            frames.pop()
            if not frames:
                return tuple_shape(done)
            frames[-1][1].append(tuple_shape(done))
        elif child.is_tuple:
            frames.append((iter(child.elements), []))
        else:
            done.append(next(leaves))


def window_result(sizes: Sequence[int], window: Sequence[WindowDimension]) -> list[int]:
    """Number of window positions along each dimension of an array with the given sizes.

    >>> window_result([7], [WindowDimension(3, stride=2, padding_low=1, padding_high=1)])
    [4]
    """
    require(len(sizes) == len(window), "T095", "window", f"window has {count(len(window), 'dimension')}, the array has {len(sizes)}")
    return [_window_positions(size, dimension) for size, dimension in zip(sizes, window, strict=True)]


def _window_positions(size: int, dimension: WindowDimension) -> int:
    for name in ("size", "stride", "base_dilation", "window_dilation"):
        value = getattr(dimension, name)
        require(value > 0, "T054", "window", f"window {name.replace('_', ' ')} must be positive, got {value}")
    if size == UNBOUNDED:
        return UNBOUNDED
    padded = dimension.padding_low + _dilated(size, dimension.base_dilation) + dimension.padding_high
    require(padded >= 0, "T095", "window", f"negative padding removes more than the {count(size, 'element')} there are")
    covered = _dilated(dimension.size, dimension.window_dilation)
    return 0 if padded == 0 or covered > padded else (padded - covered) // dimension.stride + 1


def _dilated(size: int, dilation: int) -> int:
    return 0 if size == 0 else (size - 1) * dilation + 1
