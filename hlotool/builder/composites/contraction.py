"""Dots: sums of products."""

from __future__ import annotations

from typing import Any

from hlotool.builder.arguments import Operand, Precision
from hlotool.builder.composites.indexing import IndexingMethods
from hlotool.builder.dimension_numbers import DotDimensionNumbers, RaggedDotDimensionNumbers
from hlotool.builder.op import Op
from hlotool.ir.model import Instruction
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import SHAPE_GUESSED
from hlotool.shapes.shape import Shape

__all__ = ["ContractionMethods", "DotNumbers"]

DotNumbers = DotDimensionNumbers | dict[str, Any]

_PREFERRED = "preferred_element_type"
_DOT, _RAGGED_DOT, _SCALED_DOT = OPS["dot"], OPS["ragged-dot"], OPS["scaled-dot"]


class ContractionMethods(IndexingMethods):
    """Dots: sums of products.

    `preferred_element_type` is the type in which products are accumulated, and the type of the
    result.
    """

    def dot(self, lhs: Operand, rhs: Operand, precision_config: Precision = None, preferred_element_type: str | None = None) -> Op:
        """Sums products over the second (or only) dimension of lhs and the first dimension of rhs.

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
        """Multiplies matrices or vectors, like `lhs @ rhs`.

        All dimensions before the last two are batch dimensions, which must be the same in both
        operands. Raises BuilderError for ranks that do not fit.

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
            return self.dot(Op(self._innermost(), x), Op(self._innermost(), y))
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
        """Sums products over the contracting dimensions, for each index of the other dimensions.

        The other dimensions are the batch dimensions and all remaining dimensions of both operands.
        Raises BuilderError for dimension numbers that do not fit the operands.

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
        """Computes a dot of operands whose blocks are first multiplied by scales.

        A scalar scale means that the operand is not scaled. Raises BuilderError if the sizes of an
        operand are not multiples of the sizes of its scale.

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
        """Computes a dot per group: one dimension of lhs is split into groups of the given sizes.

        Raises BuilderError for dimension numbers that do not fit the operands.

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
        return self._emit(op, operands, attributes, self._accumulated_shape(op, operands, attributes, element_type))

    def _accumulated_shape(self, op: OpDef, operands: tuple[Instruction, ...], attributes: dict[str, Any], element_type: str | None) -> Shape | None:
        """Returns the inferred shape with the preferred element type; None if no type is given."""
        if element_type is None:
            return None
        if SHAPE_GUESSED in op.traits:
            # XLA's parser infers a wrong shape, because it mistakes a scale for the other operand.
            return self._retyped_shape(self._expected_shape(op, operands, attributes, operands[0].shape), element_type, _PREFERRED)
        return self._retyped_shape(self._inferred_shape(op, operands, attributes), element_type, _PREFERRED)
