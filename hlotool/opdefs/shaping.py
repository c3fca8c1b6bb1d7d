"""Opcodes that rearrange or repeat elements, or create an array.

Examples are broadcast, reshape, transpose, slice, pad, concatenate and iota.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.base import Verify, op, require
from hlotool.opdefs.constraints import require_same_element_type
from hlotool.opdefs.inference import (
    Bound,
    array_operand,
    bare,
    bounds,
    count,
    higher_precision,
    is_scalar,
    kind_of,
    new_array,
    require_array,
    require_dimension,
    require_distinct_dimensions,
    require_written_shape,
    same_type_up_to_precision,
    with_bounds,
)
from hlotool.opdefs.kinds import (
    Always,
    Dims,
    FirstDim,
    Int,
    Padding,
    SingleDim,
    SliceRanges,
)
from hlotool.opdefs.layouts import check_bitcast_memory, check_copied_memory
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import CHEAP, FOLDABLE, FREE, IDENTITY, LAYOUT_KEPT, MOVES, ORDER_KEPT, REARRANGES, SHAPE_GUESSED, STRIDED, VIEW
from hlotool.record import replace
from hlotool.shapes.shape import UNBOUNDED, Shape, array_shape, buffer_shape, size_text

__all__: list[str] = []

_INT32_MAX = (1 << 31) - 1
_INT64_MIN = -(1 << 63)


# Broadcast


def _check_broadcast(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    needed = "dimensions" not in attributes and not (operands and is_scalar(operands[0]))
    require(not needed, "S014", "dimensions", "'broadcast' needs the attribute 'dimensions' unless its operand is a scalar")


def _verify_broadcast(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    operand, dimensions = operands[0], attributes["dimensions"]
    require_array(operand, "operand 0", "broadcast")
    require_array(result, "shape", "broadcast")
    require_same_element_type(result, operand, "broadcast", modes)
    fits = operand.rank == len(dimensions)
    require(
        fits, "T016", "dimensions", f"'broadcast' must list {count(operand.rank, 'dimension')} (one per operand dimension), got {len(dimensions)}"
    )
    for k, dimension in enumerate(dimensions):
        require_dimension(dimension, result.rank, "T017", "dimensions", "broadcast")
        size, result_size = operand.dimensions[k], result.dimensions[dimension]
        if size != result_size:
            message = f"operand dimension {k} has size {size_text(size)}, but maps to result dimension {dimension} of size {size_text(result_size)}"
            raise Violation("T017", "dimensions", message, _meant_dimensions(operand.dimensions, result.dimensions))
    message = f"dimensions of 'broadcast' must not repeat a dimension, got {list(dimensions)}"
    require(len(set(dimensions)) == len(dimensions), "T018", "dimensions value", message)


def _meant_dimensions(sizes: tuple[int, ...], result: tuple[int, ...]) -> str | None:
    """Returns a hint if each size of the operand occurs once in the result, in the same order."""
    counts, positions = Counter(result), {size: k for k, size in enumerate(result)}
    matches = [positions[size] for size in sizes if counts[size] == 1]
    ordered = len(matches) == len(sizes) and matches == sorted(set(matches))
    return f"did you mean dimensions={{{','.join(map(str, matches))}}}?" if ordered else None


@op(check_parsed=_check_broadcast, verify=_verify_broadcast, traits=(SHAPE_GUESSED, STRIDED))
def broadcast(operand: Shape, *, dimensions: Always[Dims] = ()) -> Shape:
    """Repeats the operand along new dimensions.

    Dimension k of the operand becomes dimension dimensions[k] of the result.

        r = f32[2,3] broadcast(x), dimensions={1}
    """
    require_array(operand, "operand 0", "broadcast")
    require(UNBOUNDED not in operand.dimensions, "T083", "operand 0", "operand 0 of 'broadcast' must not have unbounded dimensions")
    # Without a written shape, XLA interprets `dimensions` as the sizes of new leading dimensions.
    negative = any(size < 0 for size in dimensions)
    require(not negative, "T017", "dimensions", "without a result shape, dimensions of 'broadcast' are sizes, which cannot be negative")
    return new_array(operand.element_type, [*((size, False) for size in dimensions), *bounds(operand)], "broadcast")


# Reshapes


def _static_product(dimensions: Iterable[int]) -> int:
    """Returns the number of elements, leaving out unbounded dimensions, modulo 2^64 as in XLA."""
    return prod(size for size in dimensions if size != UNBOUNDED) % (1 << 64)


def _require_same_count(opcode: str, result: Shape, operand: Shape) -> None:
    """Raises Violation unless operand and result are arrays with the same number of elements."""
    sizes = array_operand(operand, "operand 0", opcode).dimensions, array_operand(result, "shape", opcode).dimensions
    counts = _static_product(sizes[1]), _static_product(sizes[0])
    message = f"'{opcode}' cannot turn {count(counts[1], 'element')} ({operand.text_without_layout}) into {counts[0]} ({result.text_without_layout})"
    require(counts[0] == counts[1], "T021", "shape", message)


def _check_reshape(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    if result is None or not operands:
        return
    # XLA checks nothing if the operand has a `?` anywhere, even in a tuple. It aborts on all other
    # operands that are not arrays.
    if any(UNBOUNDED in bare(leaf).dimensions for leaf in operands[0].leaves()):
        return
    _require_same_count("reshape", result, operands[0])


def _verify_reshape(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    require_array(operands[0], "operand 0", "reshape")
    require_array(result, "shape", "reshape")
    require_same_element_type(result, operands[0], "reshape", modes, "T022")


@op(infers=False, check_parsed=_check_reshape, verify=_verify_reshape, traits=(REARRANGES,))
def reshape(operand: Shape, *, inferred_dimension: Int = -1) -> Shape:
    """Changes the dimensions of the operand; its elements stay in row-major order.

    r = f32[6] reshape(x)
    """
    require_written_shape("reshape")


def _check_dynamic_reshape(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    require(operands, "S013", "operands", "'dynamic-reshape' takes an array and one size for each dimension of the result")
    if result is None:
        return
    sizes, rank = len(operands) - 1, array_operand(result, "shape", "dynamic-reshape").rank
    require(sizes == rank, "S013", "operands", f"'dynamic-reshape' to rank {rank} takes {count(rank, 'size')} (one per dimension), got {sizes}")
    _require_same_count("dynamic-reshape", result, operands[0])


def _verify_dynamic_reshape(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    require_same_element_type(result, operands[0], "dynamic-reshape", modes, "T090")
    for k, size in enumerate(operands[1:], 1):
        fits = is_scalar(size) and size.element_type == "s32"
        require(fits, "T090", f"definition of operand {k}", f"operand {k} of 'dynamic-reshape' must be s32[], got {size.text_without_layout}")


@op(infers=False, check_parsed=_check_dynamic_reshape, verify=_verify_dynamic_reshape, traits=(REARRANGES,))
def dynamic_reshape(*operands: Shape) -> Shape:
    """Changes the dimensions of the first operand.

    The other operands are scalars with the actual sizes of the new dimensions.

        r = f32[<=6] dynamic-reshape(x, n)
    """
    require_written_shape("dynamic-reshape")


def _verify_bitcast(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    check_bitcast_memory(result, operands[0], modes)


@op(infers=False, verify=_verify_bitcast, traits=(LAYOUT_KEPT, FREE, VIEW, REARRANGES))
def bitcast(operand: Shape) -> Shape:
    """Reinterprets the memory of the operand as an array of another shape, layout or element type.

    r = f32[6]{0} bitcast(x)
    """
    require_written_shape("bitcast")


# Order of elements


def _keeps_element_type(opcode: str) -> Verify:
    """Returns the constraint that the result has the operand's element type.

    The constraint applies to ops that move elements. For these ops, inference checks everything
    except the element type.
    """

    def verify(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
        if result.is_array:
            require_same_element_type(result, operands[0], opcode, modes)

    return verify


@op(verify=_keeps_element_type("transpose"), result_code="T024", traits=(STRIDED, FOLDABLE))
def transpose(operand: Shape, *, dimensions: Dims) -> Shape:
    """Permutes the dimensions: dimension k of the result is dimension dimensions[k] of the operand.

    r = f32[3,2] transpose(x), dimensions={1,0}
    """
    require_array(operand, "operand 0", "transpose")
    rank = operand.rank
    if sorted(dimensions) != list(range(rank)):
        message = f"dimensions of 'transpose' must be a permutation of {list(range(rank))}, got {list(dimensions)}"
        raise Violation("T023", "dimensions value", message)
    sizes = bounds(operand)
    shape = with_bounds(operand, [sizes[dimension] for dimension in dimensions])
    if operand.layout is None:
        return shape
    order = operand.layout.minor_to_major
    known = all(0 <= dimension < rank for dimension in order)
    require(known, "L003", "operand 0", f"the layout of operand 0 of 'transpose' names dimensions that the operand does not have: {operand}")
    # The elements of the result have the same order in memory as those of the operand. As in XLA,
    # split configurations keep their dimension numbers.
    position = {dimension: k for k, dimension in enumerate(dimensions)}
    return shape.with_layout(replace(operand.layout, minor_to_major=tuple(position[dimension] for dimension in order)))


@op(verify=_keeps_element_type("reverse"), traits=(REARRANGES, FOLDABLE, ORDER_KEPT))
def reverse(operand: Shape, *, dimensions: Dims) -> Shape:
    """Reverses the order of the elements along the given dimensions.

    r = f32[2,3] reverse(x), dimensions={1}
    """
    require_array(operand, "operand 0", "reverse")
    require_distinct_dimensions(dimensions, operand.rank, "T040", "dimensions value", "reverse")
    return operand


def _check_copy(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> None:
    # XLA aborts if the result is opaque, including a result whose shape is inferred. It accepts
    # opaque values in tuples.
    copied = result if result is not None or not operands else operands[0]
    require(copied is None or copied.element_type != "opaque", "T099", "shape", "'copy' cannot copy an opaque value")


def _verify_copy(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    check_copied_memory(result, operands[0], modes)


@op(check_parsed=_check_copy, verify=_verify_copy, result_code="T081", traits=(IDENTITY,))
def copy(operand: Shape) -> Shape:
    """Copies the operand to other memory, possibly with another layout.

    r = f32[2,3]{0,1} copy(x)
    """
    _check_copy(operand, (operand,), {})
    return operand


# Slice, pad and concatenate


def _verify_slice(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    operand, ranges = operands[0], attributes["slice"]
    require_array(operand, "operand 0", "slice")
    require_array(result, "shape", "slice")
    require_same_element_type(result, operand, "slice", modes)
    fits = operand.rank == len(ranges)
    require(fits, "T025", "slice value", f"slice must have {count(operand.rank, 'range')} (one per dimension), got {len(ranges)}")
    dimensions: list[Bound] = []
    for k, ((size, dynamic), part) in enumerate(zip(bounds(operand), ranges, strict=True)):
        at = f"slice[{k}]"
        require(part.start >= 0, "T026", at, f"start {part.start} of dimension {k} is negative")
        require(part.limit <= size or size == UNBOUNDED, "T026", at, f"limit {part.limit} exceeds size {size} of dimension {k}")
        require(part.start <= part.limit, "T026", at, f"start {part.start} of dimension {k} is after limit {part.limit}")
        require(part.stride > 0, "T027", at, f"stride of dimension {k} must be positive, got {part.stride}")
        dimensions.append((-(-(part.limit - part.start) // part.stride), dynamic))
    return new_array(operand.element_type, dimensions, "slice")


@op(infers=False, verify=_verify_slice, traits=(STRIDED, FOLDABLE, ORDER_KEPT))
def slice_(operand: Shape, *, slice: SliceRanges) -> Shape:
    """Returns every stride-th element from start up to but not including limit, in each dimension.

    r = f32[2] slice(x), slice={[1:5:2]}
    """
    require_written_shape("slice")


def _in_int64(value: int) -> int:
    """Returns the value wrapped as in XLA's 64-bit arithmetic."""
    return (value - _INT64_MIN) % (1 << 64) + _INT64_MIN


