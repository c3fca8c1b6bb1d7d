"""Iotas and constants that have a simpler form."""

from __future__ import annotations

from hlotool.analysis.simplify import constant_value, converted
from hlotool.ir.model import Instruction
from hlotool.optimizer.dimensions import element_count, is_plain
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.optimizer.registry import rule
from hlotool.shapes.dtype import ELEMENT_TYPES

__all__: list[str] = []

# Smaller constants are left alone, so that constant folding can use them as operands.
_LARGE = 64


@rule("iota")
def iota_of_one(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """iota -> broadcast(0), if the iota dimension has size 1"""
    return rewriter.number(x.shape, 0) if x.shape.dimensions[x.attributes["iota_dimension"]] == 1 else None


@rule("convert", of=("iota",))
def convert_of_iota(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """convert(iota) -> iota, if both types can represent all numbers"""
    y = x.operands[0]
    if not is_plain(x.shape):
        return None
    last = y.shape.dimensions[y.attributes["iota_dimension"]] - 1
    if last > min(_max_exact_integer(x.shape.element_type), _max_exact_integer(y.shape.element_type)):
        return None
    return rewriter.add("iota", (), x.shape, iota_dimension=y.attributes["iota_dimension"])


@rule("remainder", of=("iota",))
def remainder_of_iota(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """remainder(iota, c) -> iota, if all numbers are less than c"""
    y, row = x.operands[0], ELEMENT_TYPES[x.shape.element_type]
    if y.op.name != "iota" or not row.is_integral:
        return None
    divisor, count = constant_value(x.operands[1]), x.shape.dimensions[y.attributes["iota_dimension"]]
    return y if divisor is not None and count <= divisor else None


def _max_exact_integer(element_type: str) -> int:
    """Returns the largest n such that a type has all integers from 0 to n, or -1 if it has no 0."""
    row = ELEMENT_TYPES[element_type]
    if converted(0, row) is None:
        return -1
    if row.float_format is not None:
        return 1 << min(row.float_format.mantissa_bits + 1, row.float_format.bias)
    return int(row.maximum) if row.is_integral else -1


@rule("constant")
def constant_of_equal_numbers(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """constant({v, v, ...}) -> broadcast(v), for more than 64 elements"""
    if element_count(x.shape) <= _LARGE:
        return None
    value = constant_value(x)
    return None if value is None else rewriter.number(x.shape, value)
