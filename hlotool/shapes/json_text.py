"""Whether a text is JSON, and if not, where it stops being it.

Builds no values: the standard library's reader would cost every verification its import, and recursion its depth.
"""

from __future__ import annotations

import re

__all__ = ["first_fault"]

_SPACE = re.compile(r"[ \t\r\n]*+")
_SCALAR = re.compile(
    r'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null'
)
_CLOSES = {"{": "}", "[": "]"}


def first_fault(text: str) -> int:
    """Offset of the first character that JSON does not allow there; -1 when the text is JSON.

    >>> first_fault('{"a": [1, true]}'), first_fault('{"a":}')
    (-1, 5)
    """
    at = _skip(text, 0)
    # Brackets that are open.
    stack: list[str] = []
    while True:
        opened = text[at : at + 1]
        if opened and opened in "{[":
            stack.append(opened)
            at = _skip(text, at + 1)
            if text[at : at + 1] != _CLOSES[opened]:
                at, is_right = _key(text, at, stack)
                if not is_right:
                    return at
                continue
        else:
            scalar = _SCALAR.match(text, at)
            if scalar is None:
                return at
            at = _skip(text, scalar.end())
        while stack and text[at : at + 1] == _CLOSES[stack[-1]]:
            stack.pop()
            at = _skip(text, at + 1)
        if not stack:
            return -1 if at == len(text) else at
        if text[at : at + 1] != ",":
            return at
        at, is_right = _key(text, _skip(text, at + 1), stack)
        if not is_right:
            return at


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space is not None else at


def _key(text: str, at: int, stack: list[str]) -> tuple[int, bool]:
    """Offset of the next value, after its key in an object, and whether key and colon are there."""
    if stack[-1] != "{":
        return at, True
    key = _SCALAR.match(text, at) if text.startswith('"', at) else None
    if key is None:
        return at, False
    colon = _skip(text, key.end())
    return (_skip(text, colon + 1), True) if text.startswith(":", colon) else (colon, False)
