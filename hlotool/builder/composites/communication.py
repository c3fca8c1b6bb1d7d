"""Tokens, custom calls, and communication with hosts and between programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hlotool.builder.arguments import Operand, Operands
from hlotool.builder.composites.collective_reductions import CollectiveReductionMethods
from hlotool.builder.op import Op
from hlotool.builder.texts import ShapeLike
from hlotool.ir.model import Instruction, set_field
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.table import OPS
from hlotool.shapes.shape import TOKEN, array_shape, tuple_shape
from hlotool.text.parse.attributes import backend_config_text

__all__ = ["CommunicationMethods"]

_AFTER_ALL, _CUSTOM_CALL, _ELEMENT, _INFEED, _OUTFEED = (
    OPS["after-all"],
    OPS["custom-call"],
    OPS["get-tuple-element"],
    OPS["infeed"],
    OPS["outfeed"],
)
_RECV, _RECV_DONE, _SEND, _SEND_DONE = OPS["recv"], OPS["recv-done"], OPS["send"], OPS["send-done"]


class CommunicationMethods(CollectiveReductionMethods):
    """Communication with hosts and between programs.

    Infeeds without a token run in the order in which they are added, and so do outfeeds. Sends and
    recvs without a token are not ordered. A `handle` is the number of a channel, which connects a
    send and a recv.
    """

    def after_all(self, tokens: Operands = ()) -> Op:
        """Returns a token that comes after all given tokens, or a new token if none is given.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> token = b.after_all([b.outfeed(1.0), b.outfeed(2.0)])
        >>> token
        <op after-all.1 = token[] after-all>
        >>> hlotool.evaluate(b.build(token), [])
        Token()
        """
        parts = self._operands(tokens, "tokens")
        for x in parts:
            self._require(x.shape == TOKEN, "T078", "tokens", f"expected tokens, got {x.shape.text_without_layout}")
        return self._emit(_AFTER_ALL, parts)

    def _last_token(self, opcode: str) -> Instruction:
        """Returns the token of the computation's last operation with this opcode, or a new one."""
        last = self._innermost()._tokens.get(opcode)
        return self._emit(_AFTER_ALL, ()).instruction if last is None else last

    # ---- the host's queues ----------------------------------------------------------------------

    def infeed(self, shape: ShapeLike, config: str = "") -> Op:
        """Takes an item of this shape from the queue that the host fills.

        Raises BuilderError for nested tuples.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> module = b.build(b.infeed("f32[2]") + b.infeed("f32[2]"))
        >>> queues = hlotool.HostQueues(infeed=[[1.0, 2.0], [10.0, 20.0]])
        >>> hlotool.evaluate(module, [], options=hlotool.RunOptions(queues=queues))
        array([11., 22.], dtype=float32)
        """
        item = self.infeed_with_token(Op(self._innermost(), self._last_token("infeed")), shape, config)
        self._innermost()._tokens["infeed"] = item[1].instruction
        return item[0]

    def infeed_with_token(self, token: Operand, shape: ShapeLike, config: str = "") -> Op:
        """Does the same as `infeed`, but runs after `token` and returns (data, token).

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> queues = hlotool.HostQueues(infeed=[[1.0, 2.0]])
        >>> module = b.build(b.infeed_with_token(b.after_all(), "f32[2]"))
        >>> hlotool.evaluate(module, [], options=hlotool.RunOptions(queues=queues))
        (array([1., 2.], dtype=float32), Token())
        """
        data = self._shape(shape)
        flat = not any(element.is_tuple for element in data.elements)
        self._require(flat, "T079", "shape", f"tuples of an infeed cannot be nested, got {data.text_without_layout}")
        return self._emit(
            _INFEED, (self._operand(token, "token"),), {"infeed_config": self._instance(config, str, "config")}, tuple_shape((data, TOKEN))
        )

    def outfeed(self, operand: Operand, shape_with_layout: ShapeLike | None = None, outfeed_config: str = "") -> Op:
        """Appends the operand to the queue that the host reads, and returns a token.

        Raises BuilderError if `shape_with_layout` does not match the operand.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> queues = hlotool.HostQueues()
        >>> module = b.build(b.outfeed([1.0, 2.0], "f32[2]"))
        >>> hlotool.evaluate(module, [], options=hlotool.RunOptions(queues=queues)), queues.outfeed
        (Token(), [array([1., 2.], dtype=float32)])
        """
        token = self.outfeed_with_token(operand, Op(self._innermost(), self._last_token("outfeed")), shape_with_layout, outfeed_config)
        self._innermost()._tokens["outfeed"] = token.instruction
        return token

    def outfeed_with_token(self, operand: Operand, token: Operand, shape_with_layout: ShapeLike | None = None, outfeed_config: str = "") -> Op:
        """Does the same as `outfeed`, but runs after `token`.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> b.outfeed_with_token(1.0, b.after_all())
        <op outfeed = token[] outfeed>
        """
        x = self._operand(operand, "operand")
        shape = x.shape if shape_with_layout is None else self._shape(shape_with_layout, "shape_with_layout")
        return self._emit(
            _OUTFEED,
            (x, self._operand(token, "token")),
            {"outfeed_shape": shape, "outfeed_config": self._instance(outfeed_config, str, "outfeed_config")},
        )

    # ---- channels -------------------------------------------------------------------------------

    def send(self, operand: Operand, handle: int) -> Op:
        """Sends the operand through a channel, waits until it is sent, and returns a token.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> sent = b.send([1.0, 2.0], 1)
        >>> hlotool.evaluate(b.build([sent, b.recv("f32[2]", 1)]), [])
        (Token(), array([1., 2.], dtype=float32))
        """
        return self.send_with_token(operand, Op(self._innermost(), self._emit(_AFTER_ALL, ()).instruction), handle)

    def send_with_token(self, operand: Operand, token: Operand, handle: int) -> Op:
        """Does the same as `send`, but runs after `token`.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> token = b.send_with_token([1.0, 2.0], b.after_all(), 1)
        >>> hlotool.evaluate(b.build(b.recv_with_token(token, "f32[2]", 1)[0]), [])
        array([1., 2.], dtype=float32)
        """
        return self.send_done(self.send_start(operand, token, handle))

    def send_to_host(self, operand: Operand, token: Operand, shape_with_layout: ShapeLike, handle: int) -> Op:
        """Does the same as `send_with_token`, but sends to the host.

        `shape_with_layout` is the operand's shape. Raises BuilderError for any other shape.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> queues = hlotool.HostQueues()
        >>> module = b.build(b.send_to_host([1.0, 2.0], b.after_all(), "f32[2]", 1))
        >>> hlotool.evaluate(module, [], options=hlotool.RunOptions(queues=queues)), queues.sent
        (Token(), {1: [array([1., 2.], dtype=float32)]})
        """
        x, shape = self._operand(operand, "operand"), self._shape(shape_with_layout, "shape_with_layout")
        same = x.shape.text_without_layout == shape.text_without_layout
        texts = f"{x.shape.text_without_layout}, not {shape.text_without_layout}"
        self._require(same, "A020", "shape_with_layout", f"the operand is {texts}")
        return self.send_done(self.send_start(Op(self._innermost(), x), token, handle, is_host_transfer=True))

    def send_start(self, operand: Operand, token: Operand, handle: int, *, is_host_transfer: bool = False) -> Op:
        """Starts a send, as HLO's `send` does, and returns (data, u32, token).

        In XLA's documentation, this is `Send(HloInstruction operand, int64 channel_id)`.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> start = b.send_start(1.0, b.after_all(), 1)
        >>> start, b.send_done(start)
        (<op send = (f32[], u32[], token[]) send>, <op send-done = token[] send-done>)
        """
        operands = (self._operand(operand, "operand"), self._operand(token, "token"))
        return self._emit(_SEND, operands, {"channel_id": self._integer(handle, "handle"), "is_host_transfer": bool(is_host_transfer)})

    def send_done(self, context: Operand) -> Op:
        """Waits for the end of the send that returned `context`, and returns a token.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> queues = hlotool.HostQueues()
        >>> start = b.send_start([1.0, 2.0], b.after_all(), 1, is_host_transfer=True)
        >>> hlotool.evaluate(b.build(b.send_done(start)), [], options=hlotool.RunOptions(queues=queues)), queues.sent
        (Token(), {1: [array([1., 2.], dtype=float32)]})
        """
        return self._done(_SEND_DONE, context, _SEND)

    def recv(self, shape: ShapeLike, handle: int) -> Op:
        """Receives data of this shape from a channel.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> sent = b.send([1.0, 2.0], 1)
        >>> hlotool.evaluate(b.build(b.recv("f32[2]", 1)), [])
        array([1., 2.], dtype=float32)
        """
        return self.recv_with_token(Op(self._innermost(), self._emit(_AFTER_ALL, ()).instruction), shape, handle)[0]

    def recv_with_token(self, token: Operand, shape: ShapeLike, handle: int) -> Op:
        """Does the same as `recv`, but runs after `token` and returns (data, token).

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> token = b.send([1.0, 2.0], 1)
        >>> hlotool.evaluate(b.build(b.recv_with_token(token, "f32[2]", 1)), [])
        (array([1., 2.], dtype=float32), Token())
        """
        return self.recv_done(self.recv_start(token, shape, handle))

    def recv_from_host(self, token: Operand, shape: ShapeLike, handle: int) -> Op:
        """Does the same as `recv_with_token`, but receives from the host.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> queues = hlotool.HostQueues(received={1: [[1.0, 2.0]]})
        >>> module = b.build(b.recv_from_host(b.after_all(), "f32[2]", 1))
        >>> hlotool.evaluate(module, [], options=hlotool.RunOptions(queues=queues))
        (array([1., 2.], dtype=float32), Token())
        """
        return self.recv_done(self.recv_start(token, shape, handle, is_host_transfer=True))

    def recv_start(self, token: Operand, shape: ShapeLike, handle: int, *, is_host_transfer: bool = False) -> Op:
        """Starts a receive, as HLO's `recv` does, and returns (data, u32, token).

        In XLA's documentation, this is `Recv(const Shape& shape, int64 channel_id)`.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> start = b.recv_start(b.after_all(), "f32[4]", 1)
        >>> start, b.recv_done(start)
        (<op recv = (f32[4], u32[], token[]) recv>, <op recv-done = (f32[4], token[]) recv-done>)
        """
        result = tuple_shape((self._shape(shape), array_shape("u32"), TOKEN))
        attributes = {"channel_id": self._integer(handle, "handle"), "is_host_transfer": bool(is_host_transfer)}
        return self._emit(_RECV, (self._operand(token, "token"),), attributes, result)

    def recv_done(self, context: Operand) -> Op:
        """Waits for the end of the receive that returned `context`, and returns (data, token).

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> queues = hlotool.HostQueues(received={1: [[1.0, 2.0]]})
        >>> start = b.recv_start(b.after_all(), "f32[2]", 1, is_host_transfer=True)
        >>> hlotool.evaluate(b.build(b.recv_done(start)), [], options=hlotool.RunOptions(queues=queues))
        (array([1., 2.], dtype=float32), Token())
        """
        return self._done(_RECV_DONE, context, _RECV)

    def _done(self, op: OpDef, context: Operand, start: OpDef) -> Op:
        x = self._operand(context, "context")
        self._require(x.op is start, "A037", "context", f"expected the result of '{start.name}', got that of '{x.op.name}'")
        names = ("channel_id", "is_host_transfer")
        return self._emit(op, (x,), {name: x.attributes[name] for name in names if name in x.attributes})

    # ---- functions outside of HLO ---------------------------------------------------------------

    def custom_call(
        self,
        target_name: str,
        operands: Operands,
        shape: ShapeLike,
        opaque: str | None = None,
        *,
        has_side_effect: bool = False,
        attributes: Mapping[str, Any] | None = None,
    ) -> Op:
        """Calls a function that is not part of HLO, by its name.

        `opaque` is the configuration of the function, which HLO text calls `backend_config`.
        `attributes` contains other attributes of HLO's custom-call. Raises BuilderError for
        attributes that custom-call does not have.

        >>> import hlotool
        >>> b = hlotool.Builder("demo")
        >>> module = b.build(b.custom_call("outer", [b.constant([1.0, 2.0]), b.constant([3.0, 4.0])], "f32[2,2]"))
        >>> options = hlotool.RunOptions(custom_calls={"outer": lambda x, y: x[:, None] * y})
        >>> hlotool.evaluate(module, [], options=options)
        array([[3., 4.],
               [6., 8.]], dtype=float32)
        """
        values = {"custom_call_target": target_name, "custom_call_has_side_effect": bool(has_side_effect), **self._attributes(attributes)}
        configuration = None if opaque is None else backend_config_text(self._instance(opaque, str, "opaque"))
        op = self.instruction(_CUSTOM_CALL.name, operands, shape, values)
        if configuration is not None:
            self._configure(op.instruction, configuration)
        return op

    def _configure(self, x: Instruction, backend_config: str | None) -> None:
        position = self._innermost()._position
        if position is None:
            set_field(x, "backend_config", backend_config)
        else:
            position[0].update(x, backend_config=backend_config)
