"""Elementwise kernels as a table of functions for each opcode and kind of number.

A row defines an operation for all executors: on arrays, as `apply` computes it and as plans do in
blocks, and on single numbers, as an expression (see `arrays.expressions`). Conversions are in
`conversion`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import add, invert, mul, neg, sub
from typing import Any, NamedTuple

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays import arithmetic as f
from hlotool.interp.arrays import expressions
from hlotool.interp.arrays.bits import total_order_keys
from hlotool.interp.arrays.dtypes import NUMBERS, Array, NumberType, number_type
from hlotool.interp.arrays.expressions import CALL, Expression, chosen_range, clamped_range, corner_range, magnitude_range, masked_range
from hlotool.interp.arrays.special import erf
from hlotool.interp.kernels.base import kernel
from hlotool.interp.kernels.conversion import round_values
from hlotool.opdefs.kinds import ComparisonDirection, ComparisonType
from hlotool.record import Record
from hlotool.shapes.shape import Shape

__all__ = ["COMPARISONS", "ELEMENTWISE", "ROWS", "SELECT", "Elementwise", "Function", "apply", "clamp_function"]

Apply = Callable[..., Any]


class Function(NamedTuple):
    """The function of an opcode on numbers of one kind.

    `apply` works on arrays of the computation type; the result is rounded or wrapped to its element
    type afterwards. `expression` is the same function on single numbers.
    """

    apply: Apply
    expression: Expression = CALL


class Elementwise(Record):
    """The computation of one opcode: a function for each kind of operand.

    A function is None if HLO does not define the opcode for that kind. Functions of integers may
    depend on the type. If `exact` is true, the
    result for operands of the element type is also a number of that type, so that rounding may be
    skipped. `halves` is the function for f16, and for 8-bit floats that are computed as f16, if
    XLA:CPU rounds to f16 after each step.
    """

    opcode: str
    floats: Function | None = None
    complexes: Function | None = None
    integers: Function | Callable[[NumberType], Function] | None = None
    preds: Function | None = None
    exact: bool = False
    halves: Function | None = None

    def function_for(self, number: NumberType) -> Function:
        """Returns the function on numbers of a type. Raises Violation if there is none."""
        if self.halves is not None and (number.element.name == "f16" or _computed_as_halves(number)):
            return self.halves
        function = {"pred": self.preds, "float": self.floats, "complex": self.complexes}.get(number.kind, self.integers)
        if function is None:
            raise Violation("R004", "operand 0", f"'{self.opcode}' is not defined for {number.element.name}")
        return function if isinstance(function, Function) else function(number)


def _on_floats(opcode: str, apply: Apply, native: str | None = None, **rest: Any) -> Elementwise:
    """Returns a row for real numbers. NumPy computes it, unless machine code has an instruction."""
    return Elementwise(opcode, Function(apply, CALL if native is None else Expression("{call}", native=native)), **rest)


def _analytic(opcode: str, apply: Apply, complexes: Apply | None = None, **rest: Any) -> Elementwise:
    """Returns a row for an opcode that is defined for real and complex numbers."""
    return Elementwise(opcode, Function(apply), Function(complexes or apply), **rest)


def _arithmetic(opcode: str, apply: Apply, text: str, combine: Callable[..., int], preds: Function | None = None) -> Elementwise:
    """Returns a row of an operation that rounds floats, and wraps integers."""
    integers = Function(apply, Expression(text, overflows=True, range_of=corner_range(combine)))
    return Elementwise(opcode, Function(apply, Expression(text, rounds=True)), Function(apply), integers, preds)


def _on_bits(opcode: str, apply: Apply, expression: Callable[[NumberType], Expression] = lambda number: CALL) -> Elementwise:
    """Returns a row of an operation on the bits of integers, which depends on the type's width."""
    return Elementwise(opcode, integers=lambda number: Function(partial(apply, bits=number.bits), expression(number)))


_INSTRUCTION = "{function}({0})"
"""The native expression of NumPy's functions that are a single instruction of the processor."""
_BOTH = Function(np.logical_and, Expression("{0} and {1}", scalar="{0} & {1}"))
_EITHER = Function(np.logical_or, Expression("{0} or {1}", scalar="{0} | {1}"))