@op(verify=_keeps_element_type("pad"), traits=(MOVES, FOLDABLE, ORDER_KEPT))
def pad(operand: Shape, padding_value: Shape, *, padding: Padding) -> Shape:
    """Adds the padding value around the operand and between its elements.

    Negative padding removes elements.

        r = f32[7] pad(x, zero), padding=1_2
    """
    require_array(operand, "operand 0", "pad")
    require(is_scalar(padding_value), "T037", "operands", f"the padding value must be a scalar, got {padding_value.text_without_layout}")
    fits = operand.rank == len(padding)
    needed = f"{count(operand.rank, 'entry', 'entries')} (one low_high per dimension of {operand.text_without_layout})"
    require(fits, "T036", "padding", f"padding must have {needed}, got {len(padding)}")
    value_type = bare(padding_value).element_type
    agree = same_type_up_to_precision(operand.element_type, value_type)
    require(agree, "T037", "operands", f"the padding value has type {value_type}, but the operand has type {operand.element_type}")
    padded: list[Bound] = []
    for (size, dynamic), amount in zip(bounds(operand), padding, strict=True):
        require(amount.interior >= 0, "T038", "padding", f"interior padding cannot be negative, got {amount.interior}")
        if size == UNBOUNDED:
            padded.append((size, dynamic))
            continue
        between = max(size - 1, 0) * amount.interior
        require(
            between == _in_int64(between), "T084", "padding", f"interior padding of {amount.interior} between {size} elements does not fit in 64 bits"
        )
        padded_size = _in_int64(size + amount.low + amount.high + between)
        require(padded_size >= 0, "T039", "padding value", f"negative padding leaves a dimension of size {padded_size}")
        padded.append((padded_size, dynamic))
    return new_array(higher_precision(operand.element_type, value_type, "pad"), padded, "pad")


