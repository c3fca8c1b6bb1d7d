"""Finds names in losslessly printed instruction lines, where each name has a percent sign."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from hlotool.opdefs.base import CALLED_KINDS
from hlotool.opdefs.table import OPS
from hlotool.text.source.tokens import DEFINITION, tokens

__all__ = ["Definition", "Name", "definition_of", "names_in", "replace_names"]

_CALLED = frozenset(spec.name for op in OPS.values() for spec in op.attributes.values() if spec.kind in CALLED_KINDS)


class Definition(NamedTuple):
    """The definition in a line: its name, whether it defines the root, and where it ends."""

    name: str
    is_root: bool
    end: int


class Name(NamedTuple):
    """A name in a line, from `start` to `end` without the percent sign.

    `kind` is "instruction", "computation", or "frame" for the number of a stack frame.
    """

    kind: str
    text: str
    start: int
    end: int


def definition_of(line: str) -> Definition | None:
    """Returns the definition in a line, or None if the line does not define an instruction.

    >>> definition_of("  ROOT %a = f32[] add(%p, %q)")
    Definition(name='a', is_root=True, end=12)
    """
    match = DEFINITION.match(line)
    if match is None or "%" not in match[0]:
        return None
    return Definition(match["defined"], match["root"] is not None, match.end() + line.startswith(" ", match.end()))


def names_in(line: str, start: int = 0) -> Iterator[Name]:
    """Yields the names in a line, from left to right.

    >>> [(name.kind, name.text) for name in names_in('%r = f32[] reduce(%p, %z), to_apply=%add, metadata={op_name="%x"}', 5)]
    [('instruction', 'p'), ('instruction', 'z'), ('computation', 'add')]
    """
    key, last = "", ""
    for token in tokens(line, start):
        text = token[0]
        if text == "=":
            key = last
            if key == "backend_config":
                # The configuration ends the line and contains no names.
                return
        elif token.lastgroup == "word" and text[0] == "%":
            yield Name("computation" if key in _CALLED else "instruction", text[1:], token.start() + 1, token.end())
        elif token.lastgroup == "word" and key == "stack_frame_id" and last == "=":
            yield Name("frame", text, *token.span())
        last = text


def replace_names(line: str, start: int, replacement: Callable[[Name], str]) -> str:
    """Returns the line from `start` on, with its names replaced."""
    parts, end = [], start
    for name in names_in(line, start):
        parts += [line[end : name.start], replacement(name)]
        end = name.end
    return "".join([*parts, line[end:]])
