"""The opcode convolution, whose result shape follows from the dimension labels and the window."""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd, prod
from typing import Any

from hlotool.opdefs.base import op, require
from hlotool.opdefs.inference import (
    Bound,
    bounds,
    count,
    higher_precision,
    new_array,
    require_arrays,
    window_result,
)
from hlotool.opdefs.kinds import (
    ConvolutionKind,
    DimLabels,
    Int,
    OperandPrecision,
    PrecisionAlgorithm,
    SparsityConfig,
    Window,
)
from hlotool.opdefs.traits import ACCUMULATED, EXPENSIVE, MIXED_PRECISION
from hlotool.opdefs.work import Work
from hlotool.shapes.shape import UNBOUNDED, Shape, sizes_text
from hlotool.shapes.values import WindowDimension

__all__ = ["convolution"]

# For larger windows, the count includes the products with padding, since excluding these products
# takes time proportional to the size of the window.
_MAX_WINDOW_SIZE = 1 << 16


def _work(result: Shape, operands: tuple[Shape, ...], attributes: Mapping[str, Any]) -> Work:
    """Counts a multiplication and an addition for each product.

    Products with padding, and with the holes caused by dilation, are not counted.
    """
    lhs, rhs = operands[0], operands[1].elements[0] if operands[1].is_tuple else operands[1]
    labels, window = attributes["dim_labels"], attributes["window"]
    sizes = zip((lhs.dimensions[k] for k in labels.input_spatial), (result.dimensions[k] for k in labels.output_spatial), window, strict=True)
    products = prod(_products(*size) for size in sizes)
    features = rhs.dimensions[labels.kernel_input_feature] * result.dimensions[labels.output_feature]
    return Work(2 * max(0, result.dimensions[labels.output_batch] * features) * products)


def _products(source: int, result: int, window: WindowDimension) -> int:
    """Returns the number of pairs of result and window indices that select a source element."""
    dilation, last = window.base_dilation, (source - 1) * window.base_dilation
    if window.size > _MAX_WINDOW_SIZE:
        return window.size * max(0, result)
    starts = (k * window.window_dilation - window.padding_low for k in range(window.size))
    return sum(_multiples(start, window.stride, result, dilation, last) for start in starts)


