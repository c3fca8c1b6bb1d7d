"""The tokens of HLO text, whether or not it parses, and the names, lines and brackets in it.

The parser has its own lexer, because the grammar determines the tokens that may come next. All
other readers of text use these tokens unless `docs/architecture.md` explains why they do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from sys import maxsize

from hlotool.text.source.trivia import COMMENT

__all__ = ["DEFINITION", "LINE", "NAME", "WORD", "closing", "entries", "tokens", "whole_word"]

NAME = r"[A-Za-z_][A-Za-z0-9_.\-]*+"
"""The regular expression of names, without a percent sign."""

WORD = re.compile(r"[%A-Za-z0-9_.\-]++")
"""Matches a name with or without a percent sign, a number or a keyword, as messages show it."""

_DEFINITION = rf"[ \t]*+(?P<root>ROOT[ \t]++)?+%?+(?P<defined>{NAME})[ \t]*+="
DEFINITION = re.compile(_DEFINITION)
"""Matches the beginning of an instruction with its name."""

LINE = re.compile(rf"^(?:{_DEFINITION}|[ \t]*+(?:(?:ENTRY[ \t]++)?+%?+(?P<opened>{NAME})[ \t]*+[({{]|(?P<close>\}})))", re.MULTILINE)
"""Matches the beginning of a line that defines an instruction, or opens or closes a computation."""

# A word is a name, a number or a keyword; it does not include the arrow after it.
_TOKEN = re.compile(
    rf"(?P<comment>{COMMENT}|/\*.*+)|(?P<string>\"(?:[^\"\\]++|\\.)*+(?:\"|\Z)|'(?:[^'\\]++|\\.)*+')|(?P<word>%?+[A-Za-z0-9_](?:[A-Za-z0-9_.]|-(?!>))*+)"
    r"|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<mark>->|<=|\.\.\.|\S)",
    re.DOTALL,
)


def tokens(text: str, start: int = 0, end: int = maxsize) -> Iterator[re.Match[str]]:
    """Yields a match for each token and each comment; `lastgroup` is its kind.

    The kinds are "comment", "string", "word", "open" and "close" for brackets, and "mark" for all
    other characters. An unclosed comment or string extends to the end.

    >>> [(token[0], token.lastgroup) for token in tokens('%a = f32[] /* b */ "c"')][2:]
    [('f32', 'word'), ('[', 'open'), (']', 'close'), ('/* b */', 'comment'), ('"c"', 'string')]
    """
    return _TOKEN.finditer(text, start, end)


def closing(text: str, start: int, end: int = maxsize) -> int:
    """Returns the offset after the bracket that closes the one at `start`, or -1.

    >>> closing("f({/*)*/})", 1)
    10
    """
    depth = 0
    for token in tokens(text, start, end):
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if not depth:
            return token.end()
    return -1


def entries(text: str, start: int, end: int = maxsize) -> list[tuple[int, int]]:
    """Returns the spans of the entries that commas separate, without the space around them.

    Reads up to `end` or to the bracket that closes the list around `start`. Leaves out empty
    entries.

    >>> [text[a:b] for text in ["add(f32[2, 3] x, y)"] for a, b in entries(text, 4)]
    ['f32[2, 3] x', 'y']
    """
    spans, depth, first, last = [], 0, -1, -1
    for token in tokens(text, start, end):
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if depth < 0:
            break
        if depth == 0 and token[0] == ",":
            spans.append((first, last))
            first = -1
        elif token.lastgroup != "comment":
            first, last = first if first >= 0 else token.start(), token.end()
    return [span for span in [*spans, (first, last)] if span[0] >= 0]


def whole_word(name: str) -> re.Pattern[str]:
    """Returns a pattern for a name that is not part of a longer name.

    >>> whole_word("a.1").findall("a.1 a.10 %a.1")
    ['a.1', 'a.1']
    """
    return re.compile(rf"(?<![A-Za-z0-9_.\-]){re.escape(name)}(?![A-Za-z0-9_.\-])")
