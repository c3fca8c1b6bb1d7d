"""Runs two modules on the same inputs and finds the first instructions whose values disagree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from hlotool.differ.compare import diff
from hlotool.differ.delta import Delta
from hlotool.differ.matching.node_graph import Graph
from hlotool.errors import EvaluationError
from hlotool.interp.arguments.inputs import random_arguments
from hlotool.interp.arrays.dtypes import NUMBERS, Array
from hlotool.interp.arrays.literal_values import literal_value
from hlotool.interp.arrays.values import Value, leaves, with_leaves
from hlotool.interp.engine.observers import Observer, RunPosition
from hlotool.interp.engine.placement import is_device_independent, is_whole
from hlotool.interp.evaluator import evaluate_replicas
from hlotool.interp.reports.comparison import Comparison, Tolerance, compare, tolerance_of
from hlotool.interp.reports.tracing import origin_of
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Computation, Instruction, Module
from hlotool.record import Record
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["Mismatch", "SemanticDifference", "devices_of", "semantic_difference"]

_OPTIONS = RunOptions(elided_fill="iota", max_iterations=100_000)
# Values beyond this total size are not recorded, and therefore not compared.
_MAX_BYTES = 1 << 30
# The kinds of changes that do not affect values.
_VALUE_PRESERVING = frozenset({"metadata", "backend_config", "sharding", "frontend_attributes", "layout", "control", "schedule", "moved"})

QualifiedName = tuple[str, str]
"""The names of a computation and of an instruction in it."""


class Mismatch(Record):
    """A pair of instructions whose values differ although their operands agree.

    `iterations` lists the (0-based) iterations of the enclosing loops, the outermost first.
    `left_value` and `right_value` are the numbers at `index` in leaf `leaf` of the values, where
    the values differ most; `elements` is the number of elements that differ. `changes` lists the
    kinds of changes in the pair itself, and `sources` lists the source locations of the two
    instructions. `nodes` contains the numbers of the instructions in the graph of the Delta.
    `is_rounding` is true if the values of the pair are equal up to rounding, but later values that
    depend on them are not.
    """

    nodes: tuple[int, int]
    left: QualifiedName
    right: QualifiedName
    opcode: str
    iterations: tuple[int, ...]
    device: int | None
    leaf: int
    index: tuple[int, ...]
    left_value: str
    right_value: str
    elements: int
    size: int
    changes: tuple[str, ...]
    sources: tuple[str, ...]
    is_rounding: bool

    def to_dict(self) -> dict[str, Any]:
        """Returns the pair as a dictionary of plain lists, strings and numbers."""
        return {
            "left": list(self.left),
            "right": list(self.right),
            "opcode": self.opcode,
            "iterations": list(self.iterations),
            "device": self.device,
            "leaf": self.leaf,
            "index": list(self.index),
            "left_value": self.left_value,
            "right_value": self.right_value,
            "elements": self.elements,
            "size": self.size,
            "changes": list(self.changes),
            "sources": list(self.sources),
            "is_rounding": self.is_rounding,
        }

    def headline(self, *, has_effect: bool = True) -> str:
        """Returns a line about the first difference; `has_effect` is true if the results differ."""
        (_, x), (computation, y) = self.left, self.right
        name = f"'{x}'" if x == y else f"'{x}' and '{y}'"
        aside = "" if has_effect else ", without effect on the results"
        if self.is_rounding:
            return f"first difference{aside}, by rounding: {name} ({self.opcode}) in '{computation}'; later instructions amplify it"
        return f"first difference{aside}: {name} ({self.opcode}) in '{computation}'"

    @property
    def text(self) -> str:
        """The headline and the details, as a few lines."""
        return "\n".join([self.headline(), *self.details])

    @property
    def details(self) -> list[str]:
        """The lines after the headline: the values and the changes."""
        lines = []
        position = f" at [{','.join(map(str, self.index))}]" if self.index else ""
        leaf = f" in element {self.leaf}" if self.leaf else ""
        number = f"; {self.elements} of {self.size} elements {'differs' if self.elements == 1 else 'differ'}" if self.size > 1 else ""
        lines.append(f"  {self.left_value} on the left, {self.right_value} on the right{leaf}{position}{number}")
        if self.iterations:
            plural = "s" * (len(self.iterations) > 1)
            lines.append(f"  in iteration{plural} {', '.join(map(str, self.iterations))} (0-based) of the enclosing loop{plural}")
        if self.device is not None:
            lines.append(f"  on device {self.device}")
        lines.append(f"  changes in this instruction: {', '.join(self.changes)}" if self.changes else "  this instruction has not changed")
        return [*lines, *(f"  {source}" for source in self.sources)]


class SemanticDifference(Record):
    """The outcome of running two modules on the same inputs; false if the results agree.

    `runs` is the number of inputs on which both modules were run, and `compared` is the number of
    value pairs that were compared. `run` is the number of the input on which the results differ, or
    None if they agree. `first` is the first pair of instructions whose values differ; it may exist
    even if the results agree. `failure` is the reason why a module could not be run.
    """

    runs: int
    compared: int
    run: int | None
    first: Mismatch | None
    failure: str | None

    def __bool__(self) -> bool:
        return self.run is not None

    @property
    def text(self) -> str:
        """The result in sentences, with the first pair that differs."""
        return "\n".join([*self.sentences, *([self.first.text] if self.first is not None else [])])

    @property
    def sentences(self) -> list[str]:
        """The result in sentences, without the first pair that differs."""
        inputs = f"{self.runs} random input{'s' * (self.runs != 1)}"
        lines = []
        if self.run is not None:
            lines.append(f"the results differ on random input {self.run}")
        elif self.runs:
            lines.append(f"the results agree on {inputs}")
        if self.failure is not None:
            lines.append(self.failure)
        if self.first is None and self.run is not None:
            lines.append("all paired instructions agree: the difference comes from instructions that only one module has")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Returns the result as plain dictionaries, lists, strings and numbers."""
        first = None if self.first is None else self.first.to_dict()
        return {"agrees": self.run is None, "runs": self.runs, "compared": self.compared, "run": self.run, "failure": self.failure, "first": first}


