"""Equivalence classes of nodes: by transitive operands, by transitive users, or by neighborhood.

Class numbers are assigned to whole values rather than hashes, so the nodes of a class are certainly
equal.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from hlotool.differ.matching.node_graph import Graph

__all__ = ["classes_by_neighborhood", "classes_by_operands", "classes_by_users", "outlines", "structure_classes"]


_NO_SECTIONS: Mapping[int, int] = {}


def classes_by_operands(graph: Graph, keys: Sequence[int], sections: Mapping[int, int] = _NO_SECTIONS) -> list[int]:
    """Numbers nodes by key and, transitively, by operands and called computations.

    Equal nodes have equal numbers. `sections` maps computations to section numbers; nodes in
    different sections are always different.
    """
    classes: list[int] = [-1] * len(graph.nodes)
    numbers: dict[Any, int] = {}
    calls, roots, commutes, home = graph.calls, graph.roots, graph.commutes, graph.home
    # Operands come before users in the text, and callees before callers.
    for node, operands in enumerate(graph.operands):
        key: Any
        if len(operands) == 1:
            key = (keys[node], classes[operands[0]])
        elif operands:
            own: list[int] = [classes[operand] for operand in operands]
            if commutes[node]:
                own.sort()
            key = (keys[node], *own)
        else:
            key = (keys[node], -1 - sections.get(home[node], 0))
        if node in calls:
            key = (key, tuple([(name, *[classes[roots[callee]] for callee in callees]) for name, callees in sorted(calls[node].items())]))
        classes[node] = numbers.setdefault(key, len(numbers))
    return classes


def structure_classes(graph: Graph) -> list[int]:
    """Returns the classes of nodes by structure and operands, computed once per graph."""
    if graph.structure_classes is None:
        graph.structure_classes = classes_by_operands(graph, graph.structures)
    return graph.structure_classes


def outlines(graph: Graph) -> list[int]:
    """Numbers computations; those that differ only in names, annotations and order are equal.

    Equal computations have equal numbers. The numbers are computed once per graph.
    """
    if graph.outlines is None:
        classes = structure_classes(graph)
        numbers: dict[tuple[int, ...], int] = {}
        keys = [(classes[root], *sorted([classes[node] for node in members])) for root, members in zip(graph.roots, graph.members, strict=True)]
        graph.outlines = [numbers.setdefault(key, len(numbers)) for key in keys]
    return graph.outlines


def classes_by_users(graph: Graph, keys: Sequence[int], sections: Mapping[int, int] = _NO_SECTIONS) -> list[int]:
    """Numbers nodes by key and, transitively, by users and callers of their computations.

    Equal nodes have equal numbers. `sections` maps computations to section numbers; nodes in
    different sections are always different.
    """
    classes: list[int] = [-1] * len(graph.nodes)
    numbers: dict[Any, int] = {}
    contexts: dict[Any, int] = {}
    users = graph.users
    for computation in range(len(graph.computations) - 1, -1, -1):
        callers = sorted([classes[caller] for caller in graph.callers[computation]])
        context = contexts.setdefault((sections.get(computation, 0), computation in graph.entries, *callers), len(contexts))
        root = graph.roots[computation]
        for node in reversed(graph.members[computation]):
            uses = users[node]
            if len(uses) == 1 and node != root:
                position, user = uses[0]
                # The class of the user implies the context.
                key: Any = (keys[node], position, classes[user])
            else:
                key = (keys[node], context, node == root, tuple(sorted([(position, classes[user]) for position, user in uses])))
            classes[node] = numbers.setdefault(key, len(numbers))
    return classes


def classes_by_neighborhood(graph: Graph, keys: Sequence[int], partners: Sequence[int], radius: int) -> list[int]:
    """Numbers nodes by their neighborhoods of up to `radius` steps; equal nodes have equal numbers.

    Partners have the same number, which no other node has.
    """
    # Pairs have negative numbers, so that they differ from keys.
    classes = [keys[node] if partner < 0 else -1 - min(node, partner) for node, partner in enumerate(partners)]
    free = [node for node, partner in enumerate(partners) if partner < 0]
    operands, users, commutes = graph.operands, graph.users, graph.commutes
    first = max(keys, default=0) + 1
    for _ in range(radius):
        # A class that occurs in only one module already distinguishes the neighbors of its nodes,
        # so it needs no refinement.
        split = bisect_left(free, graph.split)
        common = {classes[node] for node in free[:split]}.intersection([classes[node] for node in free[split:]])
        free = [node for node in free if classes[node] in common]
        numbers: dict[Any, int] = {}
        refined = []
        for node in free:
            own = [classes[operand] for operand in operands[node]]
            if commutes[node]:
                own.sort()
            uses = users[node]
            if len(uses) == 1:
                position, user = uses[0]
                key: Any = (classes[node], position, classes[user], *own)
            else:
                key = (classes[node], tuple(sorted([(position, classes[user]) for position, user in uses])), *own)
            refined.append(numbers.setdefault(key, first + len(numbers)))
        for node, number in zip(free, refined, strict=True):
            classes[node] = number
        first += len(numbers)
    return classes
