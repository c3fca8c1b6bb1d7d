"""Kernels of batch normalization and its gradient.

The kernels compute in double precision, block by block: allocating whole arrays of doubles would
take longer than computing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.values import Value
from hlotool.interp.kernels.base import kernel
from hlotool.opdefs.kinds import Int, Number

__all__ = ["batch_norm_inference"]

_BLOCK = 1 << 16
"""The number of elements per block, small enough for a core's cache."""


def _by_feature(operand: Array, feature_index: int) -> Array:
    """Returns the array reshaped to [outer, feature, inner].

    This is a view if the array is contiguous.
    """
    sizes = operand.shape
    return operand.reshape(prod(sizes[:feature_index]), sizes[feature_index], prod(sizes[feature_index + 1 :]))


def _blocks(array: Array) -> Iterator[slice]:
    """Returns slices of the outer dimension, one for each block."""
    step = max(1, _BLOCK // max(1, prod(array.shape[1:])))
    return (slice(start, start + step) for start in range(0, len(array), step))


def _column(features: Array) -> Array:
    """Returns the values of the features as doubles, in a shape that broadcasts with blocks."""
    return features.astype(np.float64)[:, None]


def _sum(block: Array) -> Array:
    return np.asarray(block.sum(axis=(0, 2)))


@kernel("batch-norm-training", in_layout=True)
def batch_norm_training(operand: Array, scale: Array, offset: Array, *, epsilon: Number, feature_index: Int) -> Value:
    x = _by_feature(operand, feature_index)
    total, squares = np.zeros((2, x.shape[1]))
    for block in _blocks(x):
        wide = x[block].astype(np.float64)
        total += _sum(wide)
        squares += _sum(np.square(wide, out=wide))
    count = np.float64(x.shape[0] * x.shape[2])
    mean = total / count
    variance = squares / count - np.square(mean)
    normal = batch_norm_inference(operand, scale, offset, mean, variance, epsilon=epsilon, feature_index=feature_index)
    return normal, mean.astype(scale.dtype), variance.astype(scale.dtype)


@kernel("batch-norm-inference", in_layout=True)
def batch_norm_inference(operand: Array, scale: Array, offset: Array, mean: Array, variance: Array, *, epsilon: Number, feature_index: Int) -> Array:
    x = _by_feature(operand, feature_index)
    center, low = _column(mean), _column(offset)
    steepness = _column(scale) / np.sqrt(_column(variance) + epsilon)
    normal = np.empty(x.shape, operand.dtype)
    for block in _blocks(x):
        wide = x[block] - center
        wide *= steepness
        wide += low
        normal[block] = wide
    return normal.reshape(operand.shape)


@kernel("batch-norm-grad", in_layout=True)
def batch_norm_grad(operand: Array, scale: Array, mean: Array, variance: Array, grad_output: Array, *, epsilon: Number, feature_index: Int) -> Value:
    """Returns the gradients with respect to operand, scale and offset.

    Mean and variance are treated as functions of the operand.
    """
    x, slope = _by_feature(operand, feature_index), _by_feature(grad_output, feature_index)
    center = _column(mean)
    steepness = 1 / np.sqrt(_column(variance) + epsilon)
    total, product = np.zeros((2, x.shape[1]))
    for block in _blocks(x):
        total += _sum(slope[block].astype(np.float64))
        product += _sum((x[block] - center) * slope[block])
    count = max(x.shape[0] * x.shape[2], 1)
    factor, share = _column(scale) * steepness, np.square(steepness) * product[:, None] / count
    gradient = np.empty(x.shape, operand.dtype)
    for block in _blocks(x):
        wide = (x[block] - center) * share
        np.subtract(slope[block], wide, out=wide)
        wide -= total[:, None] / count
        wide *= factor
        gradient[block] = wide
    held = scale.dtype
    return gradient.reshape(operand.shape), (product * steepness[:, 0]).astype(held), total.astype(held)
