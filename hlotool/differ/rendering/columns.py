"""Renders the two sides of a difference side by side, in two columns."""

from __future__ import annotations

from collections.abc import Sequence

from hlotool.differ.rendering.difference_report import Entry, Report
from hlotool.differ.rendering.highlight import Interval, changed_parts, cut, fit_line, is_similar
from hlotool.differ.rendering.rows import Row, Span

__all__ = ["Columns"]

_MARGIN = 2
_GUTTER = 3
# Narrower columns would show too little.
_MIN_COLUMN_WIDTH = 24


class Columns:
    """Two columns that fill `width`; if it is 0, the left column is as wide as its line.

    The columns are separated by `|` for a pair that differs, by `~` for a pair that differs only in
    names, and by `<` or `>` for an instruction that is on one side only, as in GNU diff.
    """

    def __init__(self, report: Report, width: int) -> None:
        self._report = report
        self._available = max(_MIN_COLUMN_WIDTH, (width - _MARGIN - _GUTTER) // 2) if width else 0

    def of(self, entry: Entry) -> Row:
        """Returns the row of a difference."""
        report = self._report
        old, new = (report.lines.of(node, entry.kinds) if node >= 0 else "" for node in (entry.left, entry.right))
        parts: tuple[list[Interval], list[Interval]] = ([], [])
        if old and new:
            parts = changed_parts(old, new, report.renames(entry))
        gutter = "<" if entry.right < 0 else ">" if entry.left < 0 else "~" if report.is_one_line(entry) else "|"
        left, right = (fit_line(text, intervals, self._available) for text, intervals in ((old, parts[0]), (new, parts[1])))
        return self._row(gutter, left, right, is_strong=is_similar(old, new, parts))

    def context(self, left: int, right: int) -> Row:
        """Returns the row of an unchanged pair or a single instruction; -1 means no instruction."""
        lines = [cut(self._report.lines.of(node), self._available) if node >= 0 else "" for node in (left, right)]
        return Row(" ", self._text(" ", *lines))

    def _text(self, gutter: str, left: str, right: str) -> str:
        return f"{' ' * _MARGIN}{left:<{self._available}} {gutter} {right}".rstrip()

    def _row(self, gutter: str, left: tuple[str, list[Interval]], right: tuple[str, list[Interval]], *, is_strong: bool) -> Row:
        (old, old_parts), (new, new_parts) = left, right
        if gutter == "~":
            return Row("~", self._text(gutter, old, new))
        start = _MARGIN + max(self._available, len(old)) + _GUTTER
        spans = [*_spans(old, old_parts if is_strong else (), _MARGIN, "-"), *_spans(new, new_parts if is_strong else (), start, "+")]
        return Row(" ", self._text(gutter, old, new), tuple(spans))


def _spans(text: str, parts: Sequence[Interval], start: int, mark: str) -> list[Span]:
    """Returns the spans of a line that begins at column `start`; the given parts are highlighted."""
    spans, last = [], 0
    for a, b in parts:
        spans += [Span(start + last, start + a, mark), Span(start + a, start + b, mark, is_strong=True)]
        last = b
    return [span for span in (*spans, Span(start + last, start + len(text), mark)) if span.start < span.end]