def semantic_difference(
    left: Module,
    right: Module,
    delta: Delta | None = None,
    *,
    runs: int = 1,
    seed: int = 0,
    relative: float | None = None,
    absolute: float | None = None,
    options: RunOptions | None = None,
    observers: Sequence[Observer] = (),
) -> SemanticDifference:
    """Runs two modules on the same random inputs and compares all values of paired instructions.

    There are at most `runs` runs, each with its own inputs; the first run in which the results
    differ is the last. Paired parameters of the entry get the same values. `delta` is
    `diff(left, right)`. Numbers may differ by the tolerances `relative` and `absolute`, which by
    default allow for rounding. Constants are compared bit for bit. Each of the `observers` observes
    all runs.

    >>> import hlotool
    >>> text = "ENTRY e { p = f32[3] parameter(0) s = f32[3] %s(p) ROOT n = f32[3] negate(s) }"
    >>> difference = semantic_difference(hlotool.parse(text % "abs"), hlotool.parse(text % "exponential"))
    >>> difference.first.left, difference.first.changes
    (('e', 's'), ('opcode',))
    """
    delta = delta if delta is not None else diff(left, right)
    search = _Search(delta, relative, absolute, observers)
    first: Mismatch | None = None
    failure, compared, count = None, 0, 0
    for k in range(runs):
        outcome = search.run(seed + k, options or _OPTIONS)
        compared += outcome.compared
        first = outcome.mismatch or first
        failure = outcome.failure or failure
        count += outcome.failure is None
        if outcome.differs:
            return SemanticDifference(count, compared, k, first, outcome.failure)
    return SemanticDifference(count, compared, None, first, failure)


