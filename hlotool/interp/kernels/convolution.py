"""The kernel of convolutions: brings them into one form, and then computes them in the way that suits types and sizes.

Every convolution is `out[g, n, o, c] = sum over taps t and features f of images[g, n, o * stride + t * dilation - padding, f] *
kernels[t, g, f, c]` for places o; groups of features and of the batch are both the dimension g.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.dtypes import NUMBERS, Array, NumberType
from hlotool.interp.kernels.base import kernel
from hlotool.interp.kernels.contraction import product_type, unrounded_product
from hlotool.interp.kernels.conversion import converted
from hlotool.interp.kernels.window_products import Convolution
from hlotool.interp.values import Value
from hlotool.interp.windows import taps
from hlotool.opdefs.kinds import ConvolutionKind, DimLabels, Int, Window
from hlotool.shapes.shape import Shape

__all__: list[str] = []

_FORWARD = ("unset", "fprop")


@kernel("convolution")
def convolution(
    lhs: Array,
    rhs: Array,
    *,
    window: Window,
    dim_labels: DimLabels,
    feature_group_count: Int,
    batch_group_count: Int,
    convolution_kind: ConvolutionKind,
    result: Shape,
) -> Array:
    if convolution_kind not in _FORWARD or _is_packed(lhs, rhs, dim_labels, feature_group_count):
        raise Violation("R001", "opcode", "hlotool computes neither convolutions of packed sparse kernels nor those of kind dgrad and wgrad")
    number = product_type(lhs, rhs, NUMBERS[result.element_type])
    is_float = number.kind == "float"
    if is_float:
        # Narrow floats are exact in f32, and must not be rounded to the result's type first.
        lhs, rhs = (x if x.dtype == number.computed else converted(x, NUMBERS["f32" if number.bits < 64 else "f64"]) for x in (lhs, rhs))
    images = _grouped_images(lhs, dim_labels, feature_group_count, batch_group_count)
    kernels = _grouped_kernels(rhs, dim_labels, feature_group_count * batch_group_count, window)
    output = np.empty(result.dimensions, number.computed)
    out = _grouped_result(output, dim_labels, feature_group_count * batch_group_count)
    # The other way multiplies padding as zeros, which infinite kernels would turn into NaN.
    if is_float and np.isfinite(kernels).all():
        Convolution(images, kernels, out, window).fill()
    else:
        _sum_of_shifted(images, kernels, out, window, number)
    return converted(output.astype(number.held, copy=False), NUMBERS[result.element_type])


def _is_packed(lhs: Array, rhs: Value, labels: DimLabels, feature_groups: int) -> bool:
    """Whether zeros are left out of the kernel; if they are not, it is used as it is, as on XLA:CPU."""
    if isinstance(rhs, tuple):
        return True
    return bool(lhs.shape[labels.input_feature] != rhs.shape[labels.kernel_input_feature] * feature_groups)


def _sum_of_shifted(images: Array, kernels: Array, out: Array, window: Window, number: NumberType) -> None:
    """The convolution of any types: the sum of a matrix product for each tap of the window; padding is not read."""
    groups, _, *sizes, outputs = out.shape
    out.fill(0)
    for places in product(*(taps(w, size, base) for w, size, base in zip(window, sizes, images.shape[2:-1], strict=True))):
        targets = (slice(None), slice(None), *(target for _, target, _ in places))
        elements = images[(slice(None), slice(None), *(source for _, _, source in places))]
        if elements.size:
            rows = elements.reshape(groups, -1, elements.shape[-1])
            # For pred arrays, this sum is a disjunction, as HLO has it.
            out[targets] += unrounded_product(rows, kernels[tuple(tap for tap, _, _ in places)], number).reshape(*elements.shape[:-1], outputs)


def _grouped_images(lhs: Array, labels: DimLabels, feature_groups: int, batch_groups: int) -> Array:
    """The input as [group, batch, spatial..., feature]: each group has its part of the features, or of the batch."""
    images = lhs.transpose(labels.input_batch, *labels.input_spatial, labels.input_feature)
    batch, *spatial, features = images.shape
    if feature_groups > 1:
        return np.moveaxis(images.reshape(batch, *spatial, feature_groups, features // feature_groups), -2, 0)
    return images.reshape(batch_groups, batch // batch_groups, *spatial, features)


def _grouped_kernels(rhs: Array, labels: DimLabels, groups: int, window: Window) -> Array:
    """The kernel as [tap..., group, input feature, output feature], reversed as the window says."""
    kernels = rhs.transpose(*labels.kernel_spatial, labels.kernel_input_feature, labels.kernel_output_feature)
    *spatial, features, outputs = kernels.shape
    kernels = kernels[tuple(slice(None, None, -1 if w.window_reversal else 1) for w in window)]
    return np.moveaxis(kernels.reshape(*spatial, features, groups, outputs // groups), -2, -3)


def _grouped_result(output: Array, labels: DimLabels, groups: int) -> Array:
    """A view of the result as [group, batch, spatial..., feature], the groups being blocks of its features."""
    view = output.transpose(labels.output_batch, *labels.output_spatial, labels.output_feature)
    *rest, features = view.shape
    view = view.reshape(*rest, groups, features // groups) if groups > 1 else view[..., None, :]
    return np.moveaxis(view, -2, 0)
