"""Batch normalization: training, inference and gradient."""

from __future__ import annotations

from hlotool.opdefs.base import op, require
from hlotool.opdefs.inference import (
    bare,
    bounds,
    count,
    dimensions_agree,
    new_array,
    require_array,
    require_dimension,
    require_kind,
    require_valid_array,
    same_type_up_to_precision,
    sizes_agree,
)
from hlotool.opdefs.kinds import Int, Number
from hlotool.shapes.shape import Shape, sizes_text, tuple_shape

__all__ = ["batch_norm_grad", "batch_norm_inference", "batch_norm_training"]


def _check_operand(opcode: str, operand: Shape, feature_index: int) -> None:
    require_array(operand, "operand 0", opcode)
    require_dimension(feature_index, operand.rank, "T074", "feature_index", opcode)
    require_kind(operand, "operand 0", opcode, ("float",), "T074")
    require_valid_array(operand, "operand 0", opcode)


def _check_vector(name: str, at: str, vector: Shape, operand: Shape, feature_index: int, *, exact_rank: bool = True) -> None:
    """Raises Violation for a per-feature vector of the wrong type, rank or size.

    `exact_rank` is False for the mean and variance of inference, whose rank XLA does not check.
    """
    array = bare(vector)
    fits = vector.is_array if exact_rank else array.is_array
    require(fits, "T099", at, f"{name} must be an array, got {vector.text_without_layout}")
    right_rank = array.rank == 1 if exact_rank else array.rank >= 1
    require(right_rank, "T074", at, f"{name} must have rank 1, got rank {array.rank}")
    same_type = same_type_up_to_precision(array.element_type, operand.element_type)
    require(same_type, "T074", at, f"{name} has type {array.element_type}, but the operand has type {operand.element_type}")
    require_valid_array(array, at, "batch-norm")
    size, features = array.dimensions[0], operand.dimensions[feature_index]
    message = f"{name} has {count(size, 'element')}, but feature dimension {feature_index} has size {features}"
    require(sizes_agree(size, features), "T074", at, message)


def _with_statistics(operand: Shape, feature_index: int, opcode: str) -> Shape:
    """Returns a tuple of the operand's shape and two vectors with an element for each feature."""
    feature = new_array(operand.element_type, [bounds(operand)[feature_index]], opcode)
    return tuple_shape((operand, feature, feature))


@op()
def batch_norm_training(operand: Shape, scale: Shape, offset: Shape, *, epsilon: Number, feature_index: Int) -> Shape:
    """Normalizes over all dimensions except the feature dimension.

    Returns the normalized array, the mean and the variance.

        r = (f32[8,3], f32[3], f32[3]) batch-norm-training(f32[8,3] x, f32[3] s, f32[3] o), epsilon=0.001, feature_index=1
    """
    _check_operand("batch-norm-training", operand, feature_index)
    for name, at, vector in (("scale", "definition of operand 1", scale), ("offset", "definition of operand 2", offset)):
        _check_vector(name, at, vector, operand, feature_index)
    return _with_statistics(operand, feature_index, "batch-norm-training")


@op()
def batch_norm_inference(operand: Shape, scale: Shape, offset: Shape, mean: Shape, variance: Shape, *, epsilon: Number, feature_index: Int) -> Shape:
    """Normalizes with the given mean and variance of each feature.

    r = f32[8,3] batch-norm-inference(f32[8,3] x, f32[3] s, f32[3] o, f32[3] m, f32[3] v),
        epsilon=0.001, feature_index=1
    """
    _check_operand("batch-norm-inference", operand, feature_index)
    for name, at, vector in (("scale", "definition of operand 1", scale), ("offset", "definition of operand 2", offset)):
        _check_vector(name, at, vector, operand, feature_index)
    for name, at, vector in (("mean", "definition of operand 3", mean), ("variance", "definition of operand 4", variance)):
        _check_vector(name, at, vector, operand, feature_index, exact_rank=False)
    return operand


@op()
def batch_norm_grad(operand: Shape, scale: Shape, mean: Shape, variance: Shape, grad_output: Shape, *, epsilon: Number, feature_index: Int) -> Shape:
    """Computes the gradients of batch-norm-training with respect to operand, scale and offset.

    r = (f32[8,3], f32[3], f32[3]) batch-norm-grad(f32[8,3] x, f32[3] s, f32[3] m, f32[3] v, f32[8,3] dy),
        epsilon=0.001, feature_index=1
    """
    _check_operand("batch-norm-grad", operand, feature_index)
    for name, at, vector in (
        ("scale", "definition of operand 1", scale),
        ("mean", "definition of operand 2", mean),
        ("variance", "definition of operand 3", variance),
    ):
        _check_vector(name, at, vector, operand, feature_index)
    require_array(grad_output, "operand 4", "batch-norm-grad")
    require_kind(grad_output, "operand 4", "batch-norm-grad", ("float",), "T074")
    require_valid_array(grad_output, "operand 4", "batch-norm-grad")
    same = dimensions_agree(operand.dimensions, grad_output.dimensions)
    require(
        same,
        "T074",
        "operand 4",
        f"grad_output has dimensions {sizes_text(grad_output.dimensions)}, but the operand has {sizes_text(operand.dimensions)}",
    )
    return _with_statistics(operand, feature_index, "batch-norm-grad")
