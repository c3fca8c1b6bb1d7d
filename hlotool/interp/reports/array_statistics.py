"""Summarizes arrays in a few numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from hlotool.interp.arrays.dtypes import Array, number_type
from hlotool.interp.arrays.values import Value, leaves
from hlotool.record import Record
from hlotool.shapes.shape import Shape

__all__ = ["Statistics", "has_nan", "has_nonfinite", "json_number", "nan_counts", "plain", "statistics"]


class Statistics(Record):
    """Statistics of an array.

    `least`, `greatest` and `mean` consider only finite elements. They are None if there are no
    finite elements, or if the elements are complex. `nans` and `infinities` count the nonfinite
    elements.
    """

    least: float | None
    greatest: float | None
    mean: float | None
    nans: int
    infinities: int

    @property
    def text(self) -> str:
        """The statistics as text, such as `min 0  max 99  mean 49.5  nan 1`."""
        parts = []
        if self.least is not None:
            parts = [f"min {self.least:.6g}", f"max {self.greatest:.6g}", f"mean {self.mean:.6g}"]
        parts += [f"nan {self.nans}"] if self.nans else []
        parts += [f"inf {self.infinities}"] if self.infinities else []
        return "  ".join(parts)


def plain(array: Array) -> Array:
    """Returns the array in the type for arithmetic, which NumPy also prints well."""
    return array.astype(number_type(array).computed, copy=False)


def has_nonfinite(array: Array) -> bool:
    """Returns whether any element is NaN or infinite.

    >>> has_nonfinite(np.array([1.0, np.inf])), has_nonfinite(np.array([1, 2]))
    (True, False)
    """
    if number_type(array).kind not in ("float", "complex") or not array.size:
        return False
    return not bool(np.isfinite(plain(array)).all())


def has_nan(value: Value) -> bool:
    """Returns whether any element of any array of a value is NaN.

    >>> has_nan((np.array([1.0, np.nan]), np.array([1])))
    True
    """
    return any(isinstance(leaf, np.ndarray) and has_nonfinite(leaf) and bool(np.isnan(plain(leaf)).any()) for leaf in leaves(value))


def nan_counts(named: Iterable[tuple[tuple[str, Shape], Any]]) -> list[tuple[str, int, int]]:
    """Returns the name, the number of NaNs, and the number of elements of each array with NaNs."""
    return [(name, int(np.isnan(plain(leaf)).sum()), leaf.size) for (name, _), leaf in named if has_nan(leaf)]


def statistics(array: Array) -> Statistics:
    """Returns the statistics of an array; pred elements count as 0 and 1.

    >>> statistics(np.array([1.0, 2.0, np.nan])).text
    'min 1  max 2  mean 1.5  nan 1'
    """
    values = plain(array)
    nans, infinities = (int(test(values).sum()) if values.dtype.kind in "fc" else 0 for test in (np.isnan, np.isinf))
    finite = values[np.isfinite(values)] if nans or infinities else values
    if values.dtype.kind == "c" or not finite.size:
        return Statistics(None, None, None, nans, infinities)
    if finite.dtype.kind == "b":
        finite = finite.view(np.uint8)
    return Statistics(float(finite.min()), float(finite.max()), float(finite.mean(dtype=np.float64)), nans, infinities)


def json_number(number: Any) -> Any:
    """Returns a number for JSON: NaN and infinities as strings, NumPy scalars as Python numbers.

    Complex numbers become pairs.

    >>> json_number(np.float32("nan")), json_number(np.int8(3))
    ('nan', 3)
    """
    number = number.item() if isinstance(number, np.generic) else number
    if isinstance(number, complex):
        return [json_number(number.real), json_number(number.imag)]
    return str(number) if isinstance(number, float) and not np.isfinite(number) else number
