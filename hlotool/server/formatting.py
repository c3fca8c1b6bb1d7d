"""Formats a document, some of its lines, or the line just typed, with as few edits as possible."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from lsprotocol import types

from hlotool.errors import Edit, HlotoolError
from hlotool.server.documents import Document
from hlotool.text.formatting.formatter import format_text
from hlotool.text.formatting.style import FormatStyle
from hlotool.workspace.line_changes import line_changes
from hlotool.workspace.settings import settings_for

__all__ = ["changes_between", "format_document", "format_on_type", "format_range"]


def format_document(document: Document, config: str | None = None) -> list[types.TextEdit]:
    """Returns the edits that format a document; none if it does not parse.

    >>> [edit.new_text for edit in format_document(Document("file:///m.hlo", "ENTRY e {\\n  ROOT p = f32[ ] parameter(0)\\n}\\n"))]
    ['  ROOT p = f32[] parameter(0)\\n']
    """
    return _format(document, None, config)


def format_range(document: Document, area: types.Range, config: str | None = None) -> list[types.TextEdit]:
    """Returns the edits that format the lines of a range.

    A range that ends at the beginning of a line does not include that line.
    """
    start, end = document.lines.span(area)
    first, last = _line(document, start), _line(document, max(start, end - 1))
    return _format(document, (first, last), config)


def format_on_type(document: Document, position: types.Position, typed: str, config: str | None = None) -> list[types.TextEdit]:
    """Returns the edits that format the line just completed.

    After a line break, this is the previous line. After a brace, it is the line with the brace.
    """
    line = _line(document, document.lines.offset(position)) - (typed == "\n")
    return _format(document, (line, line), config) if line >= 1 else []


def _line(document: Document, offset: int) -> int:
    """Returns the line number of an offset. As in the formatter, only a line feed ends a line."""
    return document.text.count("\n", 0, offset) + 1


def _format(document: Document, lines: tuple[int, int] | None, config: str | None) -> list[types.TextEdit]:
    try:
        width = settings_for(Path(document.name).parent, config=config).get("fmt", "width")
        after = format_text(document.text, FormatStyle(width), filename=document.name, lines=lines)
    except (HlotoolError, ValueError):
        # The diagnostics show what is wrong.
        return []
    return [document.edit(edit) for edit in changes_between(document.text, after)]


def changes_between(before: str, after: str) -> Iterator[Edit]:
    """Yields edits of whole lines that turn `before` into `after`.

    >>> list(changes_between("a\\nb\\nc\\n", "a\\nB\\nc\\n"))
    [Edit(start=2, end=4, text='B\\n')]
    """
    if before == after:
        return
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, old))]
    for first, last, new_first, new_last in line_changes(old, new):
        if last - first != new_last - new_first:
            yield Edit(starts[first], starts[last], "".join(new[new_first:new_last]))
            continue
        # Lines have changed, but none was inserted or deleted.
        for k in range(last - first):
            if old[first + k] != new[new_first + k]:
                yield Edit(starts[first + k], starts[first + k + 1], new[new_first + k])
