"""`format_text`: parses, formats, and proves that nothing but blanks and the order of attributes has changed."""

from __future__ import annotations

import re

from hlotool.errors import ParseError, Source
from hlotool.ir.model import Module
from hlotool.text.driver import read_pieces
from hlotool.text.formatting.callbacks import callback
from hlotool.text.formatting.kept import kept_text
from hlotool.text.formatting.lines import FormattedLines
from hlotool.text.formatting.pieces import Joiner
from hlotool.text.formatting.proof import check
from hlotool.text.formatting.session import FormatSession
from hlotool.text.formatting.style import FormatStyle
from hlotool.text.formatting.writer import Writer
from hlotool.text.fused import FusedPath
from hlotool.text.lexer import skip_blanks
from hlotool.text.parser import decoded, form_of, no_garbage_collection, parts_of, read_source

__all__ = ["format_text"]

_DEFAULT = FormatStyle()
# What a mark stands before: the shape of an operand, another shape or sharding, or a name.
_MARK = re.compile(
    r"/\*index=[0-9]++\*/[ \t\r\n]*+(?:(?P<operand>[a-z][a-z0-9]*+\[[^\]\n]*+\](?:\{[^}\n]*+\})?+[ \t]++[%A-Za-z_])"
    r"|(?P<shape>[({]|[a-z][a-z0-9]*+[\[(])|.)",
    re.DOTALL,
)


def format_text(
    text: str | bytes, style: FormatStyle = _DEFAULT, *, filename: str = "<string>", lines: tuple[int, int] | None = None, proved: bool = True
) -> str:
    """The text with the blanks, line breaks and order of attributes of XLA's own print; everything else is the author's.

    `lines` (first and last, counted from 1) limits the work to the instructions on them. Raises ParseError when the text is not HLO,
    and InternalError when, with `proved`, the result turns out to be another module, to have other comments, or to be no fixed point.

    >>> print(format_text("ENTRY e{p = f32[ ] parameter( 0 )  // in\\nROOT r = f32[] add(p ,p)}"), end="")
    ENTRY e {
      p = f32[] parameter(0) // in
      ROOT r = f32[] add(p, p)
    }
    """
    whole = decoded(text)
    if not whole.strip():
        # A file that has just been made is saved, too.
        return ""
    out = []
    for part in parts_of(whole, filename):
        out.append(part.source.text if part.is_separator else _format_part(part.source, style, lines, proved=proved))
    return "".join(out)


def _format_part(source: Source, style: FormatStyle, lines: tuple[int, int] | None, *, proved: bool) -> str:
    module, path = read_source(source, strict=False)
    errors = [d for d in module.diagnostics if d.severity == "error"]
    if errors:
        raise ParseError(errors)
    assert path is not None, "the fused path was not forbidden"
    selected = None if lines is None else _selected(source, module, lines)
    after = _formatted(source.text, path, style, selected)
    if proved:
        # What follows the selection has moved, and is the same.
        moved = None if selected is None else (selected[0], len(after) - (len(source.text) - selected[1]))
        check(source, module, after, lambda text, path: _formatted(text, path, style, moved))
    return after


def _selected(source: Source, module: Module, lines: tuple[int, int]) -> tuple[int, int]:
    """Offsets of these lines, widened to whole instructions."""
    start, end = source.line_start(lines[0]), source.line_start(lines[1] + 1)
    for x in module.all_instructions():
        if x.start < end and x.end > start and x.start >= 0:
            first, _ = source.line_column(skip_blanks(source.text, x.start))
            last, _ = source.line_column(max(x.end - 1, x.start))
            if source.line_start(last + 1) > start and source.line_start(first) < end:
                start, end = min(start, source.line_start(first)), max(end, source.line_start(last + 1))
    return start, end


def _formatted(text: str, path: FusedPath, style: FormatStyle, selected: tuple[int, int] | None) -> str:
    joiner = Joiner(text, _marks(text))
    session = FormatSession(joiner, Writer(joiner, kept_text(text, selected), style.width), path)
    session.fused = FormattedLines(session, callback)
    with no_garbage_collection():
        read_pieces(session, form_of(text), callback)
        return session.writer.finish()


def _marks(text: str) -> frozenset[str]:
    """Which lists the author has numbered: XLA's short form numbers shapes and not operands."""
    found: set[str] = set()
    at = text.find("/*index=")
    while at >= 0 and len(found) < 2:
        mark = _MARK.match(text, at)
        if mark is not None:
            found.add("shapes" if mark["shape"] else "operands")
        at = text.find("/*index=", at + 1)
    return frozenset(found)
