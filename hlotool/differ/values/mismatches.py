"""Pairs of instructions whose values differ, and the differences of their values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.values.pairs import Comparer, Disagreement
from hlotool.errors import EvaluationError
from hlotool.interp.arrays.literal_values import literal_value
from hlotool.interp.arrays.values import leaves
from hlotool.interp.reports.tracing import origin_of
from hlotool.interp.run_options import RunOptions
from hlotool.ir.model import Instruction
from hlotool.record import Record

__all__ = ["Explanation", "Mismatch"]

_OPTIONS = RunOptions(elided_fill="iota")

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


class Explanation:
    """Explains the disagreements that a comparer has found."""

    def __init__(self, comparer: Comparer) -> None:
        self.comparer = comparer
        self.pair = comparer.pair

    def mismatch(self, found: Disagreement | None, inner: int | None = None) -> Mismatch | None:
        """Returns a disagreement as a pair of instructions.

        `inner` is the left node of the pair in a called computation that causes it, if it is known.
        """
        if found is None:
            return None
        cause = self._cause(found)
        is_rounding, found = cause is not found, cause
        graph = self.pair.graph
        left = self.changed_inside(self.comparer.left_node(found.blamed), of_argument=found.is_argument)[0] if inner is None else inner
        right = self.pair.partner[left]
        x, y = graph.nodes[left], graph.nodes[right]
        index, values, counts = self._numbers(found, x, y)
        return Mismatch(
            (left, right), _qualified_name(graph, left), _qualified_name(graph, right), x.op.name if x.op is y.op else f"{x.op.name}, {y.op.name}",
            found.iterations, found.device, found.leaf, index, *values, *counts, self.pair.kinds(left), tuple(self._sources(x, y)), is_rounding,
        )  # fmt: skip

    def _cause(self, found: Disagreement) -> Disagreement:
        """Returns the slight difference of a changed pair that explains the difference `found`.

        If there is none, or if the pair of `found` has changed, returns `found` itself.
        """
        if not self.comparer.slight or self.pair.changes_value(self.comparer.left_node(found.blamed)):
            return found
        slight = {self.comparer.left_node(other.blamed): other for other in self.comparer.slight if other.order < found.order}
        pending, seen = [self.comparer.left_node(found.blamed)], set[int]()
        while pending:
            node = pending.pop(0)
            if node in slight:
                return slight[node]
            if node not in seen:
                seen.add(node)
                pending += self.pair.graph.operands[node]
        return found

    def _numbers(self, found: Disagreement, x: Instruction, y: Instruction) -> tuple[tuple[int, ...], tuple[str, str], tuple[int, int]]:
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

    def changed_inside(self, left: int, *, of_argument: bool) -> list[int]:
        """Returns the left nodes of changed pairs in called computations, or the given left node.

        Called computations count if a fast path does not run them, or if the arguments of later
        calls depend on earlier calls, as in a sort.
        """
        graph, delta = self.pair.graph, self.pair.delta
        if self.pair.changes_value(left):
            return [left]
        pending = [body for bodies in graph.calls.get(left, {}).values() for body in bodies]
        seen: set[int] = set()
        found = []
        while pending:
            body = pending.pop(0)
            visited = body in self.comparer.recorder.visited and delta.pairs.computations.get(body) in self.comparer.visited
            if body in seen or (visited and not of_argument):
                continue
            seen.add(body)
            for node in graph.members[body]:
                if self.pair.partner[node] >= 0 and self.pair.changes_value(node):
                    found.append(node)
                pending += [inner for bodies in graph.calls.get(node, {}).values() for inner in bodies]
        return found or [left]

    def _sources(self, x: Instruction, y: Instruction) -> Iterator[str]:
        delta = self.pair.delta
        first, second = [*origin_of(x, delta.left)], [*origin_of(y, delta.right)]
        yield from first
        if second != first:
            yield from (f"on the right, {line}" for line in second)


def _qualified_name(graph: Graph, node: int) -> QualifiedName:
    return graph.computations[graph.home[node]].name, graph.nodes[node].name


def _number(value: Any) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(value)
