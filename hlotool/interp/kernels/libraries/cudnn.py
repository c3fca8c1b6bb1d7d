"""Convolutions and normalizations of NVIDIA's cuDNN, as XLA calls them for GPUs.

There are three kinds of convolution calls: the forward convolution, `y = x * w`, and the gradients
of both operands. The attributes of all three describe the forward convolution: the input labels
apply to `x` and the output labels to `y`, regardless of which array is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays.dtypes import NUMBERS, Array, NumberType
from hlotool.interp.arrays.special import erf
from hlotool.interp.arrays.values import Value
from hlotool.interp.kernels.conversion import convert_values
from hlotool.interp.kernels.convolution import convolution
from hlotool.interp.kernels.libraries.base import CustomCall, Handler, number_of, require, result_with_workspace, results_of, settings_of
from hlotool.interp.kernels.libraries.cublas import wide_shape
from hlotool.interp.kernels.normalization import batch_norm_grad, batch_norm_inference, batch_norm_training
from hlotool.record import replace
from hlotool.shapes.shape import Shape
from hlotool.shapes.values import ConvolutionDimensions, WindowDimension

__all__ = ["TARGETS"]

# ---- convolutions -------------------------------------------------------------------------------


def _exact_gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + erf(x / np.sqrt(2))), x.dtype)


_Activation = Callable[[Array, float], Array]

_ACTIVATIONS: dict[str, _Activation] = {
    "kNone": lambda x, slope: x,
    "kSigmoid": lambda x, slope: 1 / (1 + np.exp(-x)),
    "kRelu": lambda x, slope: np.maximum(x, 0),
    "kRelu6": lambda x, slope: np.clip(x, 0, 6),
    "kTanh": lambda x, slope: np.tanh(x),
    "kElu": lambda x, slope: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "kLeakyRelu": lambda x, slope: np.where(x > 0, x, x * slope),
    "kGeluExact": lambda x, slope: _exact_gelu(x),
}
_NUMBERED = ("kNone", "kSigmoid", "kRelu", "kRelu6", "kReluX", "kTanh", "kBandPass", "kElu", "kLeakyRelu", "kGeluExact")
"""The names of activations by number; older versions of XLA write numbers instead of names."""


def _activation(settings: Mapping[str, Any], call: CustomCall) -> Callable[[Array], Array]:
    name = str(settings.get("activation_mode", "kNone"))
    if name.isdecimal() and int(name) < len(_NUMBERED):
        name = _NUMBERED[int(name)]
    function = _ACTIVATIONS.get(name)
    require(function is not None, call, f"has the activation '{name}', which hlotool does not support")
    slope = number_of(settings, "leakyrelu_alpha", 0, call)
    return lambda x: function(x, slope) if function is not None else x


def _convolve(*operands: Array, call: CustomCall, compute: Callable[..., Array]) -> Value:
    """Computes a convolution with bias, side input and activation.

    The result is activation(conv_result_scale * convolution + side_input_scale * side input +
    bias), where the last two terms are optional.
    """
    settings = settings_of(call, "cudnn_conv_backend_config")
    lhs, rhs, *others = operands
    labels, output = call.dim_labels, results_of(call)[0]
    if labels is None:
        raise Violation("R004", "dim_labels", f"'{call.target}' requires dim_labels")
    value = compute(lhs, rhs, call, labels, wide_shape(output))
    scale = number_of(settings, "conv_result_scale", 1, call)
    # Integer convolutions are computed exactly, and scaled as floats.
    value = value if scale == 1 else _as_float(value) * scale
    if others:
        bias, *sides = others
        sizes = [1] * value.ndim
        sizes[labels.output_feature] = bias.size
        value = _as_float(value) + bias.reshape(sizes).astype(np.float32)
        for side in sides:
            value = value + _as_float(side) * number_of(settings, "side_input_scale", 1, call)
    value = _activation(settings, call)(value)
    return result_with_workspace(call, _round_result(np.asarray(value), NUMBERS[output.element_type]))


def _as_float(x: Array) -> Array:
    return x if x.dtype == np.float64 else x.astype(np.float32, copy=False)


def _round_result(value: Array, number: NumberType) -> Array:
    """Converts the value to its final type.

    If that is an integer type, the value is rounded to the nearest integer (halves to even) and
    limited to the range of the type.
    """
    if number.element.is_integral and value.dtype.kind == "f":
        value = np.rint(value)
    return convert_values(value, number)


def _forward(x: Array, w: Array, call: CustomCall, labels: ConvolutionDimensions, result: Shape) -> Array:
    return _convolution(x, w, call.window, labels, call, result, feature_groups=call.feature_group_count)


def _backward_input(dy: Array, w: Array, call: CustomCall, labels: ConvolutionDimensions, result: Shape) -> Array:
    """Computes the gradient of `x`.

    The elements of y's gradient are spread apart by the stride, and convolved with the reversed
    kernel.
    """
    groups = call.feature_group_count
    window = []
    for at, dimension in enumerate(call.window):
        reach = (dimension.size - 1) * dimension.window_dilation
        spread = (dy.shape[labels.output_spatial[at]] - 1) * dimension.stride + 1
        low = reach - dimension.padding_low
        high = result.dimensions[labels.input_spatial[at]] - spread + reach - low
        reversal = not dimension.window_reversal
        window.append(WindowDimension(dimension.size, 1, low, high, dimension.window_dilation, dimension.stride, reversal))
    swapped = replace(
        labels,
        input_batch=labels.output_batch, input_feature=labels.output_feature, input_spatial=labels.output_spatial,
        kernel_input_feature=labels.kernel_output_feature, kernel_output_feature=labels.kernel_input_feature,
        output_batch=labels.input_batch, output_feature=labels.input_feature, output_spatial=labels.input_spatial,
    )  # fmt: skip
    if groups > 1:
        w = _regroup(w, labels, groups)
    return _convolution(dy, w, tuple(window), swapped, call, result, feature_groups=groups)


def _regroup(w: Array, labels: ConvolutionDimensions, groups: int) -> Array:
    """Returns a kernel with groups as blocks of input features instead of output features."""
    source, target = labels.kernel_output_feature, labels.kernel_input_feature
    moved = np.moveaxis(w, (source, target), (-2, -1))
    parts = moved.reshape(*moved.shape[:-2], groups, -1, moved.shape[-1])
    # [..., output feature of the group, group, input feature]
    joined = np.moveaxis(parts, -3, -2).reshape(*moved.shape[:-2], moved.shape[-2] // groups, -1)
    return np.moveaxis(joined, (-2, -1), (source, target))


def _backward_filter(x: Array, dy: Array, call: CustomCall, labels: ConvolutionDimensions, result: Shape) -> Array:
    """Computes the gradient of `w`.

    For each position in the window, the gradient is the product of x and y's gradient, summed over
    the batch and all positions of the window.
    """
    window = []
    for at, dimension in enumerate(call.window):
        taps = result.dimensions[labels.kernel_spatial[at]]
        positions = dy.shape[labels.output_spatial[at]]
        # `reach` is the end of the elements that the last tap reads.
        reach = (taps - 1) * dimension.window_dilation + (positions - 1) * dimension.stride + 1
        size = (x.shape[labels.input_spatial[at]] - 1) * dimension.base_dilation + 1
        high = reach - size - dimension.padding_low
        window.append(WindowDimension(positions, dimension.window_dilation, dimension.padding_low, high, dimension.stride, dimension.base_dilation))
    swapped = replace(
        labels,
        input_batch=labels.input_feature, input_feature=labels.input_batch,
        kernel_input_feature=labels.output_batch, kernel_output_feature=labels.output_feature, kernel_spatial=labels.output_spatial,
        output_batch=labels.kernel_input_feature, output_feature=labels.kernel_output_feature, output_spatial=labels.kernel_spatial,
    )  # fmt: skip
    dw = _convolution(x, dy, tuple(window), swapped, call, result, batch_groups=call.feature_group_count)
    reversed_axes = tuple(labels.kernel_spatial[at] for at, dimension in enumerate(call.window) if dimension.window_reversal)
    return np.asarray(np.flip(dw, reversed_axes)) if reversed_axes else dw


def _convolution(
    lhs: Array,
    rhs: Array,
    window: tuple[WindowDimension, ...],
    labels: ConvolutionDimensions,
    call: CustomCall,
    result: Shape,
    *,
    feature_groups: int = 1,
    batch_groups: int = 1,
) -> Array:
    batch_groups = max(batch_groups, call.batch_group_count)
    return convolution(
        lhs, rhs, window=window, dim_labels=labels, feature_group_count=feature_groups, batch_group_count=batch_groups,
        sparsity_config=None, result=result,
    )  # fmt: skip


# ---- normalizations ----------------------------------------------------------------------------


def _batch_norm(*operands: Array, call: CustomCall, operation: Callable[..., Any], inverse: int | None = None) -> Value:
    """Computes an HLO operation whose epsilon and feature index are the last two operands.

    cuDNN takes and returns the inverse of the standard deviation instead of the variance.
    """
    *arrays, epsilon, feature_index = operands
    facts = {"epsilon": float(epsilon), "feature_index": int(feature_index)}
    if operation is batch_norm_grad:
        arrays[3] = 1 / np.square(arrays[3].astype(np.float64)) - facts["epsilon"]
    value = operation(*arrays, **facts)
    if operation is batch_norm_training:
        normal, mean, variance = value
        value = normal, mean, (1 / np.sqrt(variance.astype(np.float64) + facts["epsilon"])).astype(variance.dtype)
    return result_with_workspace(call, *value) if isinstance(value, tuple) else result_with_workspace(call, value)


def _layer_norm(x: Array, scale: Array, *others: Array, call: CustomCall) -> Value:
    """Normalizes over all dimensions except the first.

    The setting `kind` selects a pass: forward, forward for training, or backward. The forward pass
    for training also returns the mean and the factor.
    """
    settings = settings_of(call, "cudnn_norm_backend_config")
    kind, epsilon = str(settings.get("kind", "LAYER_FWD_INFER")), number_of(settings, "epsilon", 0, call)
    output, axes = NUMBERS[results_of(call)[0].element_type], tuple(range(1, x.ndim))
    wide, factor = x.astype(np.float64), scale.astype(np.float64)
    if kind == "LAYER_BWD":
        require(len(others) >= len(("dy", "mean", "factor")), call, "requires the gradient, the mean and the factor")
        dy, mean, norm = (y.astype(np.float64) for y in others[:3])
        normal = (wide - mean) * norm
        slope = dy * factor
        gradient = norm * (slope - slope.mean(axes, keepdims=True) - normal * (slope * normal).mean(axes, keepdims=True))
        gradients = (gradient, (dy * normal).sum(0, keepdims=True), dy.sum(0, keepdims=True))
        return result_with_workspace(call, *(convert_values(g, NUMBERS[s.element_type]) for g, s in zip(gradients, results_of(call), strict=False)))
    require(kind in ("LAYER_FWD_INFER", "LAYER_FWD_TRAIN") and bool(others), call, f"has the kind '{kind}', which hlotool does not support")
    mean = wide.mean(axes, keepdims=True)
    norm = 1 / np.sqrt(np.square(wide - mean).mean(axes, keepdims=True) + epsilon)
    normal = convert_values((wide - mean) * norm * factor + others[0].astype(np.float64), output)
    if kind == "LAYER_FWD_INFER":
        return result_with_workspace(call, normal)
    facts = (convert_values(y, NUMBERS[s.element_type]) for y, s in zip((mean, norm), results_of(call)[1:], strict=False))
    return result_with_workspace(call, normal, *facts)


TARGETS: dict[str, Handler] = {
    **dict.fromkeys(["__cudnn$convForward", "__cudnn$convBiasActivationForward"], partial(_convolve, compute=_forward)),
    "__cudnn$convBackwardInput": partial(_convolve, compute=_backward_input),
    "__cudnn$convBackwardFilter": partial(_convolve, compute=_backward_filter),
    "__cudnn$batchNormalizationForwardTraining": partial(_batch_norm, operation=batch_norm_training),
    "__cudnn$batchNormalizationForwardInference": partial(_batch_norm, operation=batch_norm_inference),
    "__cudnn$batchNormalizationBackward": partial(_batch_norm, operation=batch_norm_grad),
    "__cudnn$norm": _layer_norm,
}
