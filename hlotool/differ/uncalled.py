"""Pairs the computations that no instruction calls: the entries, and those that dead code or a cut left behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from hlotool.differ.classes import classes_by_operands, classes_by_users, structure_classes
from hlotool.differ.graph import Graph

__all__ = ["pair_uncalled"]

# An instruction that occurs in more pairs of computations says nothing about which of them belong together.
_MOST_ALIKE = 2500


def pair_uncalled(graph: Graph) -> list[tuple[int, int]]:
    """Returns pairs of computations without callers: the entries, then equal ones, then those with the most instructions in common."""
    uncalled = [c for c, callers in enumerate(graph.callers) if not callers and c not in graph.entries]
    left = [c for c in uncalled if c < graph.computation_split]
    right = uncalled[len(left) :]
    if not left or not right:
        return [graph.entries]
    matching = _Matching(graph, left, right)
    for keys in (graph.keys, graph.structures):
        classes = classes_by_operands(graph, keys)
        matching.join_equal(lambda c, classes=classes: (classes[graph.roots[c]], *sorted([classes[x] for x in graph.members[c]])))  # type: ignore[misc]
    matching.join_similar([graph.structures, structure_classes(graph), classes_by_users(graph, graph.structures)])
    return [graph.entries, *matching.pairs]


class _Matching:
    def __init__(self, graph: Graph, left: Sequence[int], right: Sequence[int]) -> None:
        self.graph = graph
        self.left, self.right = left, right
        self.pairs: list[tuple[int, int]] = []
        self.nodes = {c: self._nodes(c) for c in (*left, *right)}

    def _nodes(self, computation: int) -> list[int]:
        """The nodes of a computation, and of those that only it calls."""
        graph = self.graph
        nodes: list[int] = []
        pending = [computation]
        while pending:
            members = graph.members[pending.pop()]
            nodes += members
            called = [callee for node in members if node in graph.calls for callees in graph.calls[node].values() for callee in callees]
            pending += [callee for callee in called if len(graph.callers[callee]) == 1]
        return nodes

    def join(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Makes pairs, in this order, of computations without partners."""
        free = {*self.left, *self.right}
        for a, b in pairs:
            if a in free and b in free:
                free -= {a, b}
                self.pairs.append((a, b))
        self.left = [c for c in self.left if c in free]
        self.right = [c for c in self.right if c in free]

    def join_equal(self, outline: Callable[[int], Hashable]) -> None:
        """Pairs computations of the same outline: those of the same name first, the others in order."""
        groups: dict[Hashable, tuple[list[int], list[int]]] = {}
        for side, computations in enumerate((self.left, self.right)):
            for c in computations:
                groups.setdefault(outline(c), ([], []))[side].append(c)
        for here, there in groups.values():
            names = {self.graph.computations[c].name: c for c in there}
            self.join((c, names.get(self.graph.computations[c].name, -1)) for c in here)
            free = {*self.left, *self.right}
            self.join(zip([c for c in here if c in free], [c for c in there if c in free], strict=False))

    def join_similar(self, labels: Iterable[Sequence[int]]) -> None:
        """Pairs computations by the share of instructions with the same label."""
        graph = self.graph
        common: Counter[tuple[int, int]] = Counter()
        for label in labels:
            holders: dict[int, tuple[Counter[int], Counter[int]]] = {}
            for side, computations in enumerate((self.left, self.right)):
                for c in computations:
                    for node in self.nodes[c]:
                        holders.setdefault(label[node], (Counter(), Counter()))[side][c] += 1
            for here, there in holders.values():
                if len(here) * len(there) <= _MOST_ALIKE:
                    common.update({(a, b): min(here[a], there[b]) for a in here for b in there})
        places = {c: place for computations in (self.left, self.right) for place, c in enumerate(computations)}

        def rank(pair: tuple[int, int]) -> tuple[float, bool, int, tuple[int, int]]:
            a, b = pair
            share = common[pair] / (len(self.nodes[a]) + len(self.nodes[b]))
            return -share, graph.computations[a].name != graph.computations[b].name, abs(places[a] - places[b]), pair

        self.join(sorted(common, key=rank))
