"""Calls of a builder's methods, and the lines of code that they take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hlotool.record import Record

__all__ = ["Argument", "Call", "chain_lines"]

_MOST_COLUMNS = 120
_INDENT = "    "

Argument = tuple[str, Any]
"""The name of an argument that is passed by name, or an empty string, and its value."""


class Call(Record):
    """A call of a builder's method."""

    method: str
    arguments: tuple[Argument, ...] = ()

    @property
    def positional(self) -> list[Any]:
        return [value for name, value in self.arguments if not name]

    @property
    def named(self) -> dict[str, Any]:
        return {name: value for name, value in self.arguments if name}


def chain_lines(start: str, calls: Sequence[tuple[str, Sequence[str]]], indent: str) -> str:
    """A statement that begins with `start`, and then calls one method after the other; long argument lists take a line for each argument.

    >>> print(chain_lines("x = b", [(".add", ["p", "q"]), (".named", ['"sum"'])], ""))
    x = b.add(p, q).named("sum")
    """
    line = indent + start + "".join([f"{method}({', '.join(arguments)})" for method, arguments in calls])
    if len(line) <= _MOST_COLUMNS:
        return line
    # The last of the long lists is broken first, since it is that of the annotations.
    broken = _to_break(calls, len(line))
    parts = [indent, start]
    for k, (method, arguments) in enumerate(calls):
        if k in broken:
            rows = "".join([f"{indent}{_INDENT}{argument},\n" for argument in arguments])
            parts.append(f"{method}(\n{rows}{indent})")
        else:
            parts.append(f"{method}({', '.join(arguments)})")
    return "".join(parts)


def _to_break(calls: Sequence[tuple[str, Sequence[str]]], length: int) -> set[int]:
    """The numbers of the calls whose arguments get lines of their own, so that the others fit into a line."""
    widths = [sum(map(len, arguments)) + 2 * len(arguments) for _, arguments in calls]
    broken: set[int] = set()
    for k in sorted(range(len(calls)), key=lambda k: (len(calls[k][1]) < 2, -k)):
        if length <= _MOST_COLUMNS or not calls[k][1]:
            break
        if widths[k] > _MOST_COLUMNS // 4:
            broken.add(k)
            length -= widths[k]
    return broken
