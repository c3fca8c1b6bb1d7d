"""Finds instructions with regular expressions, in text that the grammar rejects.

Strings and comments are masked first, so that nothing in them is mistaken for HLO. All patterns are
possessive or bounded by the characters that they exclude, so that the search takes linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from hlotool.memo import cached_property
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.text.source.tokens import NAME, entries
from hlotool.text.source.trivia import COMMENT

__all__ = ["ARRAY", "TYPE", "Array", "Statement", "Text", "mask_text", "operands_of", "statements"]

TYPE = rf"(?:{'|'.join(ELEMENT_TYPES)})(?![a-z0-9])"
# Dimensions with an optional layout, which may be `invalid{}`, `sparse{10}` or empty in old
# modules.
ARRAY = rf"(?<![A-Za-z0-9_.\-%]){TYPE}\[[0-9,<=? ]*+\](?:(?:invalid|sparse)?\{{[^{{}}\n]*+\}})?+"
_TUPLE = r"\("
for _ in range(8):
    _TUPLE = rf"\((?:[^()]++|{_TUPLE})*+\)" if _TUPLE != r"\(" else r"\([^()]*+\)"
_STATEMENT = re.compile(
    rf"(?<![A-Za-z0-9_.\-%])(?P<root>ROOT[ \t]+)?(?P<name>%?{NAME})[ \t]*+=\s*+"
    rf"(?P<shape>{_TUPLE}|{ARRAY})?+\s*+(?P<opcode>[a-z][a-z0-9\-]*+)[ \t]*+\("
)
# Also hides unclosed comments and strings, each of which would cause a search for its end.
_HIDDEN = re.compile(rf'{COMMENT}|/\*.*+|"(?:[^"\\\n]++|\\.)*+"?+', re.DOTALL)
# Dimensions and layouts, which contain most of the brackets, are matched as a whole.
_BRACKET = re.compile(r"(?<=[a-z0-9\]])(?:\[[0-9,]*+\]|\{[0-9,]*+\})|[()\[\]{}]")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def mask_text(text: str) -> str:
    """Masks the strings and comments in `text`; keeps all offsets and line ends.

    >>> mask_text('a /* b */ "c{"')
    'a         "__"'
    """
    return _HIDDEN.sub(_mask, text)


def _mask(match: re.Match[str]) -> str:
    hidden = match[0]
    if hidden[0] == '"':
        return f'"{"_" * (len(hidden) - 2)}"' if len(hidden) > 1 else hidden
    return " " * len(hidden) if "\n" not in hidden else re.sub(r"[^\r\n]", " ", hidden)


class Statement(NamedTuple):
    """An instruction, as the offsets of its parts in the masked text.

    `operands` is the span between the parentheses. `attributes` maps the name of each attribute to
    its span, including the comma before it. `end` is the offset after the last attribute.
    """

    start: int
    root: str
    name: str
    shape: tuple[int, int]
    opcode: str
    opcode_start: int
    operands: tuple[int, int]
    attributes: dict[str, tuple[int, int]]
    end: int

    @property
    def name_span(self) -> tuple[int, int]:
        start = self.start + len(self.root)
        return start, start + len(self.name)


def statements(text: str) -> Iterator[Statement]:
    """Yields the instructions of masked text, in order.

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
    """Returns the offset of the closing bracket for each opening bracket.

    Excludes unclosed brackets and the brackets of dimensions and layouts.
    """
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


def _attributes(text: str, start: int, partners: dict[int, int]) -> tuple[dict[str, tuple[int, int]], int]:
    """Returns the spans of the attributes from `start` on, and the end of the last attribute."""
    spans: dict[str, tuple[int, int]] = {}
    while (attribute := _ATTRIBUTE.match(text, start)) is not None:
        at = attribute.end()
        if text.startswith(("{", "(", "["), at):
            close = partners.get(at)
            if close is None:
                break
            at = close + 1
        while (value := _VALUE.match(text, at)) is not None:
            at = value.end()
        spans.setdefault(attribute["name"], (start, at))
        start = at
    return spans, start


def operands_of(text: str, statement: Statement) -> list[tuple[int, int]]:
    """Returns the start and end of each operand of an instruction, excluding whitespace."""
    return entries(text, *statement.operands)


class Array(NamedTuple):
    """The element type and the dimensions of an array without dynamic dimensions.

    >>> Array("f32", (2, 3)).text, Array("f32", (2, 3)).with_dimensions(6).text
    ('f32[2,3]', 'f32[6]')
    """

    dtype: str
    dimensions: tuple[int, ...]

    @property
    def text(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.dimensions))}]"

    def with_dimensions(self, *dimensions: int) -> Array:
        return Array(self.dtype, dimensions)


