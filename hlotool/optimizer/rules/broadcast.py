"""Broadcasts of instructions that rearrange elements."""

from __future__ import annotations

from hlotool.ir.model import Instruction
from hlotool.optimizer.dimensions import (
    broadcast_dimensions,
    dimensions_of,
    element_count,
    increases,
    inverse,
    is_empty,
    is_plain,
    matched_dimensions,
)
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule

__all__: list[str] = []


@rule("broadcast", of=("broadcast",))
def broadcast_of_broadcast(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """broadcast(broadcast(a)) -> broadcast(a)"""
    y = x.operands[0]
    if not is_plain(y.shape) or not is_plain(x.shape):
        return None
    dimensions = dimensions_of(x)
    return rewriter.add("broadcast", y.operands, x.shape, dimensions=tuple(dimensions[k] for k in dimensions_of(y)))


@rule("broadcast", of=("reshape",))
def broadcast_of_reshape(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """broadcast(reshape(a)) -> broadcast(a), if the reshape only adds or drops dimensions of size 1

    For each dimension of size 1 in `a`, the result must also have a dimension of size 1.
    """
    y = x.operands[0]
    if not is_plain(y.shape) or not is_plain(x.shape) or is_empty(x.shape):
        return None
    source = y.operands[0]
    positions = matched_dimensions(source.shape.dimensions, y.shape.dimensions)
    if positions is None or not is_plain(source.shape):
        return None
    known = {k: dimensions_of(x)[position] for k, position in positions.items()}
    dimensions = broadcast_dimensions(source.shape.dimensions, known, x.shape.dimensions)
    return None if dimensions is None else rewriter.add("broadcast", [source], x.shape, dimensions=dimensions)


@rule("broadcast", of=("transpose",))
def broadcast_of_transpose(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """broadcast(transpose(a)) -> broadcast(a)"""
    y = x.operands[0]
    if not is_plain(y.shape) or not is_plain(x.shape):
        return None
    positions = inverse(dimensions_of(y))
    return rewriter.add("broadcast", y.operands, x.shape, dimensions=tuple(dimensions_of(x)[k] for k in positions))


@rule("broadcast")
def broadcast_without_repetition(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """broadcast(a) -> reshape(a), if all new dimensions have size 1"""
    source = x.operands[0]
    if not is_plain(x.shape) or not is_plain(source.shape) or element_count(x.shape) != element_count(source.shape) or is_empty(x.shape):
        return None
    if not increases([position for position in dimensions_of(x) if x.shape.dimensions[position] != 1]):
        return None
    return source if source.shape == x.shape else rewriter.add("reshape", [source], x.shape)


@rule("broadcast", of=("iota",))
def broadcast_of_iota(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """broadcast(iota) -> iota"""
    y = x.operands[0]
    if not is_plain(x.shape):
        return None
    return rewriter.add("iota", (), x.shape, iota_dimension=dimensions_of(x)[y.attributes["iota_dimension"]])
