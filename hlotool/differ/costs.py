"""What an explanation of a difference costs its reader: a unit for each kind of change, 1.25 for an instruction without a counterpart."""

from __future__ import annotations

from collections.abc import Iterable
from operator import eq

from hlotool.differ.graph import Graph
from hlotool.differ.pairs import Pairs

__all__ = ["MOST", "MOST_OF_OTHER_OPCODES", "SINGLE", "Costs"]

SINGLE = 1.25
"""The cost of an instruction that only one of the modules has."""

MOST = 2.6
"""A pair never costs more; it is not better than an insertion and a deletion then."""


MOST_OF_OTHER_OPCODES = 3
"""As `MOST`, for instructions with different opcodes, which rather have nothing to do with one another if anything else has changed, too."""


_OTHER_CALL = 0.99
"""Slightly less than a change of operands, because exchanging the partners of the called computations may still make it unnecessary."""


class Costs:
    """The costs of pairs, given all other pairs."""

    def __init__(self, graph: Graph, pairs: Pairs) -> None:
        self.graph = graph
        self.pairs = pairs

    def total(self) -> float:
        """The cost of the whole explanation."""
        graph, partner = self.graph, self.pairs.partner
        total = sum(self.of_pair(node, partner[node]) for node in range(graph.split) if partner[node] >= 0)
        return total + SINGLE * partner.count(-1) + self.of_roots(range(graph.computation_split))

    def of_nodes(self, nodes: Iterable[int], known: dict[int, float] | None = None) -> float:
        """The cost of nodes of both modules, each pair once, and of the roots of their computations.

        `known` are costs of pairs by their left nodes; those that are computed are added.
        """
        graph, partner = self.graph, self.pairs.partner
        known = {} if known is None else known
        total = 0.0
        seen: set[int] = set()
        computations: set[int] = set()
        for node in nodes:
            other = partner[node]
            left = node if node < graph.split else other
            if other < 0:
                total += SINGLE
            elif left not in seen:
                seen.add(left)
                if left not in known:
                    known[left] = self.of_pair(left, partner[left])
                total += known[left]
            home = graph.home[node]
            computations.add(home if home < graph.computation_split else self.pairs.computations.get(home, -1))
        return total + self.of_roots(sorted(computations))

    def of_pair(self, left: int, right: int) -> float:
        graph = self.graph
        a, b = graph.keys[left], graph.keys[right]
        cost: float = 0 if a == b else graph.parts.cost(a, b)
        first, second = graph.operands[left], graph.operands[right]
        # A tuple may have thousands of operands, and is compared whenever one of them is exchanged: this ends at the first difference.
        is_equal = len(first) == len(second) and all(map(eq, map(self.pairs.partner.__getitem__, first), second))
        if not is_equal and not self.has_same_operands(left, right):
            cost += 1
        if (left in graph.calls or right in graph.calls) and not self.has_same_calls(left, right):
            cost += _OTHER_CALL
        if (graph.control[left] or graph.control[right]) and not self.has_same_control(left, right):
            cost += 1
        if self.pairs.computations.get(graph.home[left]) != graph.home[right]:
            cost += 1
        return min(cost, MOST if self.graph.parts.has_same_opcode(a, b) else MOST_OF_OTHER_OPCODES)

    def has_same_operands(self, left: int, right: int) -> bool:
        """Whether all operands are paired with one another, directly or where their values come from."""
        first, second = self.graph.operands[left], self.graph.operands[right]
        partner = self.pairs.partner
        if len(first) != len(second):
            return False
        return all(partner[a] == b or self.is_forwarded(a, b) for a, b in zip(first, second, strict=True))

    def is_forwarded(self, left: int, right: int) -> bool:
        """Whether two values come from paired ones, by a call, a parameter or a tuple that only one of the modules has.

        If both values have partners, one value has taken the place of the other, though what passes them on may pass the same twice.
        """
        graph, partner = self.graph, self.pairs.partner
        if partner[left] >= 0 and partner[right] >= 0:
            return False
        return partner[graph.source(left)] == graph.source(right)

    def has_same_calls(self, left: int, right: int) -> bool:
        """Whether the called computations are pairs; for different opcodes that is not asked."""
        first, second = self.graph.calls.get(left, {}), self.graph.calls.get(right, {})
        if self.graph.nodes[left].op.name != self.graph.nodes[right].op.name:
            return True
        if first.keys() != second.keys():
            return False
        computations = self.pairs.computations
        return all([computations.get(c) for c in callees] == [*second[name]] for name, callees in first.items())

    def has_same_control(self, left: int, right: int) -> bool:
        """Whether the control predecessors are paired with one another."""
        partner = self.pairs.partner
        return {partner[node] for node in self.graph.control[left]} == set(self.graph.control[right])

    def of_roots(self, computations: Iterable[int]) -> float:
        """The number of paired computations of the left module whose roots are not paired."""
        roots, partner = self.graph.roots, self.pairs.partner
        return sum(partner[roots[c]] != roots[self.pairs.computations[c]] for c in computations if c in self.pairs.computations)
