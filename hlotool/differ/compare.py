"""Compares two modules: `hlotool.diff`."""

from __future__ import annotations

from collections.abc import Iterable

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
    return match(graph.reversed()).reversed(graph) if _is_reversed(graph) else match(graph)


def _is_reversed(graph: Graph) -> bool:
    """Returns whether the right module is matched against the left one.

    This is decided by the sizes of the modules, then by the first instruction that differs.
    """
    left, right = graph.nodes[: graph.split], graph.nodes[graph.split :]
    if len(left) != len(right):
        return len(left) > len(right)
    for x, y in zip(left, right, strict=True):
        if x.name != y.name or x.op is not y.op or x.shape is not y.shape or x.metadata_text != y.metadata_text:
            first, second = ((z.name, z.op.name, z.shape.text, z.metadata_text or "") for z in (x, y))
            if first != second:
                return first > second
    return False