def _join_bounds(parts: Sequence[Bound]) -> Bound:
    """Returns the dimension of the result along which arrays are concatenated."""
    if any(size == UNBOUNDED for size, _ in parts):
        return UNBOUNDED, True
    return _in_int64(sum(size for size, _ in parts)), any(dynamic for _, dynamic in parts)


def _match_bounds(dimension: int, parts: Sequence[Bound]) -> Bound:
    """Returns a dimension of the result in which the concatenated arrays must agree."""
    known = [part for part in parts if part[0] != UNBOUNDED]
    if not known:
        return UNBOUNDED, True
    sizes = {size for size, _ in known}
    require(len(sizes) == 1, "T033", "operands", f"operands of 'concatenate' have different sizes in dimension {dimension}: {sorted(sizes)}")
    return known[0][0], any(dynamic for _, dynamic in known)


@op(traits=(MOVES, FOLDABLE, ORDER_KEPT))
def concatenate(*operands: Shape, dimensions: SingleDim) -> Shape:
    """Joins the operands along one dimension.

    r = f32[6] concatenate(x, y), dimensions={0}
    """
    require(operands, "S013", "operands", "'concatenate' takes at least one operand")
    first, dimension = operands[0], dimensions[0]
    for k, operand in enumerate(operands):
        require_array(operand, f"operand {k}", "concatenate")
        agree = same_type_up_to_precision(first.element_type, operand.element_type)
        require(agree, "T034", "operands", f"operands of 'concatenate' have types {first.element_type} and {operand.element_type}")
        require(first.rank == operand.rank, "T033", "operands", f"operands of 'concatenate' have ranks {first.rank} and {operand.rank}")
    require_dimension(dimension, first.rank, "T035", "dimensions", "concatenate")
    columns = zip(*map(bounds, operands), strict=True)
    joined = [_join_bounds(parts) if k == dimension else _match_bounds(k, parts) for k, parts in enumerate(columns)]
    # XLA combines the type of each operand with that of the first, and uses only the last result.
    element_types = [higher_precision(first.element_type, operand.element_type, "concatenate") for operand in operands]
    return new_array(element_types[-1], joined, "concatenate")


