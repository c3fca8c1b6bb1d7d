"""Diagnostics as text for people, and the table of all output formats.

It neither finds diagnostics nor decides what they mean for the exit code; formats for programs are in `render_records` and
`render_reports`, which are loaded when they are asked for.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from typing import NamedTuple, TextIO

import click

from hlotool.cli.output import visible
from hlotool.errors import Diagnostic
from hlotool.workspace.findings import Finding

__all__ = ["FORMATS", "Render", "Style", "render_to_stderr", "style_for", "wants_color"]

_COLORS = {"error": "red", "warning": "yellow", "info": "blue"}
_CUT = "..."
_WORD = re.compile(r"[%A-Za-z0-9_.\-]++")
_LEAST_WIDTH = 40
_WIDTH_WITHOUT_TERMINAL = 120


class Style(NamedTuple):
    """How people want to see it."""

    width: int = _WIDTH_WITHOUT_TERMINAL
    color: bool = False


def wants_color(choice: str, stream: TextIO | None) -> bool:
    """Whether to color what goes to `stream`: as told, else when it is a terminal and the environment does not object."""
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
    # What the message says already is not said twice.
    if d.computation and f"computation '{d.computation}'" not in d.message:
        yield f"{equals} in computation '{visible(d.computation)}'{' (ENTRY)' if finding.is_entry else ''}"
    for note in d.notes:
        yield f"{equals} note: {visible(note)}"
    if d.hint:
        yield f"{equals} {paint('hint', 'green')}: {visible(d.hint)}"
    if d.fix is not None:
        yield f"{equals} {paint('fix', 'green')}: {d.fix.title} ({'--fix' if d.fix.is_safe else '--fix --unsafe-fixes'})"
    if finding.alike:
        yield f"{equals} and {visible(finding.alike)} (--show-all)"


def _excerpt(line: str, column: int, end_column: int, room: int) -> tuple[str, int, int]:
    """The part of a line that holds a span and fits into `room` characters, spaces before the marks, and how many marks.

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
    """Tabs as spaces and other characters that cannot be seen as a mark, so that what stands below stays below."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _cells(text: str) -> int:
    """Columns that a text takes on a terminal; rich, which knows, is loaded for the rare lines that are not ASCII."""
    return len(text) if text.isascii() else import_module("rich.cells").cell_len(text)


def _concise(findings: Iterable[Finding], style: Style) -> Iterator[str]:
    """One line each, as compilers print them and editors read them."""
    for finding in findings:
        text = visible(str(finding.diagnostic))
        if not style.color:
            yield text + "\n"
            continue
        d = finding.diagnostic
        place, tag, rest = text.partition(f"{d.severity}[{d.code}]")
        yield f"{place}{click.style(tag, fg=_COLORS.get(d.severity, 'blue'), bold=True)}{rest}\n"


Render = Callable[[Iterable[Finding], Style], Iterator[str]]


def _from(module: str, name: str) -> Render:
    """A format that is loaded when it is used, so that no start pays for all of them."""

    def render(findings: Iterable[Finding], style: Style) -> Iterator[str]:
        function: Render = getattr(import_module(f"hlotool.cli.{module}"), name)
        return function(findings, style)

    return render


FORMATS: dict[str, Render] = {
    "text": _text,
    "concise": _concise,
    "json": _from("render_records", "json_array"),
    "jsonl": _from("render_records", "json_lines"),
    "github": _from("render_records", "github"),
    "gitlab": _from("render_records", "gitlab"),
    "rdjson": _from("render_records", "rdjson"),
    "sarif": _from("render_reports", "sarif"),
    "junit": _from("render_reports", "junit"),
    "markdown": _from("render_reports", "markdown"),
    "null": _from("render_records", "null"),
}
"""By the name that `--output-format` takes; each turns findings, as they come, into pieces of output."""


def render_to_stderr(diagnostics: Iterable[Diagnostic], lines: Callable[[int], str], color: str) -> None:
    """Diagnostics in the way of something else than a report: to standard error, for people."""
    if sys.stderr is None:
        return
    style = style_for(color, sys.stderr)
    for piece in _text((Finding(d, lines(d.line)) for d in diagnostics), style):
        sys.stderr.write(piece)
    sys.stderr.flush()
