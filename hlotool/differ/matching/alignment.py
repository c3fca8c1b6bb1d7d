"""Aligns the instructions of paired computations in textual order, as a text diff aligns lines.

In a module that is not scheduled, the order of instructions means little. But in long chains of
equal instructions, nothing else distinguishes one part from another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.matching.pairs import Pairs

__all__ = ["align", "align_sequences"]

# Sequences with more differences than this are not aligned, because the time is proportional to the
# square of the number of differences.
_MAX_DIFFERENCES = 600
# If more than one item in this many differs, the two orders are probably unrelated.
_MAX_SHARE = 8
_FEW_DIFFERENCES = 64
# An operand is described by its distance only if the distance is below this limit.
_NEAR = 16
_Item = TypeVar("_Item")
# The structure of a node, its key and descriptions of its operands.
_Token = tuple[int, ...]
# A position that no path through the two sequences has reached.
_NOWHERE = -2


def align(graph: Graph, pairs: Pairs) -> Iterator[tuple[int, int]]:
    """Yields pairs of nodes with the same structure, aligned in textual order.

    The alignment explains the difference with the fewest insertions, deletions and changes.
    """
    for left in range(graph.computation_split):
        right = pairs.computations.get(left)
        if right is None:
            continue
        for sequence in (_parameters, _sequence):
            here, there = sequence(graph, pairs, left), sequence(graph, pairs, right)
            for a, b in align_sequences(_tokens(graph, pairs, here), _tokens(graph, pairs, there), _has_same_structure):
                yield here[a], there[b]


def _parameters(graph: Graph, pairs: Pairs, computation: int) -> list[int]:
    return [node for node in graph.parameters(computation) if pairs.partner[node] < 0]


def _sequence(graph: Graph, pairs: Pairs, computation: int) -> list[int]:
    """Returns the nodes of a computation that have operands but no partner.

    If a node is the only call to an unpaired computation, the nodes of that computation replace it.
    Nodes without operands, such as constants, are left out: they may stand anywhere before their
    users, and are better identified by their users.
    """
    sequence: list[int] = []
    pending = [iter(graph.members[computation])]
    while pending:
        node = next(pending[-1], None)
        if node is None:
            pending.pop()
            continue
        if pairs.partner[node] >= 0 or not graph.operands[node]:
            continue
        called = graph.only_call(node)
        if called is None or called in pairs.computations:
            sequence.append(node)
        else:
            pending.append(iter(graph.members[called]))
    return sequence


def _has_same_structure(first: _Token, second: _Token) -> bool:
    return first[0] == second[0]


def _tokens(graph: Graph, pairs: Pairs, sequence: Sequence[int]) -> list[_Token]:
    """Returns a token for each node: its structure, its key and a description of each operand.

    An operand is described by its pair or, if it has none, by its distance from the node. If the
    distance is long, it may have changed, so the operand's structure is used instead. An operand
    outside the sequence is described by its key.
    """
    positions = {node: position for position, node in enumerate(sequence)}
    keys, structures, partner, forwards = graph.keys, graph.structures, pairs.partner, graph.forwards
    tokens = []
    for node, position in positions.items():
        # The four kinds of descriptions differ in the remainder.
        token = [structures[node], keys[node]]
        for operand in graph.operands[node]:
            source = graph.source(operand) if forwards[operand] else operand
            other = partner[source]
            if other >= 0:
                token.append(4 * min(source, other))
            elif source not in positions:
                token.append(4 * keys[source] + 1)
            else:
                distance = position - positions[source]
                token.append(4 * distance + 2 if distance < _NEAR else 4 * structures[source] + 3)
        tokens.append(tuple(token))
    return tokens


def align_sequences(first: Sequence[_Item], second: Sequence[_Item], can_replace: Callable[[_Item, _Item], bool]) -> list[tuple[int, int]]:
    """Returns pairs of positions of corresponding items, in order.

    Paired items are equal, or `can_replace` returns True for them.

    Computes an alignment with the fewest edits, using the algorithm of Ukkonen (1985), "Algorithms
    for Approximate String Matching". If there are too many edits, only the common prefix and suffix
    are aligned.

    >>> align_sequences("kitten", "sitting", lambda a, b: True)
    [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5)]
    >>> align_sequences("kitten", "sitting", lambda a, b: False)
    [(1, 1), (2, 2), (3, 3), (5, 5)]
    """
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    end = 0
    while end < min(len(first), len(second)) - start and first[-1 - end] == second[-1 - end]:
        end += 1
    middle = _fewest_edits(first[start : len(first) - end], second[start : len(second) - end], can_replace)
    result = [(k, k) for k in range(start)]
    result += [(start + a, start + b) for a, b in middle]
    result += [(len(first) - k, len(second) - k) for k in range(end, 0, -1)]
    return result


def _fewest_edits(first: Sequence[_Item], second: Sequence[_Item], can_replace: Callable[[_Item, _Item], bool]) -> list[tuple[int, int]]:
    n, m = len(first), len(second)

    def is_replaced(a: int, b: int) -> bool:
        return a < n and b < m and can_replace(first[a], second[b])

    # For each number of edits, the farthest position in `first` on each diagonal, `a - b`.
    rounds: list[dict[int, int]] = []
    most = min(n + m, _MAX_DIFFERENCES, max(_FEW_DIFFERENCES, (n + m) // _MAX_SHARE))
    if abs(n - m) > most:
        return []
    for edits in range(most + 1):
        reached: dict[int, int] = {}
        for diagonal in range(max(-edits, -m), min(edits, n) + 1):
            a = _after_edit(rounds, diagonal, is_replaced)[0]
            if a < max(diagonal, 0):
                continue
            a = min(a, n, m + diagonal)
            b = a - diagonal
            while a < n and b < m and first[a] == second[b]:
                a, b = a + 1, b + 1
            reached[diagonal] = a
        rounds.append(reached)
        if reached.get(n - m) == n:
            return _path(rounds, n, m, is_replaced)
    return []


def _after_edit(rounds: Sequence[dict[int, int]], diagonal: int, is_replaced: Callable[[int, int], bool]) -> tuple[int, int]:
    """Returns the farthest position in `first` after one more edit, and the previous diagonal."""
    if not rounds:
        return (0, 0) if diagonal == 0 else (_NOWHERE, 0)
    reached = rounds[-1]
    position = reached.get(diagonal, _NOWHERE)
    changed = position + 1 if position >= 0 and is_replaced(position, position - diagonal) else _NOWHERE
    deleted = reached.get(diagonal - 1, _NOWHERE) + 1
    inserted = reached.get(diagonal + 1, _NOWHERE)
    if changed >= max(deleted, inserted):
        return changed, diagonal
    return (deleted, diagonal - 1) if deleted >= inserted else (inserted, diagonal + 1)


def _path(rounds: Sequence[dict[int, int]], a: int, b: int, is_replaced: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Returns the pairs of positions on the path of the search, traced back from the end."""
    result: list[tuple[int, int]] = []
    diagonal = a - b
    for edits in range(len(rounds) - 1, -1, -1):
        start, before = _after_edit(rounds[:edits][-1:], diagonal, is_replaced)
        start = min(start, a)
        result += [(x, x - diagonal) for x in range(a - 1, start - 1, -1)]
        a = start
        if before == diagonal and edits:
            a -= 1
            result.append((a, a - diagonal))
        elif before < diagonal:
            a -= 1
        diagonal = before
    return result[::-1]
