"""Trivia: regular expressions for whitespace and comments, and functions that find comments.

The grammar's terminals WHITESPACE and COMMENT must match the same text as these expressions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlotool.shapes.strings import BLOCK_COMMENT, COMMENT, LINE_COMMENT, TRIVIA, find_comments, raw_dict_end, skip_trivia
from hlotool.text.source.marks import INDEX_MARK

__all__ = ["BLOCK_COMMENT", "COMMENT", "LINE_COMMENT", "TRIVIA", "comment_spans", "find_comments", "has_comments", "skip_trivia"]

_STRING = r"\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'"
_SOLID = rf"(?P<comment>{COMMENT})|{_STRING}"
# The start of an unclosed string or comment.
_UNCLOSED = r"(?P<unclosed>[\"']|/\*)"
# The maximum number of unclosed strings and comments. Each one costs a search through the rest of
# the text, so the search for comments ends when there are more.
_MAX_UNCLOSED = 16
# Also matches everything before the token, because a search would try the alternatives at every
# character.
_TOKEN = re.compile(
    rf"(?:[^\"'/bf]++|(?!\bbackend_config=|\bfrontend_attributes=)[bf]|{_STRING}|/(?![/*]))*+"
    rf"(?:(?P<comment>{COMMENT})|(?P<list>frontend_attributes=)|(?P<raw>backend_config=)|{_UNCLOSED})",
    re.DOTALL,
)
# A token inside the braces of frontend attributes. The attributes' values may be raw dictionaries.
_ENTRY = re.compile(rf"{_SOLID}|(?P<open>\{{)|(?P<end>\}})|(?P<raw>[A-Za-z_][A-Za-z0-9_.\-]*+=)|{_UNCLOSED}", re.DOTALL)
# The trivia between a name and its value, and the value's opening brace if it has one.
_VALUE = re.compile(rf"(?P<gap>{TRIVIA})(?P<brace>\{{)?+")


def has_comments(text: str) -> bool:
    """Returns whether the text has comments other than index marks.

    >>> has_comments("tuple(a, /*index=5*/b)"), has_comments("tuple(a, /*the sum*/b)")
    (False, True)
    """
    return any(not text.startswith(INDEX_MARK, start) for start, _ in comment_spans(text))


def comment_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yields the start and end offsets of every comment, in order.

    Text inside strings and raw dictionaries is skipped, even if it looks like a comment.

    >>> [text[a:b] for text in ['a /* b */ "// no" // c'] for a, b in comment_spans(text)]
    ['/* b */', '// c']
    """
    if "//" not in text and "/*" not in text:
        return
    position, next_token, unclosed = 0, _TOKEN.match, 0
    while unclosed <= _MAX_UNCLOSED and (token := next_token(text, position)) is not None:
        position = token.end()
        kind = token.lastgroup
        if kind == "comment":
            yield token.span("comment")
        elif kind == "end":
            next_token = _TOKEN.match
        elif kind == "list":
            next_token = _ENTRY.search
        elif kind == "unclosed":
            unclosed += 1
        elif kind == "raw" and (value := _VALUE.match(text, position)) is not None and value["brace"]:
            yield from (comment.span() for comment in find_comments(text, *value.span("gap")))
            end = raw_dict_end(text, value.start("brace"))
            unclosed += end < 0
            position = max(value.end(), end)
