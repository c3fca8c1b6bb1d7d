"""Kernels of batch normalisation and its gradient, in double precision."""

from __future__ import annotations

import numpy as np

from hlotool.interp.dtypes import Array
from hlotool.interp.kernels.base import kernel
from hlotool.interp.values import Value
from hlotool.opdefs.kinds import Int, Number

__all__: list[str] = []


def _others(operand: Array, feature_index: int) -> tuple[int, ...]:
    """The dimensions that statistics are taken over."""
    return tuple(k for k in range(operand.ndim) if k != feature_index)


def _along(features: Array, rank: int, feature_index: int) -> Array:
    sizes = [1] * rank
    sizes[feature_index] = len(features)
    return features.astype(np.float64).reshape(sizes)


@kernel("batch-norm-training")
def batch_norm_training(operand: Array, scale: Array, offset: Array, *, epsilon: Number, feature_index: Int) -> Value:
    wide, others = operand.astype(np.float64), _others(operand, feature_index)
    mean = wide.mean(axis=others)
    variance = np.square(wide).mean(axis=others) - np.square(mean)
    held = scale.dtype
    normal = batch_norm_inference(operand, scale, offset, mean, variance, epsilon=epsilon, feature_index=feature_index)
    return normal, mean.astype(held), variance.astype(held)


@kernel("batch-norm-inference")
def batch_norm_inference(operand: Array, scale: Array, offset: Array, mean: Array, variance: Array, *, epsilon: Number, feature_index: Int) -> Array:
    scale, offset, mean, variance = (_along(x, operand.ndim, feature_index) for x in (scale, offset, mean, variance))
    normal = (operand.astype(np.float64) - mean) / np.sqrt(variance + epsilon) * scale + offset
    return normal.astype(operand.dtype)


@kernel("batch-norm-grad")
def batch_norm_grad(operand: Array, scale: Array, mean: Array, variance: Array, grad_output: Array, *, epsilon: Number, feature_index: Int) -> Value:
    """The gradients with respect to operand, scale and offset, where mean and variance are functions of the operand."""
    others, held = _others(operand, feature_index), scale.dtype
    scale, mean, variance = (_along(x, operand.ndim, feature_index) for x in (scale, mean, variance))
    slope = grad_output.astype(np.float64)
    centered = operand.astype(np.float64) - mean
    steepness = 1 / np.sqrt(variance + epsilon)
    product = (slope * centered).sum(axis=others, keepdims=True)
    total = slope.sum(axis=others, keepdims=True)
    count = operand.size // max(operand.shape[feature_index], 1)
    to_operand = scale * steepness / count * (count * slope - total - centered * product * np.square(steepness))
    return to_operand.astype(operand.dtype), (product * steepness).reshape(-1).astype(held), total.reshape(-1).astype(held)
