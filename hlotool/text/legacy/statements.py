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

TYPE = rf"(?:{'|'.join(ELEMENT_TYPES)})"
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
_BRACKET = re.compile(r"[()\[\]{}]")
_MOST_SCANS = 8
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
    """An instruction: offsets of its parts in the masked text. `operands` are those between the parentheses, `end` is after the last attribute."""

    start: int
    root: str
    name: str
    shape: tuple[int, int]
    opcode: str
    opcode_start: int
    operands: tuple[int, int]
    end: int


def statements(text: str) -> Iterator[Statement]:
    """The instructions of a masked text in order.

    >>> [(s.name, s.opcode) for s in statements("ENTRY e { p = f32[] parameter(0) ROOT %n = pred[] less-than(p, p) }")]
    [('p', 'parameter'), ('%n', 'less-than')]
    """
    position, brackets = 0, _Brackets(text)
    while (match := _STATEMENT.search(text, position)) is not None:
        close = brackets.close_of(match.end() - 1)
        position = match.end()
        if close < 0:
            if brackets.is_exhausted:
                return
            continue
        position = close
        shape = match.span("shape") if match["shape"] else (match.start("opcode"), match.start("opcode"))
        yield Statement(
            match.start(),
            match["root"] or "",
            match["name"],
            shape,
            match["opcode"],
            match.start("opcode"),
            (match.end(), close),
            _end(text, close + 1, brackets),
        )


class _Brackets:
    """Finds closing brackets. Each search for one that is missing goes to the end of the text, so the number of these is limited."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.budget = _MOST_SCANS * len(text)

    @property
    def is_exhausted(self) -> bool:
        return self.budget < 0

    def close_of(self, start: int) -> int:
        """The offset of the bracket that closes the one at `start`, -1 if there is none or the limit has been reached."""
        if self.is_exhausted:
            return -1
        depth = 0
        for bracket in _BRACKET.finditer(self.text, start):
            depth += 1 if bracket[0] in "([{" else -1
            if depth <= 0:
                return bracket.start()
        self.budget -= len(self.text) - start
        return -1


_ATTRIBUTE = re.compile(r"\s*+,\s*+[A-Za-z_][A-Za-z0-9_\-]*+=\s*+")
_VALUE = re.compile(r'"[^"]*+"|[^\s{},()]++(?:\([^()]*+\))?+')


def _end(text: str, start: int, brackets: _Brackets) -> int:
    """The end of the attributes that start at `start`."""
    while (attribute := _ATTRIBUTE.match(text, start)) is not None:
        at = attribute.end()
        if text.startswith(("{", "(", "["), at):
            close = brackets.close_of(at)
            if close < 0:
                return start
            at = close + 1
        while (value := _VALUE.match(text, at)) is not None:
            at = value.end()
        start = at
    return start


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
