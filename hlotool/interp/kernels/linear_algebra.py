"""Kernels of matrix factorization, triangular systems and Fourier transforms.

Factorizations and solvers loop over the rows of matrices, and process all matrices of a batch at
the same time.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from hlotool.interp.arrays.dtypes import NUMBERS, Array, number_type
from hlotool.interp.kernels.base import kernel
from hlotool.opdefs.kinds import Bool, Dims, FftType, TransposeOption
from hlotool.shapes.shape import Shape

__all__: list[str] = []


def _adjoint(a: Array) -> Array:
    return np.conjugate(np.swapaxes(a, -1, -2))


@kernel("cholesky", in_layout=True)
def cholesky(a: Array, *, lower: Bool) -> Array:
    """Computes a Cholesky factor from one triangle; the other triangle of the result is zero.

    All elements are NaN if the matrix is not positive definite.
    """
    number = number_type(a)
    wide = a.astype(number.computed, copy=False)
    source = wide if lower else _adjoint(wide)
    factor = np.zeros_like(source)
    for k in range(source.shape[-1]):
        row = factor[..., k, :k]
        rest = source[..., k:, k] - np.matmul(factor[..., k:, :k], np.conjugate(row)[..., None])[..., 0]
        pivot = rest[..., 0].real
        # The pivot is real: the complex square root of a negative pivot would be finite.
        factor[..., k:, k] = rest / np.sqrt(np.where(pivot > 0, pivot, np.nan)).astype(pivot.dtype)[..., None]
        factor[..., k, k] = np.sqrt(np.where(pivot > 0, pivot, np.nan))
    factor = np.where(np.isnan(factor).any(axis=(-1, -2), keepdims=True), number.computed.type(np.nan), factor)
    return np.asarray(factor if lower else _adjoint(factor)).astype(number.held, copy=False)


_TRANSPOSES: dict[str, Callable[[Array], Array]] = {
    "NO_TRANSPOSE": lambda a: a,
    "TRANSPOSE": lambda a: np.swapaxes(a, -1, -2),
    "ADJOINT": _adjoint,
}


@kernel("triangular-solve", in_layout=True)
def triangular_solve(a: Array, b: Array, *, left_side: Bool, lower: Bool, unit_diagonal: Bool, transpose_a: TransposeOption) -> Array:
    """Solves the system by substitution, reading one triangle.

    Solutions of singular systems contain infinities and NaNs, because of divisions by zero.
    """
    number = number_type(a)
    matrix = _TRANSPOSES[transpose_a](a.astype(number.computed, copy=False))
    right = b.astype(number.computed, copy=False)
    is_lower = lower == (transpose_a == "NO_TRANSPOSE")
    if not left_side:
        # x a = b is the transpose of a^T x^T = b^T.
        matrix, right, is_lower = np.swapaxes(matrix, -1, -2), np.swapaxes(right, -1, -2), not is_lower
    count = matrix.shape[-1]
    solution = np.zeros_like(right)
    for k in range(count) if is_lower else range(count - 1, -1, -1):
        known = np.s_[:k] if is_lower else np.s_[k + 1 :]
        row = right[..., k, :] - np.matmul(matrix[..., k, None, known], solution[..., known, :])[..., 0, :]
        solution[..., k, :] = row if unit_diagonal else row / matrix[..., k, k, None]
    return np.asarray(solution if left_side else np.swapaxes(solution, -1, -2)).astype(number.held, copy=False)


_BLOCK = 1 << 15
"""The number of elements transformed at the same time."""

_TRANSFORMS: dict[str, Callable[..., Any]] = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}


@kernel("fft", in_layout=True)
def fft(operand: Array, *, fft_type: FftType, fft_length: Dims, result: Shape) -> Array:
    """Computes Fourier transforms in double precision.

    Inverse transforms divide by the number of elements. Transforms of length 0 return zeros, as in
    XLA's constant folding; XLA:CPU returns uninitialized memory.
    """
    number = NUMBERS[result.element_type]
    if 0 in result.dimensions or 0 in fft_length:
        return np.zeros(result.dimensions, number.held)
    wide = np.complex128 if operand.dtype.kind == "c" else np.float64
    rank = len(fft_length)
    axes, arrays = tuple(range(1, rank + 1)), operand.reshape(-1, *operand.shape[operand.ndim - rank :])
    output = np.empty((len(arrays), *result.dimensions[result.rank - rank :]), number.held)
    # Transform only a few arrays at a time, so that their wide copies stay in a core's cache.
    step = max(1, _BLOCK // prod(fft_length))
    for start in range(0, len(arrays), step):
        block = arrays[start : start + step].astype(wide)
        output[start : start + step] = _TRANSFORMS[fft_type](block, s=fft_length, axes=axes)
    return output.reshape(*operand.shape[: operand.ndim - rank], *output.shape[1:])
