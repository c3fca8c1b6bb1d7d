"""Compares two arrays that should be equal up to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np

from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.interp.reports.comparison import Comparison, Tolerance, compare, tolerance_of
from hlotool.record import Record
from hlotool.shapes.shape import array_shape

__all__ = ["DEFAULT_TOLERANCES", "Tolerances", "compare_arrays", "type_text"]


class Tolerances(Record):
    """The tolerances of a comparison; None stands for the default of each element type.

    If `exact` is true, values must be equal.
    """

    relative: float | None = None
    absolute: float | None = None
    exact: bool = False


DEFAULT_TOLERANCES = Tolerances()
"""The default tolerance of each element type."""

_ELEMENT_TYPES: dict[Any, str] = {number.held: name for name, number in reversed(NUMBERS.items())}


def compare_arrays(a: Any, b: Any, tolerances: Tolerances = DEFAULT_TOLERANCES) -> Comparison | None:
    """Compares two arrays; returns None if they agree, or if one of the values is not an array.

    >>> one = np.ones(2, np.float32)
    >>> compare_arrays(one, one + np.float32(1e-6)) is None, compare_arrays(one, one + 1).mismatches
    (True, 2)
    """
    if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)) or (a.dtype == b.dtype and a.shape == b.shape and _same_bytes(a, b)):
        return None
    names = [_ELEMENT_TYPES.get(x.dtype) for x in (a, b)]
    if names[0] is None or names[1] is None:
        return None
    limits = [tolerance_of(name, tolerances.relative, tolerances.absolute) for name in names if name is not None]
    # The tolerance of the coarser element type.
    tolerance = Tolerance(0.0, 0.0) if tolerances.exact else Tolerance(max(t.relative for t in limits), max(t.absolute for t in limits))
    comparison = compare("", array_shape(names[0], a.shape), a, b, tolerance)
    return None if comparison.agrees else comparison


def _same_bytes(a: Array, b: Array) -> bool:
    return bool(np.array_equal(np.ascontiguousarray(a).reshape(-1).view(np.uint8), np.ascontiguousarray(b).reshape(-1).view(np.uint8)))


def type_text(value: Any) -> str:
    """Returns the element type and dimensions of an array.

    >>> type_text(np.ones((2, 3), np.float32))
    'f32[2,3]'
    """
    if not isinstance(value, np.ndarray):
        return "not an array"
    return f"{_ELEMENT_TYPES.get(value.dtype, value.dtype)}[{','.join(map(str, value.shape))}]"
