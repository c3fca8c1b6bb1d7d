"""Validation of JSON text.

The standard library's parser is not used: importing it would slow down each verification. The
parser is also recursive, so deeply nested values would exceed the recursion limit.
"""

from __future__ import annotations

import re

__all__ = ["json_error_offset"]

_SPACE = re.compile(r"[ \t\r\n]*+")
_SCALAR = re.compile(
    r'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null'
)
_CLOSES = {"{": "}", "[": "]"}


def json_error_offset(text: str) -> int:
    """Returns the offset of the first character that is invalid in JSON; -1 if the text is valid.

    >>> json_error_offset('{"a": [1, true]}'), json_error_offset('{"a":}')
    (-1, 5)
    """
    position = _skip_space(text, 0)
    open_brackets: list[str] = []
    while True:
        bracket = text[position : position + 1]
        if bracket and bracket in "{[":
            open_brackets.append(bracket)
            position = _skip_space(text, position + 1)
            if text[position : position + 1] != _CLOSES[bracket]:
                position, is_valid = _read_key(text, position, open_brackets)
                if not is_valid:
                    return position
                continue
        else:
            scalar = _SCALAR.match(text, position)
            if scalar is None:
                return position
            position = _skip_space(text, scalar.end())
        while open_brackets and text[position : position + 1] == _CLOSES[open_brackets[-1]]:
            open_brackets.pop()
            position = _skip_space(text, position + 1)
        if not open_brackets:
            return -1 if position == len(text) else position
        if text[position : position + 1] != ",":
            return position
        position, is_valid = _read_key(text, _skip_space(text, position + 1), open_brackets)
        if not is_valid:
            return position


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    # The pattern also matches the empty string.
    assert space is not None
    return space.end()


def _read_key(text: str, position: int, open_brackets: list[str]) -> tuple[int, bool]:
    """Reads the key of the next value if that value is in an object.

    Returns the offset after the key, and whether the key and its colon are valid.
    """
    if open_brackets[-1] != "{":
        return position, True
    key = _SCALAR.match(text, position) if text.startswith('"', position) else None
    if key is None:
        return position, False
    colon = _skip_space(text, key.end())
    return (_skip_space(text, colon + 1), True) if text.startswith(":", colon) else (colon, False)
