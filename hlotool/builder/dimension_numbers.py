"""Dimension numbers of dots, convolutions, gathers and scatters, named as in XLA's protobufs."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.record import Record
from hlotool.shapes.values import ConvolutionDimensions

__all__ = [
    "ConvolutionDimensionNumbers",
    "DotDimensionNumbers",
    "GatherDimensionNumbers",
    "RaggedDotDimensionNumbers",
    "ScatterDimensionNumbers",
    "default_convolution_dimensions",
]


class DotDimensionNumbers(Record):
    """The contracting and batch dimensions of the operands of a dot.

    Entry k of each `lhs` field is paired with entry k of the corresponding `rhs` field.
    """

    lhs_contracting_dimensions: Sequence[int] = ()
    rhs_contracting_dimensions: Sequence[int] = ()
    lhs_batch_dimensions: Sequence[int] = ()
    rhs_batch_dimensions: Sequence[int] = ()


class RaggedDotDimensionNumbers(Record):
    """The dimension numbers of a ragged dot, with its ragged and group dimensions."""

    dot_dimension_numbers: DotDimensionNumbers
    lhs_ragged_dimensions: Sequence[int] = ()
    rhs_group_dimensions: Sequence[int] = ()


class GatherDimensionNumbers(Record):
    """The correspondence between the dimensions of a gather's operand, indices and result."""

    offset_dims: Sequence[int]
    collapsed_slice_dims: Sequence[int]
    start_index_map: Sequence[int]
    index_vector_dim: int
    operand_batching_dims: Sequence[int] = ()
    start_indices_batching_dims: Sequence[int] = ()


class ScatterDimensionNumbers(Record):
    """The correspondence between the dimensions of a scatter's operand, indices and updates."""

    update_window_dims: Sequence[int]
    inserted_window_dims: Sequence[int]
    scatter_dims_to_operand_dims: Sequence[int]
    index_vector_dim: int
    input_batching_dims: Sequence[int] = ()
    scatter_indices_batching_dims: Sequence[int] = ()


class ConvolutionDimensionNumbers(Record):
    """The batch, feature and spatial dimensions of a convolution's operands and result.

    >>> ConvolutionDimensionNumbers(0, 3, (1, 2), 2, 3, (0, 1), 0, 3, (1, 2)).dimensions.text
    'b01f_01io->b01f'
    """

    input_batch_dimension: int
    input_feature_dimension: int
    input_spatial_dimensions: Sequence[int]
    kernel_input_feature_dimension: int
    kernel_output_feature_dimension: int
    kernel_spatial_dimensions: Sequence[int]
    output_batch_dimension: int
    output_feature_dimension: int
    output_spatial_dimensions: Sequence[int]

    @property
    def dimensions(self) -> ConvolutionDimensions:
        """The dimension numbers as a value of the `dim_labels` attribute."""
        lhs = self.input_batch_dimension, self.input_feature_dimension, tuple(self.input_spatial_dimensions)
        kernel = self.kernel_input_feature_dimension, self.kernel_output_feature_dimension, tuple(self.kernel_spatial_dimensions)
        output = self.output_batch_dimension, self.output_feature_dimension, tuple(self.output_spatial_dimensions)
        text = f"{_labels('bf', *lhs)}_{_labels('io', *kernel)}->{_labels('bf', *output)}"
        return ConvolutionDimensions(*lhs, *kernel, *output, text)


def _labels(letters: str, first: int, second: int, spatial: Sequence[int]) -> str:
    """Returns the labels of all dimensions, in order."""
    labels = {first: letters[0], second: letters[1], **{position: str(k) for k, position in enumerate(spatial)}}
    return "".join(labels.get(k, "?") for k in range(len(spatial) + 2))


def default_convolution_dimensions(spatial: int) -> ConvolutionDimensions:
    """Returns the default order of dimensions: batch, feature, spatial.

    The order in the kernel is output feature, input feature, spatial.

    >>> default_convolution_dimensions(2).text
    'bf01_oi01->bf01'
    """
    positions = tuple(range(2, spatial + 2))
    return ConvolutionDimensionNumbers(0, 1, positions, 1, 0, positions, 0, 1, positions).dimensions