# Iota and dimension sizes


def _verify_iota(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    require_array(result, "shape", "iota")
    require(result.rank > 0, "T041", "shape", "'iota' cannot return a scalar", "use constant(0)")
    require_dimension(attributes["iota_dimension"], result.rank, "T041", "iota_dimension", "iota")
    require(kind_of(result.element_type) != "pred", "T042", "shape", "the element type of 'iota' cannot be pred")


@op(infers=False, verify=_verify_iota, traits=(CHEAP,))
def iota(*, iota_dimension: Int) -> Shape:
    """Fills an array with the index of each element along one dimension.

    r = s32[2,3] iota(), iota_dimension=1
    """
    require_written_shape("iota")


def _require_sized(opcode: str, operand: Shape, dimension: int) -> Shape:
    array = array_operand(operand, "operand 0", opcode)
    code = "T073" if opcode.startswith("set") else "T072"
    require_dimension(dimension, array.rank, code, "dimensions value", opcode)
    require(array.dimensions[dimension] <= _INT32_MAX, code, "dimensions", f"the size of dimension {dimension} does not fit in s32")
    return array


@op(result_code="T072")
def get_dimension_size(operand: Shape, *, dimensions: FirstDim) -> Shape:
    """Returns the actual size of one dimension.

    r = s32[] get-dimension-size(x), dimensions={0}
    """
    _require_sized("get-dimension-size", operand, dimensions[0])
    return array_shape("s32")


@op(result_code="T073", traits=(ORDER_KEPT,))
def set_dimension_size(operand: Shape, size: Shape, *, dimensions: FirstDim) -> Shape:
    """Sets the actual size of one dimension; its bound is unchanged.

    r = f32[<=4] set-dimension-size(x, n), dimensions={0}
    """
    dimension = dimensions[0]
    array = _require_sized("set-dimension-size", operand, dimension)
    fits = is_scalar(size) and bare(size).element_type == "s32"
    require(fits, "T073", "operand 1", f"the size operand of 'set-dimension-size' must be s32[], got {size.text_without_layout}")
    marked = [(bound, dynamic or k == dimension) for k, (bound, dynamic) in enumerate(bounds(array))]
    shape = with_bounds(array, marked)
    return buffer_shape(shape) if operand.element_type == "buffer" else shape
