"""The kernel of convolutions: for each place in the window a matrix product of shifted input and kernel, summed up.

Groups become a batch dimension of these products.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.dtypes import NUMBERS, Array
from hlotool.interp.kernels.base import kernel
from hlotool.interp.kernels.contraction import product_type, unrounded_product
from hlotool.interp.kernels.conversion import converted
from hlotool.interp.kernels.reduction import positions
from hlotool.opdefs.kinds import ConvolutionKind, DimLabels, Int, SparsityConfig, Window
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
    sparsity_config: SparsityConfig | None,
    result: Shape,
) -> Array:
    if sparsity_config is not None or convolution_kind not in _FORWARD:
        raise Violation("R001", "opcode", "hlotool computes neither sparse convolutions nor those of kind dgrad and wgrad")
    number = product_type(lhs, rhs, NUMBERS[result.element_type])
    images = _grouped_images(lhs, dim_labels, feature_group_count, batch_group_count)
    kernels = _grouped_kernels(rhs, dim_labels, feature_group_count * batch_group_count)
    sizes = [result.dimensions[k] for k in dim_labels.output_spatial]
    groups, batch, outputs = images.shape[0], images.shape[1], kernels.shape[-1]
    total = np.zeros((groups, batch, *sizes, outputs), number.computed)
    bases = images.shape[2:-1]
    taps = [[(tap, *positions(w, tap, size, base)) for tap in range(w.size)] for w, size, base in zip(window, sizes, bases, strict=True)]
    for places in product(*taps):
        at = tuple(w.size - 1 - tap if w.window_reversal else tap for w, (tap, _, _) in zip(window, places, strict=True))
        targets = (slice(None), slice(None), *(target for _, target, _ in places))
        seen = images[(slice(None), slice(None), *(source for _, _, source in places))]
        if seen.size:
            rows = seen.reshape(groups, -1, seen.shape[-1])
            # Of pred arrays this sum is a disjunction, as it shall be.
            total[targets] += unrounded_product(rows, kernels[at], number).reshape(*seen.shape[:-1], outputs)
    made = _labelled(total, dim_labels).astype(number.held, copy=False)
    return converted(made, NUMBERS[result.element_type])


def _grouped_images(lhs: Array, labels: DimLabels, feature_groups: int, batch_groups: int) -> Array:
    """The input as [group, batch, spatial..., feature]: each group has its part of the features, or of the batch."""
    images = lhs.transpose(labels.input_batch, *labels.input_spatial, labels.input_feature)
    batch, *spatial, features = images.shape
    if feature_groups > 1:
        return np.moveaxis(images.reshape(batch, *spatial, feature_groups, features // feature_groups), -2, 0)
    return images.reshape(batch_groups, batch // batch_groups, *spatial, features)


def _grouped_kernels(rhs: Array, labels: DimLabels, groups: int) -> Array:
    """The kernel as [spatial..., group, input feature, output feature]."""
    kernels = rhs.transpose(*labels.kernel_spatial, labels.kernel_input_feature, labels.kernel_output_feature)
    *spatial, features, outputs = kernels.shape
    return np.moveaxis(kernels.reshape(*spatial, features, groups, outputs // groups), -2, -3)


def _labelled(total: Array, labels: DimLabels) -> Array:
    """[group, batch, spatial..., feature] in the order of the result, the groups being blocks of its features."""
    merged = np.moveaxis(total, 0, -2)
    merged = merged.reshape(*merged.shape[:-2], merged.shape[-2] * merged.shape[-1])
    order = (labels.output_batch, *labels.output_spatial, labels.output_feature)
    return merged.transpose(np.argsort(order))
