"""Expanders: passes that replace an opcode with several simpler ones, for small backends.

Such backends may lack the opcode. Expanders run only if they are requested by name, since
they make modules larger.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hlotool.ir.model import Instruction
from hlotool.opdefs.table import OPS
from hlotool.optimizer.context import Context
from hlotool.optimizer.dimensions import is_plain
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import Rule
from hlotool.optimizer.simplify import simplify
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.layout import default_layout
from hlotool.shapes.shape import array_shape
from hlotool.shapes.values import PaddingDimension, SliceRange

__all__ = [
    "expand",
    "expand_barriers",
    "expand_bitcasts",
    "expand_clamps",
    "expand_iotas",
    "expand_logistics",
    "expand_paddings",
    "expand_total_order",
]


def expand(
    context: Context,
    name: str,
    expansions: Mapping[str, Callable[[Instruction, PatternRewriter], Instruction | None]],
    needs: frozenset[str] = frozenset(),
) -> bool:
    """Applies an expansion for each opcode, if the `--fast-math` flags in `needs` are set."""
    if missing := sorted(needs - context.options.fast_math):
        context.report.remark(f"pass '{name}' changes rounding and requires --fast-math={','.join(missing)}")
        return False
    table = {OPS[opcode]: (Rule(name, "expand", (opcode,), needs, expansion),) for opcode, expansion in expansions.items()}
    return simplify(context, name, table)


def expand_clamps(context: Context) -> bool:
    """clamp(l, a, h) -> minimum(h, maximum(l, a)), where scalar limits are broadcast"""
    return expand(context, "expand-clamp", {"clamp": _clamp})


def _clamp(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    if any(y.shape.element_type != x.shape.element_type for y in x.operands):
        return None
    low, a, high = (_broadcast(rewriter, y, x) for y in x.operands)
    larger = rewriter.add("maximum", [low, a], x.shape)
    return rewriter.add("minimum", [high, larger], x.shape)


def _broadcast(rewriter: PatternRewriter, scalar: Instruction, x: Instruction) -> Instruction:
    return scalar if scalar.shape.dimensions == x.shape.dimensions else rewriter.add("broadcast", [scalar], x.shape, dimensions=())


def expand_iotas(context: Context) -> bool:
    """iota() of several dimensions -> broadcast(iota() of one dimension)"""
    return expand(context, "expand-iota", {"iota": _iota})


def _iota(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    if len(x.shape.dimensions) < 2:
        return None
    dimension = x.attributes["iota_dimension"]
    line = rewriter.add("iota", [], array_shape(x.shape.element_type, (x.shape.dimensions[dimension],)), iota_dimension=0)
    return rewriter.add("broadcast", [line], x.shape, dimensions=(dimension,))


def expand_paddings(context: Context) -> bool:
    """pad(a, v), padding=-1_2 -> slice(pad(a, v), padding=0_2), without negative paddings"""
    return expand(context, "expand-pad", {"pad": _pad})


def _pad(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    parts, shape = x.attributes["padding"], x.operands[0].shape
    if not is_plain(x.shape) or not is_plain(shape) or not any(part.low < 0 or part.high < 0 for part in parts):
        return None
    added = tuple(PaddingDimension(max(part.low, 0), max(part.high, 0), part.interior) for part in parts)
    sizes = [size + part.low + part.high + part.interior * max(size - 1, 0) for part, size in zip(added, shape.dimensions, strict=True)]
    padded = x.operands[0]
    if any(part.low or part.high or part.interior for part in added):
        padded = rewriter.add("pad", x.operands, array_shape(x.shape.element_type, tuple(sizes)), padding=added)
    ranges = [SliceRange(max(-part.low, 0), size - max(-part.high, 0)) for part, size in zip(parts, sizes, strict=True)]
    return rewriter.add("slice", [padded], x.shape, slice=tuple(ranges))


def expand_bitcasts(context: Context) -> bool:
    """bitcast(a) -> reshape(a), if both layouts are row-major and the element types are equal"""
    return expand(context, "expand-bitcast", {"bitcast": _bitcast})


def _bitcast(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    for shape in (x.operands[0].shape, x.shape):
        if not is_plain(shape) or shape.layout != default_layout(len(shape.dimensions)):
            return None
    # For a bitcast to another element type, the reshape is invalid, so the result is rejected.
    return rewriter.add("reshape", x.operands, x.shape)


def expand_barriers(context: Context) -> bool:
    """opt-barrier(a) -> a, for backends that do not move instructions across barriers anyway"""
    return expand(context, "expand-barrier", {"opt-barrier": _barrier})


def _barrier(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    return x.operands[0]


# Maps each type that can be compared by its bits to the signed integer type of the same width.
_ORDERED = {"f16": "s16", "bf16": "s16", "f32": "s32", "f64": "s64"}


def expand_total_order(context: Context) -> bool:
    """compare(a, b), type=TOTALORDER -> compare(bits of a, bits of b)

    The bits are compared as signed integers, after inverting all bits of negative numbers except
    the sign.
    """
    return expand(context, "expand-compare", {"compare": _compare})


def _compare(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    integer = _ORDERED.get(x.operands[0].shape.element_type)
    if x.attributes.get("type") != "TOTALORDER" or integer is None:
        return None
    first, second = (_order_key(y, integer, rewriter) for y in x.operands)
    return rewriter.add("compare", [first, second], x.shape, direction=x.attributes["direction"])


def _order_key(a: Instruction, integer: str, rewriter: PatternRewriter) -> Instruction:
    """Returns integers that are ordered like the floats of `a` in their total order.

    These are the bits of the floats; if the sign bit is set, all other bits are inverted.
    """
    shape = a.shape.with_element_type(integer)
    bits = rewriter.add("bitcast-convert", [a], shape)
    width = ELEMENT_TYPES[integer].bits
    sign = rewriter.add("shift-right-arithmetic", [bits, rewriter.number(shape, width - 1)], shape)
    mask = rewriter.add("and", [sign, rewriter.number(shape, (1 << (width - 1)) - 1)], shape)
    return rewriter.add("xor", [bits, mask], shape)


def expand_logistics(context: Context) -> bool:
    """logistic(a) -> divide(1, add(1, exponential(negate(a)))), with --fast-math=afn

    XLA expands `logistic` in the same way, so XLA's results have the rounding of these operations.
    """
    return expand(context, "expand-logistic", {"logistic": _logistic}, frozenset({"afn"}))


def _logistic(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    shape = x.shape
    if x.operands[0].shape.element_type != shape.element_type:
        return None
    # For complex types, this call raises CannotBuildError, so complex logistics are not expanded.
    one = rewriter.number(shape, 1)
    power = rewriter.add("exponential", [rewriter.add("negate", x.operands, shape)], shape)
    return rewriter.add("divide", [one, rewriter.add("add", [one, power], shape)], shape)
