"""Checks whether two arrays agree as results of the same operation."""

from __future__ import annotations

import numpy as np
from instances import Tolerance

from hlotool.interp.arrays.dtypes import Array, number_type

__all__ = ["first_disagreement"]


@np.errstate(all="ignore")
def first_disagreement(ours: Array, theirs: Array, tolerance: Tolerance) -> str:
    """Returns a description of the first element that differs by more than the tolerance.

    Returns an empty string if there is none. NaN equals NaN.
    """
    if ours.dtype != theirs.dtype or ours.shape != theirs.shape:
        return f"ours is {ours.dtype}{list(ours.shape)}, XLA's is {theirs.dtype}{list(theirs.shape)}"
    kind = number_type(ours).kind
    if kind == "complex":
        wrong = ~_complex_agree(ours, theirs, tolerance)
    elif kind == "float":
        tiny = float(np.finfo(ours.dtype).tiny) if ours.dtype.kind == "f" and ours.dtype.itemsize > 2 else 0.0
        # bf16 has the exponents of f32. The subnormals of f16 and of narrower types are normal
        # numbers when they are computed in f32.
        tiny = float(np.finfo(np.float32).tiny) if ours.dtype.name == "bfloat16" else tiny
        wrong = ~_agree(ours.astype(np.float64), theirs.astype(np.float64), tolerance, tiny)
    else:
        wrong = ours != theirs
    positions = np.argwhere(wrong)
    if not len(positions):
        return ""
    at = tuple(int(k) for k in positions[0])
    return f"at {list(at)} ({len(positions)} of {ours.size}): ours {ours[at]!r}, XLA's {theirs[at]!r}"


def _agree(ours: Array, theirs: Array, tolerance: Tolerance, tiny: float) -> Array:
    if tolerance.flushes:
        ours, theirs = _flushed(ours, tiny), _flushed(theirs, tiny)
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    if tolerance.signs:
        same &= np.signbit(ours) == np.signbit(theirs) if not np.isnan(ours).any() else np.isnan(ours) | (np.signbit(ours) == np.signbit(theirs))
    if not tolerance.relative and not tolerance.absolute:
        return np.asarray(same)
    near = np.abs(ours - theirs) <= tolerance.absolute + tolerance.relative * np.abs(theirs)
    return np.asarray(same | (near & np.isfinite(ours) & np.isfinite(theirs)))


def _flushed(values: Array, tiny: float) -> Array:
    # A value rounded up to the smallest normal number was subnormal before.
    return np.where(np.abs(values) <= tiny, np.copysign(0.0, values), values)


def _complex_agree(ours: Array, theirs: Array, tolerance: Tolerance) -> Array:
    """Compares complex numbers.

    The difference between two finite numbers must be within the tolerance of the whole number. Two
    numbers that are not finite agree, even if different parts are not finite. For exact operations,
    both parts must agree.
    """
    if not tolerance.relative:
        tiny = float(np.finfo(ours.real.dtype).tiny)
        parts = [(np.asarray(x.real, np.float64), np.asarray(x.imag, np.float64)) for x in (ours, theirs)]
        return np.asarray(_agree(parts[0][0], parts[1][0], tolerance, tiny) & _agree(parts[0][1], parts[1][1], tolerance, tiny))
    a, b = ours.astype(np.complex128), theirs.astype(np.complex128)
    near = np.abs(a - b) <= tolerance.absolute + tolerance.relative * np.abs(b)
    return np.asarray(near | (~np.isfinite(a) & ~np.isfinite(b)))
