"""Watching a run: what the evaluator tells of each instruction, and where in nested calls and loops it stands.

Observers look and may stop a run by raising Violation; they never change a value.
"""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.interp.values import Value
from hlotool.ir.model import Computation, Instruction

__all__ = ["Frame", "Observer", "Observers", "Whereabouts"]


class Frame:
    """An instruction that is being computed, and how often it has run each of its computations so far."""

    __slots__ = ("calls", "current", "instruction")

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        self.calls: dict[Computation, int] = {}
        self.current: Computation | None = None

    @property
    def round(self) -> int | None:
        """The number of the round, from 0, that a loop is in; None for everything else."""
        body = self.instruction.attributes.get("body")
        if self.instruction.opcode != "while" or not isinstance(body, Computation):
            return None
        done = self.calls.get(body, 0)
        # The condition stands before its round.
        return done - 1 if self.current is body and done else done


class Whereabouts:
    """Where a run stands: the instructions that are being computed, from the outermost on."""

    def __init__(self, entry: Computation) -> None:
        self.entry = entry
        self.frames: list[Frame] = []

    @property
    def computation(self) -> Computation:
        """The computation that the innermost instruction belongs to, while that instruction runs nothing itself."""
        for frame in reversed(self.frames[:-1]):
            if frame.current is not None:
                return frame.current
        return self.entry

    @property
    def rounds(self) -> tuple[int, ...]:
        """The rounds of the loops around the innermost instruction, outermost first."""
        return tuple([k for frame in self.frames[:-1] if (k := frame.round) is not None])

    def callers(self) -> list[str]:
        """The instructions around the innermost one, from the nearest on: `while.5, round 3`."""
        found = []
        for frame in reversed(self.frames[:-1]):
            k = frame.round
            found.append(f"'{frame.instruction.name}'" + ("" if k is None else f", round {k}"))
        return found


class Observer:
    """Somebody who watches a run; each method does nothing unless a subclass says so."""

    def entered(self, where: Whereabouts, computation: Computation, arguments: Sequence[Value]) -> None:
        """A computation starts with these arguments."""

    def begun(self, where: Whereabouts, instruction: Instruction) -> None:
        """An instruction is about to be computed; it is the last of `where.frames`."""

    def ended(self, where: Whereabouts, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        """An instruction has a value; its operand may have been overwritten with it where nobody else reads the operand."""


class Observers:
    """All who watch one run, called one after the other; keeps `where` for them.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[] parameter(0) ROOT r = f32[] negate(x) }")
    >>> class Names(Observer):
    ...     def ended(self, where, instruction, operands, value):
    ...         print(instruction.name, operands, value)
    >>> hlotool.evaluate(module, [1.0], observers=[Names()])
    r [array(1., dtype=float32)] -1.0
    array(-1., dtype=float32)
    """

    def __init__(self, entry: Computation, members: Sequence[Observer]) -> None:
        self.members = members
        self.where = Whereabouts(entry)

    def entered(self, computation: Computation, arguments: Sequence[Value]) -> None:
        if self.where.frames:
            frame = self.where.frames[-1]
            frame.current = computation
            frame.calls[computation] = frame.calls.get(computation, 0) + 1
        for member in self.members:
            member.entered(self.where, computation, arguments)

    def begun(self, instruction: Instruction) -> None:
        self.where.frames.append(Frame(instruction))
        for member in self.members:
            member.begun(self.where, instruction)

    def ended(self, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        for member in self.members:
            member.ended(self.where, instruction, operands, value)
        self.where.frames.pop()
