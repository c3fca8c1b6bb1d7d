"""Comments of a text, told apart from what only looks like one inside strings and raw dictionaries.

What they mean is not decided here; the parser has a rule of its own for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlotool.shapes.strings import raw_dict_end

__all__ = ["comment_spans"]

_TOKEN = re.compile(
    r"(?P<comment>//[^\r\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/)|\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'|(?:backend_config|frontend_attributes)=(?P<raw>\{)",
    re.DOTALL,
)


def comment_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every comment, in order.

    >>> [text[a:b] for text in ['a /* b */ "// no" // c'] for a, b in comment_spans(text)]
    ['/* b */', '// c']
    """
    if "//" not in text and "/*" not in text:
        return
    at = 0
    while (token := _TOKEN.search(text, at)) is not None:
        at = token.end()
        if token["comment"]:
            yield token.span()
        elif token["raw"]:
            at = max(at, raw_dict_end(text, token.start("raw")))
