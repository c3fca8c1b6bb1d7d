"""Unified diffs, in linear time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import click

from hlotool.cli.output import visible
from hlotool.workspace.line_changes import LineChange, line_changes

__all__ = ["color_patch", "header_name", "unified_diff"]

_CONTEXT = 3
_COLORS = {"@": "cyan", "-": "red", "+": "green"}


def unified_diff(before: str, after: str, name: str, *, color: bool = False) -> Iterator[str]:
    """Yields the lines of a unified diff, each with its line end.

    Yields nothing if there are no changes. Without `color`, the diff is a patch. With `color`,
    control characters are escaped, since the diff is for a terminal.

    >>> print("".join(unified_diff("a\\nb\\n", "a\\nc\\n", "m.hlo")), end="")
    --- m.hlo
    +++ m.hlo
    @@ -1,2 +1,2 @@
     a
    -b
    +c
    """
    first, second = _lines(before), _lines(after)
    paint: _Paint = _color_line if color else _plain
    started = False
    for group in _groups(line_changes(first, second)):
        if not started:
            header = header_name(name)
            yield paint(f"--- {header}\n", bold=True)
            yield paint(f"+++ {header}\n", bold=True)
            started = True
        yield from _hunk(group, first, second, paint)


def _lines(text: str) -> list[str]:
    """Returns the lines of a string with their ends; only line feeds end a line, as for `patch`."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def header_name(name: str) -> str:
    """Returns a file name in the form that patches use.

    A name with unprintable characters, quotes or backslashes is quoted like a string in C. A name
    with spaces is followed by a tab.

    >>> print(header_name("a.hlo"), header_name('a\x1b"b'))
    a.hlo "a\\033\\"b"
    """
    if not name.isprintable() or '"' in name or "\\" in name:
        data = name.encode("utf-8", "surrogateescape")
        return (
            '"' + "".join(chr(b) if 31 < b < 127 and chr(b) not in '"\\' else f"\\{chr(b)}" if chr(b) in '"\\' else f"\\{b:03o}" for b in data) + '"'
        )
    return f"{name}\t" if " " in name else name


class _Paint(Protocol):
    """A function that adds color and weight to a line."""

    def __call__(self, text: str, color: str | None = None, *, bold: bool | None = None) -> str: ...


def _plain(text: str, color: str | None = None, *, bold: bool | None = None) -> str:
    return text


def _color_line(text: str, color: str | None = None, *, bold: bool | None = None) -> str:
    line, end, note = text.partition("\n")
    line = "\t".join(map(visible, line.removesuffix("\r").split("\t")))
    return f"{click.style(line, fg=color, bold=bold)}{end}{note}"


def color_patch(patch: str) -> Iterator[str]:
    """Yields the lines of a patch in the colors of a diff.

    Control characters are escaped, since the lines are for a terminal.
    """
    for line in patch.split("\n")[:-1]:
        is_name = line.startswith(("--- ", "+++ "))
        color = None if is_name else _COLORS.get(line[:1])
        yield _color_line(f"{line}\n", color, bold=True) if is_name else _color_line(f"{line}\n", color)


def _groups(changes: Iterator[LineChange]) -> Iterator[list[LineChange]]:
    """Yields groups of changes that are close enough to share a hunk."""
    group: list[LineChange] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(group: list[LineChange], first: Sequence[str], second: Sequence[str], paint: _Paint) -> Iterator[str]:
    start = max(0, group[0][0] - _CONTEXT)
    end = min(len(first), group[-1][1] + _CONTEXT)
    lead = group[0][0] - start
    other_start = group[0][2] - lead
    other_end = group[-1][3] + end - group[-1][1]
    yield paint(f"@@ -{_range(start, end)} +{_range(other_start, other_end)} @@\n", "cyan")
    at = start
    for a, b, c, d in group:
        yield from (paint(_line(" ", line)) for line in first[at:a])
        yield from (paint(_line("-", line), "red") for line in first[a:b])
        yield from (paint(_line("+", line), "green") for line in second[c:d])
        at = b
    yield from (paint(_line(" ", line)) for line in first[at:end])


def _range(start: int, end: int) -> str:
    length = end - start
    return f"{start + (length > 0)},{length}" if length != 1 else str(start + 1)


def _line(mark: str, line: str) -> str:
    return f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
