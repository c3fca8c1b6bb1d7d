"""Renders a difference as lines of text."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.differ.rendering.amounts import amounts, opcode_changes, opcode_lists, section_counts
from hlotool.differ.rendering.body import section_rows
from hlotool.differ.rendering.difference_report import Report
from hlotool.differ.rendering.highlight import cut
from hlotool.differ.rendering.rows import EMPTY, Layout, Row, bar_rows
from hlotool.differ.rendering.summary import count_of, region_sentences, summary

__all__ = ["name_rows", "section_blocks", "statistic_rows", "text_rows"]

_MAX_COMPUTATIONS = 40
_MAX_OPCODES = 12
_MIN_WIDTH = 20


def text_rows(report: Report, layout: Layout) -> Iterator[Row]:
    """Yields the lines of a report: the summary, the header, computations, and instructions."""
    sentence = summary(report)
    if not sentence:
        return
    yield Row("=", sentence)
    for rows in section_blocks(report, layout):
        yield EMPTY
        yield from rows


def section_blocks(report: Report, layout: Layout) -> Iterator[list[Row]]:
    """Yields the blocks for numbers, the header, regions, and each computation.

    The first row of a block is its title.
    """
    numbers = _numbers(report) if report.is_long else iter(())
    for blocks in ((numbers, _header(report), _regions(report, layout)), section_rows(report, layout)):
        for block in blocks:
            rows = [row._replace(text=cut(row.text, layout.width)) for row in block]
            if rows:
                yield rows


def name_rows(report: Report) -> Iterator[Row]:
    """Yields a line with the names of the computation and the instruction for each difference."""
    graph = report.delta.graph
    for section in report.sections:
        for group in section.groups:
            for entry in group.entries:
                node = entry.right if entry.right >= 0 else entry.left
                mark = "-" if entry.right < 0 else "+" if entry.left < 0 else "~"
                yield Row(mark, f"{mark} {graph.computations[graph.home[node]].name}/{report.name(node)}")


def statistic_rows(report: Report, layout: Layout) -> Iterator[Row]:
    """Yields a line per computation, like `git diff --stat`, then the summary and numbers."""
    sentence = summary(report)
    if not sentence:
        return
    counts = sorted(section_counts(report), key=lambda row: -row.total)
    number = len(counts) if layout.show_all or len(counts) <= _MAX_COMPUTATIONS else _MAX_COMPUTATIONS
    available = max(_MIN_WIDTH, layout.width // 2 if layout.width else 0)
    yield from bar_rows([(cut(row.title, available), (row.changed, row.inserted, row.deleted)) for row in counts[:number]])
    if len(counts) > number:
        yield Row(".", f" ... and {count_of(len(counts) - number, 'more computation')} (--show-all)")
    yield Row("=", sentence)
    opcodes = opcode_changes(report.delta)
    number = len(opcodes) if layout.show_all else _MAX_OPCODES
    changed = [amount for amount in (*amounts(report.delta), *opcodes[:number]) if amount.left != amount.right]
    names = max((len(amount.name) for amount in changed), default=0)
    for amount in changed:
        left, right, change = amount.texts
        yield Row(" ", f" {amount.name:<{names}}  {left} -> {right} ({change})")
    if len(opcodes) > number:
        yield Row(".", f" ... and {count_of(len(opcodes) - number, 'more opcode')} (--show-all)")


def _numbers(report: Report) -> Iterator[Row]:
    """Yields the numbers of both modules, and the opcodes whose number has changed."""
    yield Row("@", "numbers")
    for amount in amounts(report.delta):
        left, right, change = amount.texts
        numbers = f"{left} -> {right} ({change})" if amount.left != amount.right else f"{left} on both sides"
        yield Row(" ", f"  {amount.name}: {numbers}")
    for title, text in opcode_lists(report.delta):
        yield Row(" ", f"  {title}: {text}")


def _header(report: Report) -> Iterator[Row]:
    if report.header:
        yield Row("@", "HloModule")
        for change in report.header:
            yield from (Row("~", f"  ~ {line}") for line in report.notes.of_header(change))


def _regions(report: Report, layout: Layout) -> Iterator[Row]:
    sentences = region_sentences(report, None) if layout.show_all else region_sentences(report)
    if sentences:
        yield Row("@", "computations")
    for sentence in sentences:
        yield Row("." if sentence.startswith("...") else "~", f"  {sentence}")