ELEMENTWISE: tuple[Elementwise, ...] = (
    # One operand.
    Elementwise(
        "abs",
        Function(np.abs, Expression("abs({0})")),
        Function(f.complex_abs),
        Function(np.abs, Expression("abs({0})", overflows=True, range_of=magnitude_range)),
        exact=True,
    ),
    _analytic("acos", np.arccos),
    _analytic("acosh", np.arccosh),
    _analytic("asin", np.arcsin),
    _analytic("asinh", np.arcsinh),
    _analytic("atanh", np.arctanh),
    _on_floats("cbrt", np.cbrt),
    _on_floats("ceil", np.ceil, _INSTRUCTION, exact=True),
    _analytic("cosh", np.cosh),
    _analytic("cosine", np.cos),
    _on_bits("count-leading-zeros", f.count_leading_zeros),
    _on_floats("erf", erf),
    _analytic("exponential", np.exp),
    _analytic("exponential-minus-one", np.expm1, f.complex_exponential_minus_one, halves=Function(f.half_exponential_minus_one)),
    _on_floats("floor", np.floor, _INSTRUCTION, exact=True),
    _analytic("imag", f.imaginary_zero, np.imag, exact=True),
    _on_floats("is-finite", np.isfinite, "{0} - {0} == 0", exact=True),
    _analytic("log", np.log),
    _analytic("log-plus-one", np.log1p, f.complex_log_plus_one),
    _analytic("logistic", f.logistic, f.complex_logistic, halves=Function(f.half_logistic)),
    Elementwise(
        "negate",
        Function(np.negative, Expression("-{0}")),
        Function(np.negative),
        Function(np.negative, Expression("-{0}", overflows=True, range_of=corner_range(neg))),
        exact=True,
    ),
    Elementwise(
        "not",
        integers=Function(np.invert, Expression("~{0}", overflows=True, range_of=corner_range(invert))),
        preds=Function(np.logical_not, Expression("not {0}", scalar="~{0}")),
    ),
    _on_bits("popcnt", f.population_count),
    _analytic("real", np.positive, np.real, exact=True),
    _on_floats("round-nearest-afz", f.round_half_away, exact=True),
    _on_floats("round-nearest-even", np.rint, _INSTRUCTION, exact=True),
    Elementwise("rsqrt", Function(f.reciprocal_root, Expression("{call}", native="{one} / {sqrt}({0})")), Function(f.complex_reciprocal_root)),
    Elementwise("sign", Function(f.sign_floats), Function(f.complex_sign), Function(np.sign, expressions.sign), exact=True),
    _analytic("sine", np.sin),
    _analytic("sinh", np.sinh),
    Elementwise("sqrt", Function(np.sqrt, Expression("{call}", native=_INSTRUCTION)), Function(f.complex_root)),
    _analytic("tan", np.tan),
    _analytic("tanh", np.tanh),
    # Two operands.
    _arithmetic("add", np.add, "{0} + {1}", add, _EITHER),
    Elementwise("and", integers=Function(np.bitwise_and, Expression("{0} & {1}", range_of=masked_range)), preds=_BOTH),
    _analytic("atan2", np.arctan2, f.complex_atan2),
    Elementwise("complex", Function(f.complex_pair)),
    Elementwise(
        "divide",
        # Only Python's division by zero raises an error.
        Function(np.divide, Expression("{0} / {1}", rounds=True, python="{0} / {1} if {1} else {call}")),
        Function(f.complex_divide),
        Function(f.divide_integers, expressions.quotient),
    ),
    Elementwise(
        "maximum",
        Function(f.maximum_floats, Expression(expressions.LARGER)),
        None,
        Function(np.maximum, Expression("{0} if {0} > {1} else {1}", range_of=corner_range(max))),
        _EITHER,
        exact=True,
    ),
    Elementwise(
        "minimum",
        Function(f.minimum_floats, Expression(expressions.SMALLER)),
        None,
        Function(np.minimum, Expression("{0} if {0} < {1} else {1}", range_of=corner_range(min))),
        _BOTH,
        exact=True,
    ),
    _on_bits("mulhi", f.multiply_high),
    _arithmetic("multiply", np.multiply, "{0} * {1}", mul, _BOTH),
    Elementwise("or", integers=Function(np.bitwise_or, Expression("{0} | {1}")), preds=_EITHER),
    Elementwise("power", Function(f.power_floats), Function(f.complex_power), Function(f.power_integers)),
    Elementwise("remainder", Function(np.fmod), None, Function(f.remainder_integers, expressions.remainder)),
    _on_bits("shift-left", f.shift_left, expressions.left_shift),
    _on_bits("shift-right-arithmetic", f.shift_right_arithmetic, expressions.arithmetic_shift),
    _on_bits("shift-right-logical", f.shift_right_logical, expressions.logical_shift),
    _arithmetic("subtract", np.subtract, "{0} - {1}", sub),
    Elementwise(
        "xor",
        integers=Function(np.bitwise_xor, Expression("{0} ^ {1}")),
        preds=Function(np.logical_xor, Expression("{0} != {1}")),
    ),
)
"""One row for each opcode that computes elements from elements of a single operand type."""

ROWS = {row.opcode: row for row in ELEMENTWISE}


