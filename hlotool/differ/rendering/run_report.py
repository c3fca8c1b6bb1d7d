"""Renders the outcome of running two modules on the same inputs as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.differ.rendering.body import entry_rows
from hlotool.differ.rendering.difference_report import Entry, Report
from hlotool.differ.rendering.highlight import cut
from hlotool.differ.rendering.rows import Layout, Row
from hlotool.differ.rendering.summary import summary
from hlotool.differ.semantic import SemanticDifference
from hlotool.differ.values.mismatches import Mismatch

__all__ = ["mismatch_rows", "run_rows"]


def run_rows(result: SemanticDifference, report: Report, layout: Layout) -> Iterator[Row]:
    """Yields the result of the runs, the structural summary, and the first difference."""
    sentence, *rest = result.sentences
    yield Row("=", sentence)
    for line in (f"structural diff: {summary(report) or 'equal'}", *rest):
        yield Row(" ", cut(line, layout.width))
    if result.first is None:
        return
    yield Row(" ", "")
    yield from mismatch_rows(result.first, report, layout, has_effect=bool(result))


def mismatch_rows(mismatch: Mismatch, report: Report, layout: Layout, *, has_effect: bool = True) -> Iterator[Row]:
    """Yields a pair of instructions whose values differ, with the values and the changes."""
    yield Row("@", cut(mismatch.headline(has_effect=has_effect), layout.width))
    left, right = mismatch.nodes
    yield from entry_rows(report, Entry(left, right, tuple(report.delta.changed.get(left, ())), left), layout.width)
    for line in mismatch.details:
        yield Row(" ", cut(f"    {line}", layout.width))
