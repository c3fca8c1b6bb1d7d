"""Attention and its gradient in NVIDIA's cuDNN, as XLA calls them for GPUs.

Attention is softmax(scale * Q K^T + bias) V. The dimension numbers in the configuration describe
the arrangement of Q, K and V. This module rearranges them to [batch..., position, feature], and
computes everything in f32. Dropout is not supported, since only cuDNN knows its random bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.interp.arrays.values import Value
from hlotool.interp.kernels.conversion import convert_values
from hlotool.interp.kernels.libraries.base import CustomCall, Handler, dot_dims, number_of, require, result_with_workspace, results_of, settings_of
from hlotool.opdefs.inference import count
from hlotool.shapes.shape import Shape

__all__ = ["TARGETS"]

_MASKS = {"NO_MASK": (False, False), "CAUSAL": (True, False), "PADDING": (False, True), "PADDING_CAUSAL": (True, True)}
"""Two flags for each type of mask.

The first flag is true if a position attends only to itself and to earlier positions. The second is
true if the last operands contain the lengths of sequences; positions beyond them are padding.
"""


class _Attention:
    """The settings of a call, and the computations that depend on them.

    `convert_results` converts results to the form that the call requires. `_rows` converts operands
    to a common form.
    """

    def __init__(self, call: CustomCall) -> None:
        self.call = call
        self.settings = settings_of(call, "cudnn_fmha_backend_config")
        self.scale = number_of(self.settings, "fmha_scale", 1, call)
        mask = str(self.settings.get("mask_type", "NO_MASK"))
        require(mask in _MASKS, call, f"has the mask '{mask}', which hlotool does not support")
        require(not number_of(self.settings, "dropout_rate", 0, call), call, "uses dropout, whose random bits hlotool does not know")
        self.is_causal, self.has_lengths = _MASKS[mask]
        self.window = int(number_of(self.settings, "sliding_window_length", 0, call))

    def product(self, name: str) -> Mapping[str, Any]:
        return dot_dims(self.settings, f"{name}_dot_dimension_numbers", self.call)

    def weights(self, q: Array, k: Array, bias: Array | None, lengths: list[Array]) -> Array:
        """Returns the products of all pairs of positions, scaled, biased and masked.

        The dimensions of the result are [batch..., position in Q, position in K].
        """
        scores = np.matmul(q, np.swapaxes(k, -1, -2)) * np.float32(self.scale)
        if bias is not None:
            scores = scores + bias.astype(np.float32)
        rows, columns = np.ogrid[: scores.shape[-2], : scores.shape[-1]]
        kept = np.ones(scores.shape[-2:], bool)
        if self.is_causal:
            kept &= columns <= rows
        if self.window:
            kept &= columns > rows - self.window
        for length, positions in zip(lengths, (rows, columns), strict=False):
            kept = kept & (positions < length.reshape(-1, *[1] * (scores.ndim - 1)))
        return np.where(kept, scores, np.float32(-np.inf))

    def convert_results(self, *arrays: Array) -> Value:
        shapes = results_of(self.call)
        return result_with_workspace(self.call, *(_convert_to_shape(x, shape) for x, shape in zip(arrays, shapes, strict=False)))


def _convert_to_shape(x: Array, shape: Shape) -> Array:
    return convert_values(x.reshape(shape.dimensions), NUMBERS[shape.element_type])


def _rows(x: Array, dims: Mapping[str, Any], side: str, *, contracts_positions: bool) -> Array:
    """Returns an operand of a product as [batch..., position, feature] in f32.

    The contracted dimension is the position if `contracts_positions` is set, or else the feature.
    """
    batch, (contracted,) = dims[f"{side}_batch_dims"], dims[f"{side}_contracting_dims"]
    (other,) = (k for k in range(x.ndim) if k not in (*batch, contracted))
    return x.astype(np.float32).transpose(*batch, *((contracted, other) if contracts_positions else (other, contracted)))


def _maximum(scores: Array) -> Array:
    greatest = scores.max(axis=-1, keepdims=True)
    # A row that does not attend to any position has no finite maximum.
    return np.where(np.isfinite(greatest), greatest, np.float32(0))


def _forward(*operands: Array, call: CustomCall, has_bias: bool = False) -> Value:
    """Computes the attention and, if the second result has type f32, the log-sum-exp of each row.

    The gradient needs the log-sum-exp as an operand.
    """
    attention = _Attention(call)
    q, k, v, *others = operands
    first, second = attention.product("bmm1"), attention.product("bmm2")
    bias = others.pop(0) if has_bias else None
    lengths = others if attention.has_lengths else []
    extra = len(others) - len(lengths)
    require(not extra, call, f"has {count(extra, 'operand')} that its settings do not call for")
    scores = attention.weights(_rows(q, first, "lhs", contracts_positions=False), _rows(k, first, "rhs", contracts_positions=False), bias, lengths)
    greatest = _maximum(scores)
    exponentials = np.exp(scores - greatest)
    totals = exponentials.sum(axis=-1, keepdims=True)
    portions = exponentials / np.where(totals == 0, np.float32(1), totals)
    output = np.matmul(portions, _rows(v, second, "rhs", contracts_positions=True))
    has_sums = len(results_of(call)) > 1 and results_of(call)[1].element_type == "f32"
    return attention.convert_results(output, *([greatest + np.log(totals)] if has_sums else []))


def _backward(*operands: Array, call: CustomCall, has_bias: bool = False) -> Value:
    """Computes the gradients of Q, K and V from the gradient of the output.

    If the call has a result for the gradient of the bias, this gradient is computed, too.
    """
    attention = _Attention(call)
    q, k, v, sums, slope, *others = operands
    k_dims, q_dims = attention.product("bmm1_grad_gemm1"), attention.product("bmm1_grad_gemm2")
    v_dims, portion_dims = attention.product("bmm2_grad_gemm1"), attention.product("bmm2_grad_gemm2")
    bias = others.pop(0) if has_bias else None
    require(bool(others), call, "requires the output of the attention as an operand")
    output, *lengths = others
    q_rows, k_rows = _rows(q, k_dims, "rhs", contracts_positions=True), _rows(k, q_dims, "rhs", contracts_positions=True)
    v_rows = _rows(v, portion_dims, "rhs", contracts_positions=False)
    slope_rows, output_rows = (_rows(x, v_dims, "rhs", contracts_positions=True) for x in (slope, output))
    scores = attention.weights(q_rows, k_rows, bias, lengths if attention.has_lengths else [])
    # Rows that do not attend to any position have no finite sum.
    portions = np.where(np.isfinite(scores), np.exp(scores - sums.reshape(*scores.shape[:-1], 1).astype(np.float32)), np.float32(0))
    dv = np.matmul(np.swapaxes(portions, -1, -2), slope_rows)
    change = np.matmul(slope_rows, np.swapaxes(v_rows, -1, -2)) - (slope_rows * output_rows).sum(axis=-1, keepdims=True)
    d_scores = portions * change
    dq = np.matmul(d_scores, k_rows) * np.float32(attention.scale)
    dk = np.matmul(np.swapaxes(d_scores, -1, -2), q_rows) * np.float32(attention.scale)
    results = results_of(call)
    gradients = [dq, dk, dv]
    if has_bias and len(results) > len(gradients) and results[3].rank == d_scores.ndim:
        # If several rows share a bias, the bias gradients of these rows are added up.
        summed = tuple(axis for axis, size in enumerate(results[3].dimensions) if size == 1)
        gradients.append(d_scores.sum(axis=summed, keepdims=True))
    return attention.convert_results(*gradients)


TARGETS: dict[str, Handler] = {
    "__cudnn$fmhaSoftmax": _forward,
    "__cudnn$fmhaSoftmaxBackward": _backward,
    "__cudnn$fmhaScaleBiasSoftmax": partial(_forward, has_bias=True),
    "__cudnn$fmhaScaleBiasSoftmaxBackward": partial(_backward, has_bias=True),
}
