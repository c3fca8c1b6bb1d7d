"""The kernel of convolutions.

It converts all convolutions to one form, and selects a method that suits their types and sizes. The
form is `out[g, n, o, c] = sum over taps t and features f of images[g, n, o * stride + t *
dilation - padding, f] * kernels[t, g, f, c]` for positions o. Groups of features and groups of the
batch both become the dimension g.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays.dtypes import NUMBERS, Array, NumberType
from hlotool.interp.arrays.values import Value
from hlotool.interp.arrays.windows import taps
from hlotool.interp.kernels.base import kernel
from hlotool.interp.kernels.contraction import product_type, unrounded_product
from hlotool.interp.kernels.conversion import convert_values
from hlotool.interp.kernels.window_products import Convolution, is_layout_independent
from hlotool.ir.model import Instruction
from hlotool.opdefs.kinds import DimLabels, Int, SparsityConfig, Window
from hlotool.shapes.shape import Shape

__all__: list[str] = []


def _is_sparse(x: Instruction) -> bool:
    return x.attributes.get("sparsity_config") is not None or any(operand.shape.is_tuple for operand in x.operands)


def _depends_on_memory(x: Instruction) -> bool:
    shapes = x.operands[0].shape, x.operands[1].shape, x.shape
    labels, window = x.attributes.get("dim_labels"), x.attributes.get("window") or ()
    if labels is None or not all(shape.is_array and not any(shape.dynamic or ()) for shape in shapes) or any(w.base_dilation > 1 for w in window):
        return True
    lhs, rhs, result = [shape.dimensions for shape in shapes]
    features, batches = x.attributes.get("feature_group_count", 1), x.attributes.get("batch_group_count", 1)
    try:
        positions, taps = [result[k] for k in labels.output_spatial], [rhs[k] for k in labels.kernel_spatial]
        return not is_layout_independent(
            positions, taps, lhs[labels.input_batch] // batches, rhs[labels.kernel_output_feature] // (features * batches)
        )
    except (IndexError, ZeroDivisionError):
        # The kernel reports the error.
        return True


@kernel("convolution", in_layout=_depends_on_memory, may_refuse=_is_sparse)
def convolution(
    lhs: Array,
    rhs: Value,
    *others: Array,
    window: Window,
    dim_labels: DimLabels,
    feature_group_count: Int,
    batch_group_count: Int,
    sparsity_config: SparsityConfig | None,
    result: Shape,
) -> Array:
    """Computes a convolution.

    The convolution kind, which selects a routine in a GPU library, has no effect here or on
    XLA:CPU.
    """
    rhs = _dense_kernel(rhs, others, sparsity_config)
    if lhs.shape[dim_labels.input_feature] != rhs.shape[dim_labels.kernel_input_feature] * feature_group_count:
        raise Violation("R001", "operand 1", "the positions of the elements of the sparse kernel are missing", _SPARSE_HINT)
    number = product_type(lhs, rhs, NUMBERS[result.element_type])
    is_float = number.kind == "float"
    if is_float:
        # Narrow floats are exact in f32, and must not be rounded to the result's type first.
        lhs, rhs = (x if x.dtype == number.computed else convert_values(x, NUMBERS["f32" if number.bits < 64 else "f64"]) for x in (lhs, rhs))
    images = _group_images(lhs, dim_labels, feature_group_count, batch_group_count)
    kernels = _group_kernels(rhs, dim_labels, feature_group_count * batch_group_count, window)
    output = np.empty(result.dimensions, number.computed)
    out = _group_result(output, dim_labels, feature_group_count * batch_group_count)
    # `Convolution` stores padding as zeros and multiplies them; infinite elements of kernels would
    # turn these zeros into NaN.
    if is_float and np.isfinite(kernels).all() and not _has_wide_gaps(images, kernels, out, window):
        Convolution(images, kernels, out, window).fill()
    else:
        _sum_tap_products(images, kernels, out, window, number)
    return convert_values(output.astype(number.held, copy=False), NUMBERS[result.element_type])


_SPARSE_HINT = "write convolution(input, (kernel, positions)), or sparsity_config={rhs={... idx=N}} where operand N contains the positions"


def _dense_kernel(rhs: Value, others: Sequence[Array], config: SparsityConfig | None) -> Array:
    """Returns the kernel, with its zeros filled in if it is sparse.

    A sparse kernel stores only one element of each block, and the position of this element in the
    block.
    """
    sparsity = None if config is None else config.rhs
    if isinstance(rhs, tuple):
        rhs, positions = rhs
    elif sparsity is not None and sparsity.index is not None and 0 <= sparsity.index - 2 < len(others):
        positions = others[sparsity.index - 2]
    else:
        return np.asarray(rhs)
    is_known = sparsity is not None and len(sparsity.sparsity) == 2 and sparsity.sparsity[0] == 1 and sparsity.stride == 1
    if sparsity is None or not is_known or positions.shape != rhs.shape:
        message = "hlotool computes convolutions with sparse kernels only for sparsity=1xN stride=1, with a position for each element"
        raise Violation("R001", "operand 1", message, _SPARSE_HINT)
    size, axis = sparsity.sparsity[1], sparsity.dimension
    if positions.size and not 0 <= int(positions.min()) <= int(positions.max()) < size:
        raise Violation(
            "R004", "operand 1", f"positions in a block must be in the range 0 to {size - 1}, got {int(positions.min())} to {int(positions.max())}"
        )
    blocks = np.zeros((*rhs.shape, size), rhs.dtype)
    np.put_along_axis(blocks, positions[..., None].astype(np.int64), rhs[..., None], -1)
    return np.moveaxis(blocks, -1, axis + 1).reshape(*rhs.shape[:axis], rhs.shape[axis] * size, *rhs.shape[axis + 1 :])


def _has_wide_gaps(images: Array, kernels: Array, out: Array, window: Window) -> bool:
    """Returns whether windows extend mostly over padding that none of their taps reads."""
    sizes = zip(window, out.shape[2:-1], kernels.shape[:-3], images.shape[2:-1], strict=True)
    return any(
        (positions - 1) * w.stride + (taps - 1) * w.window_dilation > 16 * (positions * taps + base) * w.base_dilation
        for w, positions, taps, base in sizes
    )


def _sum_tap_products(images: Array, kernels: Array, out: Array, window: Window, number: NumberType) -> None:
    """Computes a convolution of any types as a sum of matrix products, one per tap of the window.

    Padding is not read.
    """
    groups, _, *sizes, outputs = out.shape
    out.fill(0)
    for positions in product(*(taps(w, size, base) for w, size, base in zip(window, sizes, images.shape[2:-1], strict=True))):
        targets = (slice(None), slice(None), *(target for _, target, _ in positions))
        elements = images[(slice(None), slice(None), *(source for _, _, source in positions))]
        if elements.size:
            rows = np.ascontiguousarray(elements).reshape(groups, -1, elements.shape[-1])
            columns = np.ascontiguousarray(kernels[tuple(tap for tap, _, _ in positions)])
            # For pred arrays, this sum is a disjunction, as in HLO.
            out[targets] += unrounded_product(rows, columns, number).reshape(*elements.shape[:-1], outputs)


def _group_images(lhs: Array, labels: DimLabels, feature_groups: int, batch_groups: int) -> Array:
    """Returns the input as [group, batch, spatial..., feature].

    Each group has a part of the features or of the batch.
    """
    images = lhs.transpose(labels.input_batch, *labels.input_spatial, labels.input_feature)
    batch, *spatial, features = images.shape
    if feature_groups > 1:
        return np.moveaxis(images.reshape(batch, *spatial, feature_groups, features // feature_groups), -2, 0)
    return images.reshape(batch_groups, batch // batch_groups, *spatial, features)


def _group_kernels(rhs: Array, labels: DimLabels, groups: int, window: Window) -> Array:
    """Returns the kernel as [tap..., group, input feature, output feature].

    Dimensions with window reversal are reversed.
    """
    kernels = rhs.transpose(*labels.kernel_spatial, labels.kernel_input_feature, labels.kernel_output_feature)
    *spatial, features, outputs = kernels.shape
    kernels = kernels[tuple(slice(None, None, -1 if w.window_reversal else 1) for w in window)]
    return np.moveaxis(kernels.reshape(*spatial, features, groups, outputs // groups), -2, -3)


def _group_result(output: Array, labels: DimLabels, groups: int) -> Array:
    """Returns a view of the result as [group, batch, spatial..., feature].

    Each group is a block of the result's features.
    """
    view = output.transpose(labels.output_batch, *labels.output_spatial, labels.output_feature)
    *rest, features = view.shape
    view = view.reshape(*rest, groups, features // groups) if groups > 1 else view[..., None, :]
    return np.moveaxis(view, -2, 0)
