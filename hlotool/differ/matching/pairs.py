"""The pairs of nodes and of computations of two modules."""

from __future__ import annotations

from collections import Counter
from functools import cached_property

from hlotool.differ.matching.classes import outlines
from hlotool.differ.matching.node_graph import Graph
from hlotool.opdefs.traits import CONVERTS

__all__ = ["Pairs"]


class Pairs:
    """The pairs of nodes and of computations.

    `partner` is symmetric, and -1 for a node without a partner. `computations` maps each
    computation of a pair to the other computation.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.partner = [-1] * len(graph.nodes)
        self.computations: dict[int, int] = {}

    def join(self, left: int, right: int) -> None:
        self.partner[left], self.partner[right] = right, left

    def part(self, node: int) -> None:
        other = self.partner[node]
        self.partner[node] = -1
        if other >= 0:
            self.partner[other] = -1

    def converted(self, node: int) -> int:
        """Returns the operand of an unpaired conversion; for other nodes, the node itself.

        A change of types inserts or deletes such conversions.
        """
        is_conversion = self.partner[node] < 0 and CONVERTS in self.graph.nodes[node].op.traits
        return self.graph.operands[node][0] if is_conversion else node

    def join_computations(self, left: int, right: int) -> bool:
        """Pairs two computations if neither has a partner. Returns whether they are a pair now."""
        if left in self.computations or right in self.computations:
            return self.computations.get(left) == right
        self.computations[left], self.computations[right] = right, left
        return True

    def join_called(self, left: int, right: int) -> bool:
        """Like `join_computations`, but for the callees of paired instructions.

        If the computations differ and each of them exists in both modules, they are not paired:
        most probably, the instructions now call different computations.
        """
        numbers, both = outlines(self.graph), self._common_outlines
        if numbers[left] != numbers[right] and numbers[left] in both and numbers[right] in both:
            return False
        return self.join_computations(left, right)

    @cached_property
    def _common_outlines(self) -> set[int]:
        numbers, at = outlines(self.graph), self.graph.computation_split
        return {*numbers[:at]} & {*numbers[at:]}

    def reversed(self, graph: Graph) -> Pairs:
        """Returns the same pairs for the graph with the modules exchanged."""
        split, size = self.graph.split, len(self.partner)
        at, count = self.graph.computation_split, len(self.graph.computations)
        other = Pairs(graph)
        rotated = self.partner[split:] + self.partner[:split]
        other.partner = [-1 if node < 0 else (node - split) % size for node in rotated]
        other.computations = {(a - at) % count: (b - at) % count for a, b in self.computations.items()}
        return other

    def settle_computations(self) -> None:
        """Pairs the entries, then computations by their paired instructions, then by their callers.

        Computations with the most paired instructions in common come first.
        """
        graph = self.graph
        home = graph.home
        overlaps = Counter([(home[node], home[other]) for node, other in enumerate(self.partner[: graph.split]) if other >= 0])
        self.computations.clear()
        # The entry stays the entry, even if nearly all of it has been fused or outlined.
        self.join_computations(*graph.entries)
        for left, right in sorted(overlaps, key=lambda pair: (-overlaps[pair], pair)):
            self.join_computations(left, right)
        for node in sorted(graph.calls):
            other = self.partner[node] if node < graph.split else -1
            if other < 0:
                continue
            for name, callees in graph.calls[node].items():
                for a, b in zip(callees, graph.calls.get(other, {}).get(name, ()), strict=False):
                    self.join_computations(a, b)
