"""Diagnostics as text: one function for each output format.

It neither finds diagnostics nor decides what they mean for the exit code.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TextIO

from hlotool.cli.output import visible
from hlotool.errors import Diagnostic

__all__ = ["FORMATS", "Finding", "Style", "style_for", "wants_color"]

_BOLD, _RED, _YELLOW, _BLUE, _GREEN, _END = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[34m", "\x1b[32m", "\x1b[0m"
_COLORS = {"error": _RED, "warning": _YELLOW, "info": _BLUE}
_CUT = "..."
_WORD = re.compile(r"[%A-Za-z0-9_.\-]++")
_LEAST_WIDTH = 40
_WIDTH_WITHOUT_TERMINAL = 120


class Finding(NamedTuple):
    """A diagnostic and the line of the source that it points into."""

    diagnostic: Diagnostic
    line: str


class Style(NamedTuple):
    """How people want to see it."""

    width: int = _WIDTH_WITHOUT_TERMINAL
    color: bool = False


def wants_color(choice: str, stream: TextIO | None) -> bool:
    """Whether to colour what goes to `stream`: as told, else when it is a terminal and the environment does not object."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream is not None and stream.isatty()


def style_for(choice: str, stream: TextIO | None) -> Style:
    """The style for `--color CHOICE` on `stream`."""
    fallback = (_WIDTH_WITHOUT_TERMINAL, 24)
    interactive = stream is not None and stream.isatty()
    columns = shutil.get_terminal_size(fallback).columns if interactive or "COLUMNS" in os.environ else fallback[0]
    return Style(max(_LEAST_WIDTH, columns), wants_color(choice, stream))


# ---- for people -------------------------------------------------------------------------------------------------------


def _text(findings: Iterable[Finding], style: Style) -> Iterator[str]:
    for finding in findings:
        yield "\n".join(_block(finding, style)) + "\n\n"


def _block(finding: Finding, style: Style) -> Iterator[str]:
    """The lines of one diagnostic, in the manner of the Rust compiler."""
    d, line = finding

    def paint(text: str, *colors: str) -> str:
        return f"{''.join(colors)}{text}{_END}" if style.color else text

    color = _COLORS.get(d.severity, _BLUE)
    yield f"{paint(f'{d.severity}[{d.code}] {d.name}', _BOLD, color)}{paint(': ' + visible(d.message), _BOLD)}"
    number = str(d.line)
    gutter = " " * len(number)
    bar = paint("|", _BLUE)
    yield f"{gutter}{paint('-->', _BLUE)} {visible(d.filename)}:{d.line}:{d.column}"
    if line.strip():
        end = d.end_column if d.end_line == d.line else len(line) + 1
        shown, before, marked = _excerpt(line, d.column, end, style.width - len(number) - 3)
        yield f"{gutter} {bar}"
        yield f"{paint(number, _BLUE)} {bar} {shown}"
        yield f"{gutter} {bar} {' ' * before}{paint('^' * marked, color)}"
    for note in d.notes:
        yield f"{gutter} {paint('=', _BLUE)} note: {visible(note)}"
    if d.hint:
        yield f"{gutter} {paint('=', _BLUE)} {paint('hint', _GREEN)}: {visible(d.hint)}"


def _excerpt(line: str, column: int, end_column: int, room: int) -> tuple[str, int, int]:
    """The part of a line that holds a span and fits into `room` characters, blanks before the marks, and how many marks.

    >>> _excerpt("add(first, second), metadata={}", 12, 13, 16)
    ('..., second),...', 5, 6)
    """
    start = min(column - 1, len(line))
    end = max(start + 1, min(end_column - 1, len(line)))
    if end == start + 1 and (word := _WORD.match(line, start)):
        # The first character alone stands for a place, which is seen better when the whole word is marked.
        end = word.end()
    low, high = 0, len(line)
    if high > room:
        keep = max(1, room - 2 * len(_CUT))
        low = max(0, start - (keep - min(end - start, keep)) // 2)
        high = min(len(line), low + keep)
        low = max(0, high - keep)
    head = _CUT if low else ""
    tail = _CUT if high < len(line) else ""
    before, marked = _one_cell_each(line[low:start]), _one_cell_each(line[start : min(end, high)])
    shown = head + _one_cell_each(line[low:high]) + tail
    return shown, len(head) + _cells(before), max(1, _cells(marked))


def _one_cell_each(text: str) -> str:
    """Tabs as blanks and other characters that cannot be seen as a mark, so that what stands below stays below."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _cells(text: str) -> int:
    """Columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _concise(findings: Iterable[Finding], style: Style) -> Iterator[str]:
    """One line each, as compilers print them and editors read them."""
    for finding in findings:
        text = visible(str(finding.diagnostic))
        if not style.color:
            yield text + "\n"
            continue
        d = finding.diagnostic
        place, tag, rest = text.partition(f"{d.severity}[{d.code}]")
        yield f"{place}{_BOLD}{_COLORS.get(d.severity, _BLUE)}{tag}{_END}{rest}\n"


# ---- for programs -----------------------------------------------------------------------------------------------------

_FIELDS = (
    "filename", "line", "column", "end_line", "end_column", "code", "name", "severity", "message", "hint", "notes", "computation", "instruction",
)  # fmt: skip


def _json(findings: Iterable[Finding], style: Style) -> Iterator[str]:
    """An array of objects with the fields of `Diagnostic`."""
    before = "[\n"
    for finding in findings:
        record: dict[str, Any] = {field: getattr(finding.diagnostic, field) for field in _FIELDS}
        yield f"{before}  {json.dumps(record)}"
        before = ",\n"
    yield "[]\n" if before == "[\n" else "\n]\n"


def _github(findings: Iterable[Finding], style: Style) -> Iterator[str]:
    """Annotations for GitHub Actions."""
    for finding in findings:
        d = finding.diagnostic
        level = {"error": "error", "warning": "warning"}.get(d.severity, "notice")
        place = f"file={_property(d.filename)},line={d.line},endLine={d.end_line},col={d.column},endColumn={d.end_column}"
        message = d.message + "".join(f"\n{note}" for note in d.notes) + (f"\nhint: {d.hint}" if d.hint else "")
        yield f"::{level} {place},title={_property(f'{d.code} {d.name}')}::{_data(message)}\n"


def _data(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return visible(escaped)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


FORMATS: dict[str, Callable[[Iterable[Finding], Style], Iterator[str]]] = {
    "text": _text,
    "concise": _concise,
    "json": _json,
    "github": _github,
}
"""By the name that `--output-format` takes; each turns findings, as they come, into pieces of output."""


def render_to_stderr(diagnostics: Iterable[Diagnostic], lines: Callable[[int], str], color: str) -> None:
    """Diagnostics in the way of something else than a report: to standard error, for people."""
    style = style_for(color, sys.stderr)
    for piece in _text((Finding(d, lines(d.line)) for d in diagnostics), style):
        sys.stderr.write(piece)
    sys.stderr.flush()
