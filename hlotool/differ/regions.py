"""Detects changes to whole computations: inlining, outlining, fusion, cloning and merging."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hlotool.differ.matching.classes import outlines
from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.matching.pairs import Pairs
from hlotool.opdefs.traits import ANY_SIGNATURE

__all__ = ["regions"]


def regions(graph: Graph, pairs: Pairs) -> list[dict[str, Any]]:
    """Returns the regions, each with its kind and the names of the computations on both sides."""
    found: list[dict[str, Any]] = []
    found += _extracted(graph, pairs, from_left=True)
    found += _extracted(graph, pairs, from_left=False)
    found += _copies(graph, pairs)
    return found


def _extracted(graph: Graph, pairs: Pairs, *, from_left: bool) -> list[dict[str, Any]]:
    """Finds unpaired computations whose instructions are elsewhere in the other module."""
    result = []
    for computation in range(len(graph.computations)):
        is_left = computation < graph.computation_split
        if is_left == from_left or computation in pairs.computations:
            continue
        sources = Counter(graph.home[pairs.partner[node]] for node in graph.members[computation] if pairs.partner[node] >= 0)
        sources = sources or _replaced_calls(graph, pairs, computation)
        if not sources:
            continue
        # If a computation was split into two, the inner part was extracted, even if that part
        # contains most of the instructions.
        members = graph.members[computation]
        counterparts = [pairs.computations[c] for c in sorted(sources) if c in pairs.computations]
        extracted = next((c for c in counterparts if any(caller in members for caller in graph.callers[c])), computation)
        is_fusion = any(graph.nodes[caller].op.name == "fusion" for caller in graph.callers[extracted])
        kind = ("fused" if is_fusion else "outlined") if from_left else ("unfused" if is_fusion else "inlined")
        here, there = graph.computations[extracted].name, [graph.computations[c].name for c in sorted(sources)]
        result.append({"kind": kind, "left": there if from_left else [here], "right": [here] if from_left else there})
    return result


def _replaced_calls(graph: Graph, pairs: Pairs, computation: int) -> Counter[int]:
    """Returns the computations of the other module in which an instruction replaces a call.

    The call to `computation` has no counterpart there, and the instruction has the same structure
    as the root of `computation`.
    """
    partner, root = pairs.partner, graph.structures[graph.roots[computation]]
    found: Counter[int] = Counter()
    for caller in graph.callers[computation]:
        if partner[caller] >= 0 or ANY_SIGNATURE not in graph.nodes[caller].op.traits:
            continue
        for position, user in graph.users[caller]:
            operands = graph.operands[partner[user]] if partner[user] >= 0 else ()
            found.update(graph.home[x] for x in (operands if position < 0 else operands[position : position + 1]) if graph.structures[x] == root)
    return found


def _copies(graph: Graph, pairs: Pairs) -> list[dict[str, Any]]:
    """Finds unpaired computations that are equal to a paired computation of the same module.

    If there are several such paired computations, the preferred one is a computation whose partner
    is called by the counterparts of the callers.
    """
    groups: dict[tuple[bool, int], list[int]] = {}
    for computation, number in enumerate(outlines(graph)):
        groups.setdefault((computation < graph.computation_split, number), []).append(computation)
    result = []
    for (side, _), members in groups.items():
        paired = [c for c in members if c in pairs.computations]
        for computation in members:
            if computation in pairs.computations or not paired:
                continue
            called = _called_before(graph, pairs, computation)
            original = next((c for c in paired if pairs.computations[c] in called), paired[0])
            names = graph.computations
            here, there = [names[original].name, names[computation].name], [names[pairs.computations[original]].name]
            result.append({"kind": "merged" if side else "cloned", "left": here if side else there, "right": there if side else here})
    return result


def _called_before(graph: Graph, pairs: Pairs, computation: int) -> set[int]:
    """Returns the computations called by the partners of a computation's callers."""
    partners = [pairs.partner[caller] for caller in graph.callers[computation]]
    return {callee for partner in partners if partner in graph.calls for callees in graph.calls[partner].values() for callee in callees}
