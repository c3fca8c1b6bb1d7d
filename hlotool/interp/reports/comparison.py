"""Compares results with expected values, and judges whether rounding explains the differences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hlotool.errors import HlotoolError
from hlotool.interp.arguments.argument_files import output_names
from hlotool.interp.arrays.bits import total_order_keys
from hlotool.interp.arrays.dtypes import NUMBERS, Array, NumberType
from hlotool.interp.arrays.values import Value, leaves
from hlotool.interp.reports.array_statistics import json_number, plain
from hlotool.record import Record
from hlotool.shapes.shape import Shape

__all__ = ["Comparison", "Tolerance", "compare", "compare_values", "expected_leaves", "tolerance_of"]

WORST = 5
"""The maximum number of elements listed for each array that differs."""


class Tolerance(Record):
    """The tolerance of a comparison: `absolute + relative * |expected|` for each element."""

    relative: float
    absolute: float


class Difference(Record):
    """An element that differs between two arrays.

    `ulps` is the distance in units in the last place, or None for types without such a unit.
    """

    index: tuple[int, ...]
    ours: Any
    theirs: Any
    absolute: float
    relative: float
    ulps: int | None

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields for JSON."""
        return {name: list(v) if isinstance(v := getattr(self, name), tuple) else json_number(v) for name in type(self)._fields}


