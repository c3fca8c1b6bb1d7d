"""Finds modules inside other text by the form of their lines; the parser later checks the modules.

A module is an `HloModule name` line with the computations after it, or a series of computations
without such a line if one of them is ENTRY.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hlotool.errors import Source
from hlotool.text.extract.lines import Line, extract_lines
from hlotool.text.source.derived import DerivedSource, Piece
from hlotool.text.source.tokens import NAME

__all__ = ["Excerpt", "excerpts"]

_NAME = rf"%?{NAME}"
# The pattern begins with a literal word, since searches for such patterns are much faster.
# Lookbehinds check the text before that word.
_HEADER = re.compile(rf"HloModule(?:(?<![A-Za-z0-9_.\-%]HloModule)|(?<=\\nHloModule))[ \t]++{_NAME}(?=[\s,:\\]|\Z)")
_LINE_END = re.compile(r"\n|\\n")
# The opening line of a computation. If the signature spans several lines, the brace may follow on a
# later line.
_OPENING = re.compile(rf"[ \t]*+(?:(?P<entry>ENTRY)[ \t]++)?+{_NAME}[ \t]*+(?:\{{|\((?![^\n]*=[ \t]))")
_TABLE = re.compile(r"[ \t]*+(?:FileNames|FunctionNames|FileLocations|StackFrames)[ \t]*+$|[ \t]*+[0-9]++[ \t]++[\"{]")
_COMMENT = re.compile(r"[ \t]*+(?://|/\*[^\n]*\*/[ \t]*+\r?+$)")
# Layouts are read as a whole, so that any other brace on an opening line opens the computation.
_TOKEN = re.compile(r'"(?:[^"\\\n]++|\\[^\n])*+"?+|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/)?+|(?<=\])\{[^{}\n]*+\}|[{}]')
# Most lines of computations close the braces that they open. A single match is much faster than
# counting the braces.
_STRING = r'"(?:[^"\\\n]++|\\[^\n])*+"'
_BALANCED = re.compile(rf'(?:[^{{}}"/]++|/(?![/*])|{_STRING}|\{{(?:[^{{}}"/]++|/(?![/*])|{_STRING}|\{{[^{{}}"/]*+\}})*+\}})*+\Z')
_THREAD = re.compile(r'[ \t]*+,[ \t]*+execution_thread="[^"\n]*+"')
# The possible start of a computation without a module header: an instruction must follow.
_HEADERLESS = re.compile(
    rf"^(?P<prefix>[^A-Za-z%\n]*+)(?:ENTRY[ \t]++)?+{_NAME}[ \t]*+(?:\([^\n]*\)[ \t]*+->[^\n]*)?\{{[ \t]*+\r?+\n"
    rf"(?:[^A-Za-z%\n]*+\n)?[^A-Za-z%\n]*+(?:ROOT[ \t]++)?+{_NAME}[ \t]*+=[ \t]",
    re.MULTILINE,
)
_MAX_SIGNATURE_LENGTH = 200


class Excerpt(NamedTuple):
    """A module inside other text: its source, and the offsets of its start and end.

    `is_cut` is true if the module ends inside a computation.
    """

    source: DerivedSource
    start: int
    end: int
    is_cut: bool
    has_header: bool


def excerpts(source: Source) -> list[Excerpt]:
    """Returns the modules inside the source, in order.

    >>> text = "A page about `HloModule a`\\n> HloModule b\\n> ENTRY e {\\n>   ROOT p = f32[] parameter(0)\\n> }\\n"
    >>> [excerpt.source.text for excerpt in excerpts(Source(text))]
    ['HloModule b\\n ENTRY e {\\n   ROOT p = f32[] parameter(0)\\n }']
    """
    text = source.text
    found: list[Excerpt] = []
    at = 0
    for header in _headers(text):
        if header.start() >= at:
            found += _headerless(source, at, header.start())
            excerpt = _Reader(source, header.start(), has_header=True).read()
            at = header.end()
            if excerpt is not None:
                found.append(excerpt)
                at = max(at, excerpt.end)
    return [*found, *_headerless(source, at, len(text))]


def _ends_module(line: str) -> bool:
    """Returns whether a line ends the module before it, even inside a computation or header."""
    return ("HloModule" in line and _HEADER.search(line) is not None) or ("```" in line and line.lstrip().startswith("```"))


def _headers(text: str) -> Iterator[re.Match[str]]:
    """Yields the matches that may start a module: the last mention of a module on each line."""
    previous: re.Match[str] | None = None
    for header in _HEADER.finditer(text):
        if previous is not None and _LINE_END.search(text, previous.end(), header.start()):
            yield previous
        previous = header
    if previous is not None:
        yield previous


def _headerless(source: Source, start: int, end: int) -> Iterator[Excerpt]:
    """Yields the headerless modules between two offsets."""
    at = start
    while (opening := _HEADERLESS.search(source.text, at, end)) is not None:
        reader = _Reader(source, opening.end("prefix"), has_header=False)
        excerpt = reader.read()
        at = opening.end("prefix") + 1
        if excerpt is not None:
            at = max(at, min(excerpt.end, end))
            if reader.has_entry and excerpt.end <= end:
                yield excerpt


class _Reader:
    """A reader of the lines of one module, up to the first line that does not belong to it."""

    def __init__(self, source: Source, start: int, *, has_header: bool) -> None:
        self.source = source
        self.start = start
        self.has_header = has_header
        self.has_entry = False
        self.pieces: list[Piece] = []
        # The number of pieces up to the end of the last complete computation.
        self.whole = 0
        self.depth = 0
        # The number of lines read so far of a signature whose opening brace has not been found yet.
        self.signature = 0

    def read(self) -> Excerpt | None:
        """Returns the module, or None if it has no computation."""
        in_header, is_first = self.has_header, True
        for line in extract_lines(self.source.text, self.start):
            if not is_first and (in_header or self.depth or self.signature) and _ends_module(line.text):
                break
            is_first = False
            if in_header:
                self._take(line, 0, len(line.text))
                self._count(line.text, 0)
                in_header = self.depth > 0 or line.text.rstrip().endswith(",")
                continue
            if not self._line(line):
                break
        is_cut = bool(self.depth or self.signature) and not in_header
        if not self.whole and not is_cut:
            return None
        pieces = self.pieces if is_cut else self.pieces[: self.whole]
        last = pieces[-1]
        return Excerpt(DerivedSource(self.source, pieces), self.start, last.origin + len(last.text), is_cut, self.has_header)

    def _line(self, line: Line) -> bool:
        """Reads a line after the header; returns False if the module ends before or within it."""
        at, text = 0, line.text
        while at < len(text):
            if not (self.depth or self.signature):
                opening = _OPENING.match(text, at)
                if opening is None:
                    if text[at:].strip() and not _COMMENT.match(text, at) and not _TABLE.match(text, at):
                        return False
                    self._take(line, at, len(text))
                    return True
                self.signature = 1
                self.has_entry = self.has_entry or opening["entry"] is not None
            close = -1 if self.depth and _BALANCED.match(text, at) else self._count(text, at)
            if close < 0:
                self._take(line, at, len(text))
                self.signature += self.signature > 0
                return self.signature < _MAX_SIGNATURE_LENGTH
            thread = _THREAD.match(text, close)
            close = thread.end() if thread is not None else close
            self._take(line, at, close)
            self.whole = len(self.pieces)
            at = close
        return True

    def _count(self, text: str, start: int) -> int:
        """Counts braces; returns the offset after the brace that closes the computation, or -1."""
        for token in _TOKEN.finditer(text, start):
            if token[0] == "{":
                self.depth += 1
                self.signature = 0
            elif token[0] == "}":
                self.depth = max(0, self.depth - 1)
                if not self.depth:
                    return token.end()
        return -1

    def _take(self, line: Line, start: int, end: int) -> None:
        """Adds the part of a line between two offsets to the module."""
        if start == 0 and end == len(line.text):
            self.pieces += line.pieces
            return
        at = 0
        for piece in line.pieces:
            low, high = max(start, at), min(end, at + len(piece.text))
            if low < high:
                self.pieces.append(Piece(piece.text[low - at : high - at], piece.origin + low - at, piece.is_copied))
            at += len(piece.text)
