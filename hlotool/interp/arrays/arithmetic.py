"""Arithmetic functions that NumPy lacks or defines differently from HLO.

They work on real, complex or integer arrays of any shape, in the type used for arithmetic. The
docstrings say how NumPy differs; the reference is XLA:CPU. If a function has an `out` parameter,
the result is written to that array, as in NumPy, but the array must not share memory with the
operands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hlotool.interp.arrays.dtypes import Array

__all__ = [
    "cast",
    "complex_abs",
    "complex_atan2",
    "complex_divide",
    "complex_exponential_minus_one",
    "complex_log_plus_one",
    "complex_logistic",
    "complex_pair",
    "complex_power",
    "complex_reciprocal_root",
    "complex_root",
    "complex_sign",
    "count_leading_zeros",
    "divide_integers",
    "half_exponential_minus_one",
    "half_logistic",
    "imaginary_zero",
    "logistic",
    "maximum_floats",
    "minimum_floats",
    "multiply_high",
    "population_count",
    "power_floats",
    "power_integers",
    "reciprocal_root",
    "remainder_integers",
    "round_half_away",
    "select_by_mask",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign_floats",
]


# ---- all types ---------------------------------------------------------------------------------


def cast(x: Array, out: Array | None = None, *, dtype: np.dtype[Any]) -> Array:
    """Converts numbers between integer types and between float types.

    For these types, NumPy's conversion is the same as HLO's.
    """
    if out is None:
        return x.astype(dtype)
    np.copyto(out, x, casting="unsafe")
    return out


def select_by_mask(mask: Array, on_true: Any, on_false: Any, out: Array) -> None:
    """Fills `out` from `on_true` where `mask` is -1, and from `on_false` where it is 0.

    The elements of all arrays have the same size, and the elements of `mask` are integers. NumPy's
    `where` branches for each element, and takes six times as long if the branch cannot be
    predicted.
    """
    bits = mask.dtype
    selected, one, other = out.view(bits), on_true.view(bits), on_false.view(bits)
    if one.ndim or other.ndim:
        np.bitwise_xor(one, other, selected)
        np.bitwise_and(selected, mask, selected)
    else:
        np.bitwise_and(mask, one ^ other, selected)
    np.bitwise_xor(selected, other, selected)


# ---- floats ------------------------------------------------------------------------------------


def maximum_floats(lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """Returns the larger number: NaN if either is NaN, and +0 for zeros of different signs.

    NumPy may return either zero.
    """
    if any(_is_positive_zero(_collapse_uniform(x)) for x in (lhs, rhs)):
        larger = np.asarray(np.maximum(lhs, rhs, out=out))
        # No zero in the result may be negative. Adding +0 ensures that in one pass.
        return np.asarray(np.add(larger, larger.dtype.type(0), out=larger))
    return _choose_with_signed_zeros(np.maximum, lhs, rhs, np.bitwise_and, out)


def minimum_floats(lhs: Array, rhs: Array, out: Array | None = None) -> Array:
    """Returns the smaller number: NaN if either is NaN, and -0 for zeros of different signs."""
    return _choose_with_signed_zeros(np.minimum, lhs, rhs, np.bitwise_or, out)


def _choose_with_signed_zeros(choose: np.ufunc, lhs: Array, rhs: Array, combine_signs: np.ufunc, out: Array | None) -> Array:
    """Returns NumPy's choice between two numbers, but with the correct sign if both are zeros.

    `combine_signs` computes that sign from the signs of the two zeros.
    """
    first, second = _collapse_uniform(lhs), _collapse_uniform(rhs)
    if any(not x.ndim and x != 0 for x in (first, second)):
        return np.asarray(choose(lhs, rhs, out=out))
    result = np.asarray(choose(lhs, rhs, out=out))
    both = np.asarray(result == 0)
    if both.any():
        # The sign is corrected only for two zeros, not if a zero was chosen over another number.
        for x in (first, second):
            both &= x == 0
        bits = f"i{result.itemsize}"
        combine_signs(first.view(bits), second.view(bits), out=result.view(bits), where=both)
    return result


def _collapse_uniform(x: Array) -> Any:
    """Returns one element if the array was broadcast from a scalar, else the array.

    Working on a single element saves passes over memory.
    """
    return x if any(x.strides) or not x.size else x.flat[0]


def _is_positive_zero(x: Any) -> bool:
    return not x.ndim and bool(x == 0) and not np.signbit(x)


def sign_floats(x: Array) -> Array:
    """Returns -1 or 1, or `x` itself if it is NaN or a zero. NumPy returns +0 for -0."""
    sign = np.asarray(np.sign(x))
    return np.asarray(np.copysign(sign, x, out=sign))


def round_half_away(x: Array) -> Array:
    """Rounds to the nearest integral value; halves are rounded away from zero.

    floor(x + 0.5) is wrong for some numbers near 0.5 and for large odd values.
    """
    # The largest number below 0.5. Its sum with 0.5 rounds to 1, but its sum with a smaller number
    # does not.
    below_half = np.nextafter(x.dtype.type(0.5), x.dtype.type(0))
    moved = np.asarray(np.copysign(below_half, x))
    np.add(moved, x, out=moved)
    return np.asarray(np.trunc(moved, out=moved))


def logistic(x: Array, out: Array | None = None) -> Array:
    """Computes 1 / (1 + exp(-x))."""
    one, value = x.dtype.type(1), np.asarray(np.negative(x, out=out))
    np.exp(value, out=value)
    np.add(one, value, out=value)
    return np.asarray(np.divide(one, value, out=value))


def half_logistic(x: Array) -> Array:
    """Computes the logistic function of f16 numbers, rounding after every step.

    If `x` is below -11.09, exp(-x) overflows and the result is 0.
    """
    half = np.float16
    denominator = (x.dtype.type(1) + np.exp(-x).astype(half).astype(x.dtype)).astype(half)
    return np.asarray(x.dtype.type(1) / denominator.astype(x.dtype))


def half_exponential_minus_one(x: Array) -> Array:
    """Computes exp(x) - 1 for f16 numbers, rounding after every step.

    Near 0, the difference would lose digits, so the result is tanh(x / 2) * (exp(x) + 1) instead.
    """

    def half(values: Array) -> Array:
        return values.astype(np.float16).astype(x.dtype)

    one, half_of_x, power = x.dtype.type(1), half(x / x.dtype.type(2)), half(np.exp(x))
    product = half(half(np.tanh(half_of_x)) * half(power + one))
    near = np.where(half_of_x == 0, x, product)
    return np.where(np.abs(x) > x.dtype.type(0.5), half(power - one), near)


def reciprocal_root(x: Array, out: Array | None = None) -> Array:
    """Computes 1 / sqrt(x), which is -inf at -0."""
    root = np.asarray(np.sqrt(x, out=out))
    return np.asarray(np.divide(x.dtype.type(1), root, out=root))


def imaginary_zero(x: Array) -> Array:
    """Returns the imaginary part of real numbers, which is 0 even for NaN."""
    return np.zeros_like(x)


# ---- complex numbers ---------------------------------------------------------------------------


def complex_abs(z: Array) -> Array:
    """Computes the magnitude: NaN if either part is NaN, even if the other part is infinite."""
    return np.where(np.isnan(z), z.real.dtype.type(np.nan), np.abs(z))


def complex_sign(z: Array) -> Array:
    """Computes z / |z|, dividing each part separately; the result at 0 is 0."""
    size = np.abs(z)
    divisor = np.where(size == 0, size.dtype.type(1), size)
    return complex_pair(z.real / divisor, z.imag / divisor)


def complex_root(z: Array) -> Array:
    """Computes the square root in the right half-plane.

    For a negative real number, the result is the root with a positive imaginary part, even if the
    imaginary part of `z` is -0.
    """
    return np.asarray(np.sqrt(z + z.dtype.type(0)))


def complex_reciprocal_root(z: Array) -> Array:
    """Computes 1 / sqrt(z): 0 if either part of z is infinite, even if the other part is NaN."""
    zero = z.real.dtype.type(0)
    vanishing = complex_pair(np.copysign(zero, np.where(np.isinf(z.real), z.real, 1)), -np.copysign(zero, z.imag))
    return np.where(np.isinf(z), vanishing, reciprocal_root(z))


def complex_exponential_minus_one(z: Array) -> Array:
    """Computes exp(z) - 1, which is real if z is real.

    NumPy multiplies the imaginary 0 by a number that may be infinite, and returns NaN.
    """
    result = np.expm1(z)
    return complex_pair(np.where(z.imag == 0, np.expm1(z.real), result.real), np.where(z.imag == 0, z.real.dtype.type(0), result.imag))


def power_floats(base: Array, exponent: Array) -> Array:
    """Computes powers of floats.

    If all exponents are one number in memory, as after a broadcast, NumPy computes squares, roots
    and reciprocals in a different way, with different rounding. But a power must not depend on how
    its base and exponent are stored.

    >>> power_floats(np.float32([3.0, 4.0]), np.broadcast_to(np.float32(2), 2)).tolist()
    [9.0, 16.0]
    """
    shape = np.broadcast_shapes(base.shape, exponent.shape)
    if exponent.shape != shape or 0 in exponent.strides or not shape:
        exponent = np.broadcast_to(exponent, shape or (1,)).copy()
    result: Array = np.power(base, exponent).reshape(shape)
    return result


def complex_power(base: Array, exponent: Array) -> Array:
    """Computes powers in polar coordinates, as XLA:CPU does.

    NumPy's results may differ if any number is infinite, and for complex powers of 0.
    """
    size, angle = np.hypot(base.real, base.imag), np.arctan2(base.imag, base.real)
    magnitude = power_floats(size, exponent.real)
    scale = magnitude * np.exp(-exponent.imag * angle)
    turn = exponent.real * angle + exponent.imag * np.log(size)
    result = complex_pair(scale * np.cos(turn), scale * np.sin(turn))
    are_real = (base.imag == 0) & (exponent.imag == 0)
    result = np.where(are_real & (base.real == 0) & (exponent.real > 0), result.dtype.type(0), result)
    result = np.where(are_real & (base.real == np.inf) & ~np.isnan(exponent.real), magnitude, result)
    return np.where((exponent == 0) | (base == 1), result.dtype.type(1), result).astype(base.dtype)


def complex_logistic(z: Array) -> Array:
    """Computes 1 / (1 + exp(-z))."""
    one = np.ones_like(z)
    return complex_divide(one, one + np.exp(-z))


def complex_log_plus_one(z: Array) -> Array:
    """Computes log(1 + z). NumPy rounds the sum first, and small numbers lose all their digits."""
    x, y = z.real.astype(np.float64), z.imag.astype(np.float64)
    # |1 + z|^2 = 1 + x (2 + x) + y^2. The squares of large numbers overflow, but for large numbers,
    # the sum 1 + z is accurate.
    is_small = np.maximum(np.abs(x), np.abs(y)) < 1e10
    small_log = np.log1p(x * (2 + x) + y * y) / 2
    real = np.where(is_small, small_log, np.log(z + z.dtype.type(1)).real)
    return complex_pair(real.astype(z.real.dtype), np.arctan2(y, 1 + x).astype(z.real.dtype))


def complex_pair(real: Array, imaginary: Array) -> Array:
    """Returns complex numbers with these parts.

    Arithmetic with 1j would lose infinities and signs of zeros.
    """
    pair = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), np.result_type(real, np.complex64))
    pair.real, pair.imag = real, imaginary
    return pair


def complex_atan2(y: Array, x: Array) -> Array:
    """Computes the angle of (x, y) for complex coordinates: -i log((x + iy) / sqrt(x^2 + y^2))."""
    i = y.dtype.type(1j)
    return np.asarray(-i * np.log((x + i * y) / np.sqrt(x * x + y * y)))


def complex_divide(lhs: Array, rhs: Array) -> Array:
    """Computes the quotient as defined in annex G of the C standard.

    The quotient is infinite in some cases for which NumPy returns NaN.
    """
    quotient = np.asarray(lhs / rhs)
    lost = np.isnan(quotient.real) & np.isnan(quotient.imag)
    lost |= rhs == 0
    if not lost.any():
        return quotient
    lhs, rhs = np.broadcast_arrays(lhs, rhs)
    quotient[lost] = _recover_quotient(lhs[lost], rhs[lost])
    return quotient


def _recover_quotient(lhs: Array, rhs: Array) -> Array:
    infinity = lhs.real.dtype.type(np.inf)

    def box(part: Array) -> Array:
        return np.asarray(np.copysign(np.isinf(part).astype(part.dtype), part))

    def product(scale: Any, a: Array, b: Array, c: Array, d: Array) -> Array:
        return complex_pair(scale * (a * c + b * d), scale * (b * c - a * d))

    a, b, c, d = lhs.real, lhs.imag, rhs.real, rhs.imag
    quotient_by_zero = complex_pair(np.copysign(infinity, c) * a, np.copysign(infinity, c) * b)
    quotient_of_infinity = product(infinity, box(a), box(b), c, d)
    quotient_by_infinity = product(c.dtype.type(0), a, b, box(c), box(d))
    cases = [
        (rhs == 0) & ~(np.isnan(a) & np.isnan(b)),
        np.isinf(lhs) & np.isfinite(rhs),
        np.isinf(rhs) & np.isfinite(lhs),
    ]
    return np.asarray(
        np.select(cases, [quotient_by_zero, quotient_of_infinity, quotient_by_infinity], complex_pair(a * np.nan, b * np.nan)).astype(lhs.dtype)
    )


# ---- integers ----------------------------------------------------------------------------------


def divide_integers(lhs: Array, rhs: Array) -> Array:
    """Computes the quotient rounded toward zero; NumPy rounds down.

    If `rhs` is 0, all bits of the result are 1. A quotient that does not fit wraps around.
    """
    is_zero = np.asarray(rhs == 0)
    if lhs.itemsize < 8:
        quotient = _float_quotient(lhs, rhs, is_zero)
        return np.where(is_zero, ~lhs.dtype.type(0), quotient) if is_zero.any() else quotient
    # Dividing the smallest integer by -1 would trap.
    is_minus_one = rhs == -1 if lhs.dtype.kind == "i" else np.zeros_like(is_zero)
    divisor = np.where(is_zero | is_minus_one, lhs.dtype.type(1), rhs)
    floored = lhs // divisor
    inexact = (floored * divisor != lhs) & ((lhs < 0) != (divisor < 0))
    quotient = np.where(is_minus_one, -lhs if lhs.dtype.kind == "i" else lhs, floored + inexact.astype(lhs.dtype))
    return np.where(is_zero, ~lhs.dtype.type(0), quotient)


def remainder_integers(lhs: Array, rhs: Array) -> Array:
    """Computes the remainder with the sign of `lhs`, or `lhs` if `rhs` is 0 (NumPy returns 0)."""
    is_zero = rhs == 0
    divisor = np.where(is_zero, lhs.dtype.type(1), rhs)
    if lhs.dtype.kind == "i":
        # Any number is a multiple of -1, even the smallest, for which the division would trap.
        divisor = np.where(divisor == -1, lhs.dtype.type(1), divisor)
    return np.where(is_zero, lhs, np.fmod(lhs, divisor))


def _float_quotient(lhs: Array, rhs: Array, is_zero: Array) -> Array:
    """Computes the quotient of integers of at most 32 bits, rounded toward zero.

    The result wraps around if it does not fit, and is arbitrary if `rhs` is 0. Doubles represent
    these integers exactly, and a quotient that is not an integer differs from the nearest integer
    by more than the rounding error.
    """
    divisor = np.where(is_zero, rhs.dtype.type(1), rhs) if is_zero.any() else rhs
    quotient: Array = np.asarray(np.divide(lhs, divisor, dtype=np.float64)).astype(np.int64)
    return quotient.astype(lhs.dtype)


def power_integers(base: Array, exponent: Array) -> Array:
    """Computes powers modulo 2^n as XLA:CPU does.

    Only the lowest six bits of an exponent are used, although XLA's constant folding uses all bits.
    Exponents are read as signed numbers, even if their type is unsigned. If the exponent is
    negative, powers of 1 are 1, powers of -1 are 1 or -1, and powers of all other numbers,
    including 0, are 0.
    """
    one = base.dtype.type(1)
    base, exponent = np.broadcast_arrays(base, exponent)
    negative = exponent.view(f"i{exponent.itemsize}") < 0
    left, factor = np.where(negative, one * 0, exponent & base.dtype.type(63)), base
    power = np.ones_like(base)
    while left.any():
        power = np.where(left & one, power * factor, power)
        factor = factor * factor
        left = left >> one
    if not negative.any():
        return power
    parity = np.where(exponent & one, base, one)
    is_unit = np.abs(base.view(f"i{base.itemsize}")) == 1
    return np.where(negative, np.where(is_unit, parity, one * 0), power)


def _unsigned(x: Array, bits: int) -> Array:
    """Returns the bits of `x` as an unsigned number; bits above the element type's width are 0."""
    plain = x.view(f"u{x.dtype.itemsize}")
    return plain if bits >= 8 else plain & plain.dtype.type((1 << bits) - 1)