class Comparison(Record):
    """The result of comparing one array.

    `reason` explains why the elements could not be compared, and is empty if they were compared.
    `nans` counts the elements that are NaN on one side only. `infinities` counts the elements that
    are infinite on one side only, or on both sides with different signs. These elements are also
    counted in `mismatches`. `common_nans` counts elements that are NaN on both sides, which agree.
    The `greatest_*` fields consider only elements that are finite on both sides.
    """

    name: str
    type: str
    tolerance: Tolerance
    elements: int = 0
    mismatches: int = 0
    nans: int = 0
    infinities: int = 0
    greatest_absolute: float = 0.0
    greatest_relative: float = 0.0
    greatest_ulps: int | None = None
    worst: tuple[Difference, ...] = ()
    reason: str = ""
    common_nans: int = 0

    @property
    def agrees(self) -> bool:
        return not self.reason and not self.mismatches

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields for JSON."""
        record = {name: json_number(getattr(self, name)) for name in type(self)._fields if name not in ("worst", "tolerance")}
        limits = {"rtol": self.tolerance.relative, "atol": self.tolerance.absolute}
        return {**record, **limits, "agrees": self.agrees, "worst": [d.as_dict() for d in self.worst]}


# XLA:CPU and NumPy differ by this much in sums of thousands of terms, and by a few steps for narrow
# floats.
_TOLERANCES = {"f64": Tolerance(1e-9, 1e-12), "c128": Tolerance(1e-9, 1e-12), "f32": Tolerance(1e-4, 1e-5), "c64": Tolerance(1e-4, 1e-5)}
_STEPS_16_BIT, _STEPS_8_BIT = 4, 2


def tolerance_of(element_type: str, relative: float | None = None, absolute: float | None = None) -> Tolerance:
    """Returns the tolerance for an element type: the arguments, or else the default for the type.

    The default for narrow floats is a few steps. For integers and pred, the tolerance is always 0.

    >>> tolerance_of("bf16"), tolerance_of("s32", relative=0.1)
    (Tolerance(relative=0.03125, absolute=0.0078125), Tolerance(relative=0.0, absolute=0.0))
    """
    element = NUMBERS[element_type].element
    if element.is_integral or element.kind == "pred":
        return Tolerance(0.0, 0.0)
    default = _TOLERANCES.get(element_type)
    if default is None:
        step = 0.5 ** (element.float_format.mantissa_bits if element.float_format is not None else 7)
        default = Tolerance((_STEPS_16_BIT if element.bits > 8 else _STEPS_8_BIT) * step, step)
    return Tolerance(default.relative if relative is None else relative, default.absolute if absolute is None else absolute)


def compare(name: str, shape: Shape, ours: Array, theirs: Any, tolerance: Tolerance) -> Comparison:
    """Compares two arrays element by element; NaN equals NaN.

    >>> from hlotool.shapes.shape import array_shape
    >>> shape, one = array_shape("f32", (2,)), np.ones(2, np.float32)
    >>> comparison = compare("x", shape, one, one + np.float32(2**-23), tolerance_of("f32"))
    >>> comparison.agrees, comparison.greatest_ulps
    (True, 1)
    """
    number = NUMBERS[shape.element_type]
    text = shape.with_dimensions(ours.shape).text_without_layout
    theirs = np.asarray(theirs)
    if theirs.dtype.kind == "V" and theirs.dtype.itemsize == number.held.itemsize and theirs.dtype not in _HELD:
        theirs = theirs.view(number.held)
    if theirs.shape != ours.shape:
        return Comparison(name, text, tolerance, reason=f"the other array has dimensions {list(theirs.shape)}")
    if theirs.dtype not in _HELD:
        return Comparison(name, text, tolerance, reason=f"the other array has type {theirs.dtype}, which is not an element type")
    if number.kind in ("float", "complex"):
        return _floats(name, text, ours, theirs, number, tolerance)
    return _integers(name, text, ours, theirs, tolerance)


_HELD = {row.held for row in NUMBERS.values()}


def _integers(name: str, text: str, ours: Array, theirs: Array, tolerance: Tolerance) -> Comparison:
    a, b = plain(ours).reshape(-1), plain(theirs).reshape(-1)
    positions = np.flatnonzero(a != b)
    if not len(positions):
        return Comparison(name, text, tolerance, elements=ours.size)
    a, b = a[positions], b[positions]
    distances = _distances(a, b)
    with np.errstate(divide="ignore"):
        relative = distances / np.abs(b.astype(np.float64))
    least = np.partition(distances, -WORST)[-WORST] if len(distances) > WORST else 0
    candidates = np.flatnonzero(distances >= least)
    order = candidates[np.argsort(-distances[candidates].astype(np.float64), kind="stable")][:WORST]
    worst = [Difference(_index(int(positions[k]), ours), a[k].item(), b[k].item(), float(distances[k]), float(relative[k]), None) for k in order]
    return Comparison(name, text, tolerance, ours.size, len(positions), 0, 0, float(distances.max()), float(relative.max()), None, tuple(worst))


def _distances(a: Array, b: Array) -> Array:
    """Returns `|a - b|`, which is exact for integers of the same type."""
    if a.dtype != b.dtype:
        return np.abs(a.astype(np.float64) - b.astype(np.float64))
    # The distance may not fit in a signed type, but always fits in 64 bits without a sign.
    return np.maximum(a, b).astype(np.uint64) - np.minimum(a, b).astype(np.uint64)


@np.errstate(all="ignore")
def _floats(name: str, text: str, ours: Array, theirs: Array, number: NumberType, tolerance: Tolerance) -> Comparison:
    wide = np.complex128 if number.kind == "complex" or theirs.dtype.kind == "c" else np.float64
    a, b = ours.astype(wide), theirs.astype(wide)
    one_is_nan = np.isnan(a) != np.isnan(b)
    finite = np.isfinite(a) & np.isfinite(b)
    infinities_differ = ~finite & ~np.isnan(a) & ~np.isnan(b) & (a != b)
    distance = np.where(finite, np.abs(a - b), 0.0)
    scale = np.where(finite, np.abs(b), 0.0)
    relative = np.where(distance > 0, distance / scale, 0.0)
    beyond = distance > tolerance.absolute + tolerance.relative * scale
    bad = beyond | one_is_nan | infinities_differ
    ulps = _ulps(ours, theirs, finite, number)
    # The ratio of each distance to the tolerance. Mismatched NaNs and infinities are listed first.
    excess = np.where(one_is_nan | infinities_differ, np.inf, distance / (tolerance.absolute + tolerance.relative * scale + 1e-300))
    flat = np.where(bad, excess, -1.0).reshape(-1)
    count = int(bad.sum())
    chosen = np.argpartition(-flat, min(WORST, flat.size - 1))[:WORST] if flat.size else np.array([], int)
    order = [int(k) for k in sorted(chosen, key=lambda k: (-flat[k], k)) if flat[k] >= 0]
    worst = [
        Difference(_index(k, ours), _item(ours, k), _item(theirs, k), _gap(distance, finite, k), _gap(relative, finite, k),
                   None if ulps is None or not finite.reshape(-1)[k] else int(ulps.reshape(-1)[k]))
        for k in order
    ]  # fmt: skip
    return Comparison(
        name, text, tolerance, ours.size, count, int(one_is_nan.sum()), int(infinities_differ.sum()),
        float(distance.max(initial=0)), float(relative.max(initial=0)), None if ulps is None else int(ulps.max(initial=0)), tuple(worst),
        common_nans=int((np.isnan(a) & np.isnan(b)).sum()),
    )  # fmt: skip


def _gap(distances: Array, finite: Array, k: int) -> float:
    return float(distances.reshape(-1)[k]) if finite.reshape(-1)[k] else float("inf")


def _item(array: Array, k: int) -> Any:
    return plain(array).reshape(-1)[k].item()


def _index(k: int, array: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(k, array.shape)) if array.ndim else ()


def _ulps(ours: Array, theirs: Array, finite: Array, number: NumberType) -> Array | None:
    """Returns the distances in steps of the element type; -0 equals 0.

    Returns None for complex numbers.
    """
    if number.kind != "float" or theirs.dtype.kind == "c":
        return None
    a, b = (total_order_keys(np.array(x.astype(number.held))).astype(np.int64) for x in (ours, theirs))
    # In total order, -0 comes right before 0.
    a, b = (x + (x < 0) for x in (a, b))
    # The distance between two 64-bit keys may not fit in a signed 64-bit integer.
    distance = np.where(a > b, a.view(np.uint64) - b.view(np.uint64), b.view(np.uint64) - a.view(np.uint64))
    return np.where(finite, distance, np.uint64(0))


# ---- whole results -----------------------------------------------------------------------------


def expected_leaves(shape: Shape, arrays: Mapping[str, Array], source: str, devices: int = 1) -> list[tuple[str, Any]]:
    """Returns the name of each array in a result, as in `output_names`, and its expected value.

    The value is None if the array is missing. Unnamed arrays, which NumPy calls `arr_0`, `arr_1`
    and so on, are assigned in order. Raises HlotoolError if all arrays are missing.
    """
    names = [name for name, leaf in output_names(shape, devices) if leaf.is_array]
    unnamed = [f"arr_{k}" for k in range(len(names))]
    if set(arrays) == set(unnamed):
        arrays = dict(zip(names, (arrays[name] for name in unnamed), strict=True))
    pairs = [(name, arrays.get(name)) for name in names]
    if names and all(array is None for _, array in pairs):
        raise HlotoolError(f"'{source}' has no entry '{names[0]}'; expected entries: {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}")
    return pairs


def compare_values(
    shape: Shape, ours: Value, theirs: list[tuple[str, Any]], relative: float | None, absolute: float | None, devices: int = 1
) -> list[Comparison]:
    """Compares the arrays of a result with the expected arrays; None stands for a missing array."""
    comparisons = []
    expected = dict(theirs)
    for (name, leaf_shape), leaf in zip(output_names(shape, devices), leaves(ours), strict=True):
        if isinstance(leaf, np.ndarray):
            tolerance, other = tolerance_of(leaf_shape.element_type, relative, absolute), expected.get(name)
            if other is None:
                comparisons.append(Comparison(name, leaf_shape.text_without_layout, tolerance, reason=f"there is no array '{name}' to compare with"))
            else:
                comparisons.append(compare(name, leaf_shape, leaf, other, tolerance))
    return comparisons
