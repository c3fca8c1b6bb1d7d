"""Kernels of conversions between element types, by value or by bits, and of reduce-precision.

Literals are converted in `literals.data`, arguments in `interp.values`.
"""

from __future__ import annotations

from operator import pos

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays.bits import from_patterns, patterns, with_element_bits
from hlotool.interp.arrays.dtypes import NUMBERS, Array, NumberType, number_type
from hlotool.interp.arrays.expressions import Expression, corner_range
from hlotool.interp.arrays.memory_order import memory_order
from hlotool.interp.kernels.base import kernel
from hlotool.opdefs.kinds import Int32
from hlotool.shapes.shape import Shape

__all__ = ["conversion_expression", "convert_values", "round_to_bfloat16", "round_values"]


def convert_values(array: Array, number: NumberType) -> Array:
    """Converts values to another element type, in the same way as `convert`.

    >>> convert_values(np.array([2.9, -1e9, np.nan]), NUMBERS["s8"]).tolist()
    [2, -128, 0]
    """
    source = number_type(array)
    if source.held == number.held:
        return array
    if source.kind == "complex" and number.kind != "complex":
        array, source = array.real, NUMBERS["f32" if source.bits == 64 else "f64"]
    values = array.astype(source.computed, copy=False)
    if number.kind == "pred":
        return np.asarray(values != 0)
    if number.element.is_integral:
        if source.kind == "float":
            return _saturate(values, number)
        return values.astype(number.computed).astype(number.held, copy=False)
    if _converts_via_f32(source, number):
        values = values.astype(np.float32)
    elif values.dtype == np.float64 and number.computed == np.float32 != number.held:
        values = _round_to_odd(values)
    return round_values(values, number)


def conversion_expression(source: NumberType, result: NumberType) -> Expression:
    """Returns a conversion as an expression on single numbers (see `arrays.expressions`).

    Both types must be types that NumPy computes in.
    """
    cast = "{type}({0})"
    if source.held == result.held:
        return Expression("{0}")
    if result.kind == "pred":
        return Expression("{0} != 0")
    if result.kind == "float":
        if source.kind == "float":
            return Expression(cast, python="{0}", rounds=result.bits < source.bits)
        if source.kind == "pred":
            return Expression(cast, python="1.0 if {0} else 0.0")
        if source.bits == 64:
            # A conversion via double would round twice.
            return Expression(cast, python="float({type}({source}({0})))", native="{type}({source}({0}))")
        return Expression(cast, python="{0}", rounds=True) if result.bits == 32 else Expression(cast, python="float({0})")
    if source.kind == "float":
        low, high = result.element.minimum, result.element.maximum
        # The limits are powers of two, which all float types represent exactly. A number just below
        # the smallest integer is truncated to it, too.
        in_range = f"{float(low)} <= {{0}} < {float(high + 1)}"
        text = f"int({{0}}) if {in_range} else {high} if {{0}} > 0 else {low} if {{0}} < 0 else 0"
        return Expression(text, scalar=f"{{type}}({text})")
    if source.kind == "pred":
        return Expression("1 if {0} else 0", scalar=cast)
    return Expression("{0}", overflows=True, range_of=corner_range(pos), scalar=cast)


def round_values(values: Array, number: NumberType) -> Array:
    """Returns computed values in the element type's own NumPy type.

    In types without NaN, a NaN of either sign becomes -0. Complex values are returned unchanged if
    the declared type is real; the executor reports them.

    >>> round_values(np.array([np.nan, -np.nan], np.float32), NUMBERS["f4e2m1fn"]).tolist()
    [-0.0, -0.0]
    """
    if number.element.float_format is not None and number.element.float_format.nonfinite == "none" and values.dtype != number.held:
        values = np.where(np.isnan(values), values.dtype.type(-0.0), values)
    is_lost = number.kind != "complex" and values.dtype.kind == "c"
    return values if is_lost else values.astype(number.held, copy=False)


