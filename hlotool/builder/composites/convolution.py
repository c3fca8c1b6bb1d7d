"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.builder.arguments import Operand, Precision
from hlotool.builder.composites.contraction import ContractionMethods
from hlotool.builder.dimension_numbers import ConvolutionDimensionNumbers, default_convolution_dimensions
from hlotool.builder.op import Op
from hlotool.builder.windows import Padding
from hlotool.ir.model import Instruction
from hlotool.opdefs.table import OPS
from hlotool.shapes.values import ConvolutionDimensions

__all__ = ["ConvolutionMethods", "ConvolutionNumbers"]

ConvolutionNumbers = ConvolutionDimensionNumbers | ConvolutionDimensions | str
"""Dimension numbers of a convolution, or their text, such as "b01f_01io->b01f"."""

_CONVOLUTION = OPS["convolution"]


class ConvolutionMethods(ContractionMethods):
    """Convolutions.

    `preferred_element_type` is the type in which products are accumulated, and the type of the
    result.
    """

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
        """Computes a convolution with SAME or VALID padding and the default order of dimensions.

        The order is batch, feature, spatial; in the kernel, it is output feature, input feature,
        spatial. The dilations are arguments in XLA's documentation of 2017 and 2019. Raises
        BuilderError for sizes that do not fit.

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
        """Computes a convolution like `conv`, with padding (low, high) for each spatial dimension.

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
        """Computes a convolution like `conv`, with explicit dimension numbers.

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
        """Computes a convolution like `conv`, with explicit padding and dimension numbers.

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
        """Slides the kernel rhs over the spatial dimensions of lhs, and sums products.

        In this form of a convolution, all arguments are explicit. A convolution with `lhs_dilation`
        is also called transposed, and one with `rhs_dilation` atrous. Raises BuilderError for sizes
        that do not fit.

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
        texts = f"{x.shape.text_without_layout} and {kernel.shape.text_without_layout}"
        self._require(known, "T050", "dimension_numbers", f"{labels.text} does not fit operands of the shapes {texts}")
        area = [x.shape.dimensions[k] for k in labels.input_spatial]
        sizes = [kernel.shape.dimensions[k] for k in labels.kernel_spatial]
        attributes = {
            "window": self._window(area, sizes, window_strides, padding, lhs_dilation, rhs_dilation, window_reversal),
            "dim_labels": labels,
            "feature_group_count": self._integer(feature_group_count, "feature_group_count"),
            "batch_group_count": self._integer(batch_group_count, "batch_group_count"),
            "operand_precision": self._precision(precision_config),
        }
        shape = self._accumulated_shape(_CONVOLUTION, (x, kernel), attributes, preferred_element_type)
        return self._emit(_CONVOLUTION, (x, kernel), attributes, shape)

    def _labels(self, numbers: ConvolutionNumbers | None, x: Instruction) -> ConvolutionDimensions:
        if isinstance(numbers, ConvolutionDimensionNumbers):
            return numbers.dimensions
        if numbers is None:
            return default_convolution_dimensions(max(x.shape.rank - 2, 0))
        return self._instance(self._text("dim_labels", numbers), ConvolutionDimensions, "dimension_numbers")
