"""Finds where a wrong value comes from, among instructions that only one of two modules has.

A value of the right module is familiar if the left module computes the same elements, in any order
and anywhere. The first unfamiliar value on which a wrong value depends is its origin.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlotool.interp.arrays.dtypes import Array
from hlotool.interp.arrays.values import Value, leaves
from hlotool.interp.engine.observers import Observer, RunPosition
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.opdefs.traits import FORWARDS, RUNS_COMPUTATIONS, STRUCTURAL

__all__ = ["Ancestors", "FamiliarValues", "UnfamiliarValues"]

_RELATIVE = 1e-4


class FamiliarValues(Observer):
    """Collects the values of a run, as a few numbers for each array."""

    def __init__(self) -> None:
        self._known: dict[int, list[Array]] = {}
        self._stacked: dict[int, Array] = {}

    def entered(self, where: RunPosition, computation: Computation, arguments: Sequence[Value]) -> None:
        for argument in arguments:
            self._add(argument)

    def ended(self, where: RunPosition, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        self._add(value)

    def _add(self, value: Value) -> None:
        for leaf in leaves(value):
            if isinstance(leaf, np.ndarray):
                self._known.setdefault(leaf.size, []).append(_summary(leaf))

    def contains(self, value: Value) -> bool:
        """Returns whether all arrays of a value have been computed before, up to rounding."""
        return all(self._contains(leaf) for leaf in leaves(value) if isinstance(leaf, np.ndarray))

    def _contains(self, array: Array) -> bool:
        rows = self._stacked.get(array.size)
        if rows is None:
            rows = self._stacked[array.size] = np.array(self._known.get(array.size, np.zeros((0, 4))))
        found = _summary(array)
        with np.errstate(all="ignore"):
            near = np.abs(rows - found) <= _RELATIVE * (np.abs(found).max(initial=0) + 1e-30)
        return bool((near | (rows == found) | (np.isnan(rows) & np.isnan(found))).all(axis=1).any()) if len(rows) else False


def _summary(array: Array) -> Array:
    """Returns numbers that depend on the elements, but not on their order."""
    with np.errstate(all="ignore"):
        wide = np.abs(array.astype(np.complex128)) if array.dtype.kind == "c" else array.astype(np.float64)
        if not wide.size:
            return np.zeros(4)
        return np.array([wide.mean(), np.sqrt(np.square(wide).mean()), wide.max(), wide.min()])


class UnfamiliarValues(Observer):
    """Records for each instruction when it first computed an unfamiliar value."""

    def __init__(self, familiar: FamiliarValues) -> None:
        self.familiar = familiar
        self.first: dict[Instruction, int] = {}
        self._events = 0

    def ended(self, where: RunPosition, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        self._events += 1
        if instruction not in self.first and not self.familiar.contains(value):
            self.first[instruction] = self._events


class Ancestors:
    """The instructions on which a wrong value depends through unfamiliar values only.

    `first` contains the time of each instruction's first unfamiliar value. `constants` lists the
    constants that such instructions read.
    """

    def __init__(self, module: Module, wrong: Instruction, first: dict[Instruction, int]) -> None:
        self.wrong = wrong
        self.first = first
        callers: dict[Computation, list[Instruction]] = {}
        home: dict[Instruction, Computation] = {}
        for computation in module.computations:
            for x in computation.instructions:
                home[x] = computation
                for called in x.called:
                    callers.setdefault(called, []).append(x)
        pending, self.seen = [wrong], {wrong: None}
        while pending:
            x = pending.pop()
            sources = [*x.operands, *(computation.root for computation in x.called)]
            if x.parameter_number is not None:
                sources += callers.get(home[x], [])
            for source in sources:
                if source not in self.seen and (source in first or source.parameter_number is not None or source.literal is not None):
                    self.seen[source] = None
                    pending.append(source)

    @property
    def constants(self) -> list[Instruction]:
        return [x for x in self.seen if x.literal is not None]

    def origin(self) -> Instruction:
        """Returns the first one that computed an unfamiliar value, but does not only pass it on."""
        found = [x for x in self.seen if x in self.first and not _passes_on(x)]
        return min(found, key=lambda x: self.first[x], default=self.wrong)


def _passes_on(x: Instruction) -> bool:
    return FORWARDS in x.op.traits or STRUCTURAL in x.op.traits or (bool(x.called) and RUNS_COMPUTATIONS in x.op.traits)
