"""Slices and updates at computed indices: known starts, whole dimensions, and slices of updates."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.analysis.simplify import constant_value
from hlotool.ir.model import Instruction
from hlotool.optimizer.constants import number_literal
from hlotool.optimizer.dimensions import dimensions_of, is_empty, is_plain
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule
from hlotool.shapes.shape import array_shape
from hlotool.shapes.values import PaddingDimension, SliceRange

__all__: list[str] = []


def _starts(x: Instruction, fixed: int) -> Sequence[Instruction] | None:
    """Returns the scalar start indices, which follow `fixed` operands.

    Returns None if the indices are a vector, if there are none, or if an array is not static.
    """
    starts = x.operands[fixed:]
    if not starts or starts[0].shape.dimensions or not all(is_plain(y.shape) for y in (x, *x.operands)):
        return None
    return starts


def _clamped(starts: Sequence[Instruction], bounds: Sequence[int], sizes: Sequence[int]) -> list[int] | None:
    """Returns the start of a slice in each dimension, or None if any start is unknown."""
    result = []
    for start, bound, size in zip(starts, bounds, sizes, strict=True):
        # A slice of a whole dimension starts at 0 for any index.
        value = constant_value(start) if size < bound else 0
        if value is None:
            return None
        result.append(min(max(int(value), 0), bound - size))
    return result


@rule("dynamic-slice")
def dynamic_slice_at_constants(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """dynamic-slice(a, constants) -> slice(a)"""
    starts, source = _starts(x, 1), x.operands[0]
    known = None if starts is None else _clamped(starts, source.shape.dimensions, x.shape.dimensions)
    if known is None:
        return None
    ranges = tuple(SliceRange(start, start + size) for start, size in zip(known, x.shape.dimensions, strict=True))
    return rewriter.add("slice", [source], x.shape, slice=ranges)


@rule("dynamic-slice", "dynamic-update-slice")
def start_of_whole_dimension(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """dynamic-slice(a, i, j) -> dynamic-slice(a, i, 0), if dimension 1 is taken as a whole

    The same holds for updates.
    """
    fixed = 1 if x.op.name == "dynamic-slice" else 2
    starts = _starts(x, fixed)
    if starts is None:
        return None
    sizes = x.shape.dimensions if fixed == 1 else x.operands[1].shape.dimensions
    whole = [k for k, size in enumerate(sizes) if size == x.operands[0].shape.dimensions[k] and starts[k].op.name not in ("constant", "parameter")]
    if not any(rewriter.has_one_user(starts[k]) for k in whole):
        return None
    zero = rewriter.constant(number_literal(starts[0].shape.element_type, 0))
    return rewriter.with_operands(x, [*x.operands[:fixed], *(zero if k in whole else start for k, start in enumerate(starts))])


@rule("dynamic-slice", of=("broadcast",))
def dynamic_slice_of_broadcast(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """dynamic-slice(broadcast(a), i, j) -> broadcast(a) or broadcast(dynamic-slice(a, i))

    The slice of `a` is needed if dimensions of `a` are cut.
    """
    y, starts = x.operands[0], _starts(x, 1)
    if y.op.name != "broadcast" or starts is None or not is_plain(y.operands[0].shape):
        return None
    source, mapped = y.operands[0], dimensions_of(y)
    if any(x.shape.dimensions[k] != y.shape.dimensions[k] for k in mapped):
        if not rewriter.has_one_user(y):
            return None
        sizes = tuple(x.shape.dimensions[k] for k in mapped)
        shape = array_shape(source.shape.element_type, sizes)
        source = rewriter.add("dynamic-slice", [source, *(starts[k] for k in mapped)], shape, dynamic_slice_sizes=sizes)
    return rewriter.add("broadcast", [source], x.shape, dimensions=mapped)


@rule("dynamic-slice", of=("dynamic-slice",))
def dynamic_slice_of_dynamic_slice(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """dynamic-slice(dynamic-slice(a, i, 0), 0, j) -> dynamic-slice(a, i, j)

    In each dimension, one of the two slices must take everything. Otherwise, clamped indices would
    have to be added.
    """
    y = x.operands[0]
    if y.op.name != "dynamic-slice":
        return None
    inner, outer = _starts(y, 1), _starts(x, 1)
    if inner is None or outer is None or inner[0].shape.element_type != outer[0].shape.element_type:
        return None
    starts = []
    for k, (bound, middle, size) in enumerate(zip(y.operands[0].shape.dimensions, y.shape.dimensions, x.shape.dimensions, strict=True)):
        if middle != bound and size != middle:
            return None
        starts.append(outer[k] if middle == bound else inner[k])
    return rewriter.with_operands(x, [y.operands[0], *starts])


@rule("slice", of=("dynamic-slice",))
def slice_of_dynamic_slice(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """slice(dynamic-slice(a, i, 0)), [0:1], [0:2] -> dynamic-slice(a, i, 0)

    In each dimension, the slice must take everything, or both must begin at 0.
    """
    y = x.operands[0]
    starts = _starts(y, 1)
    if starts is None or not is_plain(x.shape) or not rewriter.has_one_user(y):
        return None
    for part, start, before, after in zip(x.attributes["slice"], starts, y.shape.dimensions, x.shape.dimensions, strict=True):
        if before != after and (part.start or part.stride != 1 or constant_value(start) != 0):
            return None
    return rewriter.with_operands(y, y.operands, shape=x.shape, dynamic_slice_sizes=x.shape.dimensions)


@rule("dynamic-slice", of=("dynamic-update-slice",))
def dynamic_slice_of_update(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """dynamic-slice(dynamic-update-slice(a, b, i), i) -> b, if the shapes are equal"""
    y = x.operands[0]
    # An update with another shape is rejected.
    return y.operands[1] if y.op.name == "dynamic-update-slice" and x.operands[1:] == y.operands[2:] else None


@rule("dynamic-update-slice", of=("dynamic-update-slice",))
def update_of_update(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """dynamic-update-slice(dynamic-update-slice(a, b, i), c, i) -> dynamic-update-slice(a, c, i)

    `b` and `c` must have the same shape.
    """
    y = x.operands[0]
    if y.op.name != "dynamic-update-slice" or x.operands[2:] != y.operands[2:] or _starts(x, 2) is None:
        return None
    if y.operands[1].shape.dimensions != x.operands[1].shape.dimensions:
        return None
    return rewriter.with_operands(x, [y.operands[0], *x.operands[1:]])


@rule("dynamic-update-slice", of=("broadcast",))
def update_of_number(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """dynamic-update-slice(broadcast(v), b, constants) -> pad(b, v)"""
    y, update, starts = x.operands[0], x.operands[1], _starts(x, 2)
    if y.op.name != "broadcast" or y.operands[0].shape.dimensions or starts is None:
        return None
    known = _clamped(starts, x.shape.dimensions, update.shape.dimensions)
    if known is None:
        return None
    rows = zip(known, x.shape.dimensions, update.shape.dimensions, strict=True)
    padding = tuple(PaddingDimension(start, bound - start - size) for start, bound, size in rows)
    return rewriter.add("pad", [update, y.operands[0]], x.shape, padding=padding)


@rule("dynamic-update-slice")
def update_by_nothing(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """dynamic-update-slice(a, b, i) -> a, if `b` has no elements"""
    return x.operands[0] if is_empty(x.operands[1].shape) else None
