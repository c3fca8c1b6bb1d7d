"""Copies, bitcasts and dimension sizes, and reshapes of instructions that rearrange elements."""

from __future__ import annotations

from hlotool.ir.model import Instruction
from hlotool.optimizer.dimensions import (
    broadcast_after_reshape,
    dimensions_of,
    element_count,
    increases,
    is_empty,
    is_plain,
    matched_dimensions,
    matched_groups,
)
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import default_layout
from hlotool.shapes.shape import Shape, array_shape
from hlotool.shapes.values import SliceRange

__all__: list[str] = []


@rule("reshape", of=("reshape",))
def reshape_of_reshape(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reshape(reshape(a)) -> reshape(a)

    A reshape back to the shape of `a` is replaced with `a`.
    """
    y = x.operands[0]
    source = y.operands[0]
    if not is_plain(x.shape) or not is_plain(y.shape) or not is_plain(source.shape):
        return None
    return source if source.shape == x.shape else rewriter.add("reshape", [source], x.shape)


@rule("reshape", of=("broadcast",))
def reshape_of_broadcast(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reshape(broadcast(a)) -> broadcast(a) or broadcast(reshape(a))

    The reshape of `a` is needed if dimensions of `a` are split or merged. A dimension that comes
    from `a` must not be merged with a new one.
    """
    y = x.operands[0]
    if not is_plain(y.shape) or not is_plain(x.shape) or is_empty(x.shape):
        return None
    dimensions = broadcast_after_reshape(y, x.shape.dimensions)
    if dimensions is not None:
        return rewriter.add("broadcast", [y.operands[0]], x.shape, dimensions=dimensions)
    return _broadcast_of_reshape(x, y, rewriter) if rewriter.has_one_user(y) else None


def _broadcast_of_reshape(x: Instruction, y: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    mapped = [k for k in dimensions_of(y) if y.shape.dimensions[k] != 1]
    if not increases(mapped):
        return None
    dimensions: list[int] = []
    for before, after in matched_groups(y.shape.dimensions, x.shape.dimensions):
        count = sum(k in mapped for k in before)
        if count and count < len(before):
            return None
        if count:
            dimensions += after
    source = rewriter.reshape(y.operands[0], [x.shape.dimensions[k] for k in dimensions])
    return rewriter.add("broadcast", [source], x.shape, dimensions=tuple(dimensions))


@rule("reshape", of=("iota",))
def reshape_of_iota(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reshape(iota) -> iota, if the iota dimension is not split or merged"""
    y = x.operands[0]
    if not is_plain(x.shape) or is_empty(x.shape):
        return None
    counted = y.attributes["iota_dimension"]
    for before, after in matched_groups(y.shape.dimensions, x.shape.dimensions):
        if before == [counted] and len(after) == 1:
            return rewriter.add("iota", (), x.shape, iota_dimension=after[0])
    return None


@rule("reshape", of=("slice",))
def reshape_of_slice_of_reshape(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reshape(slice(reshape(a))) -> reshape(slice(a))

    The inner reshape may only add or drop dimensions of size 1.
    """
    y = x.operands[0]
    if y.operands[0].op.name != "reshape" or not rewriter.has_one_user(y) or is_empty(x.shape):
        return None
    source = y.operands[0].operands[0]
    if not (is_plain(x.shape) and is_plain(y.shape) and is_plain(source.shape) and is_plain(y.operands[0].shape)):
        return None
    positions = matched_dimensions(source.shape.dimensions, y.operands[0].shape.dimensions)
    if positions is None:
        return None
    ranges = y.attributes["slice"]
    parts = [ranges[positions[k]] if k in positions else SliceRange(0, 1) for k in range(source.shape.rank)]
    sizes = [y.shape.dimensions[positions[k]] if k in positions else 1 for k in range(source.shape.rank)]
    part = rewriter.add("slice", [source], array_shape(source.shape.element_type, tuple(sizes)), slice=tuple(parts))
    return rewriter.add("reshape", [part], x.shape)


@rule("copy", of=("copy",))
def copy_of_copy(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """copy(copy(a)) -> copy(a)

    The layout and the memory space of the inner copy do not matter, unless it has other users.
    """
    y = x.operands[0]
    if not is_plain(y.shape) or not is_plain(x.shape) or not is_plain(y.operands[0].shape):
        return None
    return rewriter.with_operands(x, y.operands) if rewriter.has_one_user(y) else None


@rule("bitcast", of=("bitcast",))
def bitcast_of_bitcast(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """bitcast(bitcast(a)) -> bitcast(a), for arrays of one element type"""
    y = x.operands[0]
    shapes = x.shape, y.shape, y.operands[0].shape
    if not all(map(is_plain, shapes)) or len({shape.element_type for shape in shapes}) > 1:
        return None
    return y.operands[0] if shapes[2] == x.shape else rewriter.with_operands(x, y.operands)


@rule("bitcast", of=("transpose",))
def bitcast_of_transpose(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """bitcast(transpose(a)) -> bitcast(a), if the transpose does not change the order in memory"""
    y = x.operands[0]
    source, permutation = y.operands[0].shape, y.attributes["dimensions"]
    if not all(map(is_plain, (x.shape, y.shape, source))) or source.element_type != x.shape.element_type:
        return None
    assert source.layout is not None
    assert y.shape.layout is not None
    if tuple(permutation[k] for k in y.shape.layout.minor_to_major) != source.layout.minor_to_major:
        return None
    return y.operands[0] if source == x.shape else rewriter.with_operands(x, y.operands)


@rule("bitcast")
def bitcast_as_reshape(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """bitcast(a) -> reshape(a), if both have row-major layouts and the same element type

    In scheduled modules, bitcasts are kept, since a reshape might be compiled to a copy.
    """
    source = x.operands[0].shape
    if rewriter.module_rewriter.module.is_scheduled or not _is_row_major(source) or not _is_row_major(x.shape):
        return None
    # The result of a bitcast may be only a part of the array.
    if source.element_type != x.shape.element_type or element_count(source) != element_count(x.shape):
        return None
    return rewriter.add("reshape", x.operands, x.shape)


def _is_row_major(shape: Shape) -> bool:
    return is_plain(shape) and shape.layout == default_layout(shape.rank)


@rule("bitcast-convert", of=("bitcast-convert",))
def bitcast_convert_of_bitcast_convert(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """bitcast-convert(bitcast-convert(a)) -> bitcast-convert(a), or a if the types are equal

    All types must have the same number of bits. The intermediate type must not be pred, which only
    preserves whether the bits are zero.
    """
    y = x.operands[0]
    if y.shape.element_type == "pred":
        return None
    shapes = x.shape, y.shape, y.operands[0].shape
    if not all(map(is_plain, shapes)) or len({ELEMENT_TYPES[shape.element_type].bits for shape in shapes}) > 1:
        return None
    return y.operands[0] if shapes[2] == x.shape else rewriter.with_operands(x, y.operands)


@rule("get-dimension-size")
def size_of_dimension(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """get-dimension-size(a) -> constant, if the dimension is static

    Likewise, `get-dimension-size(set-dimension-size(a, n)) -> n`.
    """
    y, dimension = x.operands[0], dimensions_of(x)[0]
    if not y.shape.dynamic or not y.shape.dynamic[dimension]:
        return rewriter.number(x.shape, y.shape.dimensions[dimension])
    is_set = y.op.name == "set-dimension-size" and dimensions_of(y)[0] == dimension
    return y.operands[1] if is_set else None
