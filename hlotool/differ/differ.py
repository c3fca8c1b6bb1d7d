"""Compares two modules: `hlotool.diff`."""

from __future__ import annotations

from collections.abc import Iterable

from hlotool.collection import no_garbage_collection
from hlotool.differ.categories import check_categories
from hlotool.differ.delta import Delta
from hlotool.differ.graph import Graph
from hlotool.differ.matcher import match
from hlotool.ir.model import Module

__all__ = ["diff"]


def diff(left: Module, right: Module, *, ignore: Iterable[str] = ()) -> Delta:
    """What has changed from one module to another. Neither of them is changed.

    `ignore` are categories of differences (`hlotool.differ.delta.CATEGORIES`) that do not count. Raises ValueError for an unknown one.

    >>> import hlotool
    >>> left = hlotool.parse("ENTRY e { p = f32[] parameter(0) ROOT n = f32[] negate(p) }")
    >>> right = hlotool.parse("ENTRY main { x = f32[] parameter(0) ROOT y = f32[] negate(x) }")
    >>> diff(left, right).categories, bool(diff(left, right, ignore=["names"]))
    (('names',), False)
    """
    ignored = check_categories(ignore)
    with no_garbage_collection():
        graph = Graph(left, right)
        return Delta(left, right, graph, match(graph), ignored)
