"""Strings in the text format: C escapes, raw dictionaries, and whitespace and comments around them.

Values are str; bytes that are not valid UTF-8 are represented by surrogate escapes.
"""

from __future__ import annotations

import re

__all__ = [
    "BLOCK_COMMENT",
    "COMMENT",
    "LINE_COMMENT",
    "TRIVIA",
    "escape",
    "find_comments",
    "is_raw_dict",
    "printed_string",
    "quote",
    "raw_dict_end",
    "skip_trivia",
    "unescape",
    "unquote",
]

LINE_COMMENT = r"//[^\r\n]*+"
BLOCK_COMMENT = r"/\*(?:[^*]++|\*(?!/))*+\*/"
COMMENT = rf"(?:{LINE_COMMENT}|{BLOCK_COMMENT})"
TRIVIA = rf"(?:[ \t\r\n]++|{LINE_COMMENT}|{BLOCK_COMMENT})*+"
"""Any amount of whitespace and comments, including none; always matches."""

_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]+)|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SIMPLE = dict(
    zip(
        (b"a", b"b", b"f", b"n", b"r", b"t", b"v", b"\\", b"?", b"'", b'"'),
        (b"\a", b"\b", b"\f", b"\n", b"\r", b"\t", b"\v", b"\\", b"?", b"'", b'"'),
        strict=True,
    )
)
_SPECIAL = re.compile(r"[^ !#-&(-\[\]-~]")
_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}
_TRIVIA = re.compile(TRIVIA)
find_comments = re.compile(COMMENT).finditer
"""Finds everything that looks like a comment, even in strings."""
_RAW = re.compile(r'[{}]|"(?:[^"\\]++|\\.)*+"|"', re.DOTALL)


def unescape(text: str) -> str:
    r"""Replaces C escapes with their characters.

    Raises ValueError if an escape is unknown or out of range.

    >>> unescape(r"a\tb \101 \303\251")
    'a\tb A é'
    """
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_unescape_one, text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")


def _unescape_one(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, short, long, simple = match.groups()
    if octal is not None or hexadecimal is not None:
        value = int(octal, 8) if octal is not None else int(hexadecimal, 16)
        if value > 0xFF:
            raise ValueError(f"escape {match[0].decode()} does not fit in a byte")
        return bytes([value])
    if short is not None or long is not None:
        value = int(short or long, 16)
        if value > 0x10FFFF or 0xD800 <= value < 0xE000:
            raise ValueError(f"escape {match[0].decode()} is not a character")
        return chr(value).encode()
    if simple not in _SIMPLE:
        raise ValueError(f"unknown escape \\{simple.decode('utf-8', 'replace')}")
    return _SIMPLE[simple]


def unquote(token: str) -> str:
    """Returns the value of a quoted string token. Raises ValueError for an invalid escape."""
    return unescape(token[1:-1])


def escape(value: str) -> str:
    r"""Adds C escapes as XLA does: bytes other than printable ASCII become three octal digits.

    >>> escape("it's é")
    "it\\'s \\303\\251"
    """
    return _SPECIAL.sub(_escape_one, value)


def _escape_one(match: re.Match[str]) -> str:
    character = match[0]
    return _NAMED.get(character) or "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))


def quote(value: str) -> str:
    """Returns the value, escaped and in double quotes."""
    return f'"{escape(value)}"'


def raw_dict_end(text: str, start: int) -> int:
    """Returns the end of the raw dictionary that starts with the brace at `start`.

    Returns -1 if the dictionary is never closed. Braces in double-quoted strings do not count;
    single quotes have no meaning.
    """
    depth = 0
    for match in _RAW.finditer(text, start):
        brace = match[0]
        if brace == "{":
            depth += 1
        elif brace == "}":
            depth -= 1
            if not depth:
                return match.end()
        elif brace == '"':
            # An unterminated string extends to the end of the text.
            return -1
    return -1


def is_raw_dict(value: str) -> bool:
    """Returns whether the whole value is a raw dictionary, which XLA prints without quotes."""
    return value.startswith("{") and raw_dict_end(value, 0) == len(value)


def skip_trivia(text: str, start: int) -> int:
    """Returns the offset of the first token at or after `start`.

    >>> skip_trivia("  // one\\n/* two */ x", 0)
    19
    """
    return _TRIVIA.match(text, start).end()  # type: ignore[union-attr]  # always matches


def printed_string(value: str) -> str:
    """Returns a string as XLA prints it: raw if its only token is a dictionary, otherwise quoted.

    The dictionary may be surrounded by whitespace and comments, which are lost when it is read
    back.

    >>> [printed_string(value) for value in ('{"a":1}\\n', "{}{}")]
    ['{"a":1}\\n', '"{}{}"']
    """
    start = skip_trivia(value, 0)
    end = raw_dict_end(value, start) if value.startswith("{", start) else -1
    return value if end >= 0 and skip_trivia(value, end) == len(value) else quote(value)
