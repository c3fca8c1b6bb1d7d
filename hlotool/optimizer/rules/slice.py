"""Slices of instructions that rearrange elements."""

from __future__ import annotations

from hlotool.ir.model import Instruction
from hlotool.optimizer.dimensions import are_plain, dimensions_of, inverse, is_empty, is_plain
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule
from hlotool.shapes.shape import array_shape
from hlotool.shapes.values import PaddingDimension, SliceRange

__all__: list[str] = []


def _applies(x: Instruction) -> bool:
    """Returns whether a slice is not empty, and all shapes involved are static.

    These include the shapes of the operand and of the operand's own operands.
    """
    y = x.operands[0]
    return is_plain(x.shape) and is_plain(y.shape) and not is_empty(x.shape) and not any(operand.shape.dynamic for operand in y.operands)


def _last(part: SliceRange) -> int:
    """Returns the index of the last element of a range that is not empty."""
    return part.start + (part.limit - part.start - 1) // part.stride * part.stride


def _is_whole(part: SliceRange, size: int) -> bool:
    return part.start == 0 and part.limit == size and part.stride == 1


@rule("slice", of=("slice",))
def slice_of_slice(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """slice(slice(a)) -> slice(a)"""
    y = x.operands[0]
    if not _applies(x):
        return None
    ranges = []
    for inner, outer in zip(y.attributes["slice"], x.attributes["slice"], strict=True):
        start, stride = inner.start + outer.start * inner.stride, inner.stride * outer.stride
        limit = inner.start + _last(outer) * inner.stride + 1
        # If all of the inner slice is taken, its own limit is clearer.
        limit = inner.limit if limit + inner.stride - 1 >= inner.limit else limit
        ranges.append(SliceRange(start, limit, stride))
    return rewriter.add("slice", y.operands, x.shape, slice=tuple(ranges))


@rule("slice", of=("broadcast",))
def slice_of_broadcast(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """slice(broadcast(a)) -> broadcast(a) or broadcast(slice(a))

    The slice of `a` is needed if dimensions of `a` are cut.
    """
    y = x.operands[0]
    if not _applies(x):
        return None
    source, mapped, ranges = y.operands[0], dimensions_of(y), x.attributes["slice"]
    if any(not _is_whole(ranges[k], y.shape.dimensions[k]) for k in mapped):
        if not rewriter.has_one_user(y):
            return None
        part = array_shape(source.shape.element_type, tuple(x.shape.dimensions[k] for k in mapped))
        source = rewriter.add("slice", [source], part, slice=tuple(ranges[k] for k in mapped))
    return rewriter.add("broadcast", [source], x.shape, dimensions=mapped)


@rule("slice", of=("iota",))
def slice_of_iota(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """slice(iota) -> iota, if the iota dimension is cut at most at its end"""
    y = x.operands[0]
    if not _applies(x):
        return None
    counted = y.attributes["iota_dimension"]
    part = x.attributes["slice"][counted]
    if part.start or (part.stride != 1 and x.shape.dimensions[counted] > 1):
        return None
    return rewriter.add("iota", (), x.shape, iota_dimension=counted)


@rule("slice", of=("reverse",))
def slice_of_reverse(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """slice(reverse(a)) -> reverse(slice(a))"""
    y = x.operands[0]
    if not _applies(x) or not rewriter.has_one_user(y):
        return None
    ranges = list(x.attributes["slice"])
    for k in dimensions_of(y):
        size, part = y.shape.dimensions[k], ranges[k]
        ranges[k] = SliceRange(size - 1 - _last(part), size - part.start, part.stride)
    part_of_source = rewriter.add("slice", y.operands, array_shape(x.shape.element_type, x.shape.dimensions), slice=tuple(ranges))
    return rewriter.add("reverse", [part_of_source], x.shape, dimensions=dimensions_of(y))


@rule("slice", of=("transpose",))
def slice_of_transpose(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """slice(transpose(a)) -> transpose(slice(a))"""
    y = x.operands[0]
    if not _applies(x) or not rewriter.has_one_user(y):
        return None
    permutation = dimensions_of(y)
    positions = inverse(permutation)
    shape = array_shape(x.shape.element_type, tuple(x.shape.dimensions[k] for k in positions))
    part = rewriter.add("slice", y.operands, shape, slice=tuple(x.attributes["slice"][k] for k in positions))
    return rewriter.add("transpose", [part], x.shape, dimensions=permutation)


@rule("slice", of=("pad",))
def slice_of_pad(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """slice(pad(a, v)) -> slice(a), broadcast(v), or pad(a, v) with less padding

    The slice suffices if the range contains only elements of `a`, and the broadcast suffices if the
    range contains only padding.
    """
    y = x.operands[0]
    if not _applies(x) or y.operands[0].shape.element_type != y.operands[1].shape.element_type:
        return None
    source, value = y.operands
    inside, rows = True, list(zip(x.attributes["slice"], y.attributes["padding"], source.shape.dimensions, strict=True))
    for part, padding, size in rows:
        end = padding.low + (size - 1) * (padding.interior + 1)
        if not size or _last(part) < padding.low or part.start > end:
            return rewriter.add("broadcast", [value], x.shape, dimensions=())
        inside = inside and part.start >= padding.low and _last(part) <= end and not padding.interior
    if inside:
        ranges = [SliceRange(part.start - padding.low, _last(part) - padding.low + 1, part.stride) for part, padding, _ in rows]
        return rewriter.add("slice", [source], x.shape, slice=tuple(ranges))
    return _less_padding(x, y, rewriter)


def _less_padding(x: Instruction, y: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    padding = []
    for part, amount, size in zip(x.attributes["slice"], y.attributes["padding"], y.shape.dimensions, strict=True):
        if _is_whole(part, size):
            padding.append(amount)
        elif amount.interior or part.stride != 1:
            return None
        else:
            padding.append(PaddingDimension(amount.low - part.start, amount.high - (size - part.limit)))
    return rewriter.add("pad", y.operands, x.shape, padding=tuple(padding))


@rule("slice", of=("concatenate",))
def slice_of_concatenate(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """slice(concatenate(a, b)) -> slice(a), if the range is in `a`

    If the range consists of whole operands, the result is the concatenation of these operands.
    """
    y = x.operands[0]
    if not _applies(x) or not are_plain(y):
        return None
    dimension = dimensions_of(y)[0]
    part, start = x.attributes["slice"][dimension], 0
    kept: list[Instruction] = []
    others_whole = all(
        _is_whole(r, size) for k, (r, size) in enumerate(zip(x.attributes["slice"], y.shape.dimensions, strict=True)) if k != dimension
    )
    for operand in y.operands:
        end = start + operand.shape.dimensions[dimension]
        if start <= part.start and _last(part) < end:
            ranges = list(x.attributes["slice"])
            ranges[dimension] = SliceRange(part.start - start, min(part.limit, end) - start, part.stride)
            return rewriter.add("slice", [operand], x.shape, slice=tuple(ranges))
        if start < part.limit and end > part.start:
            if start < part.start or end > part.limit:
                return None
            kept.append(operand)
        start = end
    return rewriter.add("concatenate", kept, x.shape, dimensions=(dimension,)) if part.stride == 1 and others_whole else None
