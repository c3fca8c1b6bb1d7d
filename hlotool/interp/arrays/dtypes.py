"""Element types as NumPy types: the type that stores values, and the type used for arithmetic.

The conversions that HLO defines are in `kernels.conversion`.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from hlotool.record import Record
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType

__all__ = ["NUMBERS", "NUMPY_TYPES", "Array", "NumberType", "number_type"]

Array = np.ndarray[Any, Any]


class NumberType(Record):
    """An element type with its NumPy types.

    `held` is the type of its arrays, and `computed` is the type for arithmetic. Narrow floats are
    computed in f32 and rounded once after every operation, as on XLA:CPU. Numbers of fewer than
    eight bits are stored in the low bits of a byte. The other bits of the byte are always 0, so
    that equal numbers have equal bytes.
    """

    element: ElementType
    held: np.dtype[Any]
    computed: np.dtype[Any]

    @property
    def kind(self) -> str:
        return self.element.kind

    @property
    def bits(self) -> int:
        return self.element.bits


_FLOATS = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e4m3": ml_dtypes.float8_e4m3,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3b11fnuz": ml_dtypes.float8_e4m3b11fnuz,
    "f8e3m4": ml_dtypes.float8_e3m4,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e8m0fnu": ml_dtypes.float8_e8m0fnu,
    "f6e3m2fn": ml_dtypes.float6_e3m2fn,
    "f6e2m3fn": ml_dtypes.float6_e2m3fn,
    "f4e2m1fn": ml_dtypes.float4_e2m1fn,
}
_NARROW_INTEGERS = {
    "s1": ml_dtypes.int1,
    "s2": ml_dtypes.int2,
    "s4": ml_dtypes.int4,
    "u1": ml_dtypes.uint1,
    "u2": ml_dtypes.uint2,
    "u4": ml_dtypes.uint4,
}


def _number_types() -> dict[str, NumberType]:
    rows = {}

    def row(name: str, held: Any, computed: Any = None) -> None:
        rows[name] = NumberType(ELEMENT_TYPES[name], np.dtype(held), np.dtype(computed or held))

    row("pred", np.bool_)
    for name, scalar in _NARROW_INTEGERS.items():
        row(name, scalar, np.int8 if name[0] == "s" else np.uint8)
    for bits in (8, 16, 32, 64):
        row(f"s{bits}", f"int{bits}")
        row(f"u{bits}", f"uint{bits}")
    for name, scalar in _FLOATS.items():
        row(name, scalar, None if name in ("f32", "f64") else np.float32)
    row("c64", np.complex64)
    row("c128", np.complex128)
    return rows


NUMBERS: dict[str, NumberType] = _number_types()
"""All element types of arrays, by their names in HLO."""

NUMPY_TYPES: dict[str, np.dtype[Any]] = {name: row.held for name, row in NUMBERS.items()}

_BY_NUMPY_TYPE = {row.held: row for row in NUMBERS.values()}


def number_type(array: Array) -> NumberType:
    """Returns the element type of one of the interpreter's arrays.

    >>> number_type(np.zeros(2, ml_dtypes.bfloat16)).element.name
    'bf16'
    """
    return _BY_NUMPY_TYPE[array.dtype]
