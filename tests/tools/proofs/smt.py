"""A model of HLO's elementwise operations for the SMT solver Z3, and proofs that use the model.

A proof shows that two instructions compute the same value. Integers are bit vectors, pred is Bool,
and floats are numbers of Z3's theory of IEEE 754, which has only one NaN. The bits of a float are
known if the float is a parameter, a constant other than NaN, converted from bits, or selected from
floats with known bits. Operations that are not modeled, such as the cosine, raise Unmodelled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from hlotool.analysis.simplify import constant_value
from hlotool.ir.model import Instruction
from hlotool.opdefs.algebra import Number
from hlotool.opdefs.base import OpDef
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType

__all__ = ["FUNCTIONS", "TYPES", "Unmodelled", "Value", "answer", "known", "parameter", "value_of"]

TYPES = ("pred", "s32", "u32", "s64", "f16", "f32")
_NEAREST = z3.RNE()
_PARTS = {"c64": "f32", "c128": "f64"}


class Unmodelled(Exception):
    """Raised for an operation or element type that the model does not support."""


@dataclass(frozen=True)
class Value:
    """An element: a term and, for a float, its bits if known. Complex numbers have two parts."""

    row: ElementType
    term: Any
    bits: Any = None
    parts: tuple[Value, ...] = ()

    @property
    def kind(self) -> str:
        return self.row.kind


def _sort(row: ElementType) -> Any:
    form = row.float_format
    if form is None:
        return z3.BoolSort() if row.kind == "pred" else z3.BitVecSort(row.bits)
    if form.nonfinite != "ieee":
        raise Unmodelled(row.name)
    return z3.FPSort(form.exponent_bits, form.mantissa_bits + 1)


def parameter(name: str, element_type: str) -> Value:
    """Returns a variable that represents an arbitrary value of an element type."""
    row = ELEMENT_TYPES[element_type]
    if element_type in _PARTS:
        return Value(row, None, parts=tuple(parameter(f"{name}.{k}", _PARTS[element_type]) for k in range(2)))
    if row.kind == "float":
        return _from_bits(row, z3.BitVec(name, row.bits))
    return Value(row, z3.Const(name, _sort(row)))


def known(element_type: str, number: Number) -> Value:
    """Returns the value that represents a known number."""
    row = ELEMENT_TYPES[element_type]
    if row.kind == "float":
        term = z3.FPVal(number, _sort(row))
        return Value(row, term, None if number != number else z3.simplify(z3.fpToIEEEBV(term)))
    return Value(row, z3.BoolVal(bool(number)) if row.kind == "pred" else z3.BitVecVal(int(number), row.bits))


def _from_bits(row: ElementType, bits: Any) -> Value:
    if row.kind == "float":
        return Value(row, z3.fpBVToFP(bits, _sort(row)), bits)
    return Value(row, bits)


# ---- operations -----------------------------------------------------------------------------------------------------------


def _is_signed(x: Value) -> bool:
    return x.kind == "signed"


def _is_float(x: Value) -> bool:
    return x.kind == "float"


def _number(x: Value, number: int) -> Any:
    return z3.FPVal(number, x.term.sort()) if _is_float(x) else z3.BitVecVal(number, x.row.bits)


def _less(a: Value, b: Value) -> Any:
    if _is_float(a):
        return z3.fpLT(a.term, b.term)
    if a.kind == "pred":
        return z3.And(z3.Not(a.term), b.term)
    return a.term < b.term if _is_signed(a) else z3.ULT(a.term, b.term)


def _larger(a: Value, b: Value, *, smaller: bool = False) -> Any:
    """Returns the larger or the smaller number.

    The result is NaN if either operand is NaN. Negative zero is smaller than positive zero.
    """
    if a.kind == "pred":
        return z3.And(a.term, b.term) if smaller else z3.Or(a.term, b.term)
    chosen = z3.If(_less(a, b), a.term, b.term) if smaller else z3.If(_less(a, b), b.term, a.term)
    if not _is_float(a):
        return chosen
    of_zeros = z3.If(z3.fpIsNegative(a.term) if smaller else z3.fpIsPositive(a.term), a.term, b.term)
    both = z3.And(z3.fpIsZero(a.term), z3.fpIsZero(b.term))
    is_nan = z3.Or(z3.fpIsNaN(a.term), z3.fpIsNaN(b.term))
    return z3.If(is_nan, z3.fpNaN(a.term.sort()), z3.If(both, of_zeros, chosen))


def _divided(a: Value, b: Value) -> Any:
    if _is_float(a):
        return z3.fpDiv(_NEAREST, a.term, b.term)
    quotient = a.term / b.term if _is_signed(a) else z3.UDiv(a.term, b.term)
    return z3.If(b.term == 0, _number(a, -1), quotient)


def _remainder(a: Value, b: Value) -> Any:
    if _is_float(a):
        raise Unmodelled("remainder of floats")
    return z3.If(b.term == 0, a.term, z3.SRem(a.term, b.term) if _is_signed(a) else z3.URem(a.term, b.term))


def _power(a: Value, b: Value) -> Any:
    """Returns `a` to the power of `b` if `b` is 0 or 1; raises Unmodelled otherwise."""
    for exponent, result in ((0, _number(a, 1)), (1, a.term)):
        if z3.is_true(z3.simplify(z3.fpEQ(b.term, _number(b, exponent)) if _is_float(b) else b.term == exponent)):
            return result
    raise Unmodelled("powers")


def _shifted(shift: Callable[[Any, Any], Any], *, keeps_sign: bool = False) -> Callable[[Value, Value], Any]:
    def apply(a: Value, b: Value) -> Any:
        beyond = z3.If(a.term < 0, _number(a, -1), _number(a, 0)) if keeps_sign else _number(a, 0)
        return z3.If(z3.UGE(b.term, a.row.bits), beyond, shift(a.term, b.term))

    return apply


def _multiplied_high(a: Value, b: Value) -> Any:
    bits = a.row.bits
    first, second = (z3.SignExt(bits, x.term) if _is_signed(x) else z3.ZeroExt(bits, x.term) for x in (a, b))
    return z3.Extract(2 * bits - 1, bits, first * second)


def _sign(x: Value) -> Any:
    if _is_float(x):
        one = z3.If(z3.fpIsNegative(x.term), _number(x, -1), _number(x, 1))
        return z3.If(z3.Or(z3.fpIsZero(x.term), z3.fpIsNaN(x.term)), x.term, one)
    return z3.If(x.term == 0, _number(x, 0), z3.If(x.term < 0, _number(x, -1), _number(x, 1)))


def _absolute(x: Value) -> Any:
    return z3.fpAbs(x.term) if _is_float(x) else z3.If(x.term < 0, -x.term, x.term)


def _bits_of(x: Value) -> list[Any]:
    return [z3.Extract(k, k, x.term) for k in range(x.row.bits)]


def _population_count(x: Value) -> Any:
    return sum((z3.ZeroExt(x.row.bits - 1, bit) for bit in _bits_of(x)), start=_number(x, 0))


def _leading_zeros(x: Value) -> Any:
    result = _number(x, x.row.bits)
    for k, bit in enumerate(_bits_of(x)):
        result = z3.If(bit == 1, _number(x, x.row.bits - 1 - k), result)
    return result


def _rounded_to_integer(mode: Any) -> Callable[[Value], Any]:
    return lambda x: z3.fpRoundToIntegral(mode, x.term)


def _of_kinds(floats: Any, integers: Any, preds: Any = None) -> Callable[..., Any]:
    """Combines functions on terms, one per kind of number; kinds with None are not modeled."""

    def apply(*operands: Value) -> Any:
        function = floats if _is_float(operands[0]) else preds if operands[0].kind == "pred" else integers
        if function is None:
            raise Unmodelled(operands[0].row.name)
        return function(*(x.term for x in operands))

    return apply


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": _absolute,
    "ceil": _rounded_to_integer(z3.RTP()),
    "count-leading-zeros": _leading_zeros,
    "floor": _rounded_to_integer(z3.RTN()),
    "is-finite": lambda x: z3.Not(z3.Or(z3.fpIsNaN(x.term), z3.fpIsInf(x.term))),
    "negate": _of_kinds(z3.fpNeg, lambda a: -a),
    "not": _of_kinds(None, lambda a: ~a, z3.Not),
    "power": _power,
    "popcnt": _population_count,
    "round-nearest-afz": _rounded_to_integer(z3.RNA()),
    "round-nearest-even": _rounded_to_integer(z3.RNE()),
    "sign": _sign,
    "rsqrt": _of_kinds(lambda a: z3.fpDiv(_NEAREST, z3.FPVal(1, a.sort()), z3.fpSqrt(_NEAREST, a)), None),
    "sqrt": _of_kinds(lambda a: z3.fpSqrt(_NEAREST, a), None),
    "add": _of_kinds(lambda a, b: z3.fpAdd(_NEAREST, a, b), lambda a, b: a + b, z3.Or),
    "and": _of_kinds(None, lambda a, b: a & b, z3.And),
    "divide": _divided,
    "maximum": _larger,
    "minimum": lambda a, b: _larger(a, b, smaller=True),
    "mulhi": _multiplied_high,
    "multiply": _of_kinds(lambda a, b: z3.fpMul(_NEAREST, a, b), lambda a, b: a * b, z3.And),
    "or": _of_kinds(None, lambda a, b: a | b, z3.Or),
    "remainder": _remainder,
    "shift-left": _shifted(lambda a, b: a << b),
    "shift-right-arithmetic": _shifted(lambda a, b: a >> b, keeps_sign=True),
    "shift-right-logical": _shifted(z3.LShR),
    "subtract": _of_kinds(lambda a, b: z3.fpSub(_NEAREST, a, b), lambda a, b: a - b),
    "xor": _of_kinds(None, lambda a, b: a ^ b, z3.Xor),
}
"""The functions that compute the results of opcodes whose operands all have the same type."""

# ---- operations on several types, or with attributes ----------------------------------------------------------------------


def _total_order_key(x: Value) -> Any:
    """Returns a signed integer whose order is the total order of floats.

    If the float is negative, all bits except the sign are inverted.
    """
    if not _is_float(x):
        return x.term
    if x.bits is None:
        raise Unmodelled("the bits of a NaN")
    return z3.If(x.bits < 0, x.bits ^ z3.BitVecVal((1 << (x.row.bits - 1)) - 1, x.row.bits), x.bits)


def _compared(x: Instruction, a: Value, b: Value) -> Any:
    direction = x.attributes["direction"]
    if a.parts:
        raise Unmodelled("comparisons of complex numbers")
    if x.attributes.get("type") == "TOTALORDER" and _is_float(a):
        first, second = _total_order_key(a), _total_order_key(b)
        less, equal, greater = first < second, first == second, second < first
    else:
        less, greater = _less(a, b), _less(b, a)
        equal = z3.fpEQ(a.term, b.term) if _is_float(a) else a.term == b.term
    return {
        "EQ": equal, "NE": z3.Not(equal), "LT": less, "GT": greater, "LE": z3.Or(less, equal), "GE": z3.Or(greater, equal),
    }[direction]  # fmt: skip


def _converted(x: Value, row: ElementType) -> Value:
    if x.row.name == row.name:
        return x
    if x.parts or row.kind == "complex":
        raise Unmodelled("conversions of complex numbers")
    if row.kind == "pred":
        return Value(row, z3.Not(z3.fpIsZero(x.term)) if _is_float(x) else x.term != 0)
    if x.kind == "pred":
        return Value(row, z3.If(x.term, known(row.name, 1).term, known(row.name, 0).term))
    if row.kind == "float":
        return Value(row, _as_float(x, row))
    return Value(row, _truncated(x, row) if _is_float(x) else _resized(x, row.bits))


def _as_float(x: Value, row: ElementType) -> Any:
    single = ELEMENT_TYPES["f32"]
    if _is_float(x):
        by_single = x.row.name == "f64" and row.bits == 16
        term = z3.fpFPToFP(_NEAREST, x.term, _sort(single)) if by_single else x.term
        return z3.fpFPToFP(_NEAREST, term, _sort(row))
    convert = z3.fpSignedToFP if _is_signed(x) else z3.fpUnsignedToFP
    if row.bits < 32:
        return z3.fpFPToFP(_NEAREST, convert(_NEAREST, x.term, _sort(single)), _sort(row))
    return convert(_NEAREST, x.term, _sort(row))


def _truncated(x: Value, row: ElementType) -> Any:
    """Rounds a float toward zero and limits it to the range of the type; NaN becomes 0."""
    # This type can represent both limits, and all values of the operand.
    wide = z3.FPSort(15, 113)
    term = z3.fpFPToFP(_NEAREST, x.term, wide)
    convert = z3.fpToSBV if row.kind == "signed" else z3.fpToUBV
    inside = convert(z3.RTZ(), term, z3.BitVecSort(row.bits))
    too_large, too_small = z3.fpGEQ(term, z3.FPVal(row.maximum + 1, wide)), z3.fpLEQ(term, z3.FPVal(row.minimum - 1, wide))
    limited = z3.If(too_large, z3.BitVecVal(row.maximum, row.bits), z3.If(too_small, z3.BitVecVal(row.minimum, row.bits), inside))
    return z3.If(z3.fpIsNaN(term), z3.BitVecVal(0, row.bits), limited)


def _resized(x: Value, bits: int) -> Any:
    more = bits - x.row.bits
    if more <= 0:
        return z3.Extract(bits - 1, 0, x.term) if more else x.term
    return z3.SignExt(more, x.term) if _is_signed(x) else z3.ZeroExt(more, x.term)


def _bits_converted(x: Value, row: ElementType) -> Value:
    bits = x.bits if _is_float(x) else x.term
    if "pred" in (x.kind, row.kind) or bits is None or x.row.bits != row.bits:
        raise Unmodelled("bits")
    return _from_bits(row, bits)


def _selected(p: Value, a: Value, b: Value) -> Value:
    if a.parts:
        return Value(a.row, None, parts=tuple(_selected(p, x, y) for x, y in zip(a.parts, b.parts, strict=True)))
    bits = None if a.bits is None or b.bits is None else z3.If(p.term, a.bits, b.bits)
    return Value(a.row, z3.If(p.term, a.term, b.term), bits)


def _clamped(least: Value, x: Value, greatest: Value) -> Value:
    return Value(x.row, _larger(greatest, Value(x.row, _larger(least, x)), smaller=True))


def _part(x: Value, number: int) -> Value:
    if x.parts:
        return x.parts[number]
    return x if number == 0 else known(x.row.name, 0)


_SPECIAL: dict[str, Callable[..., Value]] = {
    "bitcast-convert": lambda x, a: _bits_converted(a, _row(x)),
    "clamp": lambda x, *operands: _clamped(*operands),
    "compare": lambda x, a, b: Value(_row(x), _compared(x, a, b)),
    "complex": lambda x, a, b: Value(_row(x), None, parts=(a, b)),
    "convert": lambda x, a: _converted(a, _row(x)),
    "imag": lambda x, a: _part(a, 1),
    "real": lambda x, a: _part(a, 0),
    "select": lambda x, *operands: _selected(*operands),
}


def _row(x: Instruction) -> ElementType:
    return ELEMENT_TYPES[x.shape.element_type]


def value_of(x: Instruction, values: dict[Instruction, Value]) -> Value:
    """Returns the value of an instruction, given the values of the parameters.

    Values computed along the way are added to `values`.
    """
    stack = [x]
    while stack:
        y = stack[-1]
        if y in values:
            stack.pop()
            continue
        number = constant_value(y)
        missing = [] if number is not None else [operand for operand in y.operands if operand not in values]
        if missing:
            stack += missing
            continue
        stack.pop()
        values[y] = known(y.shape.element_type, number) if number is not None else _applied(y, y.op, [values[operand] for operand in y.operands])
    return values[x]


def _applied(x: Instruction, op: OpDef, operands: Sequence[Value]) -> Value:
    if op.name in _SPECIAL:
        return _SPECIAL[op.name](x, *operands)
    if op.name == "broadcast":
        return operands[0]
    if any(operand.parts for operand in operands) or op.name not in FUNCTIONS:
        raise Unmodelled(op.name)
    return Value(_row(x), FUNCTIONS[op.name](*operands))


# ---- proofs ---------------------------------------------------------------------------------------------------------------


def answer(before: Value, after: Value, limit: int, *, has_floats: bool, flags: frozenset[str] = frozenset(), operands: Sequence[Value] = ()) -> str:
    """Returns "proved" if two values are equal for all parameters.

    Otherwise, returns "refuted" with a counterexample, or "unknown" after `limit` steps. Z3 counts
    the steps itself, so that the answer does not depend on the speed of the machine. Without
    floats, Z3 uses a theory that is stronger for integers. Fast-math flags exclude NaNs or
    infinities from the operands and the first value, or make the signs of zeros irrelevant.
    """
    pairs = list(zip(before.parts, after.parts, strict=True)) if before.parts else [(before, after)]
    solver = z3.SolverFor("QF_FPBV" if has_floats else "QF_BV")
    solver.set("rlimit", limit)
    solver.add(z3.Or(*(_differs(a, b, flags) for a, b in pairs)))
    for x in (before, *operands) if flags else ():
        solver.add(*(z3.Not(test(x.term)) for flag, test in (("nnan", z3.fpIsNaN), ("ninf", z3.fpIsInf)) if flag in flags and _is_float(x)))
    result = solver.check()
    if result == z3.unsat:
        return "proved"
    return f"refuted: {solver.model()}" if result == z3.sat else "unknown"


def _differs(a: Value, b: Value, flags: frozenset[str]) -> Any:
    differs = a.term != b.term
    return z3.And(differs, z3.Not(z3.And(z3.fpIsZero(a.term), z3.fpIsZero(b.term)))) if "nsz" in flags and _is_float(a) else differs
