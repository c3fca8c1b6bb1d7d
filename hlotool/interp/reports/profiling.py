"""Measures the time that a run spends, by instruction and by opcode."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from hlotool.interp.arrays.values import Value
from hlotool.interp.engine.observers import Observer, RunPosition
from hlotool.ir.model import Instruction

__all__ = ["Cost", "Profile"]


class Cost:
    """The cost of an instruction or opcode.

    The cost consists of the number of executions, the seconds spent in the instruction itself, and
    the bytes read and written.
    """

    __slots__ = ("bytes", "calls", "computation", "name", "opcode", "seconds", "shape")

    def __init__(self, name: str, opcode: str, shape: str = "", computation: str = "") -> None:
        self.name = name
        self.opcode = opcode
        self.shape = shape
        self.computation = computation
        self.calls = 0
        self.seconds = 0.0
        self.bytes = 0

    def as_dict(self) -> dict[str, Any]:
        """Returns the fields for JSON, except those that do not apply."""
        record = {name: getattr(self, name) for name in ("name", "opcode", "computation", "shape", "calls", "seconds", "bytes")}
        return {name: value for name, value in record.items() if value != ""}


class Profile(Observer):
    """An observer that measures every instruction.

    The time of an instruction excludes the instructions in computations that it calls, and the time
    in which other devices run.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[4] parameter(0) y = add(x, x) ROOT z = f32[4] add(y, x) }")
    >>> profile = Profile()
    >>> _ = hlotool.evaluate(module, [[1.0, 2.0, 3.0, 4.0]], observers=[profile])
    >>> [(cost.name, cost.calls, cost.bytes) for cost in profile.by_opcode()]
    [('add', 2, 96)]
    """

    def __init__(self) -> None:
        self.costs: dict[Instruction, Cost] = {}
        # For each instruction that a device is computing: its start time, and the time that inner
        # instructions or other devices have taken since then.
        self._open: dict[RunPosition, list[list[float]]] = {}
        self._suspended: dict[RunPosition, float] = {}

    def started(self, where: RunPosition, instruction: Instruction) -> None:
        self._open.setdefault(where, []).append([time.perf_counter(), 0.0])

    def suspended(self, where: RunPosition) -> None:
        self._suspended[where] = time.perf_counter()

    def resumed(self, where: RunPosition) -> None:
        waited = time.perf_counter() - self._suspended.pop(where)
        if self._open[where]:
            self._open[where][-1][1] += waited

    def ended(self, where: RunPosition, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        now = time.perf_counter()
        still_open = self._open[where]
        start, other_seconds = still_open.pop()
        cost = self.costs.get(instruction)
        if cost is None:
            cost = Cost(instruction.name, instruction.opcode, instruction.shape.text_without_layout, where.computation.name)
            self.costs[instruction] = cost
        cost.calls += 1
        cost.seconds += now - start - other_seconds
        cost.bytes += _bytes(value) + sum(map(_bytes, operands))
        if still_open:
            # The time of this observer itself does not count.
            still_open[-1][1] += time.perf_counter() - start

    @property
    def seconds(self) -> float:
        """The total time of all instructions."""
        return sum(cost.seconds for cost in self.costs.values())

    def by_instruction(self) -> list[Cost]:
        """Returns the costs by instruction, most expensive first."""
        return sorted(self.costs.values(), key=lambda cost: -cost.seconds)

    def by_opcode(self) -> list[Cost]:
        """Returns the costs by opcode, most expensive first."""
        totals: dict[str, Cost] = {}
        for cost in self.costs.values():
            total = totals.setdefault(cost.opcode, Cost(cost.opcode, cost.opcode))
            total.calls += cost.calls
            total.seconds += cost.seconds
            total.bytes += cost.bytes
        return sorted(totals.values(), key=lambda cost: -cost.seconds)


def _bytes(value: Value) -> int:
    # Tuples are only passed on, so they are not read or written.
    return int(value.nbytes) if isinstance(value, np.ndarray) else 0
