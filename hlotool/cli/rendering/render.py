"""Diagnostics as text for people, and the table of all output formats.

Formats for programs are in `render_records` and `render_reports`, which are imported on use.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import NamedTuple, TextIO

import click

from hlotool.cli.output import visible
from hlotool.errors import Diagnostic
from hlotool.text.source.tokens import WORD
from hlotool.workspace.findings import FileFinding

__all__ = ["FORMATS", "Render", "Style", "render_to_stderr", "style_for", "wants_color"]

_COLORS = {"error": "red", "warning": "yellow", "info": "blue"}
_CUT = "..."
_MIN_WIDTH = 40
_WIDTH_WITHOUT_TERMINAL = 120


class Style(NamedTuple):
    """The width and color of text for people.

    `files` lists the names of the checked files; it is complete once all findings have been read.
    """

    width: int = _WIDTH_WITHOUT_TERMINAL
    color: bool = False
    files: Sequence[str] = ()


def wants_color(choice: str, stream: TextIO | None) -> bool:
    """Returns whether to color the output on `stream`.

    With "auto", output on a terminal is colored unless NO_COLOR is set or TERM is "dumb".
    """
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream is not None and stream.isatty()


def style_for(choice: str, stream: TextIO | None) -> Style:
    """Returns the style for `--color CHOICE` on `stream`."""
    fallback = (_WIDTH_WITHOUT_TERMINAL, 24)
    interactive = stream is not None and stream.isatty()
    columns = shutil.get_terminal_size(fallback).columns if interactive or "COLUMNS" in os.environ else fallback[0]
    return Style(max(_MIN_WIDTH, columns), wants_color(choice, stream))


# ---- for people --------------------------------------------------------------------------------


def _text(findings: Iterable[FileFinding], style: Style) -> Iterator[str]:
    for finding in findings:
        yield "\n".join(_block(finding, style)) + "\n\n"


def _block(finding: FileFinding, style: Style) -> Iterator[str]:
    """Yields the lines of one diagnostic, in the format of the Rust compiler."""
    d, line = finding.diagnostic, finding.line

    def paint(text: str, color: str | None = None, **styles: bool) -> str:
        return click.style(text, fg=color, **styles) if style.color else text

    color = _COLORS.get(d.severity, "blue")
    yield f"{paint(f'{d.severity}[{d.code}] {d.name}', color, bold=True)}{paint(': ' + visible(d.message), bold=True)}"
    number = str(d.line)
    gutter = " " * len(number)
    bar = paint("|", "blue")
    yield f"{gutter}{paint('-->', 'blue')} {visible(d.filename)}:{d.line}:{d.column}"
    if line.strip():
        end = d.end_column if d.end_line == d.line else len(line) + 1
        shown, before, marked = _excerpt(line, d.column, end, style.width - len(number) - 3)
        yield f"{gutter} {bar}"
        yield f"{paint(number, 'blue')} {bar} {shown}"
        yield f"{gutter} {bar} {' ' * before}{paint('^' * marked, color)}"
    equals = f"{gutter} {paint('=', 'blue')}"
    # Some messages already contain the name of the computation.
    if d.computation and f"computation '{d.computation}'" not in d.message:
        yield f"{equals} in computation '{visible(d.computation)}'{' (ENTRY)' if finding.is_entry else ''}"
    for note in d.notes:
        yield f"{equals} note: {visible(note)}"
    if d.hint:
        yield f"{equals} {paint('hint', 'green')}: {visible(d.hint)}"
    if d.fix is not None:
        yield f"{equals} {paint('fix', 'green')}: {d.fix.title} ({'--fix' if d.fix.is_safe else '--fix --unsafe-fixes'})"
    if finding.similar:
        yield f"{equals} and {visible(finding.similar)} (--show-all)"


def _excerpt(line: str, column: int, end_column: int, available: int) -> tuple[str, int, int]:
    """Cuts a line to `available` characters around a span.

    Returns the part to show, and the numbers of spaces and of marks to print below it.

    >>> _excerpt("add(first, second), metadata={}", 12, 13, 16)
    ('..., second),...', 5, 6)
    """
    start = min(column - 1, len(line))
    end = max(start + 1, min(end_column - 1, len(line)))
    if end == start + 1 and (word := WORD.match(line, start)):
        # A span of one character is only a position. Marks under the whole word are easier to see.
        end = word.end()
    low, high = 0, len(line)
    if high > available:
        keep = max(1, available - 2 * len(_CUT))
        low = max(0, start - (keep - min(end - start, keep)) // 2)
        high = min(len(line), low + keep)
        low = max(0, high - keep)
    head = _CUT if low else ""
    tail = _CUT if high < len(line) else ""
    before, marked = _to_single_cells(line[low:start]), _to_single_cells(line[start : min(end, high)])
    shown = head + _to_single_cells(line[low:high]) + tail
    return shown, len(head) + _cells(before), max(1, _cells(marked))


def _to_single_cells(text: str) -> str:
    """Returns the text with one column per character, so that marks below it are aligned.

    Tabs become spaces, and other invisible characters become replacement characters.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _cells(text: str) -> int:
    """Returns the width of a string on a terminal.

    The package rich is imported only for the rare lines that are not ASCII.
    """
    return len(text) if text.isascii() else import_module("rich.cells").cell_len(text)


def _concise(findings: Iterable[FileFinding], style: Style) -> Iterator[str]:
    """Yields a line for each finding, in the format that compilers print and editors read."""
    for finding in findings:
        text = visible(str(finding.diagnostic))
        if not style.color:
            yield text + "\n"
            continue
        d = finding.diagnostic
        position, tag, rest = text.partition(f"{d.severity}[{d.code}]")
        yield f"{position}{click.style(tag, fg=_COLORS.get(d.severity, 'blue'), bold=True)}{rest}\n"


Render = Callable[[Iterable[FileFinding], Style], Iterator[str]]


def _lazy_format(module: str, name: str) -> Render:
    """Returns the function for a format, whose module is imported on use."""

    def render(findings: Iterable[FileFinding], style: Style) -> Iterator[str]:
        function: Render = getattr(import_module(f"hlotool.cli.rendering.{module}"), name)
        return function(findings, style)

    return render


FORMATS: dict[str, Render] = {
    "text": _text,
    "concise": _concise,
    "json": _lazy_format("render_records", "json_array"),
    "jsonl": _lazy_format("render_records", "json_lines"),
    "github": _lazy_format("render_records", "github"),
    "gitlab": _lazy_format("render_records", "gitlab"),
    "rdjson": _lazy_format("render_records", "rdjson"),
    "sarif": _lazy_format("render_reports", "sarif"),
    "junit": _lazy_format("render_reports", "junit"),
    "markdown": _lazy_format("render_reports", "markdown"),
    "null": _lazy_format("render_records", "null"),
}
"""The functions for the output formats, by the names that `--output-format` takes.

Each function converts an iterable of findings to pieces of output.
"""


def render_to_stderr(diagnostics: Iterable[Diagnostic], lines: Callable[[int], str], color: str) -> None:
    """Writes diagnostics as text to standard error."""
    if sys.stderr is None:
        return
    style = style_for(color, sys.stderr)
    for piece in _text((FileFinding(d, lines(d.line)) for d in diagnostics), style):
        sys.stderr.write(piece)
    sys.stderr.flush()
