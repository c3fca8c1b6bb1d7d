"""Extracts the lines of a module from other text, without prefixes, quotes or escapes.

The module may be plain text, have a prefix on every line (a log prefix, `> `, `# `), or be written
as string literals with escapes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

from hlotool.text.source.derived import Piece

__all__ = ["Line", "extract_lines"]

# The maximum number of lines from other threads between two lines of a module in a log.
_MAX_FOREIGN_LINES = 200
# The maximum number of lines after a module's first line that are searched for the module's prefix.
# Lines from other threads may come in between.
_MAX_SEARCHED_LINES = 20
# The maximum number of characters before a module that count as its prefix.
_MAX_PREFIX_LENGTH = 300
_BLANK_LINE = "<BLANKLINE>"
_NUMBER = re.compile(r"0x[0-9a-f]++|[0-9]++|\s++")
_OPENING_QUOTE = re.compile(r"(?P<quote>[\"'])(?:[^\"'\\]|\\.)*+\Z")
# JSON writes a code point above U+FFFF as two surrogates.
_SURROGATES = r"u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
_CODE = r"x(?P<hex>[0-9a-fA-F]{2})|u(?P<unicode>[0-9a-fA-F]{4})|U(?P<long>[0-9a-fA-F]{8})"
_ESCAPED = re.compile(rf"(?P<plain>[^\\\"'\r\n]++)|\\(?:{_SURROGATES}|{_CODE}|(?P<simple>\r\n|[\s\S]))|(?P<quote>[\"'])|(?P<end>[\r\n]++)")
_NEXT_LITERAL = re.compile(r"(?:\s*+\\)?+[\s,]*+[a-zA-Z]{0,2}(?P<quote>[\"'])")
# Replaces unpaired surrogates and code points beyond the range of Unicode.
_REPLACEMENT_CHARACTER = "\ufffd"
_ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    '"': '"',
    "'": "'",
    "\\": "\\",
    "/": "/",
    "\n": "",
    "\r": "",
    "\r\n": "",
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
}


class Line(NamedTuple):
    """A line of HLO with its line end, if any, and the pieces of the surrounding text that form it.

    `end` is the offset after the line in the surrounding text.
    """

    text: str
    pieces: tuple[Piece, ...]
    end: int


def extract_lines(text: str, start: int) -> Iterator[Line]:
    """Yields the lines of HLO from `start`, where a module begins.

    Lines after the module may be included, since the caller finds the end of the module.

    >>> [line.text for line in extract_lines("log 1]HloModule a\\nlog 2]b {\\nthe end", 6)]
    ['HloModule a\\n', 'b {\\n']
    """
    line_start = text.rfind("\n", max(0, start - _MAX_PREFIX_LENGTH), start) + 1
    prefix, line_end = text[max(line_start, start - _MAX_PREFIX_LENGTH) : start], _end_of_line(text, start)
    if text.find(r"\n", start, line_end) >= 0 and (r"\n" in prefix or prefix.rstrip().endswith(('"', "'"))):
        quote = _OPENING_QUOTE.search(prefix)
        return _escaped_lines(text, start, quote["quote"] if quote is not None else "")
    pattern = _prefix_pattern(prefix)
    is_log = any(c.isdigit() for c in prefix)
    if pattern is not None and _prefix_recurs(text, line_end, pattern, _MAX_SEARCHED_LINES if is_log else 1):
        return _prefixed_lines(text, start, pattern, is_log=is_log)
    return _plain_lines(text, start)


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end + 1


def _prefix_recurs(text: str, start: int, pattern: re.Pattern[str], tries: int) -> bool:
    """Returns whether one of the next `tries` nonblank lines also has the prefix."""
    while start < len(text) and tries:
        end = _end_of_line(text, start)
        if pattern.match(text, start, end):
            return True
        tries -= not text[start:end].isspace()
        start = end
    return False


def _prefix_pattern(prefix: str) -> re.Pattern[str] | None:
    """Returns a pattern for prefixes that differ only in numbers, or None for a blank prefix."""
    bare = prefix.rstrip()
    if not bare:
        return None
    parts, at = [], 0
    for number in _NUMBER.finditer(bare):
        parts += [re.escape(bare[at : number.start()]), r"\s++" if number[0].isspace() else r"(?:0x)?[0-9a-f]++"]
        at = number.end()
    return re.compile("".join([*parts, re.escape(bare[at:])]))


def _plain_lines(text: str, start: int) -> Iterator[Line]:
    while start < len(text):
        end = _end_of_line(text, start)
        yield _line(text, start, end)
        start = end


def _line(text: str, start: int, end: int) -> Line:
    line = text[start:end]
    if line.strip() == _BLANK_LINE:
        return Line("\n", (Piece("\n", start, is_copied=False),), end)
    return Line(line, (Piece(line, start),), end)


def _prefixed_lines(text: str, start: int, pattern: re.Pattern[str], *, is_log: bool) -> Iterator[Line]:
    end = _end_of_line(text, start)
    yield _line(text, start, end)
    foreign = 0
    while end < len(text) and foreign <= _MAX_FOREIGN_LINES:
        start, end = end, _end_of_line(text, end)
        match = pattern.match(text, start, end)
        if match is not None:
            foreign = 0
            yield _line(text, match.end(), end)
        elif not is_log:
            return
        else:
            foreign += 1


def _escaped_lines(text: str, start: int, quote: str) -> Iterator[Line]:
    """Yields the lines inside one or more string literals that begin with `quote`.

    If `quote` is empty, reads up to the end of the line.
    """
    pieces: list[Piece] = []
    at = start
    while (match := _ESCAPED.match(text, at)) is not None:
        at = match.end()
        if match["quote"] == quote:
            literal = _NEXT_LITERAL.match(text, at)
            if literal is None or literal["quote"] != quote:
                break
            at = literal.end()
            continue
        if match["end"] is not None:
            break
        if match["plain"] is not None or match["quote"] is not None:
            pieces.append(Piece(match[0], match.start()))
            continue
        pieces.append(Piece(_unescape(match), match.start(), is_copied=False))
        if pieces[-1].text == "\n":
            yield Line("".join(piece.text for piece in pieces), tuple(pieces), at)
            pieces = []
    if pieces:
        yield Line("".join(piece.text for piece in pieces), tuple(pieces), at)


def _unescape(match: re.Match[str]) -> str:
    if match["simple"] is not None:
        return _ESCAPES.get(match["simple"], match[0])
    if match["high"] is not None:
        return chr(0x10000 + ((int(match["high"], 16) & 0x3FF) << 10) + (int(match["low"], 16) & 0x3FF))
    code = int(match["hex"] or match["unicode"] or match["long"], 16)
    return _REPLACEMENT_CHARACTER if 0xD800 <= code <= 0xDFFF or code > sys.maxunicode else chr(code)
