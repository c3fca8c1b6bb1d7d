"""Aligns the instructions of paired computations in textual order, as a text diff aligns lines.

The order of instructions says little about a module that is not scheduled, but long chains of alike instructions have nothing else that tells
their parts apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hlotool.differ.graph import Graph
from hlotool.differ.pairs import Pairs

__all__ = ["align", "common_subsequence"]

# Sequences with more differences are not aligned; the time is the product of this and their length.
_MOST_DIFFERENCES = 600


def align(graph: Graph, pairs: Pairs) -> Iterator[tuple[int, int]]:
    """Pairs of nodes of the same structure whose operands are pairs, or are aligned, too."""
    free_on_right: dict[int, list[int]] = {}
    for node in range(graph.split, len(graph.nodes)):
        if pairs.partner[node] < 0:
            free_on_right.setdefault(graph.home[node], []).append(node)
    for left, members in enumerate(graph.members[: graph.computation_split]):
        there = free_on_right.get(pairs.computations.get(left, -1), [])
        here = [node for node in members if pairs.partner[node] < 0]
        if not here or not there:
            continue
        structures = graph.structures
        aligned: dict[int, int] = {}
        for a, b in common_subsequence([structures[node] for node in here], [structures[node] for node in there]):
            if _agrees(graph, pairs, aligned, here[a], there[b]):
                aligned[here[a]] = there[b]
                yield here[a], there[b]


def _agrees(graph: Graph, pairs: Pairs, aligned: dict[int, int], left: int, right: int) -> bool:
    first, second = graph.operands[left], graph.operands[right]
    if len(first) != len(second):
        return False
    if all(_is_pair(graph, pairs, aligned, a, b) for a, b in zip(first, second, strict=True)):
        return True
    return graph.commutes[left] and all(_is_pair(graph, pairs, aligned, a, b) for a, b in zip(first, reversed(second), strict=True))


def _is_pair(graph: Graph, pairs: Pairs, aligned: dict[int, int], left: int, right: int) -> bool:
    if aligned.get(left) == right or pairs.partner[left] == right:
        return True
    # Where nothing is known about both of them, they do not speak against it.
    return left not in aligned and pairs.partner[left] < 0 and pairs.partner[right] < 0 and graph.structures[left] == graph.structures[right]


def common_subsequence(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    """The positions of a longest common subsequence, in order, by the algorithm of Myers (1986), "An O(ND) Difference Algorithm".

    If there are too many differences, only what is common at the beginning and at the end.

    >>> common_subsequence([1, 2, 3, 4], [1, 3, 9, 4])
    [(0, 0), (2, 1), (3, 3)]
    """
    start = 0
    while start < min(len(first), len(second)) and first[start] == second[start]:
        start += 1
    end = 0
    while end < min(len(first), len(second)) - start and first[-1 - end] == second[-1 - end]:
        end += 1
    middle = _myers(first[start : len(first) - end], second[start : len(second) - end])
    result = [(k, k) for k in range(start)]
    result += [(start + a, start + b) for a, b in middle]
    result += [(len(first) - k, len(second) - k) for k in range(end, 0, -1)]
    return result


def _myers(first: Sequence[int], second: Sequence[int]) -> list[tuple[int, int]]:
    furthest: dict[int, int] = {1: 0}
    trace: list[dict[int, int]] = []
    n, m = len(first), len(second)
    if abs(n - m) > _MOST_DIFFERENCES:
        return []
    for distance in range(min(n + m, _MOST_DIFFERENCES) + 1):
        trace.append(dict(furthest))
        for diagonal in range(-distance, distance + 1, 2):
            if diagonal == -distance or (diagonal != distance and furthest[diagonal - 1] < furthest[diagonal + 1]):
                a = furthest[diagonal + 1]
            else:
                a = furthest[diagonal - 1] + 1
            b = a - diagonal
            while a < n and b < m and first[a] == second[b]:
                a, b = a + 1, b + 1
            furthest[diagonal] = a
            if a >= n and b >= m:
                return _path(trace, n, m)
    return []


def _path(trace: list[dict[int, int]], a: int, b: int) -> list[tuple[int, int]]:
    """The matches on the way that the search has taken, from the end."""
    matches: list[tuple[int, int]] = []
    for distance in range(len(trace) - 1, -1, -1):
        furthest, diagonal = trace[distance], a - b
        if diagonal == -distance or (diagonal != distance and furthest[diagonal - 1] < furthest[diagonal + 1]):
            before = diagonal + 1
        else:
            before = diagonal - 1
        a_before = furthest[before] if distance else 0
        b_before = a_before - before if distance else 0
        while a > a_before and b > b_before:
            a, b = a - 1, b - 1
            matches.append((a, b))
        a, b = a_before, b_before
    return matches[::-1]
