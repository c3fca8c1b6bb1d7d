"""Builds literals from numbers and arrays."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from hlotool.analysis.simplify import converted, is_same_number
from hlotool.errors import HlotoolError
from hlotool.interp.arrays.dtypes import NUMPY_TYPES, Array
from hlotool.literals.data import element_bytes
from hlotool.literals.floats import encode_floats
from hlotool.literals.literal import Literal, literal_from_bytes
from hlotool.opdefs.algebra import Number
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["CannotBuildError", "is_short_as_text", "is_writable", "literal_of", "number_literal"]

_MAX_EMPTY_BRACES = 1000


class CannotBuildError(HlotoolError):
    """A constant or instruction cannot exist. A rule that tries to build one does not match."""

    exit_code = 2


def number_literal(element_type: str, number: Number) -> Literal:
    """Returns a scalar literal. Raises CannotBuildError if the type cannot represent the number.

    >>> number_literal("bf16", -0.5).shape.text
    'bf16[]'
    >>> number_literal("u8", 300)
    Traceback (most recent call last):
    hlotool.optimizer.constants.CannotBuildError: u8 cannot represent 300
    >>> number_literal("f8e8m0fnu", 0)
    Traceback (most recent call last):
    hlotool.optimizer.constants.CannotBuildError: f8e8m0fnu cannot represent 0
    >>> from hlotool.literals.literal import decode
    >>> decode(number_literal("u8", 255)), decode(number_literal("s8", -1))
    (b'\xff', b'\xff')
    """
    row = ELEMENT_TYPES[element_type]
    value = converted(number, row)
    if value is None or not is_same_number(value, number):
        raise CannotBuildError(f"{element_type} cannot represent {number}")
    if row.kind == "float":
        data = encode_floats(element_type, [float(number)])
    else:
        data = int(number).to_bytes(element_bytes(row), "little", signed=row.kind == "signed")
    return literal_from_bytes(array_shape(element_type), data)


def is_short_as_text(shape: Shape) -> bool:
    """Returns whether an array's literal is reasonably short for its number of elements.

    Even a literal without elements has braces for all dimensions before the first one of size 0.

    >>> is_short_as_text(array_shape("f32", (2, 0))), is_short_as_text(array_shape("f32", (1000000, 0)))
    (True, False)
    """
    sizes = shape.dimensions
    return 0 not in sizes or prod(sizes[: sizes.index(0)]) <= _MAX_EMPTY_BRACES


def is_writable(value: Array | tuple[Any, ...]) -> bool:
    """Returns whether a value can be written as the text of a literal.

    If the real part of a complex number is NaN, XLA's parser makes the imaginary part NaN, too.

    >>> nan = np.nan
    >>> is_writable(np.array([complex(1, nan), complex(nan, nan)])), is_writable(np.array([complex(nan, 1)]))
    (True, False)
    >>> is_writable(np.array([nan])), is_writable((np.array([nan]), np.array([complex(nan, 1)])))
    (True, False)
    """
    if isinstance(value, tuple):
        return all(is_writable(part) for part in value)
    return value.dtype.kind != "c" or not bool((np.isnan(value.real) & ~np.isnan(value.imag)).any())


def literal_of(value: Array, shape: Shape) -> Literal:
    """Returns the literal for a value that the interpreter computed for an array of this shape.

    >>> from hlotool.literals.literal import decode
    >>> decode(literal_of(np.array([1, 2], np.int32), array_shape("s32", (2,)))).hex()
    '0100000002000000'
    >>> decode(literal_of(np.array([9], np.uint8).view(NUMPY_TYPES["s4"]), array_shape("s4", (1,)))).hex()
    'f9'
    >>> decode(literal_of(np.array([9], np.uint8).view(NUMPY_TYPES["u4"]), array_shape("u4", (1,)))).hex()
    '09'
    >>> decode(literal_of(np.array([0xF5], np.uint8).view(NUMPY_TYPES["f4e2m1fn"]), array_shape("f4e2m1fn", (1,)))).hex()
    '05'
    """
    array = np.ascontiguousarray(value, dtype=NUMPY_TYPES[shape.element_type])
    row = ELEMENT_TYPES[shape.element_type]
    if row.bits < 8 and row.is_integral:
        # NumPy ignores the unused bits of the byte; in a literal, they repeat the sign.
        array = array.astype(np.int8)
    elif row.bits < 8:
        array = array.view(np.uint8) & np.uint8((1 << row.bits) - 1)
    return literal_from_bytes(shape, array.tobytes())
