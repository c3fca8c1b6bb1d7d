"""Kernels of opcodes that read or write at computed indices: dynamic slices and gather.

As in XLA, start indices are clamped so that slices are in bounds.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.lib.stride_tricks import as_strided

from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.interp.kernels.base import kernel
from hlotool.interp.kernels.conversion import convert_values
from hlotool.opdefs.kinds import Dims, Int
from hlotool.shapes.shape import Shape

__all__ = ["along", "index_vectors", "starts_of"]


def _starts(indices: Sequence[Array], sizes: Sequence[int], limits: Sequence[int]) -> list[int]:
    """Returns the start indices of a slice, clamped so that the slice is in bounds.

    `indices` contains scalars or a single vector, `sizes` the sizes of the slice, and `limits`
    those of the array. A slice that is larger than the array starts at 0.
    """
    starts = [int(i) for i in (indices[0] if len(indices) == 1 and indices[0].ndim == 1 else indices)]
    return [min(max(start, 0), max(limit - size, 0)) for start, size, limit in zip(starts, sizes, limits, strict=True)]


@kernel("dynamic-slice")
def dynamic_slice(operand: Array, *indices: Array, dynamic_slice_sizes: Dims) -> Array:
    starts = _starts(indices, dynamic_slice_sizes, operand.shape)
    return operand[tuple([slice(start, start + size) for start, size in zip(starts, dynamic_slice_sizes, strict=True)])]


@kernel("dynamic-update-slice")
def dynamic_update_slice(operand: Array, update: Array, *indices: Array, result: Shape, can_alias: bool) -> Array:
    starts = _starts(indices, update.shape, operand.shape)
    updated = operand if can_alias else np.array(operand)
    target = tuple([slice(start, start + size) for start, size in zip(starts, update.shape, strict=True)])
    updated[target] = convert_values(update, NUMBERS[result.element_type])
    return updated


def index_vectors(indices: Array, index_vector_dim: int) -> Array:
    """Returns the index vectors along the last dimension, as 64-bit integers.

    Scalars are treated as vectors of one element.
    """
    if index_vector_dim == indices.ndim:
        indices = indices[..., None]
    # An unsigned index of 2^63 or more is out of range in any case.
    vectors = np.minimum(indices, np.iinfo(np.int64).max) if indices.dtype == np.uint64 else indices
    return np.moveaxis(vectors, index_vector_dim, -1).astype(np.int64)


def along(values: Array, dimension: int, rank: int) -> Array:
    """Returns a vector as an array of this rank that extends along one dimension."""
    sizes = [1] * rank
    sizes[dimension] = len(values)
    return values.reshape(sizes)


def starts_of(vectors: Array, index_map: Dims, operand_batching: Dims, indices_batching: Dims, index_vector_dim: int, rank: int) -> list[Array]:
    """Returns the start of the slice for each index vector.

    The result has one array per dimension of the operand, with the batch shape of the indices.
    """
    batch = vectors.shape[:-1]
    starts = [np.zeros(batch, np.int64)] * rank
    for k, dimension in enumerate(index_map):
        starts[dimension] = vectors[..., k]
    for dimension, position in zip(operand_batching, indices_batching, strict=True):
        position -= position > index_vector_dim
        starts[dimension] = np.broadcast_to(along(np.arange(batch[position]), position, len(batch)), batch)
    return starts


@kernel("gather")
def gather(
    operand: Array,
    start_indices: Array,
    *,
    offset_dims: Dims,
    collapsed_slice_dims: Dims,
    start_index_map: Dims,
    operand_batching_dims: Dims,
    start_indices_batching_dims: Dims,
    index_vector_dim: Int,
    slice_sizes: Dims,
) -> Array:
    vectors = index_vectors(start_indices, index_vector_dim)
    batch, rank = vectors.ndim - 1, operand.ndim
    if not rank:
        return np.broadcast_to(operand, vectors.shape[:-1])
    window = [k for k in range(rank) if k not in collapsed_slice_dims and k not in operand_batching_dims]
    # Dynamic dimensions may be smaller than the slice.
    sizes = tuple(map(min, slice_sizes, operand.shape))
    lengths = [sizes[k] for k in window]
    if 0 in sizes:
        # The empty dimension may be a collapsed dimension; XLA returns zeros in this case.
        gathered = np.zeros((*vectors.shape[:-1], *lengths), operand.dtype)
    elif not vectors.shape[-1] and not operand_batching_dims:
        # All index vectors are empty, so each selects the same slice.
        gathered = np.broadcast_to(operand[tuple([slice(size) for size in sizes])].reshape(lengths), (*vectors.shape[:-1], *lengths))
    else:
        starts = starts_of(vectors, start_index_map, operand_batching_dims, start_indices_batching_dims, index_vector_dim, rank)
        indexed = sorted((*start_index_map, *operand_batching_dims))
        gathered = _gather_slices([starts[k] for k in indexed], indexed, operand, sizes, window)
    return gathered if offset_dims == tuple(range(batch, gathered.ndim)) else np.moveaxis(gathered, range(batch, gathered.ndim), offset_dims)


def _gather_slices(starts: Sequence[Array], indexed: Sequence[int], operand: Array, sizes: Dims, window: Sequence[int]) -> Array:
    """Returns slices that start at these indices, in the form [batch..., window...].

    `starts` contains the start indices for the dimensions in `indexed`, which are clamped here. In
    all other dimensions, slices start at 0.
    """
    index = tuple([np.clip(start, 0, operand.shape[k] - sizes[k]) for start, k in zip(starts, indexed, strict=True)])
    is_whole = all(sizes[k] == (1 if k == 0 else limit) for k, limit in enumerate(operand.shape))
    if list(indexed) == [0] and is_whole and operand.flags.c_contiguous:
        # `take` is the fastest function for rows, but it copies operands that are not contiguous.
        rows = np.asarray(operand.take(index[0], 0))
        result_shape = (*index[0].shape, *(sizes[k] for k in window))
        # Return an array, not a view of one, so that other kernels can overwrite and return it.
        return rows if rows.shape == result_shape else rows.reshape(result_shape)
    # A view that contains each possible slice; the dimensions of starts come first.
    shape = [operand.shape[k] - sizes[k] + 1 for k in indexed] + [sizes[k] for k in window]
    strides = [operand.strides[k] for k in (*indexed, *window)]
    if operand.dtype.isbuiltin == 1:
        return np.asarray(as_strided(operand, shape, strides)[index])
    # NumPy gives names such as f1 to the types of ml_dtypes, but may not recognize these names.
    patterns = operand.view(f"u{operand.itemsize}")
    return np.asarray(as_strided(patterns, shape, strides)[index]).view(operand.dtype)
