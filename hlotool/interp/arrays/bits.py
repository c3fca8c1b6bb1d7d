"""Converts arrays to and from bit patterns as wide as their element type."""

from __future__ import annotations

from typing import Any

import numpy as np

from hlotool.interp.arrays.dtypes import Array, NumberType, number_type

__all__ = ["from_patterns", "patterns", "total_order_keys", "with_element_bits"]


def _unsigned(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"uint{8 * dtype.itemsize}")


def patterns(array: Array) -> Array:
    """Returns the bits of the elements as unsigned integers of the same size in memory.

    The bits above the type's width are 0.

    >>> patterns(np.array([1.0, -2.0], np.float32)).tolist() == [0x3F800000, 0xC0000000]
    True
    """
    number = number_type(array)
    bits = array.view(_unsigned(array.dtype))
    return bits if number.bits >= 8 else _low_bits(bits, number)


def _low_bits(bits: Array, number: NumberType) -> Array:
    return np.asarray(bits & np.uint8((1 << number.bits) - 1))


def from_patterns(bits: Array, number: NumberType) -> Array:
    """Returns an array of the given element type with these bits; the inverse of `patterns`.

    Bits above the type's width are ignored.

    >>> from hlotool.interp.arrays.dtypes import NUMBERS
    >>> from_patterns(np.array([0xFF, 0x0F]), NUMBERS["s4"]).view(np.uint8).tolist()
    [15, 15]
    """
    if number.kind == "pred":
        return np.asarray(bits != 0)
    bits = bits.astype(_unsigned(number.held))
    return bits.view(number.held) if number.bits >= 8 else _low_bits(bits, number).view(number.held)


def total_order_keys(array: Array) -> Array:
    """Returns integers that compare like the elements of the array in total order.

    The order is -NaN < -inf < ... < -0 < +0 < ... < inf < NaN. Values that are not floats are their
    own keys. Signed float types without a negative zero have only one NaN, whose sign bit is set;
    this NaN is below all numbers. Unsigned floats are ordered by their bits.
    """
    number = number_type(array)
    if number.element.float_format is None:
        return array.astype(number.computed, copy=False)
    bits = patterns(array)
    if not number.element.float_format.signed:
        return bits
    signed = bits.astype(f"int{8 * bits.itemsize}")
    if number.bits < 8:
        top = np.int8(1 << (number.bits - 1))
        signed = (signed ^ top) - top
    # A negative number is smaller if its magnitude is larger.
    magnitude = signed.dtype.type((1 << (number.bits - 1)) - 1)
    keys = np.asarray(signed ^ ((signed >> signed.dtype.type(8 * signed.itemsize - 1)) & magnitude))
    if number.element.float_format.nonfinite != "fnuz":
        return keys
    # The NaN has the bits that mean -0 in other types. Its key must be less than all other keys,
    # which requires a wider integer.
    return np.where(bits == bits.dtype.type(1 << (number.bits - 1)), np.int16(-(1 << number.bits)), keys)


def with_element_bits(array: Array, number: NumberType) -> Array:
    """Reinterprets the bits of the array as elements of a different type.

    If the new elements are wider, each combines all elements along the last dimension, which is
    removed. If they are narrower, they are placed along a new last dimension. The lowest bits come
    first.

    >>> from hlotool.interp.arrays.dtypes import NUMBERS
    >>> with_element_bits(np.array(0x01020304, np.int32), NUMBERS["s8"]).tolist()
    [4, 3, 2, 1]
    """
    source = number_type(array)
    if source is number:
        # NumPy has no integers as wide as c128.
        return array
    old_bits, new_bits = source.element.stored_bits, number.element.stored_bits
    if old_bits == new_bits:
        return from_patterns(patterns(array), number)
    if source.kind == "complex" or number.kind == "complex":
        raise ValueError(f"{source.element.name} cannot be bitcast to {number.element.name}")
    bits = patterns(array).astype(np.uint64)
    if old_bits > new_bits:
        shifts = np.arange(0, old_bits, new_bits, dtype=np.uint64)
        parts = (bits[..., None] >> shifts) & np.uint64((1 << new_bits) - 1)
        return from_patterns(parts, number)
    shifts = np.arange(0, new_bits, old_bits, dtype=np.uint64)
    if array.ndim == 0 or array.shape[-1] != len(shifts):
        raise ValueError(f"the last dimension of the operand must have {len(shifts)} elements of {source.element.name}")
    return from_patterns(np.bitwise_or.reduce(bits << shifts, axis=-1), number)