class _Outcome(Record):
    differs: bool
    compared: int
    mismatch: Mismatch | None
    failure: str | None


class _Search:
    """Comparison of runs of two modules."""

    def __init__(self, delta: Delta, relative: float | None, absolute: float | None, observers: Sequence[Observer]) -> None:
        self.delta = delta
        self.graph = delta.graph
        self.partner = delta.pairs.partner
        self.numbers = {x: node for node, x in enumerate(delta.graph.nodes)}
        self.bodies = {c: number for number, c in enumerate(delta.graph.computations)}
        self.relative = relative
        self.absolute = absolute
        self.observers = observers

    def run(self, seed: int, options: RunOptions) -> _Outcome:
        left, right = self.delta.left, self.delta.right
        recorder = _Recorder(self)
        arguments = _arguments(left, right, self, seed)
        try:
            expected = _evaluate(left, arguments[0], options, [recorder, *self.observers])
        except EvaluationError as error:
            return _Outcome(False, 0, None, f"the left module cannot be run: {error}")
        comparer = _Comparer(self, recorder)
        try:
            actual = _evaluate(right, arguments[1], options, [comparer, *self.observers])
        except EvaluationError as error:
            comparer.blame_failure()
            return _Outcome(True, comparer.compared, comparer.mismatch(), f"the right module cannot be run: {error}")
        differs = any(self.differs(a, b) for a, b in zip(expected, actual, strict=False)) or len(expected) != len(actual)
        return _Outcome(differs, comparer.compared, comparer.mismatch(), None)

    def differs(self, a: Value, b: Value) -> bool:
        first, second = [*leaves(a)], [*leaves(b)]
        return len(first) != len(second) or any(self.comparison(x, y) is not None for x, y in zip(first, second, strict=True))

    def comparison(self, a: Any, b: Any, *, exact: bool = False) -> Comparison | None:
        """Compares two arrays; returns None if they agree.

        Unless `exact` is true, arrays agree if they differ by no more than the tolerance.
        """
        if not (isinstance(a, np.ndarray) and isinstance(b, np.ndarray)) or (a.dtype == b.dtype and a.shape == b.shape and _same_bytes(a, b)):
            return None
        names = [_ELEMENT_TYPES.get(x.dtype) for x in (a, b)]
        if names[0] is None or names[1] is None:
            return None
        tolerances = [tolerance_of(name, self.relative, self.absolute) for name in names if name is not None]
        # The tolerance of the coarser element type.
        tolerance = Tolerance(0.0, 0.0) if exact else Tolerance(max(t.relative for t in tolerances), max(t.absolute for t in tolerances))
        comparison = compare("", array_shape(names[0], a.shape), a, b, tolerance)
        return None if comparison.agrees else comparison


_ELEMENT_TYPES: dict[Any, str] = {number.held: name for name, number in reversed(NUMBERS.items())}


def _same_bytes(a: Array, b: Array) -> bool:
    return bool(np.array_equal(np.ascontiguousarray(a).reshape(-1).view(np.uint8), np.ascontiguousarray(b).reshape(-1).view(np.uint8)))


# ---- inputs ------------------------------------------------------------------------------------


def _arguments(left: Module, right: Module, search: _Search, seed: int) -> tuple[list[Sequence[Value]], list[Sequence[Value]]]:
    """Returns random arguments of both modules on each device, equal for paired parameters."""
    devices = max(devices_of(left), devices_of(right))
    here: list[Sequence[Value]] = []
    there: list[Sequence[Value]] = []
    for device in range(devices):
        first, second = random_arguments(left, seed + 7919 * device), list(random_arguments(right, seed + 7919 * device))
        sources = {search.numbers[p]: value for p, value in zip(left.entry.parameters, first, strict=True)}
        for k, p in enumerate(right.entry.parameters):
            source = search.partner[search.numbers[p]]
            if source in sources:
                second[k] = _convert(p.shape, search.graph.nodes[source].shape, sources[source], second[k])
        here.append(first)
        there.append(second)
    return here, there