# Keywords that used to be valid names. Unlike element types, they are still valid names after a
# percent sign.
_KEYWORDS = {
    "inf", "nan", "maximal", "replicated", "manual", "last_tile_dim_replicate", "shard_as", "shard_like", "unknown", "unreduced",
    "FileNames", "FunctionNames", "FileLocations", "StackFrames",
}  # fmt: skip
_WORD = re.compile(rf"%?{NAME}")
_PLAIN_ARRAY = re.compile(rf"({TYPE})\[[ ]*+((?:[0-9]{{1,18}}+[ ]*+(?:,[ ]*+)?+)*+)\]")
# The maximum number of characters in a name that is looked up.
_MAX_NAME_LENGTH = 10_000


def _name_span(text: str, operand: tuple[int, int]) -> tuple[int, int] | None:
    """Returns the span of an operand's name, which is the operand's last word."""
    start, end = operand
    last = text[max(start, end - _MAX_NAME_LENGTH) : end].split()[-1:]
    return (end - len(last[0]), end) if last and _WORD.fullmatch(last[0]) else None


class Text:
    """Text with old spellings, a copy with masked strings and comments, and lookups in both."""

    def __init__(self, whole: str) -> None:
        self.whole = whole
        self.masked = mask_text(whole)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(re.findall(r"[A-Za-z0-9_.\-]++", self.masked))

    @cached_property
    def statements(self) -> list[Statement]:
        return list(statements(self.masked))

    @cached_property
    def new_names(self) -> dict[str, str]:
        """New names for instructions whose names are no longer valid, by old name.

        Neither the old nor the new names have percent signs.
        """
        names = {}
        for name in {statement.name for statement in self.statements}:
            bare = name.removeprefix("%")
            if name in _KEYWORDS or bare in ELEMENT_TYPES or bare.startswith("__"):
                names[bare] = f"a{bare}" if bare.startswith("__") else f"{bare}_"
                while names[bare] in self.words:
                    names[bare] += "_"
        return names

    def new_name(self, name: str) -> str:
        """Returns today's name for an instruction."""
        bare = name.removeprefix("%")
        return name.replace(bare, self.new_names[bare]) if bare in self.new_names else name

    @cached_property
    def uses(self) -> dict[str, list[tuple[int, int]]]:
        """The spans of operands and control predecessors, by name.

        The spans include percent signs; the names do not. If no instruction must be renamed, there
        are no spans.
        """
        spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for statement in self.statements if self.new_names else ():
            for operand in operands_of(self.masked, statement):
                span = _name_span(self.masked, operand)
                if span is not None:
                    spans[self.masked[slice(*span)].removeprefix("%")].append(span)
            low, high = statement.attributes.get("control-predecessors", (0, 0))
            for name in _WORD.finditer(self.masked, low, high):
                spans[name[0].removeprefix("%")].append(name.span())
        return spans

    @cached_property
    def _definitions(self) -> dict[str, tuple[list[int], list[Statement]]]:
        found: dict[str, tuple[list[int], list[Statement]]] = {}
        for statement in self.statements:
            starts, defined = found.setdefault(statement.name.removeprefix("%"), ([], []))
            starts.append(statement.start)
            defined.append(statement)
        return found

    def name_of(self, operand: tuple[int, int]) -> str:
        """Returns the name of an operand, without the shape before it."""
        span = _name_span(self.masked, operand)
        name = "" if span is None else self.masked[slice(*span)]
        return self.new_name(name)

    def definition(self, operand: tuple[int, int]) -> Statement | None:
        """Returns the last instruction before an operand that has the operand's name."""
        span = _name_span(self.masked, operand)
        name = "" if span is None else self.masked[slice(*span)].removeprefix("%")
        starts, defined = self._definitions.get(name, ([], []))
        index = bisect_left(starts, operand[0]) - 1
        return defined[index] if index >= 0 else None

    def scope_of_name(self, statement: Statement) -> tuple[int, int]:
        """Returns the range of text in which an instruction's name refers to that instruction.

        The range ends at the next instruction with the same name.
        """
        starts, _ = self._definitions[statement.name.removeprefix("%")]
        index = bisect_left(starts, statement.start) + 1
        return statement.start, starts[index] if index < len(starts) else len(self.masked)

    def array(self, span: tuple[int, int]) -> Array | None:
        """Returns the array type that begins at the start of a span.

        Returns None if the shape is a tuple or has dynamic dimensions.
        """
        match = _PLAIN_ARRAY.match(self.masked, *span)
        return None if match is None else Array(match[1], tuple(map(int, re.findall("[0-9]+", match[2]))))

    def operand_array(self, operand: tuple[int, int]) -> Array | None:
        """Returns the array type of an operand, from its written shape or its definition."""
        inline = self.array(operand)
        if inline is not None:
            return inline
        defined = self.definition(operand)
        return None if defined is None else self.array(defined.shape)
