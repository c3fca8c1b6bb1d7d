"""Formats text, and checks that only whitespace, commas and the order of attributes changed."""

from __future__ import annotations

import re
from importlib import import_module

from lark.exceptions import UnexpectedInput

from hlotool.collection import no_garbage_collection
from hlotool.errors import InternalError, ParseError, Source, Violation
from hlotool.text.formatting.callbacks import formatting_callback
from hlotool.text.formatting.equivalence import check_equivalent, raise_internal_error
from hlotool.text.formatting.lines import LineFormatter
from hlotool.text.formatting.pieces import Joiner
from hlotool.text.formatting.session import FormatSession
from hlotool.text.formatting.style import FormatStyle
from hlotool.text.formatting.verbatim import verbatim_ranges
from hlotool.text.formatting.writer import Writer
from hlotool.text.parse.driver import parse_with_callbacks
from hlotool.text.parse.fast_path import FastPath
from hlotool.text.parse.parser import Part, decode_text, form_of, parts_of, read_source
from hlotool.text.source.tokens import closing
from hlotool.text.source.trivia import skip_trivia

__all__ = ["format_source", "format_text"]

_DEFAULT = FormatStyle()
_EMPTY_LINE = re.compile(r"[ \t]*+(\r?+\n)")
_MARK = re.compile(r"/\*index=[0-9]++\*/")
_SHAPE = re.compile(r"(?:b[ \t\r\n]*+\(|\(|[a-z][a-z0-9]*+[ \t\r\n]*+\[)")


def format_text(
    text: str | bytes,
    style: FormatStyle = _DEFAULT,
    *,
    filename: str = "<string>",
    lines: tuple[int, int] | None = None,
    checked: bool = True,
    legacy: bool = False,
) -> str:
    """Formats text with the spacing, line breaks and attribute order of XLA's printer.

    Keeps everything else as written. `lines` gives the first and the last line to format, counted
    from 1. Other lines do not change, nor do instructions that begin or end on them.

    With `legacy`, also accepts old spellings, and rewrites them in today's form on all lines.
    Raises ValueError if `legacy` and `lines` are combined. With `checked`, parses the result and
    raises InternalError if its module or its comments differ from those of `text`, if lines outside
    `lines` have changed, or if formatting the result again would change it.

    Raises ParseError if the syntax is wrong. Undefined names, missing attributes and similar errors
    are left to the verifier.

    >>> print(format_text("ENTRY e{p = f32[ ] parameter( 0 )  // in\\nROOT r = f32[] add(p ,p)}"), end="")
    ENTRY e {
      p = f32[] parameter(0) // in
      ROOT r = f32[] add(p, p)
    }
    """
    if legacy and lines is not None:
        raise ValueError("legacy=True changes old spellings on all lines; it cannot be combined with lines")
    source_text = decode_text(text)
    if not source_text.strip():
        # A newly created file has no module yet.
        return ""
    parts = parts_of(source_text, filename)
    texts = [part.source.text if part.is_separator else format_source(part.source, style, lines, checked=checked, legacy=legacy) for part in parts]
    if len(parts) > 1:
        for k, part in enumerate(parts):
            texts[k] = _keep_leading_empty_line(part, texts[k])
        _check_separators(parts, texts, filename)
    return "".join(texts)


def _keep_leading_empty_line(part: Part, text: str) -> str:
    """Returns `text`, the formatted text of one of several modules.

    Adds an empty line at the start if only the source starts with one.
    """
    empty = _EMPTY_LINE.match(part.source.text)
    return text if part.is_separator or empty is None or _EMPTY_LINE.match(text) else empty[1] + text


def _check_separators(parts: list[Part], texts: list[str], filename: str) -> None:
    """Raises InternalError unless the formatted text splits into the same modules."""
    expected = [text for part, text in zip(parts, texts, strict=True) if not part.is_separator]
    if [part.source.text for part in parts_of("".join(texts), filename) if not part.is_separator] != expected:
        raise_internal_error(filename, "formatting would join or split modules")


def format_source(
    source: Source, style: FormatStyle = _DEFAULT, lines: tuple[int, int] | None = None, *, checked: bool = True, legacy: bool = False
) -> str:
    """Formats a source that contains one module, as `format_text` does."""
    if legacy:
        # Imported on use, since it is rarely needed.
        source, _ = import_module("hlotool.text.legacy.rewrite").modernize(source)
    module, path = read_source(source, strict=False)
    assert path is not None, "the fast path is enabled"
    errors = [d for d in module.diagnostics if d.severity == "error"]
    if path.builder.has_syntax_errors:
        raise ParseError(errors)
    selected = None if lines is None else (source.line_start(lines[0]), source.line_start(lines[1] + 1))
    try:
        after = _format(source.text, path, style, selected)
        if checked:
            # The text after the selection is unchanged but may start at a different offset.
            moved = None if selected is None else (selected[0], len(after) - (len(source.text) - selected[1]))
            if selected is not None and not (after.startswith(source.text[: selected[0]]) and after.endswith(source.text[selected[1] :])):
                raise_internal_error(source.filename, "formatting would change other lines")
            check_equivalent(source, module, path, after, lambda text, path: _format(text, path, style, moved))
    except (UnexpectedInput, InternalError):
        if not errors:
            raise
        # An error, such as an invalid literal, leaves the meaning of the text unknown.
        raise ParseError(errors) from None
    return after


def _format(text: str, path: FastPath, style: FormatStyle, selected: tuple[int, int] | None) -> str:
    try:
        return _format_once(text, path, style, selected, by_lines=True)
    except (UnexpectedInput, Violation, ValueError):
        # A line that looks complete may end in the middle of a value, which continues on the next
        # line, or may contain an invalid value or string.
        return _format_once(text, path, style, selected, by_lines=False)


def _format_once(text: str, path: FastPath, style: FormatStyle, selected: tuple[int, int] | None, *, by_lines: bool) -> str:
    joiner = Joiner(text, _marks(text))
    session = FormatSession(joiner, Writer(joiner, verbatim_ranges(text, selected), style.width, path.newline), path)
    if by_lines:
        session.fast_path = LineFormatter(session, formatting_callback)
    with no_garbage_collection():
        parse_with_callbacks(session, form_of(text), formatting_callback)
        return session.writer.finish()


def _marks(text: str) -> frozenset[str]:
    """Returns the kinds of lists that have index marks in the text: "operands", "shapes" or both.

    XLA's short form has index marks in lists of shapes but not in lists of operands.
    """
    kinds: set[str] = set()
    mark = _MARK.search(text)
    while mark is not None and len(kinds) < 2:
        kinds.add("shapes" if _is_bare_shape(text, skip_trivia(text, mark.end())) else "operands")
        mark = _MARK.search(text, mark.end())
    return frozenset(kinds)


def _is_bare_shape(text: str, start: int) -> bool:
    """Returns whether a shape, or an element of a tuple sharding, begins at `start`.

    Returns False for an operand, which may be a shape followed by a name.
    """
    if text.startswith("{", start):
        return True
    opening = _SHAPE.match(text, start)
    if opening is None:
        return False
    bracket, end = opening.end() - 1, start
    # A shape has brackets for its elements or its dimensions, and for its layout.
    while text.startswith(("(", "[", "{"), bracket) and (close := closing(text, bracket)) >= 0:
        end, bracket = close, skip_trivia(text, close)
    return text.startswith((",", ")", "}"), skip_trivia(text, end))