def round_to_bfloat16(values: Array, scratch: Array) -> None:
    """Rounds f32 numbers to the nearest bf16 numbers, ties to even, in place.

    `scratch` is a u32 array of the same shape. Rounding the bits takes two thirds of the time of
    converting the numbers to bf16 and back.

    >>> values = np.array([1.0, 1.00390625, 3.4e38, -np.inf], np.float32)
    >>> round_to_bfloat16(values, np.empty(4, np.uint32))
    >>> values.tolist()
    [1.0, 1.0, inf, -inf]
    """
    if np.isnan(np.maximum.reduce(values, axis=None)):
        # The carry would turn some NaNs into infinities, and others into zeros.
        values[...] = values.astype(NUMBERS["bf16"].held)
        return
    bits = values.view(np.uint32)
    np.right_shift(bits, _UPPER_HALF, out=scratch)
    np.bitwise_and(scratch, _LOWEST_BIT, out=scratch)
    np.add(scratch, _BELOW_HALF, out=scratch)
    np.add(bits, scratch, out=bits)
    np.bitwise_and(bits, _KEPT_BITS, out=bits)


_UPPER_HALF, _LOWEST_BIT, _BELOW_HALF, _KEPT_BITS = np.uint32(16), np.uint32(1), np.uint32(0x7FFF), np.uint32(0xFFFF_0000)


def _converts_via_f32(source: NumberType, number: NumberType) -> bool:
    """Returns whether XLA converts via f32, which rounds twice.

    XLA does so when it converts doubles to 16-bit floats, or integers to any narrow floats.
    """
    if number.kind != "float" or number.computed == number.held:
        return False
    return source.element.is_integral or (source.element.name == "f64" and number.bits == 16)


def _round_to_odd(values: Array) -> Array:
    """Rounds doubles to f32 so that another rounding to fewer bits is the same as rounding once.

    For such conversions, ml_dtypes itself rounds twice.
    """
    nearest = values.astype(np.float32)
    inexact = np.isfinite(nearest) & (nearest.astype(np.float64) != values)
    toward_zero = np.where(np.abs(nearest.astype(np.float64)) > np.abs(values), np.nextafter(nearest, np.float32(0)), nearest)
    # The lowest bit is set if the value is inexact, so that it cannot be mistaken for a tie.
    return np.where(inexact, (toward_zero.view(np.uint32) | np.uint32(1)).view(np.float32), nearest)


def _saturate(values: Array, number: NumberType) -> Array:
    """Truncates floats toward zero and clamps them to the range of the type; NaN becomes 0.

    The behavior of NumPy's own cast depends on the processor.
    """
    if number.bits <= 32:
        return _clamp(values, number)
    whole = np.trunc(values.astype(np.float64))
    least, most = number.element.minimum, number.element.maximum
    # The first numbers out of range are powers of two, which are exact, unlike the limits of 64-bit
    # types.
    too_large, too_small = whole >= float(most + 1), whole < float(least)
    inside = np.where(too_large | too_small | np.isnan(whole), 0.0, whole)
    exact = inside.astype(np.uint64 if number.kind == "unsigned" else np.int64).astype(number.computed)
    limited = np.where(too_large, number.computed.type(most), np.where(too_small, number.computed.type(least), exact))
    return limited.astype(number.held, copy=False)


def _clamp(values: Array, number: NumberType) -> Array:
    """Like `_saturate`, but for types whose limits are exact floats.

    The values are clamped as doubles, or as f32 if they are f32 and the integers have at most 16
    bits.
    """
    floats = np.float32 if number.bits <= 16 and values.dtype == np.float32 else np.float64
    inside = np.asarray(np.maximum(values, floats(number.element.minimum), dtype=floats))
    np.minimum(inside, floats(number.element.maximum), out=inside)
    is_nan = np.isnan(inside)
    if is_nan.any():
        np.copyto(inside, 0, where=is_nan)
    return inside.astype(number.computed).astype(number.held, copy=False)


