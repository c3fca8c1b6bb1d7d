"""Reduces whole dimensions with a ufunc, in blocks that fit in the cache.

NumPy calls its inner loop once for each short row, adds the rows of a matrix one after the other,
and converts whole arrays. This module combines short rows column by column, computes sums along any
dimension from partial sums, and converts one block at a time.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from hlotool.interp.arrays.dtypes import Array

__all__ = ["BLOCK", "MAX_SUM_LENGTH", "SHORT_ROW", "SHORT_ROW_TO_TRANSPOSE", "reduce_along", "reduce_long_rows"]

BLOCK = 1 << 16
"""The number of elements in a block: with four-byte elements, a quarter of a common L2 cache."""
_SMALL = 1 << 13
"""The maximum number of elements for which a single NumPy call is faster than this module."""
SHORT_ROW = 16
"""The maximum length of rows that are combined column by column."""
SHORT_ROW_TO_TRANSPOSE = 128
"""The maximum length of rows whose maxima are faster to compute after a transposition.

Sums do not need the transposition, since NumPy is fast at adding rows of 16 or more elements.
"""
_PARTIAL = 64
"""The number of rows that are added one after the other to form a partial sum."""
MAX_SUM_LENGTH = 1024
"""The maximum length of a sum that is left to `einsum`.