def _sign_extend(x: Array, bits: int) -> Array:
    """Returns the low `bits` bits of `x` as a signed number; the highest of them is the sign."""
    if bits >= 8:
        return x.view(f"i{x.dtype.itemsize}")
    top = np.uint8(1 << (bits - 1))
    return np.asarray((_unsigned(x, bits) ^ top) - top).view(np.int8)


# NumPy's shifts are defined for all amounts: if the amount is negative, or not less than the width,
# all result bits are 0, or copies of the sign in arithmetic shifts to the right.


def shift_left(x: Array, amount: Array, out: Array | None = None, *, bits: int) -> Array:
    """Shifts `x` to the left and inserts zeros on the right."""
    return np.asarray(np.left_shift(x, amount, out=out))


def shift_right_logical(x: Array, amount: Array, out: Array | None = None, *, bits: int) -> Array:
    """Shifts `x` to the right and inserts zeros on the left."""
    plain = f"u{x.itemsize}"
    return np.asarray(np.right_shift(_unsigned(x, bits), amount.view(plain), out=None if out is None else out.view(plain))).view(x.dtype)


def shift_right_arithmetic(x: Array, amount: Array, out: Array | None = None, *, bits: int) -> Array:
    """Shifts `x` to the right and inserts copies of its highest bit, even for unsigned types."""
    signed = f"i{x.itemsize}"
    return np.asarray(np.right_shift(_sign_extend(x, bits), amount.view(signed), out=None if out is None else out.view(signed))).view(x.dtype)