@kernel("convert", batch="same")
def convert(operand: Array, *, result: Shape) -> Array:
    return convert_values(operand, NUMBERS[result.element_type])


def _same_width_batch(operand: Array, *, result: Shape) -> Array:
    # A scalar has no memory order, so its bitcast is a bitcast-convert. The result is a scalar only
    # if the width is the same.
    number = NUMBERS[result.element_type]
    return operand if number_type(operand) is number else from_patterns(patterns(operand), number)


@kernel("bitcast-convert", batch=_same_width_batch)
def bitcast_convert(operand: Array, *, result: Shape) -> Array:
    return with_element_bits(operand, NUMBERS[result.element_type])


@kernel("bitcast", batch=_same_width_batch)
def bitcast(operand: Array, *, result: Shape, operand_shapes: tuple[Shape, ...]) -> Array:
    """Reads the elements in the operand's memory order, and arranges them in the result's."""
    flat: Array = operand.transpose(memory_order(operand_shapes[0])).reshape(-1)
    number = NUMBERS[result.element_type]
    source = number_type(flat)
    if source.held != number.held:
        ratio = number.element.stored_bits // source.element.stored_bits
        if ratio > 1:
            flat = flat.reshape(-1, ratio)
        flat = with_element_bits(np.ascontiguousarray(flat), number).reshape(-1)
    order = memory_order(result)
    # If the result is smaller, it consists of the first elements of the operand.
    needed = flat[: int(np.prod(result.dimensions))]
    in_memory = needed.reshape([result.dimensions[k] for k in order])
    return in_memory.transpose(np.argsort(order)) if order else in_memory


@kernel("reduce-precision", batch="same")
def reduce_precision(operand: Array, *, exponent_bits: Int32, mantissa_bits: Int32) -> Array:
    """Rounds floats to fewer exponent and mantissa bits, to nearest, ties to even.

    Numbers that are too large become infinite, and numbers that are too small become zero.
    """
    number = number_type(operand)
    form = number.element.float_format
    if form is None:
        raise Violation("R004", "operand 0", f"'reduce-precision' is not defined for {number.element.name}")
    bits = patterns(operand)
    one = bits.dtype.type(1)
    rounded_bits = bits
    if mantissa_bits < form.mantissa_bits:
        dropped = bits.dtype.type(form.mantissa_bits - mantissa_bits)
        half = (one << (dropped - one)) - one
        # A carry into the exponent is correct: the result is the next power of two.
        rounded_bits = (rounded_bits + half + ((rounded_bits >> dropped) & one)) & ~((one << dropped) - one)
    if exponent_bits < form.exponent_bits:
        magnitude = bits.dtype.type((1 << (number.bits - 1)) - 1)
        sign, exponent = bits & ~magnitude, (rounded_bits & magnitude) >> bits.dtype.type(form.mantissa_bits)
        middle, reach = (1 << (form.exponent_bits - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        infinity = bits.dtype.type(((1 << form.exponent_bits) - 1) << form.mantissa_bits)
        rounded_bits = np.where(exponent > middle + reach, sign | infinity, rounded_bits)
        rounded_bits = np.where(exponent <= middle - reach, sign, rounded_bits)
    return np.where(np.isnan(operand.astype(number.computed, copy=False)), operand, from_patterns(np.asarray(rounded_bits), number))


@kernel("stochastic-convert", batch="same")
def stochastic_convert(operand: Array, random: Array, *, result: Shape) -> Array:
    """Rounds floats to integers at random.

    The fraction of a number is the probability of rounding it away from zero instead of toward
    zero.
    """
    values = operand.astype(np.float64)
    whole = np.trunc(np.abs(values))
    scale = float(2 ** number_type(random).bits)
    # Multiplication by a power of two is exact, and so is the comparison.
    away = random.astype(np.float64) < (np.abs(values) - whole) * scale
    return _saturate(np.copysign(whole + away, values), NUMBERS[result.element_type])
