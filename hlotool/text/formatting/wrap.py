"""Breaks long lines after commas: between attributes if possible, otherwise between operands.

Never breaks inside strings, comments or raw values.
"""

from __future__ import annotations

import re

from hlotool.text.parse.lexer import raw_value_end
from hlotool.text.parse.session import attribute_tokens
from hlotool.text.source.tokens import NAME, tokens
from hlotool.text.source.trivia import skip_trivia

__all__ = ["wrap"]

_STEP = "    "
_COMMA = re.compile(rf",(?:(?P<spaced> )(?:(?P<name>{NAME})=)?+|(?=true|false|[0-9{{]))")
# The values of these attributes, and of unknown attributes, are never broken.
_RAW = frozenset({"KEY_BACKEND_CONFIG", "KEY_FRONTEND_ATTRIBUTES"})


def wrap(text: str, indent: str, width: int, newline: str) -> str:
    """Breaks an instruction into lines of at most `width` characters, if its commas allow it.

    Both `text` and the result lack the indentation of the first line. Of the commas that fit on a
    line, the comma inside the fewest brackets ends the line; among several such commas, the last
    one does. Lines that start inside brackets are indented further.

    >>> print(wrap("ROOT r = f32[2] add(first, second), metadata={op_name='sum'}", "  ", 44, chr(10)))
    ROOT r = f32[2] add(first, second),
          metadata={op_name='sum'}
    """
    breaks, end = _breaks(text)
    if "\n" in text[:end]:
        # Inline computations and multi-line comments have their own line breaks.
        return text
    lines: list[str] = []
    start, prefix = 0, indent
    first = 0
    # Comments after the last attribute do not count toward the width, nor do comments after the
    # instruction.
    while len(prefix) + end - start > width and first < len(breaks):
        available = start + width - len(prefix)
        last = first
        while last < len(breaks) and breaks[last][0] < available:
            last += 1
        # If not even the first part fits, the line is as long as that part.
        choice = max(range(first, max(last, first + 1)), key=lambda k: (-breaks[k][1], k))
        offset, depth = breaks[choice]
        lines.append(prefix + text[start : offset + 1])
        start, first, prefix = offset + 1 + (text[offset + 1] == " "), choice + 1, indent + _STEP * (depth + 1)
    lines.append(prefix + text[start:])
    return newline.join(lines).removeprefix(indent)


def _breaks(text: str) -> tuple[list[tuple[int, int]], int]:
    """Returns the commas after which a line may end, and the end of the last token.

    Each comma is represented by its offset and the number of open brackets.
    """
    breaks, depth, end = [], 0, 0
    kinds, in_attributes = attribute_tokens(), False
    for token in tokens(text):
        if token.start() < end or token.lastgroup == "comment":
            continue
        end = token.end()
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        comma = _COMMA.match(text, token.start())
        # XLA prints no spaces after commas between booleans, numbers or groups. Shapes have such
        # commas, too, but are not broken.
        if comma is None or not (comma["spaced"] or (depth > 0 and in_attributes)):
            continue
        breaks.append((token.start(), depth))
        name = comma["name"] if depth == 0 else None
        in_attributes = in_attributes or name is not None
        if name and kinds.get(name, "KEY_BACKEND_CONFIG") in _RAW:
            end = raw_value_end(text, skip_trivia(text, comma.end()))
    return breaks, end