def _multiples(start: int, step: int, count: int, divisor: int, last: int) -> int:
    """Returns how many of the `count` numbers start, start + step, ... are at source elements.

    The source elements are at the multiples of `divisor` from 0 to `last`.
    """
    low = max(0, -(start // step))
    high = min(count - 1, (last - start) // step)
    if divisor == 1:
        return max(0, high - low + 1)
    common = gcd(step, divisor)
    if start % common:
        return 0
    period = divisor // common
    first = low + (-start // common * pow(step // common, -1, period) - low) % period
    return 0 if first > high else (high - first) // period + 1


@op(traits=(MIXED_PRECISION, ACCUMULATED, EXPENSIVE), work=_work)
def convolution(
    lhs: Shape,
    rhs: Shape,
    *operands: Shape,
    window: Window = (),
    dim_labels: DimLabels,
    feature_group_count: Int = 1,
    batch_group_count: Int = 1,
    convolution_kind: ConvolutionKind = "unset",
    operand_precision: OperandPrecision = (),
    algorithm: PrecisionAlgorithm | None = None,
    sparsity_config: SparsityConfig | None = None,
) -> Shape:
    """Slides the kernel rhs over the spatial dimensions of lhs.

    Each element of the result is a sum of products over the window and the input features. If rhs
    is a tuple, it contains a sparse kernel and its metadata. Newer versions of XLA write further
    operands after the kernel; these do not change the result.

        r = f32[1,6,6,8] convolution(f32[1,8,8,3] x, f32[3,3,3,8] k), window={size=3x3}, dim_labels=b01f_01io->b01f
    """
    if rhs.is_tuple:
        # A sparse kernel with its metadata, which XLA does not check.
        message = f"operand 1 of 'convolution' must be an array, or a tuple of an array and its metadata, got {rhs.text_without_layout}"
        require(len(rhs.elements) == 2, "T099", "call of operand 1", message)
        rhs = rhs.elements[0]
    require_arrays((lhs, rhs), "convolution")
    _check_labels(lhs, rhs, dim_labels, window)
    _check_sparsity(sparsity_config, (lhs, rhs, *operands))
    _check_features(lhs, rhs, dim_labels, feature_group_count, batch_group_count, sparsity_config)
    kernel_sizes = [rhs.dimensions[k] for k in dim_labels.kernel_spatial]
    window_sizes = [dimension.size for dimension in window]
    require(
        kernel_sizes == window_sizes,
        "T053",
        "window[size]",
        f"window sizes {window_sizes} differ from kernel spatial sizes {sizes_text(kernel_sizes)}",
    )
    positions = window_result([lhs.dimensions[k] for k in dim_labels.input_spatial], window)

    lhs_bounds, rhs_bounds = bounds(lhs), bounds(rhs)
    batch, batch_dynamic = lhs_bounds[dim_labels.input_batch]
    require(batch != UNBOUNDED or batch_group_count == 1, "T052", "batch_group_count", "an unbounded batch dimension cannot be grouped")
    features, features_dynamic = rhs_bounds[dim_labels.kernel_output_feature]
    require(not features_dynamic, "T082", "operand 1", "the kernel's output feature dimension must be static")
    dimensions: list[Bound] = [(0, False)] * lhs.rank
    dimensions[dim_labels.output_batch] = batch if batch == UNBOUNDED else batch // batch_group_count, batch_dynamic
    dimensions[dim_labels.output_feature] = features, False
    spatial = zip(dim_labels.output_spatial, dim_labels.input_spatial, dim_labels.kernel_spatial, positions, strict=True)
    for output, source, kernel, size in spatial:
        dimensions[output] = size, lhs_bounds[source][1] or rhs_bounds[kernel][1]
    return new_array(higher_precision(lhs.element_type, rhs.element_type, "convolution"), dimensions, "convolution")


def _check_labels(lhs: Shape, rhs: Shape, labels: DimLabels, window: Window) -> None:
    spatial = len(labels.input_spatial)
    same_count = spatial == len(labels.kernel_spatial) == len(labels.output_spatial)
    require(same_count, "T050", "dim_labels", f"the three parts of {labels.text} have different numbers of spatial dimensions")
    require(len(window) == spatial, "T053", "window", f"window has {count(len(window), 'dimension')}, but dim_labels have {spatial}")
    for at, shape in (("operand 0", lhs), ("operand 1", rhs)):
        require(shape.rank == spatial + 2, "T050", at, f"dim_labels {labels.text} require rank {spatial + 2}, got {shape.text_without_layout}")
    for part, dimensions in (
        ("lhs", (labels.input_batch, labels.input_feature, *labels.input_spatial)),
        ("kernel", (labels.kernel_input_feature, labels.kernel_output_feature, *labels.kernel_spatial)),
        ("output", (labels.output_batch, labels.output_feature, *labels.output_spatial)),
    ):
        complete = sorted(dimensions) == list(range(spatial + 2))
        require(complete, "T050", "dim_labels", f"the {part} part of {labels.text} does not name each dimension once")


def _check_sparsity(config: SparsityConfig | None, operands: tuple[Shape, ...]) -> None:
    """Raises Violation unless the arrays of kept indices are distinct operands after the kernel."""
    sides = (config.lhs, config.rhs) if config is not None else ()
    positions = [side.index for side in sides if side is not None and side.index is not None]
    for k in positions:
        known = 2 <= k < len(operands)
        require(known, "T051", "sparsity_config", f"idx={k} is not an operand after the kernel; there are {count(len(operands), 'operand')}")
        require(operands[k].is_array, "T051", f"operand {k}", f"operand {k} must be an array, got {operands[k].text_without_layout}")
    require(len(set(positions)) == len(positions), "T051", "sparsity_config", "lhs and rhs cannot have the same idx")


def _check_features(
    lhs: Shape, rhs: Shape, labels: DimLabels, feature_groups: int, batch_groups: int, sparsity_config: SparsityConfig | None
) -> None:
    require(feature_groups > 0, "T052", "feature_group_count", f"feature_group_count must be positive, got {feature_groups}")
    require(batch_groups > 0, "T052", "batch_group_count", f"batch_group_count must be positive, got {batch_groups}")
    one_kind = batch_groups == 1 or feature_groups == 1
    require(one_kind, "T052", "batch_group_count", "batch_group_count and feature_group_count cannot both be larger than 1")
    features = lhs.dimensions[labels.input_feature]
    kernel_features = rhs.dimensions[labels.kernel_input_feature]
    kernel_outputs = rhs.dimensions[labels.kernel_output_feature]
    batch = lhs.dimensions[labels.input_batch]
    if sparsity_config is not None and sparsity_config.rhs is not None:
        kept = sparsity_config.rhs.sparsity
        require(len(kept) == 2 and kept[0] == 1, "T051", "sparsity_config", "only 1xN sparsity of the kernel is supported")
        require(kernel_features != UNBOUNDED, "T051", "operand 1", "the input feature dimension of a sparse kernel must be bounded")
        kernel_features *= kept[1]
    # XLA compares feature dimensions by value even if they are unbounded. So an unbounded dimension
    # fits only another unbounded dimension, and only without groups.
    fits = kernel_features == features if UNBOUNDED in (features, kernel_features) else kernel_features * feature_groups == features
    fits = fits and (features != UNBOUNDED or feature_groups == 1)
    unbounded = "an unbounded number of features"
    needed = unbounded if kernel_features == UNBOUNDED else count(kernel_features * feature_groups, "feature")
    given = unbounded if features == UNBOUNDED else features
    message = f"the kernel expects {needed}, but lhs has {given}"
    if needed == given:
        message = f"{unbounded} cannot be divided into {feature_groups} groups"
    require(fits, "T051", "operands", message)
    outputs = "?" if kernel_outputs == UNBOUNDED else kernel_outputs
    for at, groups in (("feature_group_count", feature_groups), ("batch_group_count", batch_groups)):
        message = f"the number of output features, {outputs}, is not a multiple of {at}={groups}"
        require(kernel_outputs % groups == 0, "T052", at, message)
    divisible = batch == UNBOUNDED or batch % batch_groups == 0
    require(divisible, "T052", "batch_group_count", f"batch size {batch} is not a multiple of batch_group_count={batch_groups}")
