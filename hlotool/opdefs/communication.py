"""Opcodes that communicate with hosts or devices, copy between memories, or order instructions."""

from __future__ import annotations

from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.base import Verify, op, require
from hlotool.opdefs.constraints import difference, same_order, same_shape
from hlotool.opdefs.inference import new_tuple, require_written_shape
from hlotool.opdefs.kinds import Always, Bool, Domain, Int, ShapeValue, Text
from hlotool.opdefs.modes import VerifyModes
from hlotool.opdefs.traits import (
    COMMUNICATES,
    EFFECT,
    FORWARDS,
    FREE,
    HOST_QUEUE,
    IDENTITY,
    LAYOUT_KEPT,
    MIXED_PRECISION,
    NONDETERMINISTIC,
    ORDER_KEPT,
    PRECISION_KEPT,
    STRUCTURAL,
    TRANSFER,
    VIEW,
)
from hlotool.record import replace
from hlotool.shapes.shape import TOKEN, Shape, array_shape, compatible, tuple_shape

__all__ = [
    "add_dependency",
    "after_all",
    "copy_done",
    "copy_start",
    "domain",
    "infeed",
    "opt_barrier",
    "outfeed",
    "recv",
    "recv_done",
    "send",
    "send_done",
]


def _require_tokens(*positions: int) -> Verify:
    """Returns the constraint that the operands with these numbers are tokens."""

    def verify(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
        for k in positions:
            is_token = operands[k].element_type == "token"
            require(is_token, "T078", f"operand {k}", f"operand {k} must be token[], got {operands[k].text_without_layout}")

    return verify


@op(shape_ignored=True, traits=(STRUCTURAL, FREE))
def after_all(*operands: Shape) -> Shape:
    """Returns a token that is ready once all operands (tokens or other values) are ready.

    t = token[] after-all(token[] a, token[] b)
    """
    return TOKEN


@op(shape_ignored=True, verify=_require_tokens(1), traits=(MIXED_PRECISION, FREE, VIEW, IDENTITY, ORDER_KEPT))
def add_dependency(operand: Shape, token: Shape) -> Shape:
    """Returns the operand once the token is ready.

    r = f32[4] add-dependency(f32[4] x, token[] t)
    """
    return operand


def _in_flight(buffer: Shape, at: str, opcode: str) -> Shape:
    return new_tuple((buffer, array_shape("u32"), TOKEN), at, opcode)


@op(infers=False, shape_ignored=True, result_code="A020", traits=(MIXED_PRECISION, EFFECT, TRANSFER), operands_index=0)
def send(operand: Shape, token: Shape, *, channel_id: Int | None = None, is_host_transfer: Bool = False) -> Shape:
    """Starts sending the operand through a channel; returns the operand, a context and a token.

    s = (f32[4], u32[], token[]) send(f32[4] x, token[] t), channel_id=1
    """
    return _in_flight(operand, "operand 0", "send")


@op(infers=False, shape_ignored=True, traits=(EFFECT, COMMUNICATES), done_of="send")
def send_done(operand: Shape, *, channel_id: Int | None = None, is_host_transfer: Bool = False) -> Shape:
    """Waits until a send has finished.

    t = token[] send-done((f32[4], u32[], token[]) s), channel_id=1
    """
    return TOKEN


def _recv_rule(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> Shape | None:
    """Derives the shape from element 0 of the written shape, as XLA does."""
    if result is None:
        return None
    if not (result.is_tuple and result.elements):
        raise Violation("A021", "shape", f"'recv' returns (data, u32[], token[]), but {result.text_without_layout} is written")
    return _in_flight(result.elements[0], "shape", "recv")


def _verify_recv(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape | None:
    _require_tokens(0)(result, operands, attributes, modes)
    return _recv_rule(result, operands, attributes)


@op(infers=False, check_parsed=_recv_rule, verify=_verify_recv, result_code="A021", traits=(EFFECT, NONDETERMINISTIC, TRANSFER))
def recv(token: Shape, *, channel_id: Int | None = None, is_host_transfer: Bool = False) -> Shape:
    """Starts receiving from a channel; returns the data, a context and a token.

    s = (f32[4], u32[], token[]) recv(token[] t), channel_id=1
    """
    require_written_shape("recv")


@op(infers=False, shape_ignored=True, result_code="A021", traits=(EFFECT, NONDETERMINISTIC, COMMUNICATES), done_of="recv", returned_index=0)
def recv_done(operand: Shape, *, channel_id: Int | None = None, is_host_transfer: Bool = False) -> Shape:
    """Waits until a recv has finished, and returns the data received.

    r = (f32[4], token[]) recv-done((f32[4], u32[], token[]) s), channel_id=1
    """
    if not (operand.is_tuple and operand.elements):
        raise Violation("A037", "operand 0", f"operand 0 must be (data, u32[], token[]), got {operand.text_without_layout}")
    return new_tuple((operand.elements[0], TOKEN), "operand 0", "recv-done")


def _infeed_rule(result: Shape | None, operands: tuple[Shape, ...], attributes: dict[str, Any]) -> Shape | None:
    """Derives the shape from element 0 of the written shape and adds the token, as XLA does."""
    if result is None:
        return None
    if not (result.is_tuple and result.elements):
        raise Violation("T079", "shape", f"'infeed' returns (data, token[]), but {result.text_without_layout} is written")
    return new_tuple((result.elements[0], TOKEN), "shape", "infeed")


@op(infers=False, check_parsed=_infeed_rule, verify=_require_tokens(0), result_code="T079", traits=(EFFECT, NONDETERMINISTIC, HOST_QUEUE))
def infeed(token: Shape, *, infeed_config: Text = "") -> Shape:
    """Takes an item from the queue that the host fills.

    r = (f32[4], token[]) infeed(token[] t)
    """
    require_written_shape("infeed")


def _verify_outfeed(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> None:
    _require_tokens(1)(result, operands, attributes, modes)
    outfeed_shape = attributes["outfeed_shape"]
    if outfeed_shape is None:
        return
    where, actual, written = difference(operands[0], outfeed_shape)
    message = f"{where}outfeed_shape is {written}, but {where}the operand is {actual}"
    require(same_shape(operands[0], outfeed_shape, modes), "T080", "outfeed_shape value", message)


@op(
    infers=False,
    shape_ignored=True,
    verify=_verify_outfeed,
    traits=(MIXED_PRECISION, EFFECT, HOST_QUEUE),
    operand_defaults={"outfeed_shape": lambda operands: operands[0]},
)
def outfeed(operand: Shape, token: Shape, *, outfeed_shape: Always[ShapeValue | None] = None, outfeed_config: Text = "") -> Shape:
    """Appends the operand to the queue that the host reads.

    The default of outfeed_shape is the operand's shape.

        t = token[] outfeed(f32[4] x, token[] t), outfeed_shape=f32[4]
    """
    return TOKEN


def _verify_copy_start(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    """Returns the required result: the destination, the source and a context.

    Only the destination may be in another memory space.
    """
    for k, element in enumerate(result.elements[:2]):
        if compatible(element, operands[0]) and not same_order(element, operands[0], modes):
            which = ("destination", "source")[k]
            message = f"{which} {element.text} must have the layout of the operand, {operands[0].text}"
            raise Violation("L026", f"shape[{k}][layout]", message, "use a synchronous copy to change the order of dimensions")
    return tuple_shape((operands[0], operands[0], array_shape("u32")))


@op(infers=False, verify=_verify_copy_start, result_code="A018", traits=(MIXED_PRECISION, PRECISION_KEPT), start_of="copy", operands_index=1)
def copy_start(operand: Shape, *, cross_program_prefetch_index: Int | None = None) -> Shape:
    """Starts copying the operand, usually to another memory space.

    Returns the destination, the source and a context.

        s = (f32[4]{0:S(1)}, f32[4]{0}, u32[]) copy-start(f32[4] x)
    """
    require_written_shape("copy-start")


def _verify_copy_done(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape | None:
    # The rules for start/done pairs report a copy-done whose operand is not a copy-start.
    if not operands[0].elements:
        return None
    destination, *rest = operands[0].elements
    if modes.layout_sensitive and rest and destination.layout is not None and rest[0].layout is not None:
        target, source = destination.layout, rest[0].layout
        # A different dimension order is reported at the start.
        same = target.minor_to_major != source.minor_to_major or target == replace(
            source, memory_space=target.memory_space, split_configs=target.split_configs
        )
        require(
            same,
            "L026",
            "operand 0",
            f"the destination is {destination.text}, but the source is {rest[0].text}",
            "an asynchronous copy moves bytes unchanged",
        )
    # A copy-done moves no data, so even the memory space must be the same as at the start.
    differs = result != destination if modes.layout_sensitive else not same_shape(result, destination, modes)
    if compatible(result, destination) and differs:
        raise Violation("L026", "shape[layout]", f"the destination is {destination.text}, but {result.text} is written")
    return destination


@op(infers=False, verify=_verify_copy_done, result_code="A019", traits=(MIXED_PRECISION,), done_of="copy-start", returned_index=0)
def copy_done(operand: Shape) -> Shape:
    """Waits until a copy has finished, and returns the destination.

    r = f32[4]{0:S(1)} copy-done((f32[4]{0:S(1)}, f32[4]{0}, u32[]) s)
    """
    require_written_shape("copy-done")


def _returns_operand(result: Shape, operands: tuple[Shape, ...], attributes: dict[str, Any], modes: VerifyModes) -> Shape:
    return operands[0]


@op(infers=False, verify=_returns_operand, result_code="T081", traits=(MIXED_PRECISION, LAYOUT_KEPT, FREE, VIEW, IDENTITY, FORWARDS))
def opt_barrier(operand: Shape) -> Shape:
    """Returns the operand; compilers must not move instructions across it.

    r = (f32[4], s32[]) opt-barrier((f32[4], s32[]) x)
    """
    require_written_shape("opt-barrier")


@op("domain", result_code="T081", traits=(MIXED_PRECISION, FREE, VIEW, IDENTITY))
def domain(operand: Shape, *, domain: Domain) -> Shape:
    """Returns the operand, and marks the boundary between two shardings.

    r = f32[4] domain(f32[4] x), domain={kind="sharding", entry={maximal device=0}, exit={maximal
    device=1}}
    """
    return operand
