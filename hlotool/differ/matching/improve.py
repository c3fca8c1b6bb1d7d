"""Exchanges partners if that lowers the cost of the explanation."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence

from hlotool.differ.matching.costs import MOST, SINGLE, Costs
from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.matching.pairs import Pairs

__all__ = ["improve"]

_MAX_ROUNDS = 4
_MAX_USERS = 32
_MAX_CANDIDATES = 12
# Equal nodes are candidates only if there are at most this many of them.
_MAX_EQUAL = 4
# At most this many nodes exchange their partners at once.
_MAX_IN_BLOCK = 12
_MAX_USERS_IN_BLOCK = 2
_MAX_BLOCKS = 3


def improve(graph: Graph, pairs: Pairs) -> None:
    """Lowers the cost of all pairs by exchanging partners until no exchange helps.

    There are at most `_MAX_ROUNDS` rounds.
    """
    improver = _Improver(graph, pairs)
    improver.exchange_shared()
    nodes = sorted(improver.costs.suspects(graph.keys) + [node for node, other in enumerate(pairs.partner) if other < 0])
    for _ in range(_MAX_ROUNDS):
        changed = [node for node in improver.costly(nodes) if improver.visit(node)]
        if not changed:
            return
        partners = [pairs.partner[node] for node in changed]
        nodes = sorted(improver.around([*changed, *[node for node in partners if node >= 0]]))


class _Improver:
    def __init__(self, graph: Graph, pairs: Pairs) -> None:
        self.graph = graph
        self.pairs = pairs
        self.partner = pairs.partner
        self.costs = Costs(graph, pairs)
        # The costs of pairs by their left nodes, computed since the last exchange.
        self.known: dict[int, float] = {}

    def costly(self, nodes: Iterable[int]) -> list[int]:
        """Returns nodes without a partner, and nodes of the left module whose pair has a cost."""
        split, partner = self.graph.split, self.partner
        return [x for x in nodes if partner[x] < 0 or (x < split and self.cost(x) > 0)]

    def cost(self, left: int) -> float:
        """Returns the cost of a pair, given its left node."""
        if left not in self.known:
            self.known[left] = self.costs.of_pair(left, self.partner[left])
        return self.known[left]

    def exchange_shared(self) -> None:
        """Gives each node with many users the partner that its users suggest most often.

        A user suggests the operands of its own partner at the same position. The current partner is
        kept if it is suggested as often, or if the exchange does not lower the cost. `visit` skips
        these nodes, since each exchange affects all users.
        """
        for node, users in enumerate(self.graph.users):
            if len(users) <= _MAX_USERS:
                continue
            suggested = Counter(other for position, user in users for other in self.operands_of_partner(user, position))
            for other, count in suggested.most_common(1):
                if count > suggested[self.partner[node]] and self.gain(node, other, 0.0, limited=False) > 1e-9:
                    self.exchange(node, other)
                    self.known.clear()

    def operands_of_partner(self, user: int, position: int) -> Sequence[int]:
        """Returns the operands at a position of a user's partner.

        These are all operands if their order does not matter.
        """
        other = self.partner[user]
        if other < 0:
            return ()
        operands = self.graph.operands[other]
        return operands if position < 0 else operands[position : position + 1]

    def visit(self, node: int) -> bool:
        """Gives a node the partner that lowers the cost most, or else tries blocks around the node.

        Returns whether partners were exchanged.
        """
        candidates = self.candidates(node)
        # Removing the partner does not lower the cost of the node's users, so it helps only if the
        # pair itself is costly.
        if self.partner[node] >= 0 and self.cost(node) > 2 * SINGLE:
            candidates.append(-1)
        best, most = -1, 0.0
        for other in candidates:
            gain = self.gain(node, other, most + 1e-9)
            if gain > most + 1e-9:
                best, most = other, gain
        if most == 0:
            return self.visit_blocks(node, candidates)
        self.exchange(node, best)
        self.known.clear()
        return True

    def visit_blocks(self, node: int, candidates: Iterable[int]) -> bool:
        """Like `visit`, but exchanges the partners of a block of nodes around the node.

        If the node has a partner, blocks around the operands of the pair are tried as well.
        """
        graph, partner = self.graph, self.partner
        starts = [(node, other) for other in candidates if other >= 0]
        if partner[node] >= 0:
            starts += zip(graph.operands[node], graph.operands[partner[node]], strict=False)
        starts = [(a, b) for a, b in starts if self.can_pair(a, b)]
        if not any(self.exchange_block(a, b) for a, b in starts[:_MAX_BLOCKS]):
            return False
        self.known.clear()
        return True

    def exchange_block(self, node: int, other: int) -> bool:
        """Exchanges the partners of two nodes and of the nodes around them if that lowers the cost.

        Returns whether the partners were exchanged.
        """
        block = self.block(node, other)
        touched = list(dict.fromkeys(x for a, b in block for x in (a, b, self.partner[a], self.partner[b]) if x >= 0))
        if any(len(self.graph.users[x]) > _MAX_USERS for x in touched):
            return False
        around = self.around(touched)
        before = self.costs.of_nodes(around, self.known)
        state = [(x, self.partner[x]) for x in touched]
        for a, b in block:
            if self.partner[a] != b:
                self.exchange(a, b)
        if self.costs.of_nodes(around) < before - 1e-9:
            return True
        self.restore(state)
        return False

    def block(self, node: int, other: int) -> list[tuple[int, int]]:
        """Returns a pair of nodes and the pairs that follow from it through operands and users.

        The nodes of each pair have the same opcode, but are not partners.
        """
        graph = self.graph
        block: dict[int, int] = {}
        taken: set[int] = set()
        pending = deque([(node, other)])
        while pending and len(block) < _MAX_IN_BLOCK:
            a, b = pending.popleft()
            if a in block or b in taken or not self.can_pair(a, b):
                continue
            block[a] = b
            taken.add(b)
            pending.extend(zip(graph.operands[a], graph.operands[b], strict=False))
            if graph.commutes[a] and graph.commutes[b]:
                pending.extend(zip(graph.operands[a], reversed(graph.operands[b]), strict=False))
            users, others = graph.users[a], graph.users[b]
            if len(users) == len(others) <= _MAX_USERS_IN_BLOCK:
                pending.extend((x, y) for (at, x), (where, y) in zip(users, others, strict=True) if at == where)
        return list(block.items())

    def can_pair(self, node: int, other: int) -> bool:
        """Returns whether two nodes have the same opcode, but are not partners.

        Always False for parameters, because their numbers distinguish them.
        """
        graph = self.graph
        return self.partner[node] != other and not graph.is_parameter[node] and graph.nodes[node].op is graph.nodes[other].op

    def restore(self, state: Iterable[tuple[int, int]]) -> None:
        """Restores the partners of nodes, given as pairs; -1 stands for no partner."""
        for x, _ in state:
            self.partner[x] = -1
        for x, y in state:
            if y >= 0:
                self.pairs.join(x, y)

    def candidates(self, node: int) -> list[int]:
        """Returns possible partners, mainly neighbors of the partners of the node's neighbors."""
        graph, partner = self.graph, self.partner
        found: dict[int, None] = {}
        for position, operand in enumerate(graph.operands[node]):
            for source in dict.fromkeys((operand, graph.source(operand))):
                other = partner[source]
                if other < 0 or len(graph.users[other]) > _MAX_USERS:
                    continue
                at = -1 if graph.commutes[node] else position
                found.update(dict.fromkeys(user for where, user in graph.users[other] if where == at))
        for position, user in graph.users[node][:_MAX_USERS]:
            read = self.operands_of_partner(user, position)
            found.update(dict.fromkeys([*read, *map(graph.source, read)]))
        for other in graph.counterpart_callers(node, self.pairs.computations):
            found[other] = None
        counterpart = self.pairs.computations.get(graph.home[node])
        if counterpart is not None:
            if graph.roots[graph.home[node]] == node:
                found[graph.roots[counterpart]] = None
            equal = graph.nodes_of_key(counterpart, graph.keys[node])
            if len(equal) <= _MAX_EQUAL:
                found.update(dict.fromkeys(equal))
        found.pop(partner[node], None)
        parts, keys, is_parameter = graph.parts, graph.keys, graph.is_parameter
        possible = [other for other in found if is_parameter[other] == is_parameter[node]]
        # Among equal nodes, those without a partner come first: a copy may have been inserted
        # before or after the original.
        return sorted(possible, key=lambda other: (parts.cost(keys[node], keys[other]), partner[other] >= 0))[:_MAX_CANDIDATES]

    def exchange(self, node: int, other: int) -> None:
        """Pairs a node with another one, and their former partners with each other.

        If `other` is -1, the node loses its partner.
        """
        old = self.partner[node]
        if other < 0:
            self.pairs.part(node)
            return
        left_alone = self.partner[other]
        self.pairs.part(node)
        self.pairs.part(other)
        self.pairs.join(node, other)
        if old >= 0 and left_alone >= 0:
            self.pairs.join(left_alone, old)

    def gain(self, node: int, other: int, least: float, *, limited: bool = True) -> float:
        """Returns how much the partner `other` lowers the cost.

        The result is 0 if it cannot exceed `least` or, if `limited` is true, one of the nodes has
        too many users.
        """
        old = self.partner[node]
        moved = [node, old, other, -1 if other < 0 else self.partner[other]]
        nodes = [x for x in moved if x >= 0]
        if limited and any(len(self.graph.users[x]) > _MAX_USERS for x in nodes):
            return 0.0
        around = self.around(nodes)
        before = self.costs.of_nodes(around, self.known)
        if before - self.least_cost(node, other) <= least:
            return 0.0
        state = [(x, self.partner[x]) for x in nodes]
        self.exchange(node, other)
        after = self.costs.of_nodes(around)
        self.restore(state)
        return before - after

    def least_cost(self, node: int, other: int) -> float:
        """Returns a lower bound for the cost of a node, its new partner and the former partners."""
        old = self.partner[node]
        if other < 0:
            return 2 * SINGLE
        keys, parts = self.graph.keys, self.graph.parts
        left_alone = self.partner[other]
        cost: float = min(parts.cost(keys[node], keys[other]), MOST)
        if old >= 0 and left_alone >= 0:
            return cost + min(parts.cost(keys[left_alone], keys[old]), MOST)
        return cost + SINGLE * (old >= 0) + SINGLE * (left_alone >= 0)

    def around(self, nodes: Iterable[int]) -> list[int]:
        """Returns the nodes whose cost may depend on the partners of the given nodes."""
        graph = self.graph
        around = dict.fromkeys(nodes)
        for node in nodes:
            around.update(dict.fromkeys([user for _, user in graph.users[node]]))
        return list(around)
