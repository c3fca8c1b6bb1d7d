"""Dots and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlotool.builder.arguments import Operand, Precision
from hlotool.builder.composites.indexing import IndexingMethods
from hlotool.builder.dimension_numbers import (
    ConvolutionDimensionNumbers,
    DotDimensionNumbers,
    RaggedDotDimensionNumbers,
    default_convolution_dimensions,
)
from hlotool.builder.op import Op
from hlotool.builder.windows import Padding
from hlotool.ir.model import Instruction
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import SHAPE_GUESSED
from hlotool.shapes.shape import Shape
from hlotool.shapes.values import ConvolutionDimensions

__all__ = ["ContractionMethods", "ConvolutionNumbers", "DotNumbers"]

DotNumbers = DotDimensionNumbers | dict[str, Any]
ConvolutionNumbers = ConvolutionDimensionNumbers | ConvolutionDimensions | str
"""Dimension numbers of a convolution, or their text, such as "b01f_01io->b01f"."""

_CONVOLUTION, _DOT, _RAGGED_DOT, _SCALED_DOT = OPS["convolution"], OPS["dot"], OPS["ragged-dot"], OPS["scaled-dot"]


class ContractionMethods(IndexingMethods):
    """Dots and convolutions. `preferred_element_type` is the type in which products are accumulated, and that of the result."""

    # ---- dots ---------------------------------------------------------------------------------------------------------

    def dot(self, lhs: Operand, rhs: Operand, precision_config: Precision = None, preferred_element_type: str | None = None) -> Op:
        """Sums products over the second dimension of lhs, or the only one, and the first dimension of rhs.

        Raises BuilderError for scalars, and for dimensions of different sizes.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.dot([[1.0, 2.0], [3.0, 4.0]], [10.0, 1.0])), [])
        array([12., 34.], dtype=float32)
        """
        x, y = self._pair(lhs, rhs, ("lhs", "rhs"))
        numbers = DotDimensionNumbers((1 if x.shape.rank > 1 else 0,), (0,))
        return self._dot(_DOT, (x, y), numbers, precision_config, preferred_element_type)

    def matmul(self, lhs: Operand, rhs: Operand) -> Op:
        """The product of matrices or vectors, which `lhs @ rhs` gives; leading dimensions of more than two are batches, equal in both.

        Raises BuilderError for other ranks.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> module = b.build(b.constant([[1, 2], [3, 4]]) @ b.constant([[1, 0], [1, 1]]))
        >>> hlotool.evaluate(module, [])
        array([[3, 2],
               [7, 4]], dtype=int32)
        >>> b = hlotool.Builder("demo")
        >>> (b.parameter(0, "f32[8,2,3]") @ b.parameter(1, "f32[8,3,4]")).dimensions
        (8, 2, 4)
        """
        x, y = self._pair(lhs, rhs, ("lhs", "rhs"))
        ranks, batch = (x.shape.rank, y.shape.rank), tuple(range(x.shape.rank - 2))
        if max(ranks) <= 2:
            return self.dot(Op(self._innermost(), x), Op(self, y))
        texts = f"{x.shape.text_without_layout} and {y.shape.text_without_layout}"
        self._require(ranks[0] == ranks[1], "T046", "rhs", f"batches of matrices must have the same rank, got {texts}", "use dot_general")
        numbers = DotDimensionNumbers((ranks[0] - 1,), (ranks[0] - 2,), batch, batch)
        return self._dot(_DOT, (x, y), numbers, None, None)

    def dot_general(
        self,
        lhs: Operand,
        rhs: Operand,
        dimension_numbers: DotNumbers,
        precision_config: Precision = None,
        preferred_element_type: str | None = None,
    ) -> Op:
        """Sums products over the contracting dimensions, for each index of the batch dimensions and of the remaining ones.

        Raises BuilderError for dimension numbers that do not fit.

        >>> import hlotool
        >>> from hlotool.builder import DotDimensionNumbers
        >>> b = hlotool.Builder("demo")
        >>> numbers = DotDimensionNumbers([1], [1])
        >>> hlotool.evaluate(b.build(b.dot_general([[1.0, 2.0], [3.0, 4.0]], [[1.0, 0.0], [1.0, 1.0]], numbers)), [])
        array([[1., 3.],
               [3., 7.]], dtype=float32)
        """
        return self._dot(_DOT, self._pair(lhs, rhs, ("lhs", "rhs")), dimension_numbers, precision_config, preferred_element_type)

    def scaled_dot(
        self,
        lhs: Operand,
        lhs_scale: Operand,
        rhs: Operand,
        rhs_scale: Operand,
        dimension_number: DotNumbers,
        precision_config: Precision = None,
        preferred_element_type: str | None = None,
    ) -> Op:
        """A dot of operands whose blocks are multiplied by scales first; a scalar scale means that there is none.

        Raises BuilderError if the sizes of an operand are no multiples of those of its scale.

        >>> import hlotool
        >>> from hlotool.builder import DotDimensionNumbers
        >>> b = hlotool.Builder("demo")
        >>> x, y = b.constant([[1.0, 2.0, 3.0, 4.0]], "bf16"), b.constant([[1.0], [1.0], [1.0], [1.0]], "bf16")
        >>> scale, none = b.constant([[1.0, 10.0]], "bf16"), b.constant(1.0, "bf16")
        >>> hlotool.evaluate(b.build(b.scaled_dot(x, scale, y, none, DotDimensionNumbers([1], [0]))), [])
        array([[73]], dtype=bfloat16)
        """
        x, y = self._pair(lhs, rhs, ("lhs", "rhs"))
        scales = self._operand(lhs_scale, "lhs_scale", x.shape), self._operand(rhs_scale, "rhs_scale", y.shape)
        return self._dot(_SCALED_DOT, (x, y, *scales), dimension_number, precision_config, preferred_element_type, "dimension_number")

    def ragged_dot(
        self,
        lhs: Operand,
        rhs: Operand,
        group_sizes: Operand,
        dimension_numbers: RaggedDotDimensionNumbers,
        precision_config: Precision = None,
        preferred_element_type: str | None = None,
    ) -> Op:
        """A dot for each group, where one dimension of lhs is split into groups of the given sizes.

        Raises BuilderError for dimension numbers that do not fit.

        >>> import hlotool
        >>> from hlotool.builder import DotDimensionNumbers, RaggedDotDimensionNumbers
        >>> b = hlotool.Builder("demo")
        >>> numbers = RaggedDotDimensionNumbers(DotDimensionNumbers([1], [1]), [0], [0])
        >>> rows, weights = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[[1.0], [1.0]], [[10.0], [10.0]]]
        >>> hlotool.evaluate(b.build(b.ragged_dot(rows, weights, [1, 2], numbers)), [])
        array([[  3.],
               [ 70.],
               [110.]], dtype=float32)
        """
        x, y = self._pair(lhs, rhs, ("lhs", "rhs"))
        dimension_numbers = self._instance(dimension_numbers, RaggedDotDimensionNumbers, "dimension_numbers")
        extra = {
            "lhs_ragged_dims": self._dimensions(dimension_numbers.lhs_ragged_dimensions, x.shape.rank, "lhs_ragged_dimensions"),
            "rhs_group_dims": self._dimensions(dimension_numbers.rhs_group_dimensions, y.shape.rank, "rhs_group_dimensions"),
        }
        operands = (x, y, self._operand(group_sizes, "group_sizes"))
        numbers = dimension_numbers.dot_dimension_numbers
        return self._dot(_RAGGED_DOT, operands, numbers, precision_config, preferred_element_type, extra=extra)

    def _dot(
        self,
        op: OpDef,
        operands: tuple[Instruction, ...],
        numbers: DotNumbers,
        precision: Precision,
        element_type: str | None,
        argument: str = "dimension_numbers",
        extra: dict[str, Any] | None = None,
    ) -> Op:
        fields = self._fields(DotDimensionNumbers, numbers, argument)
        attributes: dict[str, Any] = {}
        for side, x in (("lhs", operands[0]), ("rhs", operands[1])):
            for role in ("batch", "contracting"):
                name = f"{side}_{role}_dimensions"
                attributes[f"{side}_{role}_dims"] = self._dimensions(fields[name], x.shape.rank, name)
        attributes |= {**(extra or {}), "operand_precision": self._precision(precision)}
        return self._emit(op, operands, attributes, self._accumulated(op, operands, attributes, element_type))

    def _accumulated(self, op: OpDef, operands: tuple[Instruction, ...], attributes: dict[str, Any], element_type: str | None) -> Shape | None:
        """The inferred shape with the preferred element type; None if there is none."""
        if element_type is None:
            return None
        if SHAPE_GUESSED in op.traits:
            # XLA's parser takes a scale for the other operand.
            return self._retyped(self._required(op, operands, attributes, operands[0].shape), element_type)
        return self._retyped(self._guessed(op, operands, attributes), element_type)

    # ---- convolutions -------------------------------------------------------------------------------------------------

    def conv(
        self,
        lhs: Operand,
        rhs: Operand,
        window_strides: Sequence[int] | None,
        padding: Padding,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        precision_config: Precision = None,
        preferred_element_type: str | None = None,
        *,
        lhs_dilation: Sequence[int] | None = None,
        rhs_dilation: Sequence[int] | None = None,
    ) -> Op:
        """A convolution with padding SAME or VALID and default dimensions: batch, feature, spatial; output feature, input feature, spatial.

        The dilations are in the documents of 2017 and 2019. Raises BuilderError for sizes that do not fit.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> image, kernel = b.constant([[[1.0, 2.0, 3.0, 4.0]]]), b.constant([[[1.0, 10.0, 100.0]]])
        >>> hlotool.evaluate(b.build(b.conv(image, kernel, [1], "SAME")), [])
        array([[[210., 321., 432.,  43.]]], dtype=float32)
        """
        return self.conv_general_dilated(
            lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, None, feature_group_count, batch_group_count, precision_config,
            preferred_element_type,
        )  # fmt: skip

    def conv_with_general_padding(
        self,
        lhs: Operand,
        rhs: Operand,
        window_strides: Sequence[int] | None,
        padding: Padding,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        precision_config: Precision = None,
        preferred_element_type: str | None = None,
        *,
        lhs_dilation: Sequence[int] | None = None,
        rhs_dilation: Sequence[int] | None = None,
    ) -> Op:
        """As `conv`, with padding (low, high) for each spatial dimension.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> image, kernel = b.constant([[[1.0, 2.0, 3.0]]]), b.constant([[[1.0, 10.0, 100.0]]])
        >>> hlotool.evaluate(b.build(b.conv_with_general_padding(image, kernel, [1], [(2, 0)])), [])
        array([[[100., 210., 321.]]], dtype=float32)
        """
        return self.conv(
            lhs, rhs, window_strides, padding, feature_group_count, batch_group_count, precision_config, preferred_element_type,
            lhs_dilation=lhs_dilation, rhs_dilation=rhs_dilation,
        )  # fmt: skip

    def conv_with_general_dimensions(
        self,
        lhs: Operand,
        rhs: Operand,
        window_strides: Sequence[int] | None,
        padding: Padding,
        dimension_numbers: ConvolutionNumbers,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        precision_config: Precision = None,
        preferred_element_type: str | None = None,
    ) -> Op:
        """As `conv`, with explicit dimension numbers.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> image, kernel = b.reshape(b.iota("f32[16]"), [1, 4, 4, 1]), b.constant([[[[1.0]], [[1.0]]], [[[1.0]], [[1.0]]]])
        >>> sums = b.conv_with_general_dimensions(image, kernel, [2, 2], "VALID", "b01f_01io->b01f")
        >>> hlotool.evaluate(b.build(b.reshape(sums, [2, 2])), [])
        array([[10., 18.],
               [42., 50.]], dtype=float32)
        """
        return self.conv_general(
            lhs, rhs, window_strides, padding, dimension_numbers, feature_group_count, batch_group_count, precision_config, preferred_element_type
        )

    def conv_general(
        self,
        lhs: Operand,
        rhs: Operand,
        window_strides: Sequence[int] | None,
        padding: Padding,
        dimension_numbers: ConvolutionNumbers,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        precision_config: Precision = None,
        preferred_element_type: str | None = None,
    ) -> Op:
        """As `conv`, with explicit padding and dimension numbers.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> image, kernel = b.constant([[[1.0], [2.0], [3.0]]]), b.constant([[[1.0]], [[10.0]], [[100.0]]])
        >>> hlotool.evaluate(b.build(b.conv_general(image, kernel, [1], [(1, 1)], "b0f_0io->b0f")), []).tolist()
        [[[210.0], [321.0], [32.0]]]
        """
        return self.conv_general_dilated(
            lhs, rhs, window_strides, padding, None, None, dimension_numbers, feature_group_count, batch_group_count, precision_config,
            preferred_element_type,
        )  # fmt: skip

    def conv_general_dilated(
        self,
        lhs: Operand,
        rhs: Operand,
        window_strides: Sequence[int] | None,
        padding: Padding,
        lhs_dilation: Sequence[int] | None,
        rhs_dilation: Sequence[int] | None,
        dimension_numbers: ConvolutionNumbers | None,
        feature_group_count: int = 1,
        batch_group_count: int = 1,
        precision_config: Precision = None,
        preferred_element_type: str | None = None,
        window_reversal: Sequence[bool] | None = None,
    ) -> Op:
        """A convolution with everything explicit: slides the kernel rhs over the spatial dimensions of lhs, and sums products.

        With dilation of lhs it is transposed, and with dilation of rhs atrous. Raises BuilderError for sizes that do not fit.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> image, kernel = b.constant([[[1.0, 2.0, 3.0, 4.0, 5.0]]]), b.constant([[[1.0, 10.0, 100.0]]])
        >>> hlotool.evaluate(b.build(b.conv_general_dilated(image, kernel, [1], [(0, 0)], [1], [2], None)), [])
        array([[[531.]]], dtype=float32)
        >>> b = hlotool.Builder("demo")
        >>> b.conv_general_dilated(b.parameter(0, "f32[1,3,8]"), b.parameter(1, "f32[4,3,3]"), [1], [(0, 0)], [2], [1], None)
        <op convolution = f32[1,4,13] convolution>
        """
        x, kernel = self._pair(lhs, rhs, ("lhs", "rhs"))
        labels = self._labels(dimension_numbers, x)
        known = max(labels.input_spatial, default=0) < x.shape.rank and max(labels.kernel_spatial, default=0) < kernel.shape.rank
        self._require(known, "T050", "dimension_numbers", f"{labels.text} does not fit {x.shape.text_without_layout}")
        area = [x.shape.dimensions[k] for k in labels.input_spatial]
        sizes = [kernel.shape.dimensions[k] for k in labels.kernel_spatial]
        attributes = {
            "window": self._window(area, sizes, window_strides, padding, lhs_dilation, rhs_dilation, window_reversal),
            "dim_labels": labels,
            "feature_group_count": self._integer(feature_group_count, "feature_group_count"),
            "batch_group_count": self._integer(batch_group_count, "batch_group_count"),
            "operand_precision": self._precision(precision_config),
        }
        shape = self._accumulated(_CONVOLUTION, (x, kernel), attributes, preferred_element_type)
        return self._emit(_CONVOLUTION, (x, kernel), attributes, shape)

    def _labels(self, numbers: ConvolutionNumbers | None, x: Instruction) -> ConvolutionDimensions:
        if isinstance(numbers, ConvolutionDimensionNumbers):
            return numbers.dimensions
        if numbers is None:
            return default_convolution_dimensions(max(x.shape.rank - 2, 0))
        return self._instance(self._text("dim_labels", numbers), ConvolutionDimensions, "dimension_numbers")
