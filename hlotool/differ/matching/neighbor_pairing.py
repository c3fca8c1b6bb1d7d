"""Pairs changed nodes, the most similar first, starting from the neighbors of existing pairs."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from hlotool.differ.matching.costs import MOST, UNRELATED, highest_cost
from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.matching.pairs import Pairs

__all__ = ["NeighborPairing"]

# A pair with a higher estimate is no better than a deletion and an insertion.
_MAX_ESTIMATE = 2.4
# If two values have more users than this, not all of their users are compared with one another.
_MAX_USERS = 24
# Nodes without paired neighbors are compared with one another in groups of up to this size. In
# larger groups, only nodes at similar positions are compared.
_MAX_IN_GROUP = 32


class NeighborPairing:
    """A queue of possible pairs, ordered by estimated cost; each new pair adds its neighbors."""

    def __init__(self, graph: Graph, pairs: Pairs) -> None:
        self.graph = graph
        self.pairs = pairs
        self.partner = pairs.partner
        self.heap: list[tuple[float, int, int, int]] = []
        self.offered: set[tuple[int, int]] = set()

    def run(self, joined: Iterable[tuple[int, int]]) -> None:
        """Pairs the neighbors of the given pairs, then the neighbors of the new pairs, and so on.

        Finally, pairs similar nodes in paired computations.
        """
        graph = self.graph
        for left, right in joined:
            self.offer_neighbors(left, right)
        for left, right in sorted(self.pairs.computations.items()):
            if left < graph.computation_split:
                for a, b in zip(graph.parameters(left), graph.parameters(right), strict=False):
                    self.offer(a, b)
        self.take()
        for left, right in self.leftovers():
            self.offer(left, right)
        self.take()

    def take(self) -> None:
        """Joins possible pairs, the most similar first, until none are left."""
        heap = self.heap
        while heap:
            estimate, _, left, right = heapq.heappop(heap)
            if self.partner[left] >= 0 or self.partner[right] >= 0:
                continue
            now = self.estimate(left, right)
            if now > estimate + 1e-9:
                # In the meantime, a neighbor was paired with another node.
                if now <= _MAX_ESTIMATE:
                    heapq.heappush(heap, (now, self.distance(left, right), left, right))
                continue
            self.pairs.join(left, right)
            # If the two computations have no partners yet, they most probably belong together.
            self.pairs.join_computations(self.graph.home[left], self.graph.home[right])
            self.offer_neighbors(left, right)

    def distance(self, left: int, right: int) -> int:
        """Returns the distance between the nodes' positions in their computations, to break ties."""
        graph = self.graph
        return abs((left - graph.members[graph.home[left]].start) - (right - graph.members[graph.home[right]].start))

    def offer(self, left: int, right: int) -> None:
        if self.partner[left] >= 0 or self.partner[right] >= 0:
            return
        estimate = self.estimate(left, right)
        if estimate <= _MAX_ESTIMATE:
            heapq.heappush(self.heap, (estimate, self.distance(left, right), left, right))

    def estimate(self, left: int, right: int) -> float:
        """Returns the known part of the cost of a pair, corrected for its neighbors.

        Each operand or user that agrees lowers the estimate; conflicts raise it.
        """
        graph = self.graph
        if graph.is_parameter[left] != graph.is_parameter[right]:
            return 2 * MOST
        highest = highest_cost(graph, left, right)
        if highest == UNRELATED:
            return 2 * MOST
        cost: float = graph.parts.cost(graph.keys[left], graph.keys[right])
        first, second = graph.operands[left], graph.operands[right]
        bonus = 0.0
        if len(first) != len(second):
            cost += 1
        else:
            agreeing, conflict = self._operands(left, right)
            cost += conflict
            bonus = 0.1 * min(agreeing, 4)
        home = self.pairs.computations.get(graph.home[left])
        if home != graph.home[right]:
            cost += 1 if home is not None or graph.home[right] in self.pairs.computations else 0.2
        agreeing, conflict = self._users(left, right)
        return min(cost, highest) - bonus - 0.3 * min(agreeing, 3) + 0.2 * min(conflict, 2)

    def _operands(self, left: int, right: int) -> tuple[int, int]:
        graph, partner = self.graph, self.partner
        first, second = graph.operands[left], graph.operands[right]
        agreeing = conflicts = 0
        for a, b in zip(first, second, strict=True):
            other = partner[a]
            if other == b:
                agreeing += 1
            elif other >= 0 or partner[b] >= 0:
                source = partner[self._converted_source(a)]
                if source >= 0 and source == self._converted_source(b):
                    agreeing += 1
                else:
                    conflicts += 1
        return agreeing, 1 if conflicts else 0

    def _converted_source(self, node: int) -> int:
        source = self.graph.source
        return source(self.pairs.converted(source(node)))

    def _users(self, left: int, right: int) -> tuple[int, int]:
        """Counts the pairs of users that use both nodes in the same position, and all other pairs."""
        graph, partner = self.graph, self.partner
        if len(graph.users[right]) > _MAX_USERS or len(graph.users[left]) > _MAX_USERS:
            return 0, 0
        uses = set(graph.users[right])
        agreeing = conflicts = 0
        for position, user in graph.users[left]:
            other = partner[user]
            if other < 0:
                continue
            if (position, other) in uses or self._reads(other, position, right):
                agreeing += 1
            else:
                conflicts += 1
        return agreeing, conflicts

    def _reads(self, user: int, position: int, node: int) -> bool:
        """Returns whether an operand of a user originates from a node."""
        operands = self.graph.operands[user]
        return any(self.graph.source(operand) == node for operand in (operands if position < 0 else operands[position : position + 1]))

    # ---- possible pairs -------------------------------------------------------------------------

    def offer_neighbors(self, left: int, right: int) -> None:
        for a, b in self.neighbors(left, right):
            if self.partner[a] < 0 and self.partner[b] < 0 and (a, b) not in self.offered:
                self.offered.add((a, b))
                self.offer(a, b)

    def neighbors(self, left: int, right: int) -> Iterator[tuple[int, int]]:
        """Yields pairs of the two nodes' neighbors: operands, users, and neighbors across calls."""
        graph, partner = self.graph, self.partner
        first, second = graph.operands[left], graph.operands[right]
        yield from zip(first, second, strict=False)
        if graph.commutes[left] and len(second) == 2:
            yield from zip(first, reversed(second), strict=False)
        elif len(first) != len(second):
            yield from zip(reversed(first), reversed(second), strict=False)
        here = [use for use in graph.users[left] if partner[use[1]] < 0]
        there = [use for use in graph.users[right] if partner[use[1]] < 0] if here else []
        if len(here) <= _MAX_USERS and len(there) <= _MAX_USERS:
            yield from ((a, b) for _, a in here for _, b in there)
        else:
            yield from self._similar(here, there)
        yield from self._across_calls(left, right)

    def _similar(self, here: Iterable[tuple[int, int]], there: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        """Yields pairs of users with the same operand position and the same structure, in order.

        The users with a given position and structure are numbered. Each user is paired only with
        those that have the same number or an adjacent one.
        """
        structures = self.graph.structures
        groups: dict[tuple[int, int], list[int]] = {}
        for position, user in there:
            groups.setdefault((position, structures[user]), []).append(user)
        used: dict[tuple[int, int], int] = {}
        for position, user in here:
            key = (position, structures[user])
            number = used.get(key, 0)
            used[key] = number + 1
            others = groups.get(key, [])
            yield from ((user, other) for other in others[max(number - 1, 0) : number + 2])

    def _across_calls(self, left: int, right: int) -> Iterator[tuple[int, int]]:
        graph = self.graph
        sources = [(graph.source(a), graph.source(b)) for a, b in zip(graph.operands[left], graph.operands[right], strict=False)]
        yield from ((a, b) for a, b in sources if (a < graph.split) != (b < graph.split))
        other = graph.calls.get(right, {})
        for name, callees in graph.calls.get(left, {}).items():
            for a, b in zip(callees, other.get(name, ()), strict=False):
                self.pairs.join_called(a, b)
                yield graph.roots[a], graph.roots[b]
                yield from zip(graph.parameters(a), graph.parameters(b), strict=False)

    def leftovers(self) -> Iterator[tuple[int, int]]:
        """Yields possible pairs of unpaired nodes with the same opcode in paired computations.

        Small groups yield all pairs; large groups yield only pairs at similar positions.
        """
        graph = self.graph
        groups: dict[tuple[int, str], tuple[list[int], list[int]]] = {}
        for node, other in enumerate(self.partner):
            if other >= 0:
                continue
            is_left = node < graph.split
            computation = graph.home[node] if is_left else self.pairs.computations.get(graph.home[node], -1)
            groups.setdefault((computation, graph.nodes[node].op.name), ([], []))[not is_left].append(node)
        for here, there in groups.values():
            if len(here) * len(there) <= _MAX_IN_GROUP**2:
                yield from ((a, b) for a in here for b in there)
                continue
            for number, a in enumerate(here):
                at = number * len(there) // len(here)
                yield from ((a, b) for b in there[max(at - 2, 0) : at + 3])
