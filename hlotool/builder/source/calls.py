"""Calls to builder methods, and their layout in lines of code."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

from hlotool.record import Record

__all__ = ["Argument", "Call", "chain_lines"]

_MAX_COLUMNS = 120
_INDENT = "    "
# If the last call is shorter than this, longer calls are broken first.
_MIN_LAST_LENGTH = 40

Argument = tuple[str, Any]
"""The name of an argument (empty if it is positional) and its value."""


class Call(Record):
    """A call to a builder method."""

    method: str
    arguments: tuple[Argument, ...] = ()

    @property
    def positional(self) -> list[Any]:
        return [value for name, value in self.arguments if not name]

    @property
    def named(self) -> dict[str, Any]:
        return {name: value for name, value in self.arguments if name}


def chain_lines(start: str, calls: Sequence[tuple[str, Sequence[str]]], indent: str) -> str:
    """Returns a statement that begins with `start`, followed by a chain of method calls.

    Long argument lists are written with one line per argument.

    >>> print(chain_lines("x = b", [(".add", ["p", "q"]), (".named", ['"sum"'])], ""))
    x = b.add(p, q).named("sum")
    """
    texts = [f"{method}({', '.join(arguments)})" for method, arguments in calls]
    if len(indent) + len(start) + sum(map(len, texts)) <= _MAX_COLUMNS:
        return indent + start + "".join(texts)
    # The last call, which contains any annotations, is broken first, then the longest of the rest.
    last = len(calls) - 1
    order = sorted(range(len(calls)), key=lambda k: (k != last or len(texts[k]) < _MIN_LAST_LENGTH, -len(texts[k])))
    for k in order:
        texts[k] = _split_lines(*calls[k], indent)
        whole = indent + start + "".join(texts)
        if all(len(line) <= _MAX_COLUMNS for line in whole.splitlines() if not line.startswith(indent + _INDENT)):
            break
    return whole


def _split_lines(method: str, arguments: Sequence[str], indent: str) -> str:
    """Returns a call with one line per argument."""
    inside = indent + _INDENT
    rows = [_wrap(f"{inside}{argument},", inside) for argument in arguments]
    return "\n".join([f"{method}(", *rows, f"{indent})"])


def _wrap(row: str, indent: str) -> str:
    """Wraps a long row, such as a list of variables, unless it contains a string."""
    if '"' in row or "'" in row:
        return row
    return fill(row, _MAX_COLUMNS, subsequent_indent=indent + _INDENT, break_long_words=False, break_on_hyphens=False)
