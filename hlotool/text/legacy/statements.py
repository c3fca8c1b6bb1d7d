"""Finds the instructions of a text by regular expressions, for texts that the grammar does not accept.

Strings and comments are masked first, so that nothing in them is taken for HLO. All patterns are possessive or bounded by what they exclude,
so that the search is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.text.source.trivia import COMMENT

__all__ = ["ARRAY", "Statement", "masked", "operands_of", "statements"]

TYPE = rf"(?:{'|'.join(ELEMENT_TYPES)})(?![a-z0-9])"
# Dimensions with an optional layout, which may be `invalid{}`, `sparse{10}` or empty in old texts.
ARRAY = rf"(?<![A-Za-z0-9_.\-%]){TYPE}\[[0-9,<=? ]*+\](?:(?:invalid|sparse)?\{{[^{{}}\n]*+\}})?+"
_TUPLE = r"\("
for _ in range(8):
    _TUPLE = rf"\((?:[^()]++|{_TUPLE})*+\)" if _TUPLE != r"\(" else r"\([^()]*+\)"
_STATEMENT = re.compile(
    r"(?<![A-Za-z0-9_.\-%])(?P<root>ROOT[ \t]+)?(?P<name>%?[A-Za-z_][A-Za-z0-9_.\-]*+)[ \t]*+=\s*+"
    rf"(?P<shape>{_TUPLE}|{ARRAY})?+\s*+(?P<opcode>[a-z][a-z0-9\-]*+)[ \t]*+\("
)
# Comments and strings that are not closed are hidden, too: otherwise each of them would be searched for its end.
_HIDDEN = re.compile(rf'{COMMENT}|/\*.*+|"(?:[^"\\\n]++|\\.)*+"?+', re.DOTALL)
# Dimensions and layouts, which are most of the brackets, are read as a whole.
_BRACKET = re.compile(r"(?<=[a-z0-9\]])(?:\[[0-9,]*+\]|\{[0-9,]*+\})|[()\[\]{}]")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_PIECE = re.compile(r"[()\[\]{},]")


def masked(text: str) -> str:
    """The text with strings and comments overwritten; all offsets stay the same, and so do line ends.

    >>> masked('a /* b */ "c{"')
    'a         "__"'
    """
    return _HIDDEN.sub(_mask, text)


def _mask(match: re.Match[str]) -> str:
    hidden = match[0]
    if hidden[0] == '"':
        return f'"{"_" * (len(hidden) - 2)}"' if len(hidden) > 1 else hidden
    return " " * len(hidden) if "\n" not in hidden else re.sub(r"[^\r\n]", " ", hidden)


class Statement(NamedTuple):
    """An instruction: offsets of its parts in the masked text.

    `operands` are those between the parentheses, `attributes` the names of the attributes, and `end` is after the last one.
    """

    start: int
    root: str
    name: str
    shape: tuple[int, int]
    opcode: str
    opcode_start: int
    operands: tuple[int, int]
    attributes: tuple[str, ...]
    end: int


def statements(text: str) -> Iterator[Statement]:
    """The instructions of a masked text in order.

    >>> [(s.name, s.opcode) for s in statements("ENTRY e { p = f32[] parameter(0) ROOT %n = pred[] less-than(p, p) }")]
    [('p', 'parameter'), ('%n', 'less-than')]
    """
    match = _STATEMENT.search(text)
    partners = _partners(text) if match is not None else {}
    while match is not None:
        close = partners.get(match.end() - 1)
        if close is not None:
            shape = match.span("shape") if match["shape"] else (match.start("opcode"), match.start("opcode"))
            yield Statement(
                match.start(),
                match["root"] or "",
                match["name"],
                shape,
                match["opcode"],
                match.start("opcode"),
                (match.end(), close),
                *_attributes(text, close + 1, partners),
            )
        match = _STATEMENT.search(text, match.end() if close is None else close)


def _partners(text: str) -> dict[int, int]:
    """The offset of the closing bracket of every opening one, except those that are not closed and those of dimensions and layouts."""
    partners: dict[int, int] = {}
    opened: list[int] = []
    for bracket in _BRACKET.finditer(text):
        kind = bracket[0]
        if kind in _OPENING:
            opened.append(bracket.start())
        elif kind in _CLOSING and opened:
            partners[opened.pop()] = bracket.start()
    return partners


_ATTRIBUTE = re.compile(r"\s*+,\s*+(?P<name>[A-Za-z_][A-Za-z0-9_\-]*+)=\s*+")
_VALUE = re.compile(r'"[^"]*+"|[^\s{},()]++(?:\([^()]*+\))?+')


def _attributes(text: str, start: int, partners: dict[int, int]) -> tuple[tuple[str, ...], int]:
    """The names of the attributes that start at `start`, and the end of the last one."""
    names: list[str] = []
    while (attribute := _ATTRIBUTE.match(text, start)) is not None:
        at = attribute.end()
        if text.startswith(("{", "(", "["), at):
            close = partners.get(at)
            if close is None:
                break
            at = close + 1
        while (value := _VALUE.match(text, at)) is not None:
            at = value.end()
        names.append(attribute["name"])
        start = at
    return tuple(names), start


def operands_of(text: str, statement: Statement) -> list[tuple[int, int]]:
    """Start and end of each operand of an instruction, without the space around it."""
    low, high = statement.operands
    cuts, depth = [low - 1], 0
    for piece in _PIECE.finditer(text, low, high):
        if piece[0] == ",":
            if depth == 0:
                cuts.append(piece.start())
        else:
            depth += 1 if piece[0] in "([{" else -1
    spans = []
    for start, end in zip(cuts, [*cuts[1:], high], strict=True):
        bare = text[start + 1 : end]
        if bare.strip():
            first = start + 1 + len(bare) - len(bare.lstrip())
            spans.append((first, first + len(bare.strip())))
    return spans
