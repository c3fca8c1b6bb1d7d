"""Memory order: operands in the order in memory that functions need whose results depend on it.

NumPy and its libraries add up in another order, or call other functions, if elements are elsewhere in memory. But equal operands must give equal
results, whether they were computed, broadcast or transposed. So no value runs backwards in memory or is unaligned, and kernels that declare
`row_major` receive arrays without gaps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlotool.interp.dtypes import Array

__all__ = ["forward", "row_major", "row_major_operands", "with_row_major_operands"]


def forward(x: Array) -> Array:
    """Returns the array, or a copy if it runs backwards in memory along a dimension, or has elements that are not aligned.

    >>> forward(np.arange(3)[::-1]).strides
    (8,)
    """
    is_backwards = bool(x.strides) and min(x.strides) < 0
    return np.array(x, order="C") if is_backwards or not x.flags.aligned else x


def row_major(x: Array) -> Array:
    """Returns the array if its elements are in row-major order without gaps, or such a copy.

    >>> x = np.arange(6.0).reshape(2, 3)
    >>> row_major(x) is x, row_major(x.T).strides
    (True, (16, 8))
    """
    return np.asarray(x, order="C")


def row_major_operands(lhs: Array, rhs: Array) -> tuple[Array, Array]:
    """Returns both arrays row-major, and none in the memory of the other: NumPy computes the product of a matrix and its own transpose by a function
    for symmetric matrices.
    """
    lhs, rhs = np.asarray(lhs, order="C"), np.asarray(rhs, order="C")
    is_from_one = (lhs if lhs.base is None else lhs.base) is (rhs if rhs.base is None else rhs.base)
    return lhs, rhs.copy() if is_from_one and np.may_share_memory(lhs, rhs) else rhs


def with_row_major_operands(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function for operands that it takes row-major: the first two apart from each other, and those in tuples, too."""

    def of_row_major(*operands: Any, **keywords: Any) -> Any:
        made = list(map(_row_major_leaves, operands))
        if len(made) > 1 and isinstance(made[0], np.ndarray) and isinstance(made[1], np.ndarray):
            made[:2] = row_major_operands(made[0], made[1])
        return function(*made, **keywords)

    return of_row_major


def _row_major_leaves(operand: Any) -> Any:
    if isinstance(operand, np.ndarray):
        return row_major(operand)
    return tuple(map(_row_major_leaves, operand)) if isinstance(operand, tuple) else operand
