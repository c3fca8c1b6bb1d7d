"""Transposes and reversals of instructions that rearrange elements."""

from __future__ import annotations

from hlotool.ir.model import Instruction
from hlotool.optimizer.dimensions import dimensions_of, increases, inverse, is_plain, matched_dimensions
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule

__all__: list[str] = []


@rule("transpose", of=("transpose",))
def transpose_of_transpose(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """transpose(transpose(a)) -> transpose(a), or `a` if the permutations cancel out"""
    y = x.operands[0]
    if not is_plain(x.shape) or not is_plain(y.shape):
        return None
    dimensions = tuple(dimensions_of(y)[k] for k in dimensions_of(x))
    if increases(dimensions) and y.operands[0].shape == x.shape:
        return y.operands[0]
    return rewriter.add("transpose", y.operands, x.shape, dimensions=dimensions)


@rule("transpose", of=("broadcast",))
def transpose_of_broadcast(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """transpose(broadcast(a)) -> broadcast(a)"""
    y = x.operands[0]
    if not is_plain(x.shape) or not is_plain(y.shape):
        return None
    positions = inverse(dimensions_of(x))
    return rewriter.add("broadcast", y.operands, x.shape, dimensions=tuple(positions[k] for k in dimensions_of(y)))


@rule("transpose", of=("iota",))
def transpose_of_iota(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """transpose(iota) -> iota"""
    y = x.operands[0]
    if not is_plain(x.shape):
        return None
    return rewriter.add("iota", (), x.shape, iota_dimension=inverse(dimensions_of(x))[y.attributes["iota_dimension"]])


@rule("transpose")
def transpose_of_ones(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """transpose(a) -> reshape(a), if all dimensions except those of size 1 stay in order"""
    if not is_plain(x.shape) or not is_plain(x.operands[0].shape):
        return None
    moved = [k for k in dimensions_of(x) if x.operands[0].shape.dimensions[k] != 1]
    return rewriter.add("reshape", x.operands, x.shape) if increases(moved) else None


@rule("transpose", of=("reshape",))
def transpose_of_reshape(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """transpose(reshape(a)) -> reshape(transpose(a))

    The reshape may only add or drop dimensions of size 1.
    """
    y = x.operands[0]
    if not rewriter.has_one_user(y) or not is_plain(x.shape) or not is_plain(y.shape):
        return None
    source = y.operands[0]
    positions = matched_dimensions(y.shape.dimensions, source.shape.dimensions)
    if positions is None or not is_plain(source.shape):
        return None
    unit_dimensions = [k for k, size in enumerate(source.shape.dimensions) if size == 1]
    permutation = (*unit_dimensions, *(positions[k] for k in dimensions_of(x) if k in positions))
    sizes = tuple(source.shape.dimensions[k] for k in permutation)
    return rewriter.reshape(rewriter.add("transpose", [source], x.shape.with_dimensions(sizes), dimensions=permutation), x.shape.dimensions)


@rule("reverse", of=("reverse",))
def reverse_of_reverse(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reverse(reverse(a)) -> reverse(a) in the dimensions that only one of them reverses, or `a`"""
    y = x.operands[0]
    if not is_plain(x.shape) or not is_plain(y.shape):
        return None
    dimensions = tuple(sorted({*dimensions_of(x)} ^ {*dimensions_of(y)}))
    if not dimensions and y.operands[0].shape == x.shape:
        return y.operands[0]
    return rewriter.add("reverse", y.operands, x.shape, dimensions=dimensions)


@rule("reverse", of=("broadcast",))
def reverse_of_broadcast(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reverse(broadcast(a)) -> broadcast(a), if only new dimensions are reversed"""
    y = x.operands[0]
    mapped = dimensions_of(y)
    return None if any(k in mapped and x.shape.dimensions[k] != 1 for k in dimensions_of(x)) else y


@rule("reverse")
def reverse_of_ones(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """reverse(a), dimensions={0,1} -> reverse(a), dimensions={0}, if dimension 1 has size 1"""
    dimensions = dimensions_of(x)
    kept = tuple(k for k in dimensions if x.shape.dimensions[k] != 1)
    if len(kept) == len(dimensions) or not kept or not is_plain(x.shape):
        return None
    return rewriter.with_operands(x, x.operands, dimensions=kept)
