"""Dynamic sizes that are known, set twice or set to themselves, and padding that is cut off."""

from __future__ import annotations

from hlotool.ir.model import Instruction
from hlotool.opdefs.traits import ELEMENTWISE
from hlotool.optimizer.dimensions import dimensions_of
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule

__all__: list[str] = []

# The maximum number of instructions that rules look through.
_MAX_STEPS = 16


@rule("set-dimension-size", of=("set-dimension-size",))
def size_set_twice(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """set-dimension-size(set-dimension-size(a, m), n) -> set-dimension-size(a, n)

    Both instructions must set the size of the same dimension. If n is greater than m, the original
    module has an error, or its result contains the elements of `a` between the two sizes.
    """
    y, size = x.operands
    return rewriter.with_operands(x, [y.operands[0], size]) if dimensions_of(y) == dimensions_of(x) else None


@rule("set-dimension-size", of=("get-dimension-size",))
def size_set_to_itself(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """set-dimension-size(a, get-dimension-size(a)) -> a, if the dimension is dynamic

    The size may also be that of an array from which `a` is computed by operations that preserve
    the size.
    """
    a, size = x.operands
    source, dimension = size.operands[0], dimensions_of(size)[0]
    # For a static array, the result is rejected.
    return a if (source, dimension) in _same_sizes(a, dimensions_of(x)[0]) else None


@rule("get-dimension-size")
def size_that_was_set(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """get-dimension-size(negate(set-dimension-size(a, n))) -> n

    Between the two instructions, there may be several elementwise operations with one operand,
    copies and transposes.
    """
    for y, dimension in _same_sizes(x.operands[0], dimensions_of(x)[0])[1:]:
        if y.op.name == "set-dimension-size" and dimensions_of(y)[0] == dimension:
            return y.operands[1]
    return None


@rule("custom-call", of=("get-tuple-element",))
def padding_cut_off(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """custom-call(PadToStatic's results), "SliceToDynamic" -> the operand of PadToStatic"""
    if x.attributes["custom_call_target"] != "SliceToDynamic" or not _is_element(x.operands[0], 0):
        return None
    padded, sizes = x.operands[0].operands[0], x.operands[1:]
    if not _is_padding(padded) or len(sizes) != len(x.shape.dimensions):
        return None
    # The sizes of static dimensions are not read.
    returned = all(_is_element(y, k) and y.operands[0] is padded for k, y in enumerate(sizes, 1) if _is_dynamic(x, k - 1))
    return padded.operands[0] if returned else None


@rule("get-tuple-element", of=("custom-call",))
def size_of_padded(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """get-tuple-element(custom-call(a), "PadToStatic", k) -> the size of dimension k - 1

    The size must be static, or set by set-dimension-size.
    """
    padded, number = x.operands[0], x.attributes["index"]
    if number == 0 or not _is_padding(padded) or x.shape.text_without_layout != "s32[]":
        return None
    a, dimension = padded.operands[0], number - 1
    if dimension >= len(a.shape.dimensions):
        return None
    if not _is_dynamic(a, dimension):
        return rewriter.number(x.shape, a.shape.dimensions[dimension])
    for y, k in _same_sizes(a, dimension):
        if y.op.name == "set-dimension-size" and dimensions_of(y)[0] == k:
            return y.operands[1]
    return None


def _is_element(x: Instruction, index: int) -> bool:
    return x.op.name == "get-tuple-element" and x.attributes["index"] == index


def _is_padding(x: Instruction) -> bool:
    return x.op.name == "custom-call" and x.attributes["custom_call_target"] == "PadToStatic" and len(x.operands) == 1


def _is_dynamic(x: Instruction, dimension: int) -> bool:
    return bool(x.shape.dynamic) and x.shape.dynamic[dimension]


def _same_sizes(x: Instruction, dimension: int) -> list[tuple[Instruction, int]]:
    """Returns `x` and the arrays it is computed from, each with its dimension of the same size."""
    result: list[tuple[Instruction, int]] = []
    for _ in range(_MAX_STEPS):
        result.append((x, dimension))
        if x.op.name == "transpose":
            dimension = dimensions_of(x)[dimension]
        elif x.op.name == "set-dimension-size":
            if dimensions_of(x)[0] == dimension:
                break
        elif len(x.operands) != 1 or not (ELEMENTWISE in x.op.traits or x.op.name == "copy"):
            break
        x = x.operands[0]
    return result
