"""Paddings that amount to slices or broadcasts, and paddings of paddings."""

from __future__ import annotations

from hlotool.analysis.simplify import constant_value, is_same_number
from hlotool.ir.model import Instruction
from hlotool.optimizer.dimensions import are_plain, is_empty
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule
from hlotool.shapes.values import PaddingDimension, SliceRange

__all__: list[str] = []


def _is_same(a: Instruction, b: Instruction) -> bool:
    """Returns whether two scalars have the same value."""
    if a is b:
        return True
    first, second = constant_value(a), constant_value(b)
    return first is not None and second is not None and is_same_number(first, second)


@rule("pad")
def pad_as_slice(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """pad(a, v), padding=-1_-2 -> slice(a), if the padding only removes elements"""
    if any(part.low > 0 or part.high > 0 or part.interior for part in x.attributes["padding"]) or not are_plain(x):
        return None
    sizes = x.operands[0].shape.dimensions
    ranges = [SliceRange(-part.low, size + part.high) for part, size in zip(x.attributes["padding"], sizes, strict=True)]
    return rewriter.add("slice", x.operands[:1], x.shape, slice=tuple(ranges))


@rule("pad")
def pad_of_equal_number(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """pad(a, v) -> broadcast(v), if a is empty or all of its elements are v"""
    source, value = x.operands
    if not are_plain(x):
        return None
    is_same = source.op.name == "broadcast" and _is_same(source.operands[0], value)
    if not is_same and not is_empty(source.shape) and not _is_same(source, value):
        return None
    return rewriter.add("broadcast", [value], x.shape, dimensions=())


@rule("pad", of=("pad",))
def pad_of_pad(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """pad(pad(a, v), v) -> pad(a, v)

    The outer padding must not add elements where the inner one removes them, and neither may pad
    between elements.
    """
    y, value = x.operands
    if not _is_same(y.operands[1], value) or not are_plain(x) or not are_plain(y):
        return None
    padding = []
    for inner, outer in zip(y.attributes["padding"], x.attributes["padding"], strict=True):
        removes = (inner.low < 0 < outer.low) or (inner.high < 0 < outer.high)
        if removes or inner.interior or outer.interior:
            return None
        padding.append(PaddingDimension(inner.low + outer.low, inner.high + outer.high))
    return rewriter.add("pad", y.operands, x.shape, padding=tuple(padding))