`einsum` uses at least 4 partial sums, so that errors stay below those of 256 additions.
"""
_WIDE_ROW = 2048
"""The approximate row length to which narrow matrices are reshaped, for long inner loops."""


def reduce_along(ufunc: Any, x: Array, axes: tuple[int, ...], dtype: np.dtype[Any], size: int | None = None) -> Array:
    """Combines all elements along the axes in the type `dtype`.

    There must be at least one element for each result. If `x` is a block of a larger array, `size`
    is the number of elements of that array. The order of combination depends on the order in memory
    and on `size`. Large sums are computed from partial sums, so that errors grow with the logarithm
    of the length. Large arrays are left to NumPy only if there are gaps between their elements, or
    if elements share memory.

    >>> reduce_along(np.add, np.ones((3, 5), np.float32), (0,), np.dtype(np.float32))
    array([3., 3., 3., 3., 3.], dtype=float32)
    """
    is_small = (size or x.size) <= _SMALL
    memory_order = list(range(x.ndim)) if is_small else sorted(range(x.ndim), key=lambda k: -abs(x.strides[k]))
    ordered = x.transpose(memory_order)
    if not axes or is_small or not ordered.flags.c_contiguous:
        if axes == (x.ndim - 1,) and x.shape[-1] > SHORT_ROW:
            return reduce_long_rows(ufunc, x.astype(dtype, copy=False))
        return np.asarray(ufunc.reduce(x.astype(dtype, copy=False), axis=axes, dtype=dtype))
    sizes = [size for size in ordered.shape if size != 1]
    is_reduced = [k in axes for k, size in zip(memory_order, ordered.shape, strict=True) if size != 1]
    kept = [k for k in memory_order if k not in axes]
    rest = ordered.reshape(-1)
    while True in is_reduced:
        last = len(is_reduced) - 1 - is_reduced[::-1].index(True)
        first = last
        while first and is_reduced[first - 1]:
            first -= 1
        count, inner = prod(sizes[first : last + 1]), prod(sizes[last + 1 :])
        if inner == 1:
            rest = _reduce_rows(ufunc, rest.reshape(-1, count), dtype)
        else:
            rest = _reduce_columns(ufunc, rest.reshape(-1, count, inner), dtype)
        del sizes[first : last + 1], is_reduced[first : last + 1]
    result = rest.astype(dtype, copy=False).reshape([x.shape[k] for k in kept])
    return result.transpose(np.argsort(kept)) if kept else result


def _reduce_rows(ufunc: Any, rows: Array, dtype: np.dtype[Any]) -> Array:
    """Reduces each row of a matrix."""
    count, length = rows.shape
    if length > BLOCK and rows.dtype != dtype:
        # Splits long rows into chunks, which are converted one at a time.
        chunks = [_reduce_rows(ufunc, rows[:, k : k + BLOCK], dtype) for k in range(0, length, BLOCK)]
        return _reduce_rows(ufunc, np.stack(chunks, axis=-1), dtype)
    in_columns = length <= SHORT_ROW
    transposes = not in_columns and ufunc is not np.add and length <= SHORT_ROW_TO_TRANSPOSE
    if rows.dtype == dtype and not in_columns and not transposes:
        return reduce_long_rows(ufunc, rows)
    result = np.empty(count, dtype)
    step = max(1, BLOCK // length)
    for k in range(0, count, step):
        block = rows[k : k + step].astype(dtype, copy=False)
        if in_columns:
            result[k : k + step] = _combine_in_pairs(ufunc, [block[:, j] for j in range(length)])
        elif transposes:
            ufunc.reduce(np.ascontiguousarray(block.T), axis=0, dtype=dtype, out=result[k : k + step])
        else:
            result[k : k + step] = reduce_long_rows(ufunc, block)
    return result


def reduce_long_rows(ufunc: Any, rows: Array) -> Array:
    """Reduces the last dimension row by row, so that each result is independent of other rows.

    For sums of f32 and f64, `einsum` takes half the time of NumPy's own sums.
    """
    length = rows.shape[-1]
    is_sum = ufunc is np.add and rows.dtype.char in "fd" and rows.strides[-1] == rows.itemsize
    if not is_sum or (length > MAX_SUM_LENGTH and length % MAX_SUM_LENGTH):
        return np.asarray(ufunc.reduce(rows, -1, rows.dtype))
    if length <= MAX_SUM_LENGTH:
        return np.asarray(np.einsum("...i->...", rows))
    parts = np.einsum("...i->...", rows.reshape(*rows.shape[:-1], -1, MAX_SUM_LENGTH))
    return np.asarray(np.add.reduce(parts, -1, rows.dtype))


def _combine_in_pairs(ufunc: Any, parts: list[Array]) -> Array:
    """Combines adjacent parts in pairs until one part is left."""
    while len(parts) > 1:
        pairs = [ufunc(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = [*pairs, *parts[2 * len(pairs) :]]
    return parts[0]


def _reduce_columns(ufunc: Any, stack: Array, dtype: np.dtype[Any]) -> Array:
    """Reduces the columns of each matrix in a stack."""
    if stack.dtype != dtype:
        return _convert_and_reduce_columns(ufunc, stack, dtype)
    count, rows, columns = stack.shape
    merged = min(rows // _PARTIAL, _WIDE_ROW // columns)
    if merged > 1:
        # A row of the new matrix consists of `merged` rows of the old one.
        whole = rows // merged * merged
        long_rows = _reduce_columns(ufunc, stack[:, :whole].reshape(count, -1, merged * columns), dtype)
        stack = np.concatenate([long_rows.reshape(count, merged, columns), stack[:, whole:]], axis=1)
        rows = stack.shape[1]
    while ufunc is np.add and rows > _PARTIAL:
        whole = rows // _PARTIAL * _PARTIAL
        sums = ufunc.reduce(stack[:, :whole].reshape(count, -1, _PARTIAL, columns), axis=2, dtype=dtype)
        stack = np.concatenate([sums, stack[:, whole:]], axis=1)
        rows = stack.shape[1]
    if columns < _PARTIAL:
        return _fold_columns(ufunc, stack, dtype)
    return np.asarray(ufunc.reduce(stack, axis=1, dtype=dtype))


def _fold_columns(ufunc: Any, stack: Array, dtype: np.dtype[Any]) -> Array:
    """Reduces the columns of many small matrices.

    Repeatedly combines the upper half of the rows with the lower half until one row is left.
    """
    count, rows, columns = stack.shape
    result = np.empty((count, columns), dtype)
    step = max(1, BLOCK // (rows * columns))
    for k in range(0, count, step):
        block, height = stack[k : k + step].reshape(-1, rows * columns), rows
        while height > 1:
            half = height // 2 * columns
            folded = ufunc(block[:, :half], block[:, half : 2 * half])
            if height % 2:
                ufunc(folded[:, :columns], block[:, 2 * half :], out=folded[:, :columns])
            block, height = folded, height // 2
        result[k : k + step] = block
    return result


def _convert_and_reduce_columns(ufunc: Any, stack: Array, dtype: np.dtype[Any]) -> Array:
    """Converts blocks one at a time, and applies `_reduce_columns` to each.

    A block consists of several matrices or of a part of one large matrix.
    """
    count, rows, columns = stack.shape
    result = np.empty((count, columns), dtype)
    if rows * columns <= BLOCK:
        step = BLOCK // (rows * columns)
        for k in range(0, count, step):
            result[k : k + step] = _reduce_columns(ufunc, stack[k : k + step].astype(dtype), dtype)
        return result
    width = min(columns, max(1, BLOCK // min(rows, _PARTIAL)))
    height = max(1, BLOCK // width)
    for k in range(count):
        for left in range(0, columns, width):
            blocks = (stack[k : k + 1, top : top + height, left : left + width].astype(dtype) for top in range(0, rows, height))
            partial = np.stack([_reduce_columns(ufunc, block, dtype)[0] for block in blocks])
            result[k, left : left + width] = _reduce_columns(ufunc, partial[None], dtype)[0]
    return result
