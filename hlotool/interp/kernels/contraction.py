"""Kernels of dot products.

All dot products are computed in the form [batch, rows, contracted] @ [batch, contracted, columns],
using views of the operands if possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from hlotool.interp.arrays.dtypes import NUMBERS, Array, NumberType, number_type
from hlotool.interp.arrays.memory_order import separate
from hlotool.interp.kernels.base import kernel
from hlotool.interp.kernels.conversion import convert_values
from hlotool.ir.model import Instruction
from hlotool.opdefs.kinds import Dims
from hlotool.shapes.shape import Shape

__all__ = ["MatrixForm", "large_product", "matrix_form", "matrix_product", "product_type", "unrounded_product"]

_EXACT_INTEGERS: tuple[tuple[type[np.floating[Any]], int], ...] = ((np.float32, 2**24), (np.float64, 2**53))
"""Float types, each with the number up to which it represents all integers exactly."""

_MIN_TERMS = 64
"""Minimum number of terms per partial product in a float type.

With fewer terms, a product in a wider type is faster.
"""


class MatrixForm(NamedTuple):
    """The form of a dot product as a product of matrices.

    The matrices are [batch..., rows, contracted] and [batch..., contracted, columns]. Each operand
    is transposed to an order of dimensions, then reshaped to sizes. `sizes` has the sizes of the
    result, where the dimensions of rows and columns are separate again.
    """

    lhs_order: tuple[int, ...]
    lhs_sizes: tuple[int, ...]
    rhs_order: tuple[int, ...]
    rhs_sizes: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def is_large(self) -> bool:
        """True if `large_product` computes the product."""
        return is_large(self.lhs_sizes, self.rhs_sizes)

    @property
    def may_be_symmetric(self) -> bool:
        """True if the product of a matrix and its own transpose has these sizes."""
        return self.lhs_sizes[-2] == self.rhs_sizes[-1] > 1


def matrix_form(lhs: Sequence[int], rhs: Sequence[int], lhs_batch: Dims, lhs_contracting: Dims, rhs_batch: Dims, rhs_contracting: Dims) -> MatrixForm:
    """Returns the form for operands of these sizes.

    >>> matrix_form((2, 3), (5, 3), (), (1,), (), (1,))
    MatrixForm(lhs_order=(0, 1), lhs_sizes=(2, 3), rhs_order=(1, 0), rhs_sizes=(3, 5), sizes=(2, 5))
    """
    lhs_free, rhs_free = _other_dimensions(len(lhs), lhs_batch, lhs_contracting), _other_dimensions(len(rhs), rhs_batch, rhs_contracting)
    batch = [lhs[k] for k in lhs_batch]
    contracted = prod(lhs[k] for k in lhs_contracting)
    rows, columns = [lhs[k] for k in lhs_free], [rhs[k] for k in rhs_free]
    return MatrixForm(
        (*lhs_batch, *lhs_free, *lhs_contracting),
        (*batch, prod(rows), contracted),
        (*rhs_batch, *rhs_contracting, *rhs_free),
        (*batch, contracted, prod(columns)),
        (*batch, *rows, *columns),
    )


def _depends_on_memory(x: Instruction) -> bool:
    """Returns whether the bits of a product may depend on the memory order of the operands.

    Large products (see `is_large`) of known sizes do not depend on it.
    """
    lhs, rhs = x.operands[0].shape, x.operands[1].shape
    if not (lhs.is_array and rhs.is_array) or any((*(lhs.dynamic or ()), *(rhs.dynamic or ()))):
        return True
    names = ("lhs_batch_dims", "lhs_contracting_dims", "rhs_batch_dims", "rhs_contracting_dims")
    try:
        form = matrix_form(lhs.dimensions, rhs.dimensions, *[tuple(x.attributes.get(name) or ()) for name in names])
    except IndexError:
        return True
    return not form.is_large


@kernel("dot", in_layout=_depends_on_memory)
def dot(
    lhs: Array, rhs: Array, *, lhs_batch_dims: Dims, lhs_contracting_dims: Dims, rhs_batch_dims: Dims, rhs_contracting_dims: Dims, result: Shape
) -> Array:
    form = matrix_form(lhs.shape, rhs.shape, lhs_batch_dims, lhs_contracting_dims, rhs_batch_dims, rhs_contracting_dims)
    left, right = lhs.transpose(form.lhs_order).reshape(form.lhs_sizes), rhs.transpose(form.rhs_order).reshape(form.rhs_sizes)
    number = NUMBERS[result.element_type]
    product = matrix_product(left, right, product_type(lhs, rhs, number))
    return convert_values(product, number).reshape(form.sizes)


@kernel("scaled-dot", in_layout=True)
def scaled_dot(
    lhs: Array,
    rhs: Array,
    lhs_scale: Array,
    rhs_scale: Array,
    *,
    lhs_batch_dims: Dims,
    lhs_contracting_dims: Dims,
    rhs_batch_dims: Dims,
    rhs_contracting_dims: Dims,
    result: Shape,
) -> Array:
    """Multiplies the operands by their scales, then computes their product.

    The scaled operands keep the computation type, since their values may not fit into narrow types.
    """
    left, right = _scale(lhs, lhs_scale), _scale(rhs, rhs_scale)
    return dot(
        left,
        right,
        lhs_batch_dims=lhs_batch_dims,
        lhs_contracting_dims=lhs_contracting_dims,
        rhs_batch_dims=rhs_batch_dims,
        rhs_contracting_dims=rhs_contracting_dims,
        result=result,
    )


def _scale(operand: Array, scale: Array) -> Array:
    """Multiplies each element by the scale of its block; a scalar `scale` means no scaling."""
    wide = operand.astype(number_type(operand).computed)
    if not scale.ndim:
        return wide
    factors = scale.astype(wide.dtype)
    for axis, (size, blocks) in enumerate(zip(operand.shape, scale.shape, strict=True)):
        factors = np.repeat(factors, size // max(blocks, 1), axis)
    return np.asarray(wide * factors)


@kernel("ragged-dot", in_layout=True)
def ragged_dot(
    lhs: Array,
    rhs: Array,
    group_sizes: Array,
    *,
    lhs_batch_dims: Dims,
    lhs_contracting_dims: Dims,
    rhs_batch_dims: Dims,
    rhs_contracting_dims: Dims,
    lhs_ragged_dims: Dims,
    rhs_group_dims: Dims,
    result: Shape,
) -> Array:
    """Computes the product of each group; elements outside of all groups are zero.

    A group consists of rows and their slice of rhs, or of a part of a contracted dimension.
    """
    ragged = lhs_ragged_dims[0]
    ends = np.cumsum(group_sizes.astype(np.int64), axis=-1)
    groups = list(zip(np.moveaxis(ends - group_sizes, -1, 0), np.moveaxis(ends, -1, 0), strict=True))
    product = partial(dot, lhs_batch_dims=lhs_batch_dims, lhs_contracting_dims=lhs_contracting_dims, result=result)
    if ragged in lhs_batch_dims:
        kept = _group_mask(lhs, np.zeros_like(ends[..., 0]), ends[..., -1], ragged, lhs_batch_dims)
        whole = product(lhs, rhs, rhs_batch_dims=rhs_batch_dims, rhs_contracting_dims=rhs_contracting_dims)
        rows = kept.transpose(*lhs_batch_dims, *_other_dimensions(lhs.ndim, lhs_batch_dims)).reshape(
            [kept.shape[k] for k in lhs_batch_dims] + [1] * (whole.ndim - len(lhs_batch_dims))
        )
        return np.where(rows, whole, whole.dtype.type(0))
    if ragged in lhs_contracting_dims:
        outer, paired = (*lhs_batch_dims, *lhs_contracting_dims), rhs_contracting_dims[lhs_contracting_dims.index(ragged)]
        products = []
        for low, high in groups:
            # Elements outside of all groups must not be multiplied, not even by zero.
            near = slice(max(0, int(low.min(initial=lhs.shape[ragged]))), max(0, int(high.max(initial=0))))
            left, right = (x[(slice(None),) * axis + (near,)] for x, axis in ((lhs, ragged), (rhs, paired)))
            inside = _group_mask(lhs, low, high, ragged, outer)[(slice(None),) * ragged + (near,)]
            part = np.where(inside, left, lhs.dtype.type(0))
            products.append(product(part, right, rhs_batch_dims=rhs_batch_dims, rhs_contracting_dims=rhs_contracting_dims))
        return np.stack(products)
    axis = rhs_group_dims[0]
    batch, contracted = (tuple(k - (k > axis) for k in dims) for dims in (rhs_batch_dims, rhs_contracting_dims))
    row_dimensions = (*lhs_batch_dims, *_other_dimensions(lhs.ndim, lhs_batch_dims, lhs_contracting_dims))
    output = np.zeros(result.dimensions, NUMBERS[result.element_type].held)
    for group, (low, high) in enumerate(groups):
        inside = _group_mask(lhs, low, high, ragged, row_dimensions)
        rows = inside.transpose(*row_dimensions, *lhs_contracting_dims).reshape(
            [inside.shape[k] for k in row_dimensions] + [1] * (output.ndim - len(row_dimensions))
        )
        np.copyto(output, product(lhs, rhs.take(group, axis), rhs_batch_dims=batch, rhs_contracting_dims=contracted), where=rows)
    return output


def _group_mask(lhs: Array, low: Array, high: Array, ragged: int, outer: Sequence[int]) -> Array:
    """Returns the mask of a group along the ragged dimension, in the form [1, ..., n, ..., 1].

    If the groups differ along the outer dimensions, the mask has these dimensions, too.
    """
    positions = np.arange(lhs.shape[ragged])
    inside = (positions >= low[..., None]) & (positions < high[..., None])
    shown = [*list(outer)[: low.ndim], ragged]
    order = np.argsort(shown)
    sizes = [lhs.shape[k] if k in shown else 1 for k in range(lhs.ndim)]
    return inside.transpose(order).reshape(sizes)


def _other_dimensions(rank: int, *taken: Dims) -> list[int]:
    return [k for k in range(rank) if not any(k in dims for dims in taken)]


def product_type(lhs: Array, rhs: Array, number: NumberType) -> NumberType:
    """Returns the type in which XLA:CPU multiplies and adds for a result type.

    This is the result type, or the wider of the operands' types if the operands are floats and the
    result is integral.
    """
    operand_type = max((number_type(lhs), number_type(rhs)), key=lambda t: t.bits)
    return operand_type if operand_type.kind == "float" and number.element.is_integral else number


def matrix_product(lhs: Array, rhs: Array, number: NumberType) -> Array:
    """Computes lhs @ rhs in an element type, to which the operands are converted first.

    Narrow floats are summed in f32 and rounded once.

    >>> matrix_product(np.full((1, 300), 1, np.int8), np.full((300, 1), 1, np.int8), NUMBERS["s8"]).tolist()
    [[44]]
    """
    return unrounded_product(lhs, rhs, number).astype(number.held, copy=False)


def unrounded_product(lhs: Array, rhs: Array, number: NumberType) -> Array:
    """Like `matrix_product`, but without rounding: the result has the computation type."""
    if number.kind == "pred":
        return np.asarray(np.matmul(convert_values(lhs, number).astype(np.float32), convert_values(rhs, number).astype(np.float32)) > 0)
    if number.element.is_integral:
        return _integer_product(lhs, rhs, number)
    # Operands of narrow types are exact in f32, and must not be rounded to the result's type first.
    left, right = (x if x.dtype == number.computed else convert_values(x, _computation_type(number)) for x in (lhs, rhs))
    # NumPy could multiply bf16 arrays directly, but slowly, and the result would be f32, too.
    result = np.asarray(large_product(left, right) if is_large(left.shape, right.shape) else np.matmul(left, right))
    is_inner = number.kind == "complex" and result.shape[-2:] == (1, 1)
    return _complex_product(left, right) if is_inner and not np.isfinite(result).all() else result


_LARGE = 1 << 20


def is_large(lhs: Sequence[int], rhs: Sequence[int]) -> bool:
    """Returns whether matrices of these sizes are multiplied in the same order in any layout.

    This is true if OpenBLAS copies parts of the matrices into buffers before it multiplies them. It
    does not do so for vectors and for products of up to a million terms, for which it has separate
    functions for each memory order.
    """
    rows, contracted, columns = lhs[-2], lhs[-1], rhs[-1]
    return rows > 1 and columns > 1 and rows * contracted * columns > _LARGE


def large_product(lhs: Array, rhs: Array) -> Array:
    """Computes lhs @ rhs for large matrices; copies them only if the library cannot read them."""
    lhs, rhs = _make_readable(lhs), _make_readable(rhs)
    return np.asarray(np.matmul(lhs, separate(lhs, rhs)))


def _make_readable(x: Array) -> Array:
    """Returns the matrices, or copies if both their rows and their columns have gaps."""
    (rows, columns), (outer, inner), size = x.shape[-2:], x.strides[-2:], x.itemsize
    by_rows = inner == size and outer >= columns * size and not outer % size
    by_columns = outer == size and inner >= rows * size and not inner % size
    return x if by_rows or by_columns else np.ascontiguousarray(x)


def _complex_product(lhs: Array, rhs: Array) -> Array:
    """Returns the product of complex matrices, computed from their real and imaginary parts.

    Each part of the product becomes infinite or NaN independently. XLA:CPU computes inner products
    in this way. For larger matrices, XLA:CPU's library multiplies the sums by 1 + 0i, as NumPy's
    does, so that a NaN in one part makes both parts NaN.
    """
    result = np.empty((*np.broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2]), lhs.shape[-2], rhs.shape[-1]), np.result_type(lhs, rhs))
    result.real = np.matmul(lhs.real, rhs.real) - np.matmul(lhs.imag, rhs.imag)
    result.imag = np.matmul(lhs.real, rhs.imag) + np.matmul(lhs.imag, rhs.real)
    return result


def _computation_type(number: NumberType) -> NumberType:
    return NUMBERS["f32"] if number.computed == np.float32 else number


def _integer_product(lhs: Array, rhs: Array, number: NumberType) -> Array:
    """Returns the product modulo 2^n, where n is the width of the integer type.

    Operands of other integer types need not be converted first. The product is computed with floats
    if they are exact, since NumPy multiplies integer matrices a hundred times more slowly.
    """
    left, right = (x.astype(number_type(x).computed, copy=False) for x in (lhs, rhs))
    count = left.shape[-1]
    largest = _largest(left) * _largest(right) if left.size and right.size else 0
    for floats, limit in _EXACT_INTEGERS:
        most = limit // max(largest, 1)
        if most >= min(count, _MIN_TERMS):
            return _sum_of_products(left, right, floats, most, number)
    left, right = (x.astype(number.computed, copy=False) for x in (left, right))
    return _half_products(left, right, number) if number.bits == 32 else np.asarray(np.matmul(left, right))


def _sum_of_products(left: Array, right: Array, floats: type[np.floating[Any]], most: int, number: NumberType) -> Array:
    """Returns the product modulo 2^n, as a sum of products of at most `most` terms each.

    Products of so few terms are exact in the float type.
    """
    integers = np.int32 if floats is np.float32 and number.bits <= 32 else np.int64
    total: Array | None = None
    for start in range(0, max(left.shape[-1], 1), most):
        part = left[..., start : start + most].astype(floats), right[..., start : start + most, :].astype(floats)
        product = np.asarray(np.matmul(*part)).astype(integers)
        total = product if total is None else np.add(total, product, out=total)
    return np.asarray(total).astype(number.computed, copy=False)


def _half_products(left: Array, right: Array, number: NumberType) -> Array:
    """Returns the product modulo 2^32, computed from the upper and lower 16 bits of elements.

    The product of the two upper halves is omitted, since it is a multiple of 2^32.
    """
    half, ones = number.computed.type(16), number.computed.type(0xFFFF)
    mixed = _integer_product(left >> half, right & ones, number) + _integer_product(left & ones, right >> half, number)
    return np.asarray((mixed << half) + _integer_product(left & ones, right & ones, number))


def _largest(x: Array) -> int:
    return max(abs(int(x.min())), abs(int(x.max())))