def _computed_as_halves(number: NumberType) -> bool:
    """Returns whether XLA:CPU computes in f16, so that results are rounded twice.

    This is the case for 8-bit floats, except those that consist only of an exponent.
    """
    form = number.element.float_format
    return number.bits == 8 and form is not None and form.signed


def apply(row: Elementwise, operands: Sequence[Array], result: Shape) -> Array:
    """Applies a row to broadcastable arrays; returns the value in the result's element type."""
    first, held = operands[0].dtype, NUMBERS[result.element_type].held
    direct = _DIRECT.get((row.opcode, first))
    if direct is not None and operands[-1].dtype is first:
        values = np.asarray(direct(*operands))
        return values if values.dtype is held else round_values(values, NUMBERS[result.element_type])
    number = number_type(operands[0])
    for operand in operands[1:]:
        # The parser, like XLA, accepts floats of different types; they are computed in the wider
        # type.
        if operand.dtype != number.held and number_type(operand).bits > number.bits:
            number = number_type(operand)
    function = row.function_for(number).apply
    if number.computed is number.held is first:
        _DIRECT[row.opcode, first] = function
    values = np.asarray(function(*(operand.astype(number.computed, copy=False) for operand in operands)))
    if not row.exact and _computed_as_halves(number):
        values = values.astype(np.float16)
    return round_values(values, NUMBERS[result.element_type])


_DIRECT: dict[tuple[str, np.dtype[Any]], Apply] = {}
"""A cache of functions by opcode and type, for operands that need no conversion.

For scalars, finding the function takes longer than calling it. The size of the cache is bounded by
the number of rows. Several threads may fill the same entry, but always with the same function.
"""


def _define(row: Elementwise) -> None:
    @kernel(row.opcode, batch="same")
    def compute(*operands: Array, result: Shape) -> Array:
        return apply(row, operands, result)


for _row in ELEMENTWISE:
    _define(_row)


# ---- opcodes with attributes, or with operands of several types --------------------------------

COMPARISONS: dict[str, Function] = {
    "EQ": Function(np.equal, Expression("{0} == {1}")),
    "NE": Function(np.not_equal, Expression("{0} != {1}")),
    "GE": Function(np.greater_equal, Expression("{0} >= {1}")),
    "GT": Function(np.greater, Expression("{0} > {1}")),
    "LE": Function(np.less_equal, Expression("{0} <= {1}")),
    "LT": Function(np.less, Expression("{0} < {1}")),
}
"""Comparison functions by the direction of a compare."""


def _comparison_keys(array: Array, type: str | None) -> Array:
    return total_order_keys(array) if type == "TOTALORDER" else array.astype(number_type(array).computed, copy=False)


@kernel("compare", batch="same")
def compare(lhs: Array, rhs: Array, *, direction: ComparisonDirection, type: ComparisonType | None) -> Array:
    """Compares floats as in IEEE 754, unless the type is TOTALORDER.

    All other comparison types only repeat the kind of the operands.
    """
    if number_type(lhs).kind == "complex" and direction not in ("EQ", "NE"):
        raise Violation("R004", "direction", "complex numbers have no order; compare them with EQ or NE")
    return np.asarray(COMPARISONS[direction].apply(_comparison_keys(lhs, type), _comparison_keys(rhs, type)))


SELECT = Function(np.where, Expression("{1} if {0} else {2}", range_of=chosen_range))
"""The function of a select; its first operand is a truth value."""


@kernel("select", batch="same")
def select(pred: Array, on_true: Array, on_false: Array, *, result: Shape) -> Array:
    held = NUMBERS[result.element_type].held
    return np.where(pred, on_true.astype(held, copy=False), on_false.astype(held, copy=False))


def clamp_function(number: NumberType) -> Function:
    """Returns the function min(maximum, max(minimum, operand)) on numbers of a type.

    The result is `maximum` if that is below `minimum`, and NaN if any operand is NaN.
    """
    larger, smaller = (ROWS[name].function_for(number) for name in ("maximum", "minimum"))

    def apply(low: Array, x: Array, high: Array, out: Array | None = None) -> Array:
        return np.asarray(smaller.apply(high, larger.apply(low, x), out=out))

    if number.kind == "pred":
        return Function(apply, Expression("({0} or {1}) and {2}", scalar="({0} | {1}) & {2}"))
    if number.kind == "float":
        return Function(apply, Expression(expressions.SMALLER.format("{2}", f"({expressions.LARGER})")))
    return Function(apply, Expression("{2} if {1} > {2} or {0} > {2} else {0} if {1} < {0} else {1}", range_of=clamped_range))


@kernel("clamp", batch="same")
def clamp(minimum: Array, operand: Array, maximum: Array, *, result: Shape) -> Array:
    larger = apply(ROWS["maximum"], (minimum, operand), result)
    return apply(ROWS["minimum"], (maximum, larger), result)
