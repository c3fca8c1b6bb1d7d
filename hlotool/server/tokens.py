"""Semantic tokens: the kind of each word in a document, which editors show as a color."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from lsprotocol import types

from hlotool.ir.model import Computation
from hlotool.opdefs.common import COMMON_ATTRIBUTES
from hlotool.opdefs.table import OPS
from hlotool.server.documents import Document, ModuleText
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.strings import BLOCK_COMMENT, LINE_COMMENT
from hlotool.text.source.tokens import NAME

__all__ = ["LEGEND", "tokens"]

_TYPES = ("comment", "string", "keyword", "function", "variable", "parameter", "type", "property", "number", "enumMember", "macro")
_MODIFIERS = ("declaration", "readonly", "defaultLibrary")
LEGEND = types.SemanticTokensLegend(_TYPES, _MODIFIERS)
"""The types and modifiers of tokens, by number."""

_TYPE_OF = {name: k for k, name in enumerate(_TYPES)}
_DECLARATION, _READONLY, _LIBRARY = (1 << k for k in range(len(_MODIFIERS)))
_KEYWORDS = frozenset(["HloModule", "ENTRY", "ROOT"])
_TOKEN = re.compile(
    rf"(?P<comment>{LINE_COMMENT}|{BLOCK_COMMENT})"
    # An unclosed comment extends to the end of the document. Without this rule, each of many
    # unclosed comments would cause a search to the end of the document.
    r"|(?P<open>/\*)"
    r'|(?P<string>"(?:[^"\\\n]|\\.)*+"?)'
    r"|(?P<type>[a-z][a-z0-9]*+\[[^\[\]\s\"]*+\](?:\{[0-9,]*+[^{}\s\"]*+\})?+)"
    r"|(?P<number>[+-]?[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+(?![A-Za-z0-9_]))"
    rf"|%?+(?P<word>{NAME})"
)
_AFTER = re.compile(r"[ \t]*+(?P<mark>[=({:]?+)(?P<space>[ \t]?+)")
# The largest range, in characters, for which tokens are returned. Editors that cannot request a
# range get tokens only for the beginning of a longer document.
_MAX_CHARACTERS = 400_000

Token = tuple[int, int, int, int]
"""A token: its start and end offsets, the number of its type, and its modifiers."""


def tokens(document: Document, area: types.Range | None = None) -> types.SemanticTokens:
    """Returns the tokens in a range of a document, or in all of it, as the protocol encodes them.

    >>> document = Document("file:///m.hlo", "ENTRY e { ROOT p = f32[] parameter(0) }")
    >>> tokens(document).data[:10]
    [0, 0, 5, 2, 0, 0, 6, 1, 3, 1]
    """
    start, end = (0, _MAX_CHARACTERS) if area is None else document.lines.span(area)
    start = document.text.rfind("\n", 0, start) + 1
    data: list[int] = []
    line, column = 0, 0
    for first, last, kind, modifiers in _split(document, _tokens(document, start, min(end, start + _MAX_CHARACTERS))):
        position = document.lines.position(first)
        length = document.lines.position(last).character - position.character
        lines_on = position.line - line
        data += [lines_on, position.character - (0 if lines_on else column), length, kind, modifiers]
        line, column = position.line, position.character
    return types.SemanticTokens(data)


def _split(document: Document, found: Iterator[Token]) -> Iterator[Token]:
    """Yields the tokens split at line ends, since a token may not span several lines."""
    for start, end, kind, modifiers in found:
        if "\n" not in document.text[start:end] and "\r" not in document.text[start:end]:
            yield start, end, kind, modifiers
            continue
        for line in range(document.lines.line_of(start), document.lines.line_of(end - 1) + 1):
            low, high = document.lines.line_span(line)
            if max(low, start) < min(high, end):
                yield max(low, start), min(high, end), kind, modifiers


def _tokens(document: Document, start: int, end: int) -> Iterator[Token]:
    view = document.view
    cuts = sorted({start, end, *(module.start for module in view.modules if start < module.start < end)})
    for low, high in pairwise(cuts):
        module = view.module_at(view.offset_in_text(low))
        words = _Words(view, module) if module is not None else None
        for match in _TOKEN.finditer(document.text, low, high):
            kind = str(match.lastgroup)
            if kind == "open":
                yield match.start(), end, _TYPE_OF["comment"], 0
                return
            if kind != "word":
                yield match.start(), match.end(), _TYPE_OF[kind], 0
            elif words is not None and (token := words.token(document.text, match)) is not None:
                yield token


class _Words:
    """A classifier of the words in a module's source.

    Words must be passed in the order in which they occur.
    """

    def __init__(self, view: Document, module: ModuleText) -> None:
        self.view = view
        self.module = module
        self.computations = {c.name for c in module.module.computations}
        self._inside: Computation | None = None
        self._names: dict[str, str] = {}

    def token(self, text: str, match: re.Match[str]) -> Token | None:
        start, end = match.span("word")
        word, after = match["word"], _AFTER.match(text, end)
        mark, is_spaced = (after["mark"], bool(after["space"]) or text[end : end + 1] in " \t") if after is not None else ("", False)
        has_percent = text.startswith("%", start - 1)
        if not has_percent:
            if word in _KEYWORDS:
                return start, end, _TYPE_OF["keyword"], 0
            if mark == "(" and not is_spaced and word in OPS:
                return start, end, _TYPE_OF["macro"], _LIBRARY
            if text[end : end + 1] == "=" and not text[end + 1 : end + 2].isspace():
                return start, end, _TYPE_OF["property"], _LIBRARY * (word in COMMON_ATTRIBUTES)
            if word in ELEMENT_TYPES:
                return start, end, _TYPE_OF["type"], 0
        opcode = self._opcode_of(word, self.view.offset_in_text(start) - self.module.start)
        declares = _DECLARATION * (mark == "=")
        if opcode is not None:
            kind = "parameter" if opcode == "parameter" else "variable"
            return start, end, _TYPE_OF[kind], declares | _READONLY * (opcode == "constant")
        if word in self.computations:
            return start, end, _TYPE_OF["function"], _DECLARATION * (mark in "({" and bool(mark))
        if mark == "=" or has_percent:
            return start, end, _TYPE_OF["variable"], declares
        if mark == "(":
            return start, end, _TYPE_OF["macro"], 0
        return (start, end, _TYPE_OF["enumMember"], 0) if word[0].isalpha() and text[start - 1 : start] in "={, " else None

    def _opcode_of(self, word: str, offset: int) -> str | None:
        """Returns the opcode of the instruction with this name in the computation at an offset."""
        if self._inside is None or not self._inside.start <= offset < self._inside.end or self.module.has_nested:
            inside = self.module.computation_at(offset)
            if inside is not self._inside:
                self._inside = inside
                self._names = {x.name: x.op.name for x in inside.instructions} if inside is not None else {}
        return self._names.get(word)
