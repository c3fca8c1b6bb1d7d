"""Colors the lines of differences, and writes them to a file, a pager or standard output."""

from __future__ import annotations

from collections.abc import Sequence

import click

from hlotool.cli.diff.pager import show_in_pager
from hlotool.cli.output import visible, write_out
from hlotool.differ.rendering.rows import Row
from hlotool.workspace.writing import replace_file

__all__ = ["row_line", "write_difference"]

_COLORS = {"-": "red", "+": "green", "~": "yellow", "@": "cyan"}


def row_line(row: Row, *, has_color: bool) -> str:
    """Returns the text of a row, with control characters escaped and a line break at the end."""
    return f"{_color_row(row) if has_color else visible(row.text)}\n"


def _color_row(row: Row) -> str:
    pieces, last = [], 0
    for span in row.spans:
        pieces += [_style(row.text[last : span.start], row.mark), _style(row.text[span.start : span.end], span.mark, is_strong=span.is_strong)]
        last = span.end
    return "".join((*pieces, _style(row.text[last:], row.mark)))


def _style(text: str, mark: str, *, is_strong: bool = False) -> str:
    if not text:
        return ""
    color = _COLORS.get(mark)
    if color is None and mark not in ("=", "."):
        return visible(text)
    bold = True if mark in ("=", "@") or is_strong else None
    return click.style(visible(text), fg=color, bold=bold, reverse=True if is_strong else None, dim=True if mark == "." else None)


def write_difference(pieces: Sequence[str], output: str | None, *, has_pager: bool, is_escaped: bool) -> None:
    """Writes text to a file or to standard output.

    On a terminal, the text goes through a pager if `has_pager` is True and a pager is available.
    `is_escaped` has the same meaning as for `write_out`.
    """
    if output is not None:
        replace_file(output, "".join(pieces))
        return
    if pieces and has_pager and is_escaped and show_in_pager(pieces):
        return
    for piece in pieces:
        write_out(piece, is_escaped=is_escaped)
