"""Comments of a text, told apart from what only looks like one inside strings and raw dictionaries.

What they mean is not decided here; the parser has a rule of its own for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlotool.shapes.strings import raw_dict_end

__all__ = ["comment_spans"]

_SOLID = r"(?P<comment>//[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)|\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'"
_COMMENT = re.compile(r"//[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/")
_TOKEN = re.compile(rf"{_SOLID}|(?P<list>\bfrontend_attributes=)|(?P<raw>\bbackend_config=)", re.DOTALL)
# In the braces of frontend attributes, whose values may be dictionaries that nobody reads.
_ENTRY = re.compile(rf"{_SOLID}|(?P<open>\{{)|(?P<end>\}})|(?P<raw>[A-Za-z_][A-Za-z0-9_.\-]*+=)", re.DOTALL)
# What may stand between a name and its value, and the brace of the value.
_VALUE = re.compile(r"(?P<gap>(?:[ \t\r\n]++|//[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)*+)(?P<brace>\{)?+")


def comment_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every comment, in order.

    >>> [text[a:b] for text in ['a /* b */ "// no" // c'] for a, b in comment_spans(text)]
    ['/* b */', '// c']
    """
    if "//" not in text and "/*" not in text:
        return
    at, pattern = 0, _TOKEN
    while (token := pattern.search(text, at)) is not None:
        at = token.end()
        kind = token.lastgroup
        if kind == "comment":
            yield token.span()
        elif kind == "end":
            pattern = _TOKEN
        elif kind == "list":
            pattern = _ENTRY
        elif kind == "raw" and (value := _VALUE.match(text, at)) is not None and value["brace"]:
            yield from (comment.span() for comment in _COMMENT.finditer(text, *value.span("gap")))
            at = max(value.end(), raw_dict_end(text, value.start("brace")))
