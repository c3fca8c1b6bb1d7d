"""Elementwise kernels as a table of functions for each opcode and kind of number, with rounding.

`apply` computes any row of the table; a plan compiler may fuse rows instead. Conversions are in
`conversion`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays import arithmetic as f
from hlotool.interp.arrays.bits import total_order_keys
from hlotool.interp.arrays.dtypes import NUMBERS, Array, NumberType, number_type
from hlotool.interp.arrays.special import erf
from hlotool.interp.kernels.base import kernel
from hlotool.interp.kernels.conversion import round_values
from hlotool.opdefs.kinds import ComparisonDirection, ComparisonType
from hlotool.record import Record
from hlotool.shapes.shape import Shape

__all__ = ["COMPARISONS", "ELEMENTWISE", "Elementwise", "apply"]

Function = Callable[..., Any]


class Elementwise(Record):
    """The computation of one opcode: a function for each kind of operand.

    A function is None if HLO does not define the opcode for that kind. Functions work on arrays of
    the computation type; the result is rounded or wrapped to its element type afterwards. If
    `exact` is true, the result for operands of the element type is also a number of that type, so
    that rounding may be skipped. If `by_width` is true, the function for integers takes the width
    of the element type as `bits`. `halves` is the function for f16, and for 8-bit floats that are
    computed as f16, if XLA:CPU rounds to f16 after each step.
    """

    opcode: str
    floats: Function | None = None
    complexes: Function | None = None
    integers: Function | None = None
    preds: Function | None = None
    exact: bool = False
    by_width: bool = False
    halves: Function | None = None

    def function_for(self, number: NumberType) -> Function:
        if self.halves is not None and (number.element.name == "f16" or _computed_as_halves(number)):
            return self.halves
        function = {"pred": self.preds, "float": self.floats, "complex": self.complexes}.get(number.kind, self.integers)
        if function is None:
            raise Violation("R004", "operand 0", f"'{self.opcode}' is not defined for {number.element.name}")
        return partial(function, bits=number.bits) if self.by_width else function


def _arithmetic(opcode: str, function: Function, **rest: Any) -> Elementwise:
    """Returns a row with one function for floats, complex numbers and integers."""
    return Elementwise(opcode, function, function, function, **rest)


def _analytic(opcode: str, function: Function, **rest: Any) -> Elementwise:
    """Returns a row for an opcode that is defined for real and complex numbers."""
    return Elementwise(opcode, function, function, **rest)


ELEMENTWISE: tuple[Elementwise, ...] = (
    # One operand.
    Elementwise("abs", np.abs, f.complex_abs, np.abs, exact=True),
    _analytic("acos", np.arccos),
    _analytic("acosh", np.arccosh),
    _analytic("asin", np.arcsin),
    _analytic("asinh", np.arcsinh),
    _analytic("atanh", np.arctanh),
    Elementwise("cbrt", np.cbrt),
    Elementwise("ceil", np.ceil, exact=True),
    _analytic("cosh", np.cosh),
    _analytic("cosine", np.cos),
    Elementwise("count-leading-zeros", integers=f.count_leading_zeros, by_width=True),
    Elementwise("erf", erf),
    _analytic("exponential", np.exp),
    Elementwise("exponential-minus-one", np.expm1, f.complex_exponential_minus_one, halves=f.half_exponential_minus_one),
    Elementwise("floor", np.floor, exact=True),
    Elementwise("imag", f.imaginary_zero, np.imag, exact=True),
    Elementwise("is-finite", np.isfinite, exact=True),
    _analytic("log", np.log),
    Elementwise("log-plus-one", np.log1p, f.complex_log_plus_one),
    Elementwise("logistic", f.logistic, f.complex_logistic, halves=f.half_logistic),
    _arithmetic("negate", np.negative, exact=True),
    Elementwise("not", integers=np.invert, preds=np.logical_not),
    Elementwise("popcnt", integers=f.population_count, by_width=True),
    Elementwise("real", np.positive, np.real, exact=True),
    Elementwise("round-nearest-afz", f.round_half_away, exact=True),
    Elementwise("round-nearest-even", np.rint, exact=True),
    Elementwise("rsqrt", f.reciprocal_root, f.complex_reciprocal_root),
    Elementwise("sign", f.sign_floats, f.complex_sign, np.sign, exact=True),
    _analytic("sine", np.sin),
    _analytic("sinh", np.sinh),
    Elementwise("sqrt", np.sqrt, f.complex_root),
    _analytic("tan", np.tan),
    _analytic("tanh", np.tanh),
    # Two operands.
    _arithmetic("add", np.add, preds=np.logical_or),
    Elementwise("and", integers=np.bitwise_and, preds=np.logical_and),
    Elementwise("atan2", np.arctan2, f.complex_atan2),
    Elementwise("complex", f.complex_pair),
    Elementwise("divide", np.divide, f.complex_divide, f.divide_integers),
    Elementwise("maximum", f.maximum_floats, None, np.maximum, np.logical_or, exact=True),
    Elementwise("minimum", f.minimum_floats, None, np.minimum, np.logical_and, exact=True),
    Elementwise("mulhi", integers=f.multiply_high, by_width=True),
    _arithmetic("multiply", np.multiply, preds=np.logical_and),
    Elementwise("or", integers=np.bitwise_or, preds=np.logical_or),
    Elementwise("power", f.power_floats, f.complex_power, f.power_integers),
    Elementwise("remainder", np.fmod, None, f.remainder_integers),
    Elementwise("shift-left", integers=f.shift_left, by_width=True),
    Elementwise("shift-right-arithmetic", integers=f.shift_right_arithmetic, by_width=True),
    Elementwise("shift-right-logical", integers=f.shift_right_logical, by_width=True),
    _arithmetic("subtract", np.subtract),
    Elementwise("xor", integers=np.bitwise_xor, preds=np.logical_xor),
)
"""One row for each opcode that computes elements from elements of a single operand type."""


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
    function = row.function_for(number)
    if number.computed is number.held is first:
        _DIRECT[row.opcode, first] = function
    values = np.asarray(function(*(operand.astype(number.computed, copy=False) for operand in operands)))
    if not row.exact and _computed_as_halves(number):
        values = values.astype(np.float16)
    return round_values(values, NUMBERS[result.element_type])


_DIRECT: dict[tuple[str, np.dtype[Any]], Function] = {}
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
    "EQ": np.equal,
    "NE": np.not_equal,
    "GE": np.greater_equal,
    "GT": np.greater,
    "LE": np.less_equal,
    "LT": np.less,
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
    return np.asarray(COMPARISONS[direction](_comparison_keys(lhs, type), _comparison_keys(rhs, type)))


@kernel("select", batch="same")
def select(pred: Array, on_true: Array, on_false: Array, *, result: Shape) -> Array:
    held = NUMBERS[result.element_type].held
    return np.where(pred, on_true.astype(held, copy=False), on_false.astype(held, copy=False))


@kernel("clamp", batch="same")
def clamp(minimum: Array, operand: Array, maximum: Array, *, result: Shape) -> Array:
    """Computes min(maximum, max(minimum, operand)).

    The result is `maximum` if that is below `minimum`, and NaN if any operand is NaN.
    """
    larger = apply(_ROWS["maximum"], (minimum, operand), result)
    return apply(_ROWS["minimum"], (maximum, larger), result)


_ROWS = {row.opcode: row for row in ELEMENTWISE}
