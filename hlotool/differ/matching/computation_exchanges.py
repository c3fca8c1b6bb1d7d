"""Exchanges the partners of computations and of their nodes if that improves the explanation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import product

from hlotool.differ.matching.alignment import align_sequences
from hlotool.differ.matching.classes import outlines, structure_classes
from hlotool.differ.matching.costs import MAX_OF_OTHER_OPCODES, Costs
from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.matching.pairs import Pairs

__all__ = ["canonical_order", "counterparts", "improve_computations"]

_MAX_ROUNDS = 3
# Computations with more instructions than this in total are not exchanged, because computing their
# cost again would take too long.
_MAX_NODES = 20_000
# While the costs of exchanges are computed, a node is visited at most this many times on average.
_MAX_VISITS = 10
# Larger groups of computations with the same opcode at the root are not compared with one another.
_MAX_WITH_SAME_ROOT = 8


def canonical_order(graph: Graph, computation: int) -> list[int]:
    """Returns the nodes of a computation in an order that is independent of the text.

    The root and its dependencies come first, then the unused nodes and their dependencies. Each
    node comes after its operands.
    """
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


def counterparts(graph: Graph, left: int, right: int) -> list[tuple[int, int]]:
    """Returns pairs of nodes at corresponding positions in two computations.

    If all opcodes are the same, all nodes are paired. Otherwise, parameters are paired by number,
    and the other nodes are aligned so that paired nodes have the same opcode.
    """
    here, there = canonical_order(graph, left), canonical_order(graph, right)
    first, second = ([graph.nodes[x].op.name for x in order] for order in (here, there))
    if first == second:
        return list(zip(here, there, strict=True))
    pairs = list(zip(graph.parameters(left), graph.parameters(right), strict=False))
    here, there = ([x for x in order if not graph.is_parameter[x]] for order in (here, there))
    first, second = ([graph.nodes[x].op.name for x in order] for order in (here, there))
    return pairs + [(here[a], there[b]) for a, b in align_sequences(first, second, lambda a, b: False)]


def improve_computations(graph: Graph, pairs: Pairs) -> bool:
    """Exchanges the partners of computations if that lowers the cost of the explanation.

    The instructions in the computations and their callers suggest the exchanges. Returns whether
    any partners were exchanged.
    """
    for number in range(_MAX_ROUNDS):
        wanted = _wanted(graph, pairs)
        if not wanted:
            return number > 0
        exchanges = _Exchanges(graph, pairs)
        # A list rather than a generator, so that all exchanges are tried even if one has been kept.
        kept = [exchanges.keeps(a, b) for a, b in wanted]
        if not any(kept):
            return number > 0
    return True


def _wanted(graph: Graph, pairs: Pairs) -> list[tuple[int, int]]:
    """Returns pairs of computations that should perhaps be partners, ordered by descending votes.

    Two computations that are not partners get a vote for each pair of instructions in them, for
    each pair of instructions that call them in the same position, and for each pair of calls in
    them, one in each, whose callees are partners. Computations whose partners have roots with
    another opcode get a vote for each other if their own roots have the same opcode.
    """
    home, computations = graph.home, pairs.computations
    votes = Counter(
        [
            (home[node], home[other])
            for node, other in enumerate(pairs.partner[: graph.split])
            if other >= 0 and computations.get(home[node]) != home[other]
        ]
    )
    costs = Costs(graph, pairs)
    for node, called in graph.calls.items():
        other = pairs.partner[node] if node < graph.split else -1
        if other < 0:
            continue
        for name, callees in called.items():
            votes.update(zip(callees, graph.calls.get(other, {}).get(name, ()), strict=False))
        if not costs.has_same_calls(node, other):
            votes.update((graph.home[node], graph.home[caller]) for caller in graph.counterpart_callers(node, pairs.computations))
            votes.update((graph.home[caller], graph.home[other]) for caller in graph.counterpart_callers(other, pairs.computations))
    votes.update(_with_same_root(graph, pairs))
    return sorted((pair for pair in votes if pairs.computations.get(pair[0]) != pair[1]), key=lambda pair: (-votes[pair], pair))


def _with_same_root(graph: Graph, pairs: Pairs) -> Iterator[tuple[int, int]]:
    """Yields computations with the same opcode at the root, unlike at the roots of their partners."""
    left: dict[str, list[int]] = {}
    right: dict[str, list[int]] = {}
    opcodes = [graph.nodes[root].op.name for root in graph.roots]
    for computation, partner in sorted(pairs.computations.items()):
        if opcodes[computation] != opcodes[partner]:
            side = left if computation < graph.computation_split else right
            side.setdefault(opcodes[computation], []).append(computation)
    for opcode, computations in left.items():
        others = right.get(opcode, [])
        if len(computations) * len(others) <= _MAX_WITH_SAME_ROOT**2:
            yield from product(computations, others)


def _settled(graph: Graph, pairs: Pairs) -> Counter[tuple[int, int]]:
    """Counts, for each two computations, the equal nodes in them whose pairs cost at most 1.

    If the computations lose each other as partners, each of these pairs costs 1 more.
    """
    keys, home = graph.keys, graph.home
    return Counter(
        (home[node], home[other])
        for node, other in enumerate(pairs.partner[: graph.split])
        if other >= 0 and keys[node] == keys[other] and node not in graph.calls and not graph.control[node]
    )


class _Exchanges:
    """Exchanges of the partners of computations."""

    def __init__(self, graph: Graph, pairs: Pairs) -> None:
        self.graph = graph
        self.pairs = pairs
        self.costs = Costs(graph, pairs)
        # If many loops share a computation, each exchange visits all these loops.
        self.work = _MAX_VISITS * len(graph.nodes)
        # The computations without a partner, by module and outline.
        self.spare: dict[tuple[bool, int], list[int]] = {}
        for computation in range(len(graph.computations)):
            if computation not in pairs.computations:
                self.spare.setdefault(self._kind(computation), []).append(computation)
        self.settled = _settled(graph, pairs)

    def _kind(self, computation: int) -> tuple[bool, int]:
        return computation < self.graph.computation_split, outlines(self.graph)[computation]

    def keeps(self, left: int, right: int) -> bool:
        """Pairs two computations if that lowers the cost. Returns whether they were paired."""
        graph, pairs = self.graph, self.pairs
        new = self._plan(left, right)
        others = [pairs.computations.get(c, -1) for pair in new for c in pair]
        affected = dict.fromkeys(c for c in (*(c for pair in new for c in pair), *others) if c >= 0)
        if not new or self._is_hopeless(new) or sum(len(graph.members[c]) for c in affected) > _MAX_NODES:
            return False
        nodes = self._nodes(affected)
        self.work -= len(nodes)
        if self.work < 0:
            return False
        before = self.costs.of_nodes(nodes)
        partners = [pairs.partner[node] for node in nodes]
        computations = {c: pairs.computations.pop(c) for c in affected if c in pairs.computations}
        self._make(new)
        if self.costs.of_nodes(nodes) < before - 1e-9:
            return True
        for node, partner in zip(nodes, partners, strict=True):
            pairs.partner[node] = partner
        for c in affected:
            pairs.computations.pop(c, None)
        pairs.computations.update(computations)
        return False

    def _is_hopeless(self, new: list[tuple[int, int]]) -> bool:
        """Returns whether new pairs of computations separate more nodes than they can improve.

        This is quick to find out, unlike the costs of a large computation, which seems to belong to
        each of many small ones if their instructions have been inlined.
        """
        graph, computations = self.graph, self.pairs.computations
        lost = {pair for a, b in new for pair in ((a, computations.get(a, -1)), (computations.get(b, -1), b))}
        improved = sum(2 * min(len(graph.members[a]), len(graph.members[b])) + len(graph.callers[a]) + len(graph.callers[b]) for a, b in new)
        return sum(self.settled[pair] for pair in lost) > MAX_OF_OTHER_OPCODES * improved

    def _plan(self, left: int, right: int) -> list[tuple[int, int]]:
        """Returns the new pairs: the two computations, and their current partners.

        If only one of the two has a partner, that partner is paired with a spare computation equal
        to it, if there is one.
        """
        left_other, right_other = self.pairs.computations.get(right, -1), self.pairs.computations.get(left, -1)
        if left_other == left:
            return []
        if right_other < 0 <= left_other:
            right_other = self._replacement(left_other, right)
        elif left_other < 0 <= right_other:
            left_other = self._replacement(right_other, left)
        return [(left, right), (left_other, right_other)] if min(left_other, right_other) >= 0 else [(left, right)]

    def _replacement(self, computation: int, taken: int) -> int:
        """Returns a spare computation of the other module that is equal to `computation`.

        `computation` loses its partner, `taken`. Returns -1 if there is no spare computation other
        than `taken`.
        """
        is_left, shape = self._kind(computation)
        spare = (c for c in self.spare.get((not is_left, shape), ()) if c != taken and c not in self.pairs.computations)
        return next(spare, -1)

    def _nodes(self, computations: Iterable[int]) -> list[int]:
        """Returns the nodes whose cost may change: members, callers, their users, and partners."""
        graph, partner = self.graph, self.pairs.partner
        nodes: dict[int, None] = {}
        for computation in computations:
            callers = graph.callers[computation]
            users = [user for caller in callers for x in (caller, partner[caller]) if x >= 0 for _, user in graph.users[x]]
            for node in (*graph.members[computation], *callers, *users):
                nodes[node] = None
                if partner[node] >= 0:
                    nodes[partner[node]] = None
        return list(nodes)

    def _make(self, new: list[tuple[int, int]]) -> None:
        """Pairs computations, their nodes and, if they have one caller each, the callers."""
        pairs, nodes, callers = self.pairs, self.graph.nodes, self.graph.callers
        for a, b in new:
            pairs.join_computations(a, b)
        joined = [pair for a, b in new for pair in counterparts(self.graph, a, b)]
        single = [(callers[a][0], callers[b][0]) for a, b in new if len(callers[a]) == len(callers[b]) == 1]
        joined += [(x, y) for x, y in single if nodes[x].op is nodes[y].op]
        for x, y in joined:
            pairs.part(x)
            pairs.part(y)
            pairs.join(x, y)
