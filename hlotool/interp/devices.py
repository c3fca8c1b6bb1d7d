"""The devices of a run: their numbers, their states, and the values that they exchange.

`interp.lockstep` decides the order in which devices run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Mapping, Sequence
from typing import Any

from hlotool.interp.arrays.values import Value
from hlotool.interp.queues import HostQueues
from hlotool.record import Record

__all__ = ["Device", "DeviceGrid", "InstructionState", "Wait", "exchange"]


class Wait(Record):
    """A kernel's request to wait until other devices have made progress.

    `ready` returns whether the kernel can continue. `missing` returns the numbers of the devices
    that the kernel waits for, or an empty list if any device could end the wait.
    """

    ready: Callable[[], bool]
    missing: Callable[[], list[int]]


class Rendezvous:
    """One execution of a collective by a group, with the values of members that have arrived."""

    __slots__ = ("members", "values")

    def __init__(self, members: tuple[int, ...]) -> None:
        self.members = members
        self.values: dict[int, Value] = {}

    def missing(self) -> list[int]:
        return [member for member in self.members if member not in self.values]

    def is_complete(self) -> bool:
        return len(self.values) == len(self.members)


class InstructionState:
    """The state of one instruction on one device between executions.

    The state consists of a `number`, which is unique on the device, and a `counter`.
    """

    __slots__ = ("counter", "number")

    def __init__(self, number: int, counter: int) -> None:
        self.number = number
        self.counter = counter


class DeviceGrid:
    """All devices of a run, `replicas * partitions` in total, numbered replica by replica.

    `meshes` maps names to grids of partitions, for calls that split arrays
    (`kernels.libraries.partitions`).

    >>> grid = DeviceGrid(2, 3)
    >>> (grid.devices[4].replica, grid.devices[4].partition)
    (1, 1)
    """

    def __init__(self, replicas: int = 1, partitions: int = 1, queues: Sequence[HostQueues] = (), meshes: Mapping[str, Any] | None = None) -> None:
        self.replicas = replicas
        self.partitions = partitions
        self.meshes = meshes or {}
        self.open_rendezvous: dict[tuple[Hashable, tuple[int, ...]], Rendezvous] = {}
        # Values that have been sent but not yet received, by channel and receiver.
        self.mail: dict[tuple[int, int], deque[Value]] = {}
        queues = list(queues)
        self.devices = [Device(self, k, queues[k] if k < len(queues) else HostQueues()) for k in range(replicas * partitions)]

    @property
    def count(self) -> int:
        return len(self.devices)


class Device:
    """One device of a run.

    A device has a `number`, a `replica` and a `partition`, the `queues` to its host, and the states
    of its instructions.
    """

    __slots__ = ("grid", "instruction_states", "number", "partition", "queues", "replica")

    def __init__(self, grid: DeviceGrid, number: int, queues: HostQueues) -> None:
        self.grid = grid
        self.number = number
        self.replica, self.partition = divmod(number, grid.partitions)
        self.queues = queues
        self.instruction_states: dict[Hashable, InstructionState] = {}

    def state_of(self, instruction_key: Hashable, counter: int = 0) -> InstructionState:
        """Returns the state of an instruction.

        If there is no state yet, creates one whose counter starts at `counter`.
        """
        return self.instruction_states.setdefault(instruction_key, InstructionState(len(self.instruction_states), counter))

    def mailbox(self, channel: int, receiver: int) -> deque[Value]:
        """Returns the values sent to device number `receiver` over a channel, oldest first."""
        return self.grid.mail.setdefault((channel, receiver), deque())


def exchange(device: Device, instruction_key: Hashable, members: tuple[int, ...], value: Value) -> Generator[Wait, Any, list[Value]]:
    """Exchanges values within a group, and returns the values of all members in order.

    `members` lists the numbers of the devices in the group, including this one, and `value` is the
    value of this device. The device is suspended until all members have arrived at the same
    `instruction_key` with the same `members`.

    >>> device = DeviceGrid().devices[0]
    >>> run = exchange(device, "here", (0,), 7)
    >>> try:
    ...     next(run)
    ... except StopIteration as end:
    ...     print(end.value)
    [7]
    """
    open_rendezvous = device.grid.open_rendezvous
    rendezvous = open_rendezvous.setdefault((instruction_key, members), Rendezvous(members))
    rendezvous.values[device.number] = value
    if rendezvous.is_complete():
        # The next execution of this instruction starts a new rendezvous.
        del open_rendezvous[instruction_key, members]
    else:
        yield Wait(rendezvous.is_complete, rendezvous.missing)
    return [rendezvous.values[member] for member in members]
