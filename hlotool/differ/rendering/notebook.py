"""Reports for Python sessions: `print(delta)` and the display of a difference in notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import islice

from hlotool.differ.difference import ModuleDifference
from hlotool.differ.rendering.difference_report import report_of
from hlotool.differ.rendering.rows import Layout, Row
from hlotool.differ.rendering.summary import count_of
from hlotool.differ.rendering.text_report import text_rows
from hlotool.errors import visible

__all__ = ["html_of", "text_of"]

_NO_DIFFERENCES = "no differences"
_MAX_ROWS = 1000
"""The largest number of rows shown in a notebook; browsers become slow with many more."""

_STYLES = {
    "=": "font-weight: bold",
    "@": "color: #0969da; font-weight: bold",
    "-": "color: #cf222e",
    "+": "color: #116329",
    "~": "color: #7d4e00",
    ".": "color: #6e7781",
}


def text_of(delta: ModuleDifference) -> str:
    """Returns the report of a difference as plain text.

    >>> import hlotool
    >>> left = hlotool.parse("ENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }")
    >>> print(hlotool.diff(left, hlotool.parse("ENTRY e { p = f32[2] parameter(0) ROOT n = f32[2] abs(p) }")))
    1 instruction changed (negate -> abs)
    <BLANKLINE>
    e (ENTRY)
      - ROOT n = f32[2] negate(p)
      + ROOT n = f32[2] abs(p)
          opcode: negate -> abs
    """
    return "\n".join([visible(row.text) for row in text_rows(report_of(delta), Layout())]) or _NO_DIFFERENCES


def html_of(delta: ModuleDifference) -> str:
    """Returns the first rows of the report as an HTML element.

    All text from the modules is escaped.
    """
    rows = text_rows(report_of(delta), Layout())
    lines = [_line(row) for row in islice(rows, _MAX_ROWS)] or [_NO_DIFFERENCES]
    rest = sum(1 for _ in rows)
    note = f"\n<i>{count_of(rest, 'more line')}; use print(delta) to show the whole report</i>" if rest else ""
    body = "\n".join(lines)
    return f'<pre style="line-height: 1.3; overflow-x: auto">{body}{note}</pre>'


def _line(row: Row) -> str:
    style = _STYLES.get(row.mark)
    parts = "".join(_parts(row))
    return f'<span style="{style}">{parts}</span>' if style else parts


def _parts(row: Row) -> Iterator[str]:
    """Yields the parts of a row as HTML; differences between two lines are emphasized."""
    last = 0
    for span in row.spans:
        yield escape(visible(row.text[last : span.start]))
        text = escape(visible(row.text[span.start : span.end]))
        yield f"<b>{text}</b>" if span.is_strong else text
        last = span.end
    yield escape(visible(row.text[last:]))
