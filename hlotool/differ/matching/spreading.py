"""Spreads pairs of nodes to their operands, users, callees and callers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.matching.pairs import Pairs

__all__ = ["PairSpreader"]


class PairSpreader:
    """Pairs the neighbors of pairs if their classes match unambiguously.

    Nodes of equal class are equal in some respect; the caller passes the classes to use.
    """

    def __init__(self, graph: Graph, pairs: Pairs) -> None:
        self.graph = graph
        self.pairs = pairs
        self.partner = pairs.partner
        # Pairs whose neighbors have not been considered yet.
        self.queue: deque[tuple[int, int]] = deque()
        # Pairs that may have unpaired neighbors.
        self.open: list[tuple[int, int]] = []

    def join(self, left: int, right: int) -> None:
        self.partner[left], self.partner[right] = right, left
        self.queue.append((left, right))

    def spread(self, classes: Sequence[int]) -> None:
        """Pairs the operands and users of pairs if their classes match unambiguously."""
        queue, partner, calls = self.queue, self.partner, self.graph.calls
        operands, users, home, roots = self.graph.operands, self.graph.users, self.graph.home, self.graph.roots
        while queue:
            left, right = queue.popleft()
            # Most pairs have been found by their classes, and so have the pairs of their neighbors.
            has_free_operands = [partner[node] for node in operands[left]] != [*operands[right]]
            if has_free_operands:
                self.spread_to_operands(left, right, classes)
            has_free_users = -1 in [partner[user] for _, user in users[left]]
            if has_free_users:
                self.spread_to_users(left, right, classes)
            if left in calls:
                self.spread_to_callees(left, right, classes)
            if roots[home[left]] == left:
                self.spread_to_callers(left, right, classes)
            if left in calls or has_free_operands or has_free_users:
                self.open.append((left, right))

    def spread_again(self, classes: Sequence[int]) -> None:
        """Like `spread`, but starts from all pairs with unpaired neighbors.

        The given classes may match neighbors that earlier classes did not.
        """
        self.queue.extend(self.open)
        self.open.clear()
        self.spread(classes)

    def spread_to_operands(self, left: int, right: int, classes: Sequence[int]) -> None:
        first, second = self.graph.operands[left], self.graph.operands[right]
        partner = self.partner
        if self.graph.commutes[left] and len(first) == len(second) == 2:
            a, b = first
            c, d = second
            is_straight = self.is_similar(a, c, classes) or self.is_similar(b, d, classes)
            crossed = partner[a] == d or partner[b] == c or (not is_straight and partner[a] != c and partner[b] != d)
            if crossed:
                second = (d, c)
        for a, b in zip(first, second, strict=False):
            origins = self.graph.source(a), self.graph.source(b)
            # One of the operands may be forwarded by a parameter or a tuple.
            if classes[a] != classes[b] or (a == origins[0]) != (b == origins[1]):
                a, b = origins
            if partner[a] < 0 and partner[b] < 0 and classes[a] == classes[b]:
                self.join(a, b)

    def is_similar(self, left: int, right: int, classes: Sequence[int]) -> bool:
        """Returns whether two operands, or their sources, belong to the same class."""
        return classes[left] == classes[right] or classes[self.graph.source(left)] == classes[self.graph.source(right)]

    def spread_to_users(self, left: int, right: int, classes: Sequence[int]) -> None:
        users = self.graph.users
        first = [use for use in users[left] if self.partner[use[1]] < 0]
        if not first:
            return
        second = [use for use in users[right] if self.partner[use[1]] < 0]
        if not second:
            return
        groups: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        for position, user in first:
            groups.setdefault((position, classes[user]), ([], []))[0].append(user)
        for position, user in second:
            group = groups.get((position, classes[user]))
            if group is not None:
                group[1].append(user)
        for here, there in groups.values():
            here, there = list(dict.fromkeys(here)), list(dict.fromkeys(there))
            if len(here) == len(there) == 1 and self.partner[here[0]] < 0 and self.partner[there[0]] < 0:
                self.join(here[0], there[0])

    def spread_to_callees(self, left: int, right: int, classes: Sequence[int]) -> None:
        graph = self.graph
        other = graph.calls.get(right, {})
        for name, callees in graph.calls[left].items():
            for a, b in zip(callees, other.get(name, ()), strict=False):
                if not self.pairs.join_called(a, b):
                    continue
                for c, d in self.graph.boundaries(a, b):
                    if self.partner[c] < 0 and self.partner[d] < 0 and classes[c] == classes[d]:
                        self.join(c, d)

    def spread_to_callers(self, left: int, right: int, classes: Sequence[int]) -> None:
        graph = self.graph
        a, b = graph.home[left], graph.home[right]
        if graph.roots[a] != left or graph.roots[b] != right:
            return
        callers, others = graph.callers[a], graph.callers[b]
        if len(callers) != 1 or len(others) != 1 or self.partner[callers[0]] >= 0 or self.partner[others[0]] >= 0:
            return
        if classes[callers[0]] == classes[others[0]]:
            self.pairs.join_computations(a, b)
            self.join(callers[0], others[0])