def _convert(shape: Shape, source_shape: Shape, value: Value, other: Value) -> Value:
    """Converts a value to the element types of `shape`; returns `other` if dimensions differ."""
    wanted, given = [*leaves(other)], [*leaves(value)]
    if len(wanted) != len(given) or any(getattr(a, "shape", None) != getattr(b, "shape", None) for a, b in zip(wanted, given, strict=True)):
        return other
    if source_shape == shape:
        return value
    with np.errstate(all="ignore"):
        return with_leaves(shape, [b.astype(a.dtype) if isinstance(a, np.ndarray) else b for a, b in zip(wanted, given, strict=True)])


def devices_of(module: Module) -> int:
    """Returns the number of devices: one per replica if all partitions compute the same values."""
    return max(1, module.replica_count or 1) * _partitions(module)


def _partitions(module: Module) -> int:
    partitions = max(1, module.num_partitions or 1)
    return 1 if partitions > 1 and is_whole(module) and is_device_independent(module) else partitions


def _evaluate(module: Module, arguments: list[Sequence[Value]], options: RunOptions, observers: Sequence[Observer]) -> list[Value]:
    partitions = _partitions(module)
    partitions = partitions if len(arguments) % partitions == 0 else 1
    return evaluate_replicas(module, arguments, num_partitions=partitions, options=options, observers=observers)


# ---- values ------------------------------------------------------------------------------------


class _Paired(Observer):
    """Observer of the values of paired instructions; identifies each value by a key.

    The key identifies the call to the value's computation in which the value was computed.
    The key does not include enclosing instructions without a partner, such as calls to inlined
    computations.
    """

    def __init__(self, search: _Search) -> None:
        self.search = search
        self.times: dict[Any, int] = {}
        self.visited: set[int] = set()

    def left_node(self, x: Instruction) -> int:
        """Returns the left node of an instruction's pair, or -1 if it has no partner."""
        node = self.search.numbers.get(x, -1)
        if node < 0:
            return -1
        other = self.search.partner[node]
        return -1 if other < 0 else min(node, other)

    def key(self, kind: str, where: RunPosition, node: int, depth: int) -> Any:
        path = []
        for frame in where.frames[:depth]:
            caller = self.left_node(frame.instruction)
            if caller >= 0:
                body = self.search.bodies.get(frame.current, -1) if frame.current is not None else -1
                at = min(body, self.search.delta.pairs.computations.get(body, body))
                path.append((caller, at, frame.calls.get(frame.current, 0) if frame.current is not None else 0))
        key = (kind, where.device, node, *path)
        self.times[key] = self.times.get(key, 0) + 1
        return (*key, self.times[key])

    def entered(self, where: RunPosition, computation: Computation, arguments: Sequence[Value]) -> None:
        body = self.search.bodies.get(computation, -1)
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
            if x.op.name == "constant" and self.left_node(x) in self.search.delta.changed:
                self.report(self.key("constant", where, self.left_node(x), len(where.frames)), x, where, None, x)

    def ended(self, where: RunPosition, instruction: Instruction, operands: Sequence[Value], value: Value) -> None:
        node = self.left_node(instruction)
        if node >= 0:
            self.report(self.key("value", where, node, len(where.frames) - 1), instruction, where, value, instruction)

    def report(self, key: Any, blamed: Instruction, where: RunPosition, value: Value, producer: Instruction) -> None:
        """Handles the value of `producer`; if the value differs, `blamed` is reported."""


class _Recorder(_Paired):
    """Recorder of the values of the left module, in the order in which they are computed."""

    def __init__(self, search: _Search) -> None:
        super().__init__(search)
        self.values: dict[Any, tuple[int, list[Any]]] = {}
        self.budget = _MAX_BYTES

    def report(self, key: Any, blamed: Instruction, where: RunPosition, value: Value, producer: Instruction) -> None:
        parts = [*leaves(value)] if value is not None else [None]
        self.budget -= sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
        if self.budget >= 0:
            self.values[key] = len(self.values), [part.copy() if isinstance(part, np.ndarray) else part for part in parts]


