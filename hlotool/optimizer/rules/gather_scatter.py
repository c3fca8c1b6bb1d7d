"""Gathers whose indices do not matter, and scatters that change nothing."""

from __future__ import annotations

from hlotool.analysis.simplify import constant_value
from hlotool.ir.model import Instruction
from hlotool.optimizer.dimensions import is_empty, is_plain
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule

__all__: list[str] = []


@rule("gather")
def gather_of_number(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """gather(broadcast(v), i) -> broadcast(v)"""
    y = x.operands[0]
    if not is_plain(x.shape) or not is_plain(y.shape) or is_empty(y.shape):
        return None
    if y.op.name == "broadcast" and not y.operands[0].shape.dimensions:
        return rewriter.add("broadcast", y.operands, x.shape, dimensions=())
    value = constant_value(y)
    return None if value is None else rewriter.number(x.shape, value)


@rule("gather")
def gather_of_everything(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """gather(a, i) -> broadcast(reshape(a)), if each slice is all of `a`

    The starts of such slices are clamped to 0.
    """
    y, attributes = x.operands[0], x.attributes
    if attributes["slice_sizes"] != y.shape.dimensions or attributes.get("operand_batching_dims") or is_empty(y.shape):
        return None
    if not is_plain(x.shape) or not is_plain(y.shape):
        return None
    collapsed = attributes["collapsed_slice_dims"]
    kept = [size for k, size in enumerate(y.shape.dimensions) if k not in collapsed]
    return rewriter.add("broadcast", [rewriter.reshape(y, kept)], x.shape, dimensions=attributes["offset_dims"])


@rule("scatter")
def scatter_of_nothing(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """scatter(a, i, b) -> a, if `b` has no elements"""
    count = len(x.operands) // 2
    # All updates have the same sizes.
    if not is_empty(x.operands[-1].shape):
        return None
    return x.operands[0] if count == 1 else rewriter.add("tuple", x.operands[:count], x.shape)