def population_count(x: Array, *, bits: int) -> Array:
    """Counts the bits that are 1; NumPy counts the bits of the absolute value."""
    return np.bitwise_count(_unsigned(x, bits)).astype(x.dtype)


def count_leading_zeros(x: Array, *, bits: int) -> Array:
    """Counts the leading zero bits."""
    smeared = _unsigned(x, bits)
    step = 1
    while step < bits:
        smeared = smeared | (smeared >> smeared.dtype.type(step))
        step *= 2
    return (bits - np.bitwise_count(smeared).astype(np.int64)).astype(x.dtype)


def multiply_high(lhs: Array, rhs: Array, *, bits: int) -> Array:
    """Computes the upper half of the double-width product."""
    if bits < 64:
        wide = np.int64 if lhs.dtype.kind == "i" else np.uint64
        return ((lhs.astype(wide) * rhs.astype(wide)) >> wide(bits)).astype(lhs.dtype)
    a, b, half, low = _unsigned(lhs, 64), _unsigned(rhs, 64), np.uint64(32), np.uint64(0xFFFF_FFFF)
    middle = (a >> half) * (b & low) + (((a & low) * (b & low)) >> half)
    other = (a & low) * (b >> half) + (middle & low)
    high = (a >> half) * (b >> half) + (middle >> half) + (other >> half)
    if lhs.dtype.kind == "i":
        # Read as unsigned, a negative number is 2^64 too large.
        high = high - np.where(lhs < 0, b, 0).astype(np.uint64) - np.where(rhs < 0, a, 0).astype(np.uint64)
    return np.asarray(high).view(lhs.dtype)
