"""Pairs the nodes of two modules: first certain pairs, then their neighbors, then similar nodes."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Sequence

from hlotool.differ.matching.alignment import align
from hlotool.differ.matching.classes import classes_by_neighborhood, classes_by_operands, classes_by_users, structure_classes
from hlotool.differ.matching.computation_exchanges import counterparts, improve_computations
from hlotool.differ.matching.costs import SINGLE, Costs
from hlotool.differ.matching.improve import improve
from hlotool.differ.matching.instruction_parts import shape_kinds
from hlotool.differ.matching.neighbor_pairing import NeighborPairing
from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.matching.pairs import Pairs
from hlotool.differ.matching.resemblance import pair_remaining, pair_uncalled
from hlotool.differ.matching.spreading import PairSpreader

__all__ = ["match"]

_FREE = -1
_RADII = (3, 2, 1)
# Modules with at most this many nodes in total are matched quickly, so a second matching is tried
# whenever the first one is at all doubtful.
_SMALL = 3000
_REPETITIONS = 256
# If more than one node in this many has an equal node that it cannot be distinguished from, textual
# order decides.
_MANY_EQUAL = 8


def match(graph: Graph) -> Pairs:
    """Pairs the nodes of the two modules of a graph so that the explanation has a low cost."""
    matcher = _Matcher(graph)
    matcher.run()
    pairs = _completed(matcher)
    if not matcher.is_doubtful():
        return pairs
    cost = Costs(graph, pairs).total()
    if _is_least(graph, pairs, cost):
        return pairs
    other = _Matcher(graph)
    other.run(aligns=not matcher.has_aligned)
    other_pairs = _completed(other)
    return other_pairs if Costs(graph, other_pairs).total() < cost else pairs


def _is_least(graph: Graph, pairs: Pairs, cost: float) -> bool:
    """Returns whether it is certain that no other pairs explain the difference better.

    This is certain if all edges of the graphs correspond, and no more nodes than necessary changed.
    """
    keys, split = graph.keys, graph.split
    changed = [(keys[node], keys[other]) for node, other in enumerate(pairs.partner[:split]) if other >= 0 and keys[node] != keys[other]]
    if cost > sum(graph.parts.cost(a, b) for a, b in changed):
        return False
    return len(changed) <= (Counter(keys[:split]) - Counter(keys[split:])).total()


def _completed(matcher: _Matcher) -> Pairs:
    """Returns the pairs of a matcher, completed with pairs of changed nodes."""
    graph, pairs = matcher.graph, matcher.pairs
    if not matcher.is_finished():
        NeighborPairing(graph, pairs).run(matcher.open)
    pairs.settle_computations()
    remaining = pair_remaining(graph, pairs)
    for left, right in remaining:
        pairs.join_computations(left, right)
        for a, b in counterparts(graph, left, right):
            pairs.join(a, b)
    if remaining:
        NeighborPairing(graph, pairs).run([])
    improve(graph, pairs)
    if improve_computations(graph, pairs):
        # The callers may have better candidates now.
        improve(graph, pairs)
    return pairs


class _Matcher(PairSpreader):
    def __init__(self, graph: Graph) -> None:
        super().__init__(graph, Pairs(graph))
        self.free_count = self.conflict_count = 0
        self.has_aligned = False
        # The nodes without a partner, and some that have been paired in the meantime.
        self.free = list(range(len(graph.nodes)))
        # The computations without callers, such as the entries, with the numbers of their pairs.
        self.sections: dict[int, int] = {}
        for number, pair in enumerate(pair_uncalled(graph)):
            self.pairs.join_computations(*pair)
            self.sections.update(dict.fromkeys(pair, number))

    def run(self, *, aligns: bool | None = None) -> None:
        """Pairs equal nodes.

        With `aligns`, computations are aligned in textual order before one-sided matches are
        paired. By default, this is done in large modules if many equal nodes would be left to these
        matches.
        """
        graph = self.graph
        # Without annotations, keys and structures are the same.
        levels = [graph.keys, graph.structures] if len(set(graph.keys)) > len(set(graph.structures)) else [graph.structures]
        for keys in levels:
            by_operands = self.classes_by_operands(keys)
            by_both = classes_by_users(graph, by_operands, self.sections)
            self.join_unique(by_both)
            if self.is_finished():
                return
            self.spread_again(by_both)
            self.join_in_order(by_both)
            if self.is_finished():
                return
            if aligns or (aligns is None and self.left_many_equal()):
                self.has_aligned = True
                self.join_aligned()
            self.grow_from(by_operands, keys)
        for radius in _RADII:
            for keys in levels:
                if self.is_finished():
                    return
                self.join_unique(classes_by_neighborhood(graph, keys, self.partner, radius))
                self.spread_again(keys)

    def classes_by_operands(self, keys: Sequence[int]) -> list[int]:
        if keys is self.graph.structures and len(self.sections) == len(self.graph.entries):
            return structure_classes(self.graph)
        return classes_by_operands(self.graph, keys, self.sections)

    def is_doubtful(self) -> bool:
        """Returns whether pairs rely on similarity, or on one direction that the other contradicts.

        The directions are operands and users. In a large module, such pairs are doubtful only if a
        few different instructions are repeated often.
        """
        size = len(self.graph.nodes)
        if size <= _SMALL:
            return max(self.free_count, self.conflict_count) > 0
        is_repetitive = size > _REPETITIONS * len(set(self.graph.structures))
        return is_repetitive and max(self.free_count, self.conflict_count) > 0

    def left_many_equal(self) -> bool:
        """Returns whether many nodes of a large module are left although they have equal ones."""
        partner, split, size = self.partner, self.graph.split, len(self.graph.nodes)
        if size <= _SMALL or partner.count(_FREE) * _MANY_EQUAL < size:
            return False
        left, right = (Counter(self.graph.structures[node] for node in side if partner[node] < 0) for side in (range(split), range(split, size)))
        return (left & right).total() * _MANY_EQUAL > size

    def join_aligned(self) -> None:
        """Pairs nodes that are aligned, unless the pairs of their operands disagree."""
        operands, structures, partner = self.graph.operands, self.graph.structures, self.partner
        aligned = dict(align(self.graph, self.pairs))

        def correspond(left: int, right: int) -> bool:
            other = aligned.get(left, partner[left])
            # Nodes without operands are not aligned; they are paired after their users.
            return other == right or (other < 0 and not operands[left] and structures[left] == structures[right])

        def agrees(left: int, right: int) -> bool:
            first, second = operands[left], operands[right]
            return len(first) == len(second) and all(map(correspond, first, second))

        if sum(agrees(left, right) for left, right in aligned.items()) * 2 < len(aligned):
            return
        for left, right in aligned.items():
            self.join(left, right)
        self.spread_again(self.graph.structures)

    def grow_from(self, by_operands: list[int], keys: Sequence[int]) -> None:
        """Pairs nodes that are equal by their operands or by their users, but not by both.

        The nodes that are equal by their users come first. If an operand was replaced with an
        earlier value of a repeated computation, matching by operands would pair the following
        instructions with the wrong repetition.
        """
        by_users = classes_by_users(self.graph, keys, self.sections)
        if not self.conflict_count:
            self.conflict_count = self.conflicts(by_operands, by_users)
        self.join_unique(by_users)
        self.spread_again(by_users)
        self.join_unique(by_operands)
        self.spread_again(by_operands)
        self.join_replaced(by_operands)
        self.free_count = self.partner.count(_FREE)

    def join_replaced(self, classes: Sequence[int]) -> None:
        """Pairs the operands of pairs if only the operands themselves or their types have changed.

        Then continues with the equal nodes beyond those operands.
        """
        graph = self.graph
        for left, right in sorted(self.pairs.computations.items()):
            if left < right:
                self.join_if_replaced(graph.roots[left], graph.roots[right], classes)
        pending = deque(self.open)
        while pending:
            known = len(self.open)
            for a, b in self.same_slots(*pending.popleft(), classes):
                self.join_if_replaced(a, b, classes)
            pending.extend(self.open[known:])

    def join_if_replaced(self, left: int, right: int, classes: Sequence[int]) -> None:
        """Pairs two nodes at the same position, or a node with the value that the other converts.

        Nodes are paired only if `is_replaced` returns True for them.
        """
        converted = self.pairs.converted
        for a, b in ((left, right), (left, converted(right)), (converted(left), right)):
            if self.partner[a] < 0 and self.partner[b] < 0 and _is_replaced(self.graph, a, b, classes):
                self.join(a, b)
                self.spread(classes)
                return

    def same_slots(self, left: int, right: int, classes: Sequence[int]) -> list[tuple[int, int]]:
        """Returns pairs of operands in the same slots that are not partners.

        For commutative instructions, the order cannot be decided unless at least one operand is
        known.
        """
        graph, partner = self.graph, self.partner
        first, second = graph.operands[left], graph.operands[right]
        if len(first) != len(second):
            return []
        slots = [*zip(first, second, strict=True)]
        if graph.commutes[left] and graph.commutes[right] and len(first) == 2:
            crossed = [*zip(first, reversed(second), strict=True)]
            here, there = (sum(self.is_known(a, b, classes) for a, b in way) for way in (slots, crossed))
            if not here and not there:
                return []
            slots = crossed if there > here else slots
        return [(a, b) for a, b in slots if partner[a] != b]

    def is_known(self, left: int, right: int, classes: Sequence[int]) -> bool:
        """Returns whether two nodes are a pair, or equal except for conversions."""
        converted = self.pairs.converted
        return self.partner[left] == right or classes[converted(left)] == classes[converted(right)]

    def conflicts(self, by_operands: Sequence[int], by_users: Sequence[int]) -> int:
        """Counts the nodes whose counterparts by operands and by users differ."""
        first = dict(self.unique(by_operands))
        return sum(first.get(left, right) != right for left, right in self.unique(by_users))

    def is_finished(self) -> bool:
        """Returns whether all nodes of one of the modules have partners."""
        partner, split = self.partner, self.graph.split
        return _FREE not in partner[:split] or _FREE not in partner[split:]

    def groups(self, classes: Sequence[int]) -> Iterable[tuple[list[int], list[int]]]:
        """Yields the unpaired nodes, left and right, of each class that occurs in both modules."""
        left: dict[int, list[int]] = {}
        right: dict[int, list[int]] = {}
        split = self.graph.split
        self.forget_paired()
        for node in self.free:
            (left if node < split else right).setdefault(classes[node], []).append(node)
        for key, nodes in left.items():
            others = right.get(key)
            if others is not None:
                yield nodes, others

    def forget_paired(self) -> None:
        partner = self.partner
        self.free = [node for node in self.free if partner[node] < 0]

    def unique(self, classes: Sequence[int]) -> list[tuple[int, int]]:
        """Returns the nodes that are the only unpaired ones of their class in both modules."""
        self.forget_paired()
        split = bisect_left(self.free, self.graph.split)
        left: dict[int, int] = {}
        right: dict[int, int] = {}
        for only, nodes in ((left, self.free[:split]), (right, self.free[split:])):
            for node in nodes:
                key = classes[node]
                only[key] = _FREE if key in only else node
        return [(node, right[key]) for key, node in left.items() if node >= 0 and right.get(key, _FREE) >= 0]

    def join_unique(self, classes: Sequence[int]) -> None:
        for left, right in self.unique(classes):
            self.join(left, right)

    def join_in_order(self, classes: Sequence[int]) -> None:
        """Pairs indistinguishable nodes in order, and spreads from each pair before the next."""
        for left, right in list(self.groups(classes)):
            if len(left) != len(right):
                continue
            # If nothing else decides, names do.
            self.join_named(left, right, classes)
            others = deque(right)
            for node in left:
                if self.partner[node] >= 0:
                    continue
                while others and self.partner[others[0]] >= 0:
                    others.popleft()
                if not others:
                    break
                self.join(node, others.popleft())
                self.spread(classes)

    def join_named(self, left: Sequence[int], right: Sequence[int], classes: Sequence[int]) -> None:
        """Pairs nodes with the same name, first those in computations with the same name."""
        graph = self.graph
        nodes, home, computations = graph.nodes, graph.home, graph.computations
        self.join_keyed(left, right, classes, lambda node: (computations[home[node]].name, nodes[node].name))
        self.join_keyed(left, right, classes, lambda node: nodes[node].name)

    def join_keyed(self, left: Iterable[int], right: Iterable[int], classes: Sequence[int], key: Callable[[int], Hashable]) -> None:
        partner = self.partner
        by_key = {key(node): node for node in right if partner[node] < 0}
        for node in left:
            if partner[node] < 0:
                other = by_key.get(key(node), node)
                if other != node and partner[other] < 0:
                    self.join(node, other)
                    self.spread(classes)


def _is_replaced(graph: Graph, left: int, right: int, classes: Sequence[int]) -> bool:
    """Returns whether two nodes are equal, have equal operands, or differ only in type."""
    if classes[left] == classes[right]:
        return True
    first, second = graph.operands[left], graph.operands[right]
    if not first or graph.parts.cost(graph.keys[left], graph.keys[right]) > 2 * SINGLE:
        return False
    here, there = [classes[x] for x in first], [classes[x] for x in second]
    if here == there or (graph.commutes[left] and graph.commutes[right] and sorted(here) == sorted(there)):
        return True
    x, y = graph.nodes[left], graph.nodes[right]
    return x.op is y.op and shape_kinds(x.shape, y.shape) == ("element_type",)
