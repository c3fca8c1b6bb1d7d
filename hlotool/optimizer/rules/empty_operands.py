"""Operations on operands without elements."""

from __future__ import annotations

from hlotool.ir.model import Instruction
from hlotool.optimizer.dimensions import is_empty, is_plain
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule

__all__: list[str] = []


@rule("convolution")
def convolution_of_nothing(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """convolution(a, b) -> broadcast(0), if `a` or `b` has no elements"""
    return rewriter.number(x.shape, 0) if is_plain(x.shape) and any(is_empty(y.shape) for y in x.operands) else None
