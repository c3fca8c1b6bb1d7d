"""Sorts of at most one element."""

from __future__ import annotations

from hlotool.ir.model import Instruction
from hlotool.optimizer.dimensions import dimensions_of
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule

__all__: list[str] = []


@rule("sort")
def sort_of_one_element(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """sort(a, b) -> tuple(a, b), if the sorted dimension has at most one element

    A sort of one operand is replaced with the operand.
    """
    first = x.operands[0].shape
    dimension = dimensions_of(x)[0]
    if first.dimensions[dimension] not in (0, 1):
        return None
    return rewriter.add("tuple", x.operands, x.shape) if x.shape.is_tuple else x.operands[0]
