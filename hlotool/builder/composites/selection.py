"""Methods for comparison, selection, clamping and conversion of element types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlotool.builder.arguments import Operand
from hlotool.builder.computations import ComputationMethods
from hlotool.builder.op import Op
from hlotool.ir.model import Instruction
from hlotool.opdefs.table import OPS
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["SelectionMethods"]

_BITCAST_CONVERT, _CLAMP, _COMPARE, _CONVERT = OPS["bitcast-convert"], OPS["clamp"], OPS["compare"], OPS["convert"]
_ELEMENT, _ROUND, _SELECT, _STOCHASTIC = OPS["get-tuple-element"], OPS["round-nearest-afz"], OPS["select"], OPS["stochastic-convert"]
_TUPLE = OPS["tuple"]


class SelectionMethods(ComputationMethods):
    """Methods for comparison, selection, clamping and conversion of element types."""

    def compare(self, lhs: Operand, rhs: Operand, broadcast_dimensions: Sequence[int], direction: str, type: str | None = None) -> Op:  # noqa: A002
        """Compares each pair of elements by `direction` (EQ, NE, GE, GT, LE, LT).

        The type TOTALORDER also orders NaNs and signed zeros. Raises BuilderError for operands that
        are not compatible, and for a `type` that does not apply to their element type.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.compare([1.0, 2.0, 3.0], 2.0, [], "GE")), [])
        array([False,  True,  True])
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.compare([-0.0, 1.0], [0.0, float("nan")], [], "LT", "TOTALORDER")), [])
        array([ True,  True])
        """
        attributes = {"direction": self._word("ComparisonDirection", direction, "direction")}
        if type is not None:
            attributes["type"] = self._word("ComparisonType", type, "type")
        return self._binary(_COMPARE, lhs, rhs, broadcast_dimensions, attributes)

    def clamp(self, min: Operand, operand: Operand, max: Operand) -> Op:  # noqa: A002
        """Limits the operand to the range from `min` to `max`.

        Both limits are arrays of the operand's shape, or scalars. If `min` is greater than `max`,
        the result is `max`. In XLA's documentation of 2017, the order of the arguments is
        different. Raises BuilderError for limits of other types or shapes.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.clamp(0, b.constant([-1, 5, 9]), 6)), [])
        array([0, 5, 6], dtype=int32)
        """
        x = self._operand(operand, "operand")
        return self._emit(_CLAMP, (self._operand(min, "min", x.shape), x, self._operand(max, "max", x.shape)))

    def select(self, pred: Operand, on_true: Operand, on_false: Operand) -> Op:
        """Selects elements of `on_true` where `pred` is true, and of `on_false` elsewhere.

        A scalar `pred` selects all elements of a branch. A number given as a branch is broadcast to
        the shape of the other branch, or of `pred` if both branches are numbers. Branches that are
        operations must have the same shape, or BuilderError is raised. Tuples are selected element
        by element, because HLO's select does not take tuples.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.select([True, False], [1.0, 2.0], [3.0, 4.0])), [])
        array([1., 4.], dtype=float32)
        >>> b = hlotool.Builder("demo")
        >>> x = b.constant([-1.0, 2.0])
        >>> hlotool.evaluate(b.build(b.select(x > 0.0, x, 0.0)), [])
        array([0., 2.], dtype=float32)
        """
        condition, x, y = self._operand(pred, "pred"), *self._pair(on_true, on_false, ("on_true", "on_false"))
        if not isinstance(on_true, Op):
            x = self._broadcast_scalar(x, y.shape if y.shape.dimensions else condition.shape)
        if not isinstance(on_false, Op):
            y = self._broadcast_scalar(y, x.shape)
        if not (x.shape.is_tuple and y.shape.is_tuple):
            return self._emit(_SELECT, (condition, x, y))
        same = len(x.shape.elements) == len(y.shape.elements) and not any(element.is_tuple for element in x.shape.elements)
        texts = f"{x.shape.text_without_layout} and {y.shape.text_without_layout}"
        message = f"tuple branches must have the same number of elements, and each element must be an array; got {texts}"
        self._require(same, "T014", "on_false", message, "use conditional to choose between other values")
        parts = []
        for k in range(len(x.shape.elements)):
            elements = [self._emit(_ELEMENT, (whole,), {"index": k}).instruction for whole in (x, y)]
            parts.append(self._emit(_SELECT, (condition, *elements)).instruction)
        return self._emit(_TUPLE, tuple(parts))

    def _pair(self, first: Any, second: Any, names: tuple[str, str]) -> tuple[Instruction, Instruction]:
        """Returns the instructions of two operands; numbers take the type of the other operand."""
        if isinstance(second, Op) and not isinstance(first, Op):
            y = self._operand(second, names[1])
            return self._operand(first, names[0], y.shape), y
        x = self._operand(first, names[0])
        return x, self._operand(second, names[1], x.shape)

    def round(self, operand: Operand) -> Op:
        """Rounds to the nearest integer, with ties away from zero.

        This is another name for `round_nearest_afz`. Raises BuilderError unless the operand has
        floating-point elements.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.round([0.5, 2.5, -2.5, 2.4])), [])
        array([ 1.,  3., -3.,  2.], dtype=float32)
        """
        return self._emit(_ROUND, (self._operand(operand, "operand"),))

    def convert_element_type(self, operand: Operand, new_element_type: str) -> Op:
        """Converts each value to another element type.

        A conversion from floats to integers truncates toward zero and saturates at the limits of
        the type; NaN becomes 0. A conversion to a narrower integer type keeps the low bits. Raises
        BuilderError for an unknown type, and for operands that are not arrays.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.convert_element_type([-1.9, 1.9, 300.0], "s8")), [])
        array([ -1,   1, 127], dtype=int8)
        """
        x = self._operand(operand, "operand")
        return self._emit(_CONVERT, (x,), None, self._retyped_shape(x.shape, new_element_type))

    def bitcast_convert_type(self, operand: Operand, new_element_type: str) -> Op:
        """Reinterprets the bits as elements of another type.

        A narrower type adds a new last dimension; a wider type removes the last dimension. Raises
        BuilderError if the bits do not fit, and for conversions between real and complex types.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> hlotool.evaluate(b.build(b.bitcast_convert_type([1.0, -2.0], "u32")), [])
        array([1065353216, 3221225472], dtype=uint32)
        >>> b = hlotool.Builder("demo")
        >>> b.bitcast_convert_type([1.0], "f16").dimensions, b.bitcast_convert_type([[1, 2]], "f64").dimensions
        ((1, 2), (1,))
        """
        x = self._operand(operand, "operand")
        # The verifier derives the dimensions from the type.
        target = self._retyped_shape(x.shape, new_element_type)
        return self._emit(_BITCAST_CONVERT, (x,), None, self._expected_shape(_BITCAST_CONVERT, (x,), {}, target))

    def stochastic_convert(self, operand: Operand, random: Operand, new_element_type: str) -> Op:
        """Converts floats to a narrower type, rounding up or down at random.

        `random` contains the random bits: unsigned integers with the operand's width and shape.
        Raises BuilderError for other operands.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> module = b.build(b.stochastic_convert([1.5, 1.5], b.constant([0, 2**32 - 1], "u32"), "s8"))
        >>> hlotool.evaluate(module, [])
        array([2, 1], dtype=int8)
        """
        x, bits = self._operand(operand, "operand"), self._operand(random, "random")
        return self._emit(_STOCHASTIC, (x, bits), None, self._retyped_shape(x.shape, new_element_type))

    def _retyped_shape(self, shape: Shape, element_type: str, argument: str = "new_element_type") -> Shape:
        """Returns an array shape with the same dimensions and another element type."""
        known = isinstance(element_type, str) and element_type in ELEMENT_TYPES and array_shape(element_type).is_array
        self._require(known, "S036", argument, f"'{element_type}' is not an element type", 'use a type such as "f32", "s32" or "pred"')
        self._require(shape.is_array, "T099", "operand", f"expected an array, got {shape.text_without_layout}")
        return array_shape(element_type, shape.dimensions, shape.dynamic)
