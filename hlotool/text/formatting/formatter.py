"""`format_text`: parses, formats, and proves that nothing but whitespace and the order of attributes has changed."""

from __future__ import annotations

import re

from lark.exceptions import UnexpectedInput

from hlotool.collection import no_garbage_collection
from hlotool.errors import ParseError, Source
from hlotool.ir.model import Module
from hlotool.text.formatting.callbacks import callback
from hlotool.text.formatting.kept import kept_text
from hlotool.text.formatting.lines import FormattedLines
from hlotool.text.formatting.pieces import Joiner
from hlotool.text.formatting.proof import check, refuse
from hlotool.text.formatting.session import FormatSession
from hlotool.text.formatting.style import FormatStyle
from hlotool.text.formatting.writer import Writer
from hlotool.text.parse.driver import read_pieces
from hlotool.text.parse.fast_path import FastPath
from hlotool.text.parse.parser import Part, decoded, form_of, parts_of, read_source
from hlotool.text.source.trivia import COMMENT, skip_trivia

__all__ = ["format_text"]

_DEFAULT = FormatStyle()
_EMPTY_LINE = re.compile(r"[ \t]*+(\r?+\n)")
_MARK = re.compile(r"/\*index=[0-9]++\*/")
_SHAPE = re.compile(r"(?:b[ \t\r\n]*+\(|\(|[a-z][a-z0-9]*+[ \t\r\n]*+\[)")
_BRACKET = re.compile(COMMENT + r"|[(\[{]|[)\]}]")


def format_text(
    text: str | bytes, style: FormatStyle = _DEFAULT, *, filename: str = "<string>", lines: tuple[int, int] | None = None, proved: bool = True
) -> str:
    """The text with the spaces, line breaks and order of attributes of XLA's own print; everything else is the author's.

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
    parts = parts_of(whole, filename)
    made = [part.source.text if part.is_separator else _format_part(part.source, style, lines, proved=proved) for part in parts]
    if len(parts) > 1:
        for k, part in enumerate(parts):
            made[k] = _beside_separators(part, made[k])
        _check_separators(parts, made, filename)
    return "".join(made)


def _beside_separators(part: Part, text: str) -> str:
    """The text of one of several modules, after an empty line where its author has left one."""
    empty = _EMPTY_LINE.match(part.source.text)
    return text if part.is_separator or empty is None or _EMPTY_LINE.match(text) else empty[1] + text


def _check_separators(parts: list[Part], made: list[str], filename: str) -> None:
    """Raises InternalError unless the modules are still apart."""
    wanted = [text for part, text in zip(parts, made, strict=True) if not part.is_separator]
    if [part.source.text for part in parts_of("".join(made), filename) if not part.is_separator] != wanted:
        refuse(filename, "formatting would join or split modules")


def _format_part(source: Source, style: FormatStyle, lines: tuple[int, int] | None, *, proved: bool) -> str:
    module, path = read_source(source, strict=False)
    errors = [d for d in module.diagnostics if d.severity == "error"]
    if errors:
        raise ParseError(errors)
    assert path is not None, "the fast path was not forbidden"
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
            first, _ = source.line_column(skip_trivia(source.text, x.start))
            last, _ = source.line_column(max(x.end - 1, x.start))
            if source.line_start(last + 1) > start and source.line_start(first) < end:
                start, end = min(start, source.line_start(first)), max(end, source.line_start(last + 1))
    return start, end


def _formatted(text: str, path: FastPath, style: FormatStyle, selected: tuple[int, int] | None) -> str:
    try:
        return _run(text, path, style, selected, by_lines=True)
    except UnexpectedInput:
        # What looks like a whole line may go on in the next one, in the middle of a value.
        return _run(text, path, style, selected, by_lines=False)


def _run(text: str, path: FastPath, style: FormatStyle, selected: tuple[int, int] | None, *, by_lines: bool) -> str:
    joiner = Joiner(text, _marks(text))
    session = FormatSession(joiner, Writer(joiner, kept_text(text, selected), style.width), path)
    if by_lines:
        session.fast_path = FormattedLines(session, callback)
    with no_garbage_collection():
        read_pieces(session, form_of(text), callback)
        return session.writer.finish()


def _marks(text: str) -> frozenset[str]:
    """Which lists the author has numbered: XLA's short form numbers shapes and not operands."""
    found: set[str] = set()
    mark = _MARK.search(text)
    while mark is not None and len(found) < 2:
        found.add("shapes" if _is_bare_shape(text, skip_trivia(text, mark.end())) else "operands")
        mark = _MARK.search(text, mark.end())
    return frozenset(found)


def _is_bare_shape(text: str, start: int) -> bool:
    """Whether a shape, or one sharding of several, begins here: not an operand, which may be a name after its shape."""
    if text.startswith("{", start):
        return True
    if not _SHAPE.match(text, start):
        return False
    depth, end = 0, start
    for bracket in _BRACKET.finditer(text, start):
        if bracket[0][0] == "/":
            continue
        if depth == 0 and end > start and skip_trivia(text, end) < bracket.start():
            break
        depth += 1 if bracket[0] in "([{" else -1
        if depth < 0:
            break
        end = bracket.end()
    return text.startswith((",", ")", "}"), skip_trivia(text, end))
