"""Compares two modules: `hlotool.diff`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hlotool.collection import no_garbage_collection
from hlotool.differ.categories import check_categories
from hlotool.differ.delta import Delta
from hlotool.differ.matching.matcher import match
from hlotool.differ.matching.node_graph import Graph
from hlotool.differ.matching.pairs import Pairs
from hlotool.ir.model import Module

__all__ = ["diff"]


def diff(left: Module, right: Module, *, ignore: Iterable[str] = ()) -> Delta:
    """Returns the difference between two modules; the modules themselves are not changed.

    `ignore` lists categories of differences to ignore; `hlotool.differ.categories.CATEGORIES`
    contains all categories. Raises ValueError for an unknown category.

    >>> import hlotool
    >>> left = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
    >>> right = hlotool.parse("ENTRY main { x = f32[] parameter(0) ROOT y = f32[] negate(x) }")
    >>> diff(left, right).categories, bool(diff(left, right, ignore=["names"]))
    (('names',), False)
    """
    ignored = check_categories(ignore)
    with no_garbage_collection():
        graph = Graph(left, right)
        return Delta(left, right, graph, _pairs(graph), ignored)


def _pairs(graph: Graph) -> Pairs:
    """Returns the pairs of a graph; exchanging the two modules does not change them."""
    split = graph.split
    if _order(graph, range(split)) <= _order(graph, range(split, len(graph.nodes))):
        return match(graph)
    return match(graph.reversed()).reversed(graph)


def _order(graph: Graph, nodes: range) -> tuple[Any, ...]:
    """Returns a sort key that decides which module is matched against the other.

    It orders modules by size, then by the first instruction that differs.
    """
    instructions = [graph.nodes[node] for node in nodes]
    return len(nodes), [(x.name, x.op.name, x.shape.text, x.metadata_text or "") for x in instructions]
