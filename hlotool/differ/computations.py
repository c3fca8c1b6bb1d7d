"""Pairs computations that are alike by what calls them; the nodes in them follow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from hlotool.differ.classes import structure_classes
from hlotool.differ.costs import Costs
from hlotool.differ.graph import Graph
from hlotool.differ.pairs import Pairs

__all__ = ["canonical_order", "improve_computations", "outline", "pair_leftovers"]

_MOST_ROUNDS = 3
# Exchanging computations with more instructions is not tried: their cost would have to be computed again.
_MOST_NODES = 20_000


def canonical_order(graph: Graph, computation: int) -> list[int]:
    """The nodes of a computation in an order that does not depend on the text: operands first, beginning at the root; then unused ones."""
    order: dict[int, None] = {}
    classes = structure_classes(graph)
    unused = sorted((node for node in graph.members[computation] if not graph.users[node]), key=lambda node: (classes[node], node))
    for start in (graph.roots[computation], *unused):
        stack = [start]
        while stack:
            node = stack[-1]
            if node in order:
                stack.pop()
                continue
            missing = [operand for operand in graph.operands[node] if operand not in order]
            if missing:
                stack += reversed(missing)
            else:
                order[stack.pop()] = None
    return list(order)


def outline(graph: Graph, computation: int) -> tuple[int, ...]:
    """A value that is equal for computations that differ in names, annotations and order only."""
    classes = structure_classes(graph)
    return (classes[graph.roots[computation]], *sorted([classes[node] for node in graph.members[computation]]))


def pair_leftovers(graph: Graph, pairs: Pairs) -> None:
    """Pairs equal computations without partners, which nothing calls, or nothing that is paired: those of the same name, and then in order."""
    groups: dict[tuple[int, ...], tuple[list[int], list[int]]] = {}
    for computation, members in enumerate(graph.members):
        if computation not in pairs.computations and all(pairs.partner[node] < 0 for node in members):
            groups.setdefault(outline(graph, computation), ([], []))[computation >= graph.computation_split].append(computation)
    for here, there in groups.values():
        names = {graph.computations[c].name: c for c in there}
        named = [(c, names[graph.computations[c].name]) for c in here if graph.computations[c].name in names]
        taken = {c for pair in named for c in pair}
        rest = zip([c for c in here if c not in taken], [c for c in there if c not in taken], strict=False)
        for a, b in (*named, *rest):
            pairs.join_computations(a, b)
            for x, y in zip(canonical_order(graph, a), canonical_order(graph, b), strict=True):
                pairs.join(x, y)


def improve_computations(graph: Graph, pairs: Pairs) -> None:
    """Gives computations the partners that the instructions which call them ask for, where that makes the explanation cheaper."""
    for _ in range(_MOST_ROUNDS):
        # Each of them is tried, also after one that is kept.
        kept = [_Exchange(graph, pairs, a, b).is_kept() for a, b in _wanted(graph, pairs)]
        if not any(kept):
            return


def _wanted(graph: Graph, pairs: Pairs) -> list[tuple[int, int]]:
    """Computations that paired instructions call in the same place, and that are not partners; those that most ask for come first."""
    votes: Counter[tuple[int, int]] = Counter()
    for node, called in graph.calls.items():
        other = pairs.partner[node] if node < graph.split else -1
        if other < 0:
            continue
        for name, callees in called.items():
            votes.update(zip(callees, graph.calls.get(other, {}).get(name, ()), strict=False))
    return sorted((pair for pair in votes if pairs.computations.get(pair[0]) != pair[1]), key=lambda pair: (-votes[pair], pair))


class _Exchange:
    """The exchange of partners by which two computations become partners."""

    def __init__(self, graph: Graph, pairs: Pairs, left: int, right: int) -> None:
        self.graph = graph
        self.pairs = pairs
        self.wanted = left, right

    def is_kept(self) -> bool:
        """Makes the exchange, unless it makes the explanation dearer; returns whether it has been made."""
        graph, pairs = self.graph, self.pairs
        left, right = self.wanted
        others = pairs.computations.get(right, -1), pairs.computations.get(left, -1)
        if others[0] == left:
            return False
        affected = [c for c in (left, right, *others) if c >= 0]
        if min(others) < 0 <= max(others):
            affected.append(self._replacement(max(others)))
            affected = [c for c in affected if c >= 0]
        if sum(len(graph.members[c]) for c in affected) > _MOST_NODES:
            return False
        nodes = self._nodes(affected)
        costs = Costs(graph, pairs)
        before = costs.of_nodes(nodes)
        partners, computations = {node: pairs.partner[node] for node in nodes}, dict(pairs.computations)
        self._make(left, right, *others)
        changed = [node for node in nodes if pairs.partner[node] != partners[node]]
        if costs.of_nodes(nodes) < before - 1e-9:
            return True
        for node in changed:
            pairs.partner[node] = partners[node]
        pairs.computations = computations
        return False

    def _nodes(self, computations: Iterable[int]) -> list[int]:
        """The nodes whose cost the exchange may change: members, their partners, their users, and callers."""
        graph, partner = self.graph, self.pairs.partner
        nodes: dict[int, None] = {}
        for computation in computations:
            for node in (*graph.members[computation], *graph.callers[computation]):
                nodes[node] = None
                if partner[node] >= 0:
                    nodes[partner[node]] = None
        return list(nodes)

    def _make(self, left: int, right: int, left_other: int, right_other: int) -> None:
        pairs = self.pairs
        for computation in (left, right):
            other = pairs.computations.pop(computation, None)
            if other is not None:
                pairs.computations.pop(other, None)
        new = [(left, right)]
        pairs.join_computations(left, right)
        if left_other >= 0 and right_other < 0:
            right_other = self._replacement(left_other)
        elif right_other >= 0 and left_other < 0:
            left_other = self._replacement(right_other)
        if left_other >= 0 and right_other >= 0:
            new.append((left_other, right_other))
            pairs.join_computations(left_other, right_other)
        joined = [pair for a, b in new for pair in self._counterparts(a, b)]
        for x, y in joined:
            pairs.part(x)
            pairs.part(y)
            pairs.join(x, y)

    def _replacement(self, computation: int) -> int:
        """A computation of the other module without a partner that is equal to one that has just lost its own; -1 if there is none."""
        graph = self.graph
        split = graph.computation_split
        others = range(split, len(graph.members)) if computation < split else range(split)
        size, opcode = len(graph.members[computation]), graph.structures[graph.roots[computation]]
        alike = (
            c for c in others if c not in self.pairs.computations and len(graph.members[c]) == size and graph.structures[graph.roots[c]] == opcode
        )
        return next((c for c in alike if outline(graph, c) == outline(graph, computation)), -1)

    def _counterparts(self, left: int, right: int) -> list[tuple[int, int]]:
        """Nodes that stand in the same place: all of them if the opcodes are the same, else the parameters."""
        graph = self.graph
        here, there = canonical_order(graph, left), canonical_order(graph, right)
        if [graph.nodes[x].op.name for x in here] == [graph.nodes[y].op.name for y in there]:
            return list(zip(here, there, strict=True))
        return list(zip(graph.parameters(left), graph.parameters(right), strict=False))
