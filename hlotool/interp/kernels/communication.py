"""Kernels of opcodes that order, mark or transfer values without changing them.

Values are sent to and received from the host or another device. Transfers to and from the host use
the queues in the run's options.
"""

from __future__ import annotations

from hlotool.analysis.transfers import PAIRS_ATTRIBUTE, pairs_in
from hlotool.errors import Violation
from hlotool.interp.arrays.values import Token, Value, checked_argument, own_arrays, zeros
from hlotool.interp.devices import Device, Wait
from hlotool.interp.kernels.base import Run, kernel, unchanged
from hlotool.opdefs.kinds import Bool, Int
from hlotool.shapes.shape import Shape

__all__: list[str] = []


@kernel("after-all", batch="same")
def after_all(*operands: Value) -> Value:
    return Token()


@kernel("add-dependency", batch="same")
def add_dependency(operand: Value, token: Value) -> Value:
    return operand


@kernel("copy-start")
def copy_start(operand: Value, *, result: Shape) -> Value:
    """Returns the destination, the source, and a context that nothing reads."""
    return operand, operand, *(zeros(shape) for shape in result.elements[2:])


@kernel("copy-done")
def copy_done(operand: Value) -> Value:
    return operand[0]


kernel("opt-barrier", "domain", batch="same")(unchanged)

# ---- the host -----------------------------------------------------------------------------------


@kernel("infeed")
def infeed(token: Value, *, device: Device, result: Shape) -> Value:
    data = result.elements[0]
    if data.is_tuple and not data.elements:
        return (), Token()
    if not device.queues.infeed:
        hint = "fill the queue with RunOptions(queues=HostQueues(infeed=[...]))"
        raise Violation("R004", "opcode", f"the infeed queue of device {device.number} is empty", hint)
    return checked_argument(device.queues.infeed.popleft(), data, "infeed"), Token()


@kernel("outfeed")
def outfeed(operand: Value, token: Value, *, device: Device, operand_shapes: tuple[Shape, ...]) -> Value:
    device.queues.outfeed.append(own_arrays(operand, operand_shapes[0]))
    return Token()


# ---- channels ----------------------------------------------------------------------------------


class _Arrival(Token):
    """The token that a recv returns, with a description of what its recv-done waits for.

    If `has_source` is false, there is nothing to receive.
    """

    __slots__ = ("channel", "from_host", "has_source")

    def __init__(self, channel: int, *, from_host: bool, has_source: bool) -> None:
        self.channel = channel
        self.from_host = from_host
        self.has_source = has_source


def _neighbors(device: Device, attributes: dict[str, str]) -> tuple[list[int], list[int]]:
    """Returns the numbers of the devices to which this one sends, and from which it receives.

    If there are no pairs, the device sends to itself. As in collective-permute, the ids in pairs
    denote partitions if there are several partitions, and replicas otherwise.
    """
    if PAIRS_ATTRIBUTE not in attributes:
        return [device.number], [device.number]
    pairs = pairs_in(attributes[PAIRS_ATTRIBUTE])
    grid = device.grid
    own, first, step = (device.partition, device.replica * grid.partitions, 1) if grid.partitions > 1 else (device.replica, device.partition, 1)
    sends = [first + target * step for source, target in pairs if source == own]
    return sends, [first + source * step for source, target in pairs if target == own]


@kernel("send")
def send(
    operand: Value,
    token: Value,
    *,
    channel_id: Int | None,
    is_host_transfer: Bool,
    frontend_attributes: dict[str, str],
    device: Device,
    operand_shapes: tuple[Shape, ...],
    result: Shape,
) -> Value:
    """Puts the value into the channel without waiting for the receiver."""
    channel = channel_id or 0
    if is_host_transfer:
        device.queues.sent.setdefault(channel, []).append(own_arrays(operand, operand_shapes[0]))
    else:
        for receiver in _neighbors(device, frontend_attributes)[0]:
            device.mailbox(channel, receiver).append(operand)
    return operand, zeros(result.elements[1]), Token()


@kernel("send-done")
def send_done(sent: Value) -> Value:
    return Token()


@kernel("recv")
def recv(
    token: Value, *, channel_id: Int | None, is_host_transfer: Bool, frontend_attributes: dict[str, str], device: Device, result: Shape
) -> Value:
    """Returns zeros, and a token that describes what recv-done waits for."""
    has_source = bool(_neighbors(device, frontend_attributes)[1])
    arrival = _Arrival(channel_id or 0, from_host=is_host_transfer, has_source=has_source)
    return zeros(result.elements[0]), zeros(result.elements[1]), arrival


@kernel("recv-done")
def recv_done(received: Value, *, device: Device, result: Shape) -> Run:
    data, _, arrival = received
    if not isinstance(arrival, _Arrival):
        raise Violation("R004", "operand 0", "'recv-done' must follow a 'recv'")
    if arrival.from_host:
        queue = device.queues.received.get(arrival.channel)
        if not queue:
            hint = f"fill the queue with RunOptions(queues=HostQueues(received={{{arrival.channel}: [...]}}))"
            raise Violation("R004", "opcode", f"the queue from the host to device {device.number} over channel {arrival.channel} is empty", hint)
        return checked_argument(queue.popleft(), result.elements[0], "recv"), Token()
    if not arrival.has_source:
        return data, Token()
    mail = device.mailbox(arrival.channel, device.number)
    if not mail:
        yield Wait(lambda: bool(mail), list)
    return mail.popleft(), Token()
