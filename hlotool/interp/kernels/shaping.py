"""Kernels of opcodes that move elements, such as broadcast, reshape, transpose, slice and pad.

Results are views of the operands if NumPy can express them as views.
"""

from __future__ import annotations

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays.dtypes import NUMBERS, NUMPY_TYPES, Array
from hlotool.interp.arrays.memory_order import forward
from hlotool.interp.kernels.base import kernel, unchanged
from hlotool.interp.kernels.conversion import convert_values
from hlotool.opdefs.kinds import Dims, FirstDim, Int, Padding, SingleDim, SliceRanges
from hlotool.shapes.shape import Shape

__all__: list[str] = []

# ---- the same elements, or more -----------------------------------------------------------------


@kernel("broadcast", batch=unchanged)
def broadcast(operand: Array, *, dimensions: Dims, result: Shape) -> Array:
    """Moves the operand's dimensions to those in `dimensions`, in any order."""
    if not operand.ndim:
        return np.ndarray(result.dimensions, operand.dtype, operand, 0, (0,) * result.rank)
    sizes, wanted = [1] * result.rank, list(result.dimensions)
    dynamic = result.dynamic or (False,) * result.rank
    for dimension, size in zip(dimensions, operand.shape, strict=True):
        if size != wanted[dimension] and not dynamic[dimension]:
            raise Violation(
                "R004", "shape", f"dimension {dimension} of the result has size {wanted[dimension]}, but the operand's dimension has size {size}"
            )
        # Use the operand's size, which is the actual size if the dimension is dynamic.
        sizes[dimension] = wanted[dimension] = size
    ascending = sorted(range(len(dimensions)), key=dimensions.__getitem__)
    view = operand.transpose(ascending).reshape(sizes)
    if not view.flags.c_contiguous:
        return np.broadcast_to(view, wanted)
    # Ten times faster than `np.broadcast_to`; loops over small arrays are full of broadcasts.
    return np.ndarray(wanted, view.dtype, view, 0, tuple([0 if size == 1 else stride for size, stride in zip(sizes, view.strides, strict=True)]))


@kernel("reshape", batch=unchanged)
def reshape(operand: Array, *, result: Shape) -> Array:
    return operand.reshape(result.dimensions)


@kernel("dynamic-reshape", may_refuse=True)
def dynamic_reshape(operand: Array, *sizes: Array) -> Array:
    return operand.reshape([int(size) for size in sizes])


@kernel("pad")
def pad(operand: Array, padding_value: Array, *, padding: Padding, result: Shape) -> Array:
    """Spreads elements by the interior padding, then shifts them by the low padding.

    Elements that end up outside of the result are dropped.
    """
    number = NUMBERS[result.element_type]
    sizes = [max(size + p.low + p.high + max(size - 1, 0) * p.interior, 0) for size, p in zip(operand.shape, padding, strict=True)]
    padded = np.full(sizes, convert_values(padding_value, number), number.held)
    targets, sources = [], []
    for size, p, limit in zip(operand.shape, padding, sizes, strict=True):
        step = p.interior + 1
        first = max(0, -(p.low // step))
        past_last = min(size, max(first, -((p.low - limit) // step)))
        if past_last <= first:
            return padded
        start = p.low + first * step
        sources.append(slice(first, past_last))
        targets.append(slice(start, start + (past_last - first - 1) * step + 1, step))
    padded[tuple(targets)] = convert_values(operand, number)[tuple(sources)]
    return padded


@kernel("concatenate")
def concatenate(*operands: Array, dimensions: SingleDim, result: Shape) -> Array:
    number = NUMBERS[result.element_type]
    return np.concatenate([convert_values(operand, number) for operand in operands], axis=dimensions[0])


@kernel("iota")
def iota(*, iota_dimension: Int, result: Shape) -> Array:
    """Counts along one dimension, and converts the numbers like `convert`.

    Narrow integers wrap, and narrow floats are rounded.
    """
    if 0 in result.dimensions:
        # The iota dimension may be too long for an array of its indices.
        return np.empty(result.dimensions, NUMPY_TYPES[result.element_type])
    indices = convert_values(np.arange(result.dimensions[iota_dimension], dtype=np.int64), NUMBERS[result.element_type])
    sizes = [1] * result.rank
    sizes[iota_dimension] = len(indices)
    return np.broadcast_to(indices.reshape(sizes), result.dimensions)


# ---- the same elements elsewhere ---------------------------------------------------------------


@kernel("transpose", batch=unchanged)
def transpose(operand: Array, *, dimensions: Dims) -> Array:
    return operand.transpose(dimensions)


@kernel("reverse", batch=unchanged)
def reverse(operand: Array, *, dimensions: Dims) -> Array:
    return forward(np.flip(operand, dimensions))


@kernel("slice", batch=unchanged)
def slice_(operand: Array, *, slice: SliceRanges) -> Array:
    return operand[tuple([np.s_[r.start : r.limit : r.stride] for r in slice])]


kernel("copy", batch="same")(unchanged)

# ---- sizes --------------------------------------------------------------------------------------


@kernel("get-dimension-size")
def get_dimension_size(operand: Array, *, dimensions: FirstDim) -> Array:
    return np.array(operand.shape[dimensions[0]], NUMPY_TYPES["s32"])


@kernel("set-dimension-size")
def set_dimension_size(operand: Array, size: Array, *, dimensions: FirstDim, result: Shape) -> Array:
    """Drops the elements beyond the new size, since arrays are stored without them.

    If the result is not dynamic, the operand is returned unchanged, as on XLA:CPU.
    """
    if not (result.dynamic and result.dynamic[dimensions[0]]):
        return operand
    if not 0 <= int(size) <= operand.shape[dimensions[0]]:
        raise Violation(
            "R004", "operand 1", f"size {int(size)} is not in the range from 0 to {operand.shape[dimensions[0]]}, the operand's actual size"
        )
    return np.take(operand, range(int(size)), axis=dimensions[0])
