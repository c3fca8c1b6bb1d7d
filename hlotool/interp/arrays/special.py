"""Special functions that NumPy lacks, computed in double precision."""

from __future__ import annotations

import numpy as np

from hlotool.interp.arrays.dtypes import Array

__all__ = ["erf"]

# Rational approximations from W. J. Cody, "Rational Chebyshev approximations for the error
# function", Math. Comp. 23 (1969).
_NEAR = (
    (1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
_MIDDLE = (
    (
        2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1, 2.98635138197400131e2,
        8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3, 1.23033935479799725e3,
    ),
    (
        1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3, 3.29079923573345963e3,
        4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
    ),
)  # fmt: skip
_FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242e0, 1.87295284992346047e0, 5.27905102951428412e-1, 6.05183413124413191e-2, 2.33520497626869185e-3),
)
_ONE_OVER_ROOT_PI = 5.6418958354775628695e-1
# From this magnitude on, erf rounds to 1 in double precision.
_SATURATED = 6.0


_BLOCK = 1 << 14
"""The number of elements computed at a time; a block of this size fits in a core's cache."""


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    value = np.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value *= x
        value += coefficient
    return value


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Array) -> Array:
    above, below = coefficients
    return np.asarray(_polynomial(above, x) / _polynomial(below, x))


def _near(x: Array) -> Array:
    return np.asarray(x * _ratio(_NEAR, x * x))


def _middle(x: Array) -> Array:
    return np.asarray(1 - np.exp(-x * x) * _ratio(_MIDDLE, x))


def _far(x: Array) -> Array:
    tail = _ratio(_FAR, 1 / (x * x)) / (x * x)
    return np.asarray(1 - np.exp(-x * x) * (_ONE_OVER_ROOT_PI - tail) / x)


_RANGES = ((-1.0, 0.46875, _near), (0.46875, 4.0, _middle), (4.0, _SATURATED, _far))
"""Ranges of magnitudes (the lower limit is exclusive, the upper inclusive) and their functions."""


def erf(x: Array) -> Array:
    """Computes the Gauss error function of real numbers; the result has the same type.

    >>> float(erf(np.array(0.5)))
    0.5204998778130465
    """
    flat = x.reshape(-1)
    result = np.empty(flat.shape, x.dtype)
    for start in range(0, len(flat), _BLOCK):
        block = flat[start : start + _BLOCK]
        sizes = np.abs(block).astype(np.float64)
        values = np.where(np.isnan(sizes), sizes, 1.0)
        for low, high, function in _RANGES:
            chosen = np.flatnonzero((sizes > low) & (sizes <= high))
            if len(chosen):
                values[chosen] = function(sizes[chosen])
        result[start : start + _BLOCK] = np.copysign(values, block)
    return result.reshape(x.shape)
