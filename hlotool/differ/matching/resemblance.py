"""Pairs computations by content: first those without callers, finally those that remain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence

from hlotool.differ.matching.classes import classes_by_neighborhood, outlines
from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.matching.pairs import Pairs

__all__ = ["pair_remaining", "pair_uncalled"]

# An instruction that occurs in more pairs of computations than this does not help to decide which
# computations match.
_MAX_SIMILAR = 2500


def pair_uncalled(graph: Graph) -> list[tuple[int, int]]:
    """Returns pairs of computations without callers.

    The entries come first, then equal computations, then those with the most instructions in
    common.
    """
    uncalled = [c for c, callers in enumerate(graph.callers) if not callers and c not in graph.entries]
    matching = _Matching(graph, uncalled)
    if matching.left and matching.right:
        matching.join_equal()
        matching.join_similar()
    return [graph.entries, *matching.pairs]


def pair_remaining(graph: Graph, pairs: Pairs) -> list[tuple[int, int]]:
    """Returns pairs of computations in which no instruction has a partner.

    Equal computations come first, then those with the most instructions in common.
    """
    free = [c for c, members in enumerate(graph.members) if c not in pairs.computations and all(pairs.partner[node] < 0 for node in members)]
    matching = _Matching(graph, free)
    if matching.left and matching.right:
        matching.join_equal()
        matching.join_similar()
    return matching.pairs


class _Matching:
    """A matching between the modules' computations; `free` contains the unpaired ones."""

    def __init__(self, graph: Graph, computations: Sequence[int]) -> None:
        self.graph = graph
        self.free = dict.fromkeys(computations)
        self.pairs: list[tuple[int, int]] = []

    @property
    def left(self) -> list[int]:
        return [c for c in self.free if c < self.graph.computation_split]

    @property
    def right(self) -> list[int]:
        return [c for c in self.free if c >= self.graph.computation_split]

    def _nodes(self, computation: int) -> list[int]:
        """Returns the nodes of a computation and of the computations called only from it."""
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
        """Pairs computations in the given order, if neither has a partner yet."""
        for a, b in pairs:
            if a in self.free and b in self.free:
                del self.free[a], self.free[b]
                self.pairs.append((a, b))

    def join_equal(self) -> None:
        """Pairs equal computations, first those whose annotations are equal, too.

        Among equal computations, those with the same name come first; the others follow in order.
        """
        graph, numbers = self.graph, outlines(self.graph)
        keys = {c: (numbers[c], *sorted([graph.keys[node] for node in graph.members[c]])) for c in self.free}
        equalities: tuple[Callable[[int], Hashable], ...] = (keys.__getitem__, numbers.__getitem__)
        for key in equalities:
            groups: dict[Hashable, tuple[list[int], list[int]]] = {}
            for side, computations in enumerate((self.left, self.right)):
                for c in computations:
                    groups.setdefault(key(c), ([], []))[side].append(c)
            for here, there in groups.values():
                names = {graph.computations[c].name: c for c in there}
                self.join((c, names.get(graph.computations[c].name, -1)) for c in here)
                self.join(zip([c for c in here if c in self.free], [c for c in there if c in self.free], strict=False))

    def join_similar(self) -> None:
        """Pairs computations by their share of equal instructions and equal neighborhoods.

        Larger neighborhoods are not compared: a single change would affect all instructions that
        depend on it.
        """
        graph = self.graph
        left, right = self.left, self.right
        if not left or not right:
            return
        nodes = {c: self._nodes(c) for c in self.free}
        common: Counter[tuple[int, int]] = Counter()
        alone = [-1] * len(graph.nodes)
        for classes in (graph.structures, classes_by_neighborhood(graph, graph.structures, alone, 1)):
            counts: dict[int, tuple[Counter[int], Counter[int]]] = {}
            for side, computations in enumerate((left, right)):
                for c in computations:
                    for node in nodes[c]:
                        counts.setdefault(classes[node], (Counter(), Counter()))[side][c] += 1
            for here, there in counts.values():
                if len(here) * len(there) <= _MAX_SIMILAR:
                    common.update({(a, b): min(here[a], there[b]) for a in here for b in there})
        positions = {c: position for computations in (left, right) for position, c in enumerate(computations)}

        def rank(pair: tuple[int, int]) -> tuple[float, bool, int, tuple[int, int]]:
            a, b = pair
            share = common[pair] / (len(nodes[a]) + len(nodes[b]))
            return -share, graph.computations[a].name != graph.computations[b].name, abs(positions[a] - positions[b]), pair

        self.join(sorted(common, key=rank))