class _Disagreement(Record):
    order: int
    blamed: Instruction
    iterations: tuple[int, ...]
    device: int | None
    leaf: int
    comparison: Comparison | None
    shapes: tuple[str, str]
    is_argument: bool


class _Comparer(_Paired):
    """Comparer of the values of the right module with the recorded values of the left one."""

    def __init__(self, search: _Search, recorder: _Recorder) -> None:
        super().__init__(search)
        self.recorder = recorder
        self.compared = 0
        self.first: _Disagreement | None = None
        self.slight: list[_Disagreement] = []
        self.where: RunPosition | None = None

    def started(self, where: RunPosition, instruction: Instruction) -> None:
        self.where = where

    def blame_failure(self) -> None:
        """Records the failed instruction as the first difference if there is no earlier one."""
        if self.first is not None or self.where is None or not self.where.frames:
            return
        x = self.where.frames[-1].instruction
        if self.left_node(x) >= 0:
            self._record(len(self.recorder.values), x, self.where, None, ("computed", "fails"))

    def report(self, key: Any, blamed: Instruction, where: RunPosition, value: Value, producer: Instruction) -> None:
        order, expected = self.recorder.values.pop(key, (-1, []))
        if order < 0:
            return
        self.compared += 1
        if self.first is not None and self.first.order <= order:
            return
        if value is None:
            if any(change["kind"] == "constants" for change in self.search.delta.changed[self.left_node(producer)]):
                self._record(order, producer, where, None, ("", ""))
            return
        actual = [*leaves(value)]
        if len(actual) != len(expected):
            self._record(order, blamed, where, None, (_array_count(expected), _array_count(actual)))
            return
        for leaf, (a, b) in enumerate(zip(expected, actual, strict=True)):
            comparison = self.search.comparison(a, b)
            if comparison is None and self._is_slight(producer, a, b):
                self.slight.append(
                    _Disagreement(order, producer, where.iterations, where.device, leaf, self.search.comparison(a, b, exact=True), ("", ""), False)
                )
            if comparison is not None:
                self._record(order, blamed, where, comparison, (_type(a), _type(b)), leaf, is_argument=blamed is not producer)
                return

    def _is_slight(self, x: Instruction, a: Any, b: Any) -> bool:
        """Returns whether the values of a changed pair differ, but within the tolerance."""
        if not {*self._kinds(self.left_node(x))} - _VALUE_PRESERVING or not isinstance(a, np.ndarray):
            return False
        return self.search.comparison(a, b, exact=True) is not None

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
        self.first = _Disagreement(order, blamed, iterations, where.device, leaf, comparison, shapes, is_argument)

    # ---- first difference -----------------------------------------------------------------------

    def mismatch(self) -> Mismatch | None:
        """Returns the first pair, in the order of the left module, whose values differ."""
        found = self.first
        if found is None:
            return None
        cause = self._cause(found)
        is_rounding, found = cause is not found, cause
        graph, partner = self.search.graph, self.search.partner
        left = self._inner(self.left_node(found.blamed), of_argument=found.is_argument)
        right = partner[left]
        x, y = graph.nodes[left], graph.nodes[right]
        index, values, counts = self._numbers(found, x, y)
        return Mismatch(
            (left, right), _qualified_name(graph, left), _qualified_name(graph, right), x.op.name if x.op is y.op else f"{x.op.name}, {y.op.name}",
            found.iterations, found.device, found.leaf, index, *values, *counts, self._kinds(left), tuple(self._sources(x, y)), is_rounding,
        )  # fmt: skip

    def _cause(self, found: _Disagreement) -> _Disagreement:
        """Returns the slight difference of a changed pair that explains the difference `found`.

        If there is none, or if the pair of `found` has changed, returns `found` itself.
        """
        if not self.slight or {*self._kinds(self.left_node(found.blamed))} - _VALUE_PRESERVING:
            return found
        slight = {self.left_node(other.blamed): other for other in self.slight if other.order < found.order}
        pending, seen = [self.left_node(found.blamed)], set[int]()
        while pending:
            node = pending.pop(0)
            if node in slight:
                return slight[node]
            if node not in seen:
                seen.add(node)
                pending += self.search.graph.operands[node]
        return found

    def _numbers(self, found: _Disagreement, x: Instruction, y: Instruction) -> tuple[tuple[int, ...], tuple[str, str], tuple[int, int]]:
        """Returns the index, the two values, the number of differing elements, and the total."""
        comparison = found.comparison
        if comparison is not None and comparison.worst:
            worst = comparison.worst[0]
            return worst.index, (_number(worst.ours), _number(worst.theirs)), (comparison.mismatches, comparison.elements)
        if x.immediate is not None and y.immediate is not None and comparison is None and not found.shapes[0]:
            return self._constants(x, y)
        return (), found.shapes, (0, 0)

    def _constants(self, x: Instruction, y: Instruction) -> tuple[tuple[int, ...], tuple[str, str], tuple[int, int]]:
        try:
            a, b = (next(iter(leaves(literal_value(z.immediate, _OPTIONS)))) for z in (x, y))
        except (EvaluationError, ValueError, StopIteration):
            a = b = None
        if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray) or a.shape != b.shape or a.dtype != b.dtype:
            return (), (x.immediate.text[:60], y.immediate.text[:60]), (0, 0)
        size = a.dtype.itemsize
        different = np.ascontiguousarray(a).reshape(-1, 1).view(np.uint8) != np.ascontiguousarray(b).reshape(-1, 1).view(np.uint8)
        positions = np.flatnonzero(different.reshape(-1, size).any(axis=1))
        at = int(positions[0]) if positions.size else 0
        index = tuple(int(i) for i in np.unravel_index(at, a.shape)) if a.ndim else ()
        return index, (str(a.reshape(-1)[at]), str(b.reshape(-1)[at])), (int(positions.size), int(a.size))

    def _kinds(self, left: int) -> tuple[str, ...]:
        return tuple(sorted({change["kind"] for change in self.search.delta.changed.get(left, ())}))

    def _inner(self, left: int, *, of_argument: bool) -> int:
        """Returns the given left node, or the left node of a changed pair in a called computation.

        The latter is returned if a fast path does not run the computation, or if the arguments of
        later calls depend on earlier calls, as in a sort.
        """
        graph, delta = self.search.graph, self.search.delta
        if {*self._kinds(left)} - _VALUE_PRESERVING:
            return left
        pending = [body for bodies in graph.calls.get(left, {}).values() for body in bodies]
        seen: set[int] = set()
        while pending:
            body = pending.pop(0)
            if body in seen or (not of_argument and body in self.recorder.visited and delta.pairs.computations.get(body) in self.visited):
                continue
            seen.add(body)
            for node in graph.members[body]:
                if self.search.partner[node] >= 0 and {*self._kinds(node)} - _VALUE_PRESERVING:
                    return node
                pending += [inner for bodies in graph.calls.get(node, {}).values() for inner in bodies]
        return left

    def _sources(self, x: Instruction, y: Instruction) -> Iterator[str]:
        delta = self.search.delta
        first, second = [*origin_of(x, delta.left)], [*origin_of(y, delta.right)]
        yield from first
        if second != first:
            yield from (f"on the right, {line}" for line in second)


def _qualified_name(graph: Graph, node: int) -> QualifiedName:
    return graph.computations[graph.home[node]].name, graph.nodes[node].name


def _type(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return "not an array"
    return f"{_ELEMENT_TYPES.get(value.dtype, value.dtype)}[{','.join(map(str, value.shape))}]"


def _array_count(values: Sequence[Any]) -> str:
    return f"{len(values)} array{'s' * (len(values) != 1)}"


def _number(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)
