"""Asynchronous calls, which XLA's documentation describes as instructions found in dumps."""

from __future__ import annotations

from collections.abc import Iterable

from hlotool.builder.arguments import Called, Operand, Operands
from hlotool.builder.computations import ComputationMethods
from hlotool.builder.op import Op
from hlotool.builder.texts import ShapeLike
from hlotool.ir.model import Instruction
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.shapes.shape import Shape, array_shape, tuple_shape
from hlotool.text.parse.async_ops import annotate_root, annotate_wrapped

__all__ = ["AsyncMethods"]

_ASYNC_DONE, _ASYNC_START, _ASYNC_UPDATE = OPS["async-done"], OPS["async-start"], OPS["async-update"]


class AsyncMethods(ComputationMethods):
    """Asynchronous calls."""

    def async_start(self, operands: Operands, calls: Called, shape: ShapeLike | None = None, async_execution_thread: str = "main") -> Op:
        """Starts a computation asynchronously, and returns ((operands), result, context).

        `shape` overrides the shape of this tuple. Raises BuilderError unless the operands have the
        shapes of the computation's first parameters; `async_update` passes the remaining operands.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> start = b.async_start([b.constant(1.0)], lambda x: -x, async_execution_thread="other")
        >>> start
        <op async-start = ((f32[]), f32[], u32[]) async-start>
        >>> hlotool.evaluate(b.build(b.async_done(start)), [])
        array(-1., dtype=float32)
        """
        parts = self._operands(operands, "operands")
        called = self._callee(calls, [x.shape for x in parts], "calls")
        thread = self._instance(async_execution_thread, str, "async_execution_thread")
        result = tuple_shape((tuple_shape(x.shape for x in parts), called.root.shape, array_shape("u32"))) if shape is None else self._shape(shape)
        op = self._emit(_ASYNC_START, parts, {"async_execution_thread": thread, "calls": called}, result)
        self._annotate_wrapped(op.instruction)
        return op

    def _annotate_wrapped(self, x: Instruction) -> None:
        """Moves the computation that an async-start runs to the thread of that operation.

        Also copies the annotations of the async-start to the root of the computation, as XLA does.
        """
        annotate_wrapped(self._state.module.notes, x.attributes, x.metadata_text, None)

    def async_update(self, previous: Operand, operands: Operands = (), shape: ShapeLike | None = None) -> Op:
        """Continues an asynchronous call, and passes more operands to it.

        The new operands are passed to the first parameters that do not have an operand yet. Unless
        `shape` is given, the result has the shape of `previous`, extended with the new operands.
        Raises BuilderError unless `previous` is a start or an update.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> with b.computation("f") as f:
        ...     product = f.parameter(0, "s32[]") * f.parameter(1, "s32[]")
        >>> start = b.async_start([b.constant(3)], f)
        >>> hlotool.evaluate(b.build(b.async_done(b.async_update(start, [b.constant(4)]))), [])
        array(12, dtype=int32)
        """
        x = self._operand(previous, "previous")
        parts = self._operands(operands, "operands")
        if shape is not None:
            return self._continue(_ASYNC_UPDATE, (x, *parts), self._shape(shape))
        return self._continue(_ASYNC_UPDATE, (x, *parts), _extended_shape(x.shape, parts))

    def async_done(self, previous: Operand) -> Op:
        """Waits for an asynchronous call, and returns its result.

        Raises BuilderError unless `previous` is a start or an update.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> start = b.async_start([b.constant([1, 2]), b.constant([3, 4])], lambda x, y: x + y)
        >>> hlotool.evaluate(b.build(b.async_done(start)), [])
        array([4, 6], dtype=int32)
        """
        return self._continue(_ASYNC_DONE, (self._operand(previous, "previous"),))

    def _continue(self, op: OpDef, operands: tuple[Instruction, ...], shape: Shape | None = None) -> Op:
        called = self._continued_call(operands[0], "previous")
        result = self._emit(op, operands, {"calls": called}, shape)
        annotate_root(self._state.module.notes, called, result.instruction.attributes, result.instruction.metadata_text, None)
        return result


def _extended_shape(in_flight: Shape, operands: Iterable[Instruction]) -> Shape:
    """Returns the shape of an asynchronous operation after an update passes more operands."""
    if not (in_flight.is_tuple and in_flight.elements):
        return in_flight
    bound = tuple_shape((*in_flight.elements[0].elements, *(x.shape for x in operands)))
    return tuple_shape((bound, *in_flight.elements[1:]))
