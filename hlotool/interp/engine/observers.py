"""Observers of a run, which are called for each instruction with its position in calls and loops.

An observer may end a run by raising Violation. It must not change values in place, but may replace
the value of an instruction with another one.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

from hlotool.interp.arrays.values import Value
from hlotool.interp.devices import Device, Wait
from hlotool.ir.model import Computation, Instruction

__all__ = ["Frame", "Observer", "Observers", "RunPosition"]


class Frame:
    """An instruction that is being computed, and the number of times it called each computation."""

    __slots__ = ("calls", "current", "instruction")

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        self.calls: dict[Computation, int] = {}
        self.current: Computation | None = None

    @property
    def iteration(self) -> int | None:
        """The current iteration of a loop (0-based); None for other instructions."""
        body = self.instruction.attributes.get("body")
        if self.instruction.opcode != "while" or not isinstance(body, Computation):
            return None
        started = self.calls.get(body, 0)
        # The condition runs before the body of the same iteration.
        return started - 1 if self.current is body and started else started


class RunPosition:
    """The current position of a device's run: the instructions being computed, outermost first.

    `device` is the number of the device, or None if there is only one.
    """

    def __init__(self, entry: Computation, device: int | None = None) -> None:
        self.entry = entry
        self.device = device
        self.frames: list[Frame] = []

    @property
    def computation(self) -> Computation:
        """The computation that contains the innermost instruction, even during a call."""
        for frame in reversed(self.frames[:-1]):
            if frame.current is not None:
                return frame.current
        return self.entry

    @property
    def iterations(self) -> tuple[int, ...]:
        """The 0-based iterations of the loops around the innermost instruction, outermost first."""
        return tuple([k for frame in self.frames[:-1] if (k := frame.iteration) is not None])

    def callers(self) -> list[str]:
        """Returns descriptions of the instructions around the innermost one, nearest first.

        An example of a description is `'while.5', iteration 3`.
        """
        callers = []
        for frame in reversed(self.frames[:-1]):
            k = frame.iteration
            callers.append(f"'{frame.instruction.name}'" + ("" if k is None else f", iteration {k}"))
        return callers


class Observer:
    """Base class of observers; each method does nothing unless a subclass overrides it.

    Compiled code calls only `reached`. If `needs_only_reached` is false for any observer, the
    slower reference executor runs the module, and calls the other methods.
    """

    needs_only_reached = False
    replaces = False

    def reached(self, instruction: Instruction) -> None:
        """Called by compiled code before it computes an instruction of the entry computation.

        For a loop in the entry computation, it is also called before each iteration.
        """

    def entered(self, where: RunPosition, computation: Computation, arguments: Sequence[Value]) -> None:
        """Called when a computation is called with these arguments."""

    def started(self, where: RunPosition, instruction: Instruction) -> None:
        """Called before an instruction is computed; the last of `where.frames` describes it."""

    def ended(self, where: RunPosition, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        """Called after an instruction has been computed.

        Operand 0 may have been overwritten with the value if nothing else reads that operand.
        """

    def replacement(self, where: RunPosition, instruction: Instruction, value: Value) -> Value:
        """Returns the value with which the run continues; only called if `replaces` is true.

        It must have the shape of `value`.
        """
        return value

    def suspended(self, where: RunPosition) -> None:
        """Called when the device starts to wait for other devices, which run in the meantime."""

    def resumed(self, where: RunPosition) -> None:
        """Called when the device continues."""


class Observers:
    """The observers of a device's run, called one after another, and their shared `where`.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[] parameter(0) ROOT r = f32[] negate(x) }")
    >>> class Names(Observer):
    ...     def ended(self, where, instruction, operands, value):
    ...         print(instruction.name, operands, value)
    >>> hlotool.evaluate(module, [1.0], observers=[Names()])
    r [array(1., dtype=float32)] -1.0
    array(-1., dtype=float32)
    """

    def __init__(self, entry: Computation, members: Sequence[Observer], device: Device) -> None:
        self.members = members
        self.replacing = [member for member in members if member.replaces]
        self.where = RunPosition(entry, device.number if device.grid.count > 1 else None)

    def on(self, device: Device) -> Observers:
        """Returns the same observers with a separate position for another device."""
        return Observers(self.where.entry, self.members, device)

    def wait(self, request: Wait) -> Generator[Wait, None, None]:
        """Yields the request to wait, and calls the observers when the wait begins and ends."""
        self.suspended()
        yield request
        self.resumed()

    def entered(self, computation: Computation, arguments: Sequence[Value]) -> None:
        if self.where.frames:
            frame = self.where.frames[-1]
            frame.current = computation
            frame.calls[computation] = frame.calls.get(computation, 0) + 1
        for member in self.members:
            member.entered(self.where, computation, arguments)

    def started(self, instruction: Instruction) -> None:
        self.where.frames.append(Frame(instruction))
        for member in self.members:
            member.started(self.where, instruction)

    def ended(self, instruction: Instruction, operands: Sequence[Value], value: Value) -> Value:
        """Calls the observers; returns the value with which the run continues."""
        for member in self.members:
            member.ended(self.where, instruction, operands, value)
        for member in self.replacing:
            value = member.replacement(self.where, instruction, value)
        self.where.frames.pop()
        return value

    def suspended(self) -> None:
        for member in self.members:
            member.suspended(self.where)

    def resumed(self) -> None:
        for member in self.members:
            member.resumed(self.where)
