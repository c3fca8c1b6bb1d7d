"""Breaks long lines for people: after commas, between attributes before between operands, never inside strings, comments and raw values."""

from __future__ import annotations

import re

from hlotool.text.parse.lexer import raw_value_end
from hlotool.text.parse.session import attribute_tokens
from hlotool.text.source.trivia import BLOCK_COMMENT, skip_trivia

__all__ = ["wrapped"]

_STEP = "    "
_PART = re.compile(
    rf"(?P<solid>\"(?:[^\"\\]++|\\.)*+\"|'(?:[^'\\]++|\\.)*+'|{BLOCK_COMMENT})"
    r"|(?P<open>[{(\[])|(?P<close>[})\]])|(?P<comma>, )(?:(?P<name>[A-Za-z_][A-Za-z0-9_.\-]*+)=)?+|(?P<rest>[^\"'/{}()\[\],]++|.)",
    re.DOTALL,
)
# Their values, and those of unknown attributes, are kept character by character.
_RAW = frozenset({"KEY_BACKEND_CONFIG", "KEY_FRONTEND_ATTRIBUTES"})


def wrapped(text: str, indent: str, width: int, newline: str) -> str:
    """An instruction without its indentation, over several lines of at most `width` characters where its commas allow it.

    Each line ends at the last of the outermost commas that it has room for; what continues inside brackets is indented further.

    >>> print(wrapped("ROOT r = f32[2] add(first, second), metadata={op_name='sum'}", "  ", 44, chr(10)))
    ROOT r = f32[2] add(first, second),
          metadata={op_name='sum'}
    """
    breaks, end = _breaks(text)
    if "\n" in text[:end]:
        # Computations inside, and comments of several lines, have lines of their own.
        return text
    lines, start, before = [], 0, indent
    first = 0
    # Comments after the last attribute do not count: they might as well stand after the instruction.
    while len(before) + end - start > width and first < len(breaks):
        room = start + width - len(before)
        last = first
        while last < len(breaks) and breaks[last][0] < room:
            last += 1
        # With no room even for the first part, the line is as long as that part.
        choice = max(range(first, max(last, first + 1)), key=lambda k: (-breaks[k][1], k))
        at, depth = breaks[choice]
        lines.append(before + text[start : at + 1])
        start, first, before = at + 2, choice + 1, indent + _STEP * (depth + 1)
    lines.append(before + text[start:])
    return newline.join(lines).removeprefix(indent)


def _breaks(text: str) -> tuple[list[tuple[int, int]], int]:
    """Offsets of the commas after which a line may end, each with the number of brackets around it; and where the last token ends."""
    found, depth, at, end = [], 0, 0, 0
    kinds = attribute_tokens()
    while (part := _PART.match(text, at)) is not None:
        at = part.end()
        if not part[0].isspace() and not part[0].startswith("/*"):
            end = at
        if part["open"]:
            depth += 1
        elif part["close"]:
            depth -= 1
        elif part["comma"]:
            found.append((part.start(), depth))
            name = part["name"]
            if name and depth == 0 and kinds.get(name, "KEY_BACKEND_CONFIG") in _RAW:
                end = at = raw_value_end(text, skip_trivia(text, at))
    return found, end
