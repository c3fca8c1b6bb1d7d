"""Kernels of dot products.

Everything is brought into the form [batch, rows, contracted] @ [batch, contracted, columns], by views where that is possible.
"""

from __future__ import annotations

from math import prod

import numpy as np

from hlotool.interp.dtypes import NUMBERS, Array, NumberType, number_type
from hlotool.interp.kernels.base import kernel
from hlotool.interp.kernels.conversion import converted
from hlotool.opdefs.kinds import Dims
from hlotool.shapes.shape import Shape

__all__ = ["matrix_product", "product_type", "unrounded_product"]

_EXACT_IN_DOUBLES = 2**53


@kernel("dot")
def dot(
    lhs: Array, rhs: Array, *, lhs_batch_dims: Dims, lhs_contracting_dims: Dims, rhs_batch_dims: Dims, rhs_contracting_dims: Dims, result: Shape
) -> Array:
    lhs_free = _others(lhs.ndim, lhs_batch_dims, lhs_contracting_dims)
    rhs_free = _others(rhs.ndim, rhs_batch_dims, rhs_contracting_dims)
    batch = [lhs.shape[k] for k in lhs_batch_dims]
    contracted = prod(lhs.shape[k] for k in lhs_contracting_dims)
    rows, columns = [lhs.shape[k] for k in lhs_free], [rhs.shape[k] for k in rhs_free]
    left = lhs.transpose(*lhs_batch_dims, *lhs_free, *lhs_contracting_dims).reshape((*batch, prod(rows), contracted))
    right = rhs.transpose(*rhs_batch_dims, *rhs_contracting_dims, *rhs_free).reshape((*batch, contracted, prod(columns)))
    number = NUMBERS[result.element_type]
    made = matrix_product(left, right, product_type(lhs, rhs, number))
    return converted(made, number).reshape((*batch, *rows, *columns))


def _others(rank: int, *taken: Dims) -> list[int]:
    return [k for k in range(rank) if not any(k in dims for dims in taken)]


def product_type(lhs: Array, rhs: Array, number: NumberType) -> NumberType:
    """The type in which XLA:CPU multiplies and adds for a result of the given one: that of the operands where floats make integers."""
    of_operands = max((number_type(lhs), number_type(rhs)), key=lambda t: t.bits)
    return of_operands if of_operands.kind == "float" and number.element.is_integral else number


def matrix_product(lhs: Array, rhs: Array, number: NumberType) -> Array:
    """lhs @ rhs in the given element type: operands are converted to it, narrow floats are summed in f32 and rounded once.

    >>> matrix_product(np.full((1, 300), 1, np.int8), np.full((300, 1), 1, np.int8), NUMBERS["s8"]).tolist()
    [[44]]
    """
    return unrounded_product(lhs, rhs, number).astype(number.held, copy=False)


def unrounded_product(lhs: Array, rhs: Array, number: NumberType) -> Array:
    """As `matrix_product`, in the type that is computed in."""
    if number.kind == "pred":
        return np.asarray(np.matmul(converted(lhs, number).astype(np.float32), converted(rhs, number).astype(np.float32)) > 0)
    if number.element.is_integral:
        return _integer_product(converted(lhs, number), converted(rhs, number), number)
    # Operands of narrow types lose nothing in f32, and must not be rounded to the result's type first.
    left, right = (x if x.dtype == number.computed else converted(x, _computed(number)) for x in (lhs, rhs))
    # NumPy multiplies bf16 arrays too, but slowly and into f32.
    return np.asarray(np.matmul(left, right))


def _computed(number: NumberType) -> NumberType:
    return NUMBERS["f32"] if number.computed == np.float32 else number


def _integer_product(lhs: Array, rhs: Array, number: NumberType) -> Array:
    """The product modulo 2^n; in doubles where these are exact, since NumPy multiplies integer matrices a hundred times slower."""
    left, right = lhs.astype(number.computed, copy=False), rhs.astype(number.computed, copy=False)
    if left.size and right.size and lhs.shape[-1] * _largest(left) * _largest(right) < _EXACT_IN_DOUBLES:
        product = np.asarray(np.matmul(left.astype(np.float64), right.astype(np.float64))).astype(np.int64)
    else:
        product = np.asarray(np.matmul(left, right))
    return product.astype(number.computed)


def _largest(x: Array) -> int:
    return max(abs(int(x.min())), abs(int(x.max())))
