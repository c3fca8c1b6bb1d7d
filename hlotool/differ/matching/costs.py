"""Cost model for explanations: one unit per kind of change, 1.25 for an unmatched instruction.

The lower the cost, the easier an explanation is to read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import eq

from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.matching.pairs import Pairs
from hlotool.opdefs.traits import CONVERTS

__all__ = ["MAX_OF_OTHER_OPCODES", "MOST", "SINGLE", "UNRELATED", "Costs", "highest_cost"]

SINGLE = 1.25
"""The cost of an instruction that only one of the modules has."""

MOST = 2.6
"""The highest cost of a pair, slightly more than the cost of an insertion and a deletion."""


MAX_OF_OTHER_OPCODES = 3
"""Like `MOST`, but for instructions with different opcodes.

If anything besides the opcode changed, the two instructions are probably unrelated.
"""

UNRELATED = 6
"""The cost of pairing a conversion with an instruction that does not convert.

This costs more than any other explanation: if a value is computed in another type, conversions are
inserted, and no instruction turns into one.
"""

_OTHER_CALL = 0.99
"""The cost of calling a different computation.

It is slightly lower than the cost of changed operands, because exchanging the partners of the
called computations may still remove the change.
"""


def highest_cost(graph: Graph, left: int, right: int) -> float:
    """Returns the highest cost of a pair of nodes, which depends on their opcodes."""
    if graph.parts.has_same_opcode(graph.keys[left], graph.keys[right]):
        return MOST
    converts, other_converts = (CONVERTS in graph.nodes[node].op.traits for node in (left, right))
    return UNRELATED if converts != other_converts else MAX_OF_OTHER_OPCODES


class Costs:
    """The costs of pairs, given all other pairs."""

    def __init__(self, graph: Graph, pairs: Pairs) -> None:
        self.graph = graph
        self.pairs = pairs

    def suspects(self, keys: Sequence[int]) -> list[int]:
        """Returns the left nodes of the pairs that may have changed.

        In all other pairs, the keys are equal, and the operands and the computations are pairs.
        """
        graph, computations = self.graph, self.pairs.computations
        operands, home, calls, control = graph.operands, graph.home, graph.calls, graph.control
        at, suspects = self.pairs.partner.__getitem__, []
        for node, other in enumerate(self.pairs.partner[: graph.split]):
            refers = node in calls or other in calls or control[node] or control[other]
            is_equal = keys[node] == keys[other] and tuple(map(at, operands[node])) == operands[other]
            if other >= 0 and (refers or not is_equal or computations.get(home[node]) != home[other]):
                suspects.append(node)
        return suspects

    def total(self) -> float:
        """Returns the cost of the whole explanation."""
        graph, partner = self.graph, self.pairs.partner
        total = sum(self.of_pair(node, partner[node]) for node in self.suspects(graph.keys))
        return total + SINGLE * partner.count(-1) + self.of_roots(range(graph.computation_split))

    def of_nodes(self, nodes: Iterable[int], known: dict[int, float] | None = None) -> float:
        """Returns the cost of nodes and of the roots of their computations; each pair counts once.

        The nodes may belong to either module. `known` maps the left nodes of pairs to the costs of
        the pairs; newly computed costs are added to it.
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
        highest = MOST if a == b else highest_cost(graph, left, right)
        if highest == UNRELATED:
            return UNRELATED
        first, second = graph.operands[left], graph.operands[right]
        # A tuple may have thousands of operands, and is compared whenever one of them is exchanged.
        # So the comparison stops at the first difference.
        is_equal = len(first) == len(second) and all(map(eq, map(self.pairs.partner.__getitem__, first), second))
        if not is_equal and not self.has_same_operands(left, right):
            cost += 1
        if (left in graph.calls or right in graph.calls) and not self.has_same_calls(left, right):
            cost += _OTHER_CALL
        if (graph.control[left] or graph.control[right]) and not self.has_same_control(left, right):
            cost += 1
        if self.pairs.computations.get(graph.home[left]) != graph.home[right]:
            cost += 1
        return min(cost, highest)

    def has_same_operands(self, left: int, right: int) -> bool:
        """Returns whether all operands, or the sources of their values, are paired."""
        first, second = self.graph.operands[left], self.graph.operands[right]
        partner = self.pairs.partner
        if len(first) != len(second):
            return False
        return all(partner[a] == b or self.is_forwarded(a, b) for a, b in zip(first, second, strict=True))

    def is_forwarded(self, left: int, right: int) -> bool:
        """Returns whether two values are forwarded from paired values.

        The call, parameter or tuple that forwards a value exists in only one of the modules. If
        both values have partners, the result is False: one value replaced the other, even if both
        are forwarded from paired values.
        """
        graph, partner = self.graph, self.pairs.partner
        if partner[left] >= 0 and partner[right] >= 0:
            return False
        return partner[graph.source(left)] == graph.source(right)

    def has_same_calls(self, left: int, right: int) -> bool:
        """Returns whether the called computations are paired; always true for different opcodes."""
        first, second = self.graph.calls.get(left, {}), self.graph.calls.get(right, {})
        if self.graph.nodes[left].op.name != self.graph.nodes[right].op.name:
            return True
        if first.keys() != second.keys():
            return False
        computations = self.pairs.computations
        return all([computations.get(c) for c in callees] == [*second[name]] for name, callees in first.items())

    def has_same_control(self, left: int, right: int) -> bool:
        """Returns whether the control predecessors are paired with one another."""
        partner = self.pairs.partner
        return {partner[node] for node in self.graph.control[left]} == set(self.graph.control[right])

    def of_roots(self, computations: Iterable[int]) -> float:
        """Counts the pairs of computations whose roots are not paired with each other.

        The argument contains computations of the left module.
        """
        roots, partner = self.graph.roots, self.pairs.partner
        return sum(partner[roots[c]] != roots[self.pairs.computations[c]] for c in computations if c in self.pairs.computations)
