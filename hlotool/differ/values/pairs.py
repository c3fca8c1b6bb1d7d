"""Observers of the runs of two modules, which compare the values of paired instructions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from hlotool.differ.delta import Delta
from hlotool.differ.values.array_comparison import Tolerances, compare_arrays, type_text
from hlotool.differ.values.runs import Inputs, NotComparable, Results, compare_results, partitions_of, sharding_of
from hlotool.interp.arguments.shards import Division, divisions_of, without_padding
from hlotool.interp.arrays.values import Value, leaves
from hlotool.interp.engine.observers import Observer, RunPosition
from hlotool.interp.reports.comparison import Comparison
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.record import Record, replace

__all__ = ["Comparer", "Disagreement", "PairObserver", "Recorder", "RunPair"]

# Values beyond this total size are not recorded, and therefore not compared.
_MAX_BYTES = 1 << 30
# The kinds of changes that do not affect values.
_VALUE_PRESERVING = frozenset({"metadata", "backend_config", "sharding", "frontend_attributes", "layout", "control", "schedule", "moved"})

Source: TypeAlias = Callable[[Instruction], int | None]
Arguments: TypeAlias = list[Sequence[Value]]


class RunPair:
    """Runs of the two modules of a difference on the same inputs."""

    def __init__(self, delta: Delta, tolerances: Tolerances) -> None:
        self.delta = delta
        self.graph = delta.graph
        self.partner = delta.pairs.partner
        self.numbers = {x: node for node, x in enumerate(delta.graph.nodes)}
        self.bodies = {c: number for number, c in enumerate(delta.graph.computations)}
        self.tolerances = tolerances
        self.absolute: tuple[float, ...] | None = None
        self.counts = (1, 1)

    def inputs(self, seed: int) -> Inputs:
        """Returns random inputs: those of the left module, unless only the right one is whole."""
        left, right = self.delta.left, self.delta.right
        return Inputs(right if partitions_of(left) > partitions_of(right) else left, seed)

    def arguments(self, inputs: Inputs, source: Source | None = None) -> tuple[Arguments, Arguments]:
        """Returns the arguments of both modules on each device."""
        left, right = self.delta.left, self.delta.right
        self.counts = inputs.partitions_of(left), inputs.partitions_of(right)
        source = source or partial(self._source, inputs.module)
        return inputs.for_module(left, source), inputs.for_module(right, source)

    def _source(self, reference: Module, parameter: Instruction) -> int | None:
        """Returns the number of a parameter of `reference` that is the same or the partner."""
        if parameter in reference.entry.parameters:
            return parameter.parameter_number
        partner = self.partner[self.numbers[parameter]]
        x = self.graph.nodes[partner] if partner >= 0 else None
        return x.parameter_number if x is not None and x in reference.entry.parameters else None

    def results_differ(self, expected: list[Value], actual: list[Value]) -> bool:
        left, right = self.delta.left, self.delta.right
        sharding = next((found for x in (right.entry.root, left.entry.root) if (found := sharding_of(x)) is not None), None)
        results = Results(left, expected, sharding, self.absolute), Results(right, actual, sharding)
        try:
            return compare_results(*results, self.tolerances) is not None
        except NotComparable:
            if self.counts[0] != self.counts[1]:
                raise
            return True

    def comparison(self, a: Any, b: Any, *, exact: bool = False) -> Comparison | None:
        return compare_arrays(a, b, replace(self.tolerances, exact=exact))

    def kinds(self, left: int) -> tuple[str, ...]:
        """Returns the kinds of changes in the pair of a left node."""
        return tuple(sorted({change["kind"] for change in self.delta.changed.get(left, ())}))

    def changes_value(self, left: int) -> bool:
        """Returns whether the pair of a left node has changed in a way that may affect values."""
        return bool({*self.kinds(left)} - _VALUE_PRESERVING)


class PairObserver(Observer):
    """Observer of the values of paired instructions; identifies each value by a key.

    The key identifies the call to the value's computation in which the value was computed.
    The key does not include enclosing instructions without a partner, such as calls to inlined
    computations.
    """

    side = 0

    def __init__(self, pair: RunPair) -> None:
        self.pair = pair
        self.times: dict[Any, int] = {}
        self.visited: set[int] = set()

    def left_node(self, x: Instruction) -> int:
        """Returns the left node of an instruction's pair, or -1 if it has no partner."""
        node = self.pair.numbers.get(x, -1)
        if node < 0:
            return -1
        other = self.pair.partner[node]
        return -1 if other < 0 else min(node, other)

    def key(self, kind: str, where: RunPosition, node: int, depth: int) -> Any:
        path = []
        for frame in where.frames[:depth]:
            caller = self.left_node(frame.instruction)
            if caller >= 0:
                body = self.pair.bodies.get(frame.current, -1) if frame.current is not None else -1
                at = min(body, self.pair.delta.pairs.computations.get(body, body))
                path.append((caller, at, frame.calls.get(frame.current, 0) if frame.current is not None else 0))
        key = (kind, where.device, node, *path)
        self.times[key] = times = self.times.get(key, 0) + 1
        return (kind, self.group_of(where.device), node, *path, times)

    def group_of(self, device: int | None) -> int | None:
        """Returns the number of a device or, if only one module is partitioned, of its replica."""
        here, other = self.pair.counts[self.side], self.pair.counts[1 - self.side]
        return device if here == other else (device or 0) // here

    def entered(self, where: RunPosition, computation: Computation, arguments: Sequence[Value]) -> None:
        body = self.pair.bodies.get(computation, -1)
        if body >= 0:
            self.visited.add(body)
        caller = self.left_node(where.frames[-1].instruction) if where.frames else -1
        for parameter, argument in zip(computation.parameters, arguments, strict=True):
            node = self.left_node(parameter)
            # The arguments of the entry are the same by construction. For other computations, a
            # different argument is attributed to the caller.
            if node >= 0 and caller >= 0:
                self.report(self.key("argument", where, node, len(where.frames)), where.frames[-1].instruction, where, argument, parameter)
        for x in computation.instructions:
            if x.op.name == "constant" and self.left_node(x) in self.pair.delta.changed:
                self.report(self.key("constant", where, self.left_node(x), len(where.frames)), x, where, None, x)

    def ended(self, where: RunPosition, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        node = self.left_node(instruction)
        if node >= 0:
            self.report(self.key("value", where, node, len(where.frames) - 1), instruction, where, value, instruction)

    def report(self, key: Any, blamed: Instruction, where: RunPosition, value: Value, producer: Instruction) -> None:
        """Handles the value of `producer`; if the value differs, `blamed` is reported."""


class Recorder(PairObserver):
    """Recorder of the values of the left module, in the order in which they are computed."""

    def __init__(self, pair: RunPair) -> None:
        super().__init__(pair)
        self.values: dict[Any, tuple[int, list[Any]]] = {}
        self.budget = _MAX_BYTES

    def report(self, key: Any, blamed: Instruction, where: RunPosition, value: Value, producer: Instruction) -> None:
        parts = [*leaves(value)] if value is not None else [None]
        self.budget -= sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
        if self.budget >= 0:
            self.values[key] = len(self.values), [part.copy() if isinstance(part, np.ndarray) else part for part in parts]


class Disagreement(Record):
    """A pair whose values differ: the right instruction, its position, and the comparison."""

    order: int
    blamed: Instruction
    iterations: tuple[int, ...]
    device: int | None
    leaf: int
    comparison: Comparison | None
    shapes: tuple[str, str]
    is_argument: bool


class Comparer(PairObserver):
    """Comparer of the values of the right module with the recorded values of the left one."""

    side = 1

    def __init__(self, pair: RunPair, recorder: Recorder, *, finds_all: bool = False) -> None:
        super().__init__(pair)
        self.recorder = recorder
        self.finds_all = finds_all
        self.found: dict[int, Disagreement] = {}
        self.divisions: dict[Instruction, list[Division | None]] = {}
        self.compared = 0
        self.slight: list[Disagreement] = []
        self.where: RunPosition | None = None

    @property
    def first(self) -> Disagreement | None:
        """The first disagreement in the order of the left module."""
        return min(self.found.values(), key=lambda found: found.order, default=None)

    def started(self, where: RunPosition, instruction: Instruction) -> None:
        self.where = where

    def blame_failure(self) -> None:
        """Records the failed instruction as the first difference if there is no earlier one."""
        if self.found or self.where is None or not self.where.frames:
            return
        x = self.where.frames[-1].instruction
        if self.left_node(x) >= 0:
            self._record(len(self.recorder.values), x, self.where, None, ("computed", "fails"))

    def report(self, key: Any, blamed: Instruction, where: RunPosition, value: Value, producer: Instruction) -> None:
        here, there = self.pair.counts
        can_forget = here == there and not self.finds_all
        order, expected = self.recorder.values.pop(key, (-1, [])) if can_forget else self.recorder.values.get(key, (-1, []))
        if order < 0 or here > there:
            return
        self.compared += 1
        earlier = self.found.get(self.left_node(blamed)) if self.finds_all else self.first
        if earlier is not None and earlier.order <= order:
            return
        if value is None:
            if any(change["kind"] == "constants" for change in self.pair.delta.changed[self.left_node(producer)]):
                self._record(order, producer, where, None, ("", ""))
            return
        actual = [*leaves(value)]
        if len(actual) != len(expected):
            self._record(order, blamed, where, None, (_array_count(expected), _array_count(actual)))
            return
        if here < there:
            expected, actual = self._regions(expected, actual, producer, (where.device or 0) % there)
        for leaf, (a, b) in enumerate(zip(expected, actual, strict=True)):
            comparison = self.pair.comparison(a, b)
            if comparison is None and self._is_slight(producer, a, b):
                self.slight.append(
                    Disagreement(order, producer, where.iterations, where.device, leaf, self.pair.comparison(a, b, exact=True), ("", ""), False)
                )
            if comparison is not None:
                self._record(order, blamed, where, comparison, (type_text(a), type_text(b)), leaf, is_argument=blamed is not producer)
                return

    def _regions(self, wholes: list[Any], shards: list[Any], producer: Instruction, partition: int) -> tuple[list[Any], list[Any]]:
        """Returns the regions of whole arrays that the shards should equal, and the shards.

        Both are None where the instruction has no sharding, since its value may be a term of a sum.
        """
        divisions = self.divisions.get(producer)
        if divisions is None:
            divisions = self.divisions[producer] = divisions_of(sharding_of(producer), producer.shape, self.pair.counts[1])
        pairs: list[tuple[Any, Any]] = []
        for whole, shard, division in zip(wholes, shards, divisions, strict=True):
            if division is None or division.has_terms or not isinstance(whole, np.ndarray) or division.shard_dimensions(whole.shape) != shard.shape:
                pairs.append((None, None))
                continue
            region = division.region(partition, whole.shape)
            pairs.append((None, None) if region is None else (whole[region], shard[without_padding(region)]))
        return [a for a, _ in pairs], [b for _, b in pairs]

    def _is_slight(self, x: Instruction, a: Any, b: Any) -> bool:
        """Returns whether the values of a changed pair differ, but within the tolerance."""
        if not self.pair.changes_value(self.left_node(x)) or not isinstance(a, np.ndarray):
            return False
        return self.pair.comparison(a, b, exact=True) is not None

    def _record(
        self,
        order: int,
        blamed: Instruction,
        where: RunPosition,
        comparison: Comparison | None,
        shapes: tuple[str, str],
        leaf: int = 0,
        *,
        is_argument: bool = False,
    ) -> None:
        frames = where.frames[:-1] if where.frames and where.frames[-1].instruction is blamed else where.frames
        iterations = tuple([k for frame in frames if (k := frame.iteration) is not None])
        if not self.finds_all:
            self.found.clear()
        self.found[self.left_node(blamed)] = Disagreement(order, blamed, iterations, where.device, leaf, comparison, shapes, is_argument)


def _array_count(values: Sequence[Any]) -> str:
    return f"{len(values)} array{'s' * (len(values) != 1)}"
