"""Translates literals from old forms to today's form."""

from __future__ import annotations

import re
from itertools import product
from math import prod

from hlotool.text.legacy.old_statements import ARRAY
from hlotool.text.source.trivia import COMMENT

__all__ = ["dense_literal", "plain_literal", "separate_bits"]

# The maximum number of elements, including zeros, of a sparse literal that is rewritten as a dense
# literal.
_MAX_ELEMENTS = 1_000_000
_ARRAY = re.compile(rf"{ARRAY}\s*+(?=[^\s,)])")
_BARE_ARRAY = re.compile(rf"{ARRAY}(?=\s*+[,)])")
# A shape of element type pred, and the numbers after it up to the next shape or parenthesis.
_PRED_PART = re.compile(rf"(?<![A-Za-z0-9_.\-%])pred\[[0-9, ]++\](?:invalid)?+(?:[^()A-Za-z/]++|{COMMENT})*+")
_BITS = re.compile(rf"{COMMENT}|\[[^\]]*+\](?:(?:invalid)?+\{{[^{{}}]*+\}})?+|(?P<bits>[01]{{2,}})")
_EMPTY = re.compile(r"\([\s,\0]*+\)")
# An index has at most 18 digits, so that it fits into 64 bits.
_INDICES = r"[0-9]{1,18}+(?:[ ]*+,[ ]*+[0-9]{1,18}+)*+"
_DIMENSIONS = re.compile(rf"[ ]*+{_INDICES}[ ]*+")
_INDEX = rf"\[[ ]*+(?P<list>{_INDICES})[ ]*+\]|(?P<index>[0-9]{{1,18}}+)"
_ENTRY = re.compile(rf"\s*+(?:{_INDEX})\s*+:\s*+(?P<value>\([^()]*+\)|[^,(){{}}\s]++)\s*+(?:,|\Z)")


def plain_literal(text: str) -> str:
    """Removes the shapes in a literal, and adds commas between the digits of pred arrays.

    >>> plain_literal("(pred[2], s32[]) ( pred[2] {10}, s32[] 11 )")
    '( {1, 0}, 11 )'
    """
    text = _PRED_PART.sub(lambda match: separate_bits(match[0]), text)
    # Parentheses with only shapes inside are part of a tuple's shape.
    plain = _ARRAY.sub("\0", _BARE_ARRAY.sub("\0", text))
    while _EMPTY.search(plain):
        plain = _EMPTY.sub("\0", plain)
    return re.sub(r"\0\s*+", "", plain)


def separate_bits(text: str) -> str:
    """Separates the digits of a pred literal with commas.

    >>> separate_bits("{ { 10 }, { /*i0=1*/ 01 } }")
    '{ { 1, 0 }, { /*i0=1*/ 0, 1 } }'
    """
    return _BITS.sub(lambda match: ", ".join(match["bits"]) if match["bits"] else match[0], text)


def dense_literal(dimensions: str, text: str) -> str | None:
    """Returns the dense form of a sparse literal.

    Returns None if the literal does not fit the dimensions, or if it is too large.

    >>> dense_literal("2,3", "{[0, 1]: 5, [1, 2]: -1}")
    '{{0, 5, 0}, {0, 0, -1}}'
    """
    if not _DIMENSIONS.fullmatch(dimensions):
        return None
    sizes = [int(size) for size in dimensions.split(",")]
    if prod(max(size, 1) for size in sizes) > _MAX_ELEMENTS:
        return None
    values: dict[tuple[int, ...], str] = {}
    inner, at = text.strip()[1:-1].rstrip(), 0
    while at < len(inner):
        entry = _ENTRY.match(inner, at)
        if entry is None:
            return None
        index = tuple(int(number) for number in (entry["list"] or entry["index"]).split(","))
        if len(index) != len(sizes) or any(number >= size for number, size in zip(index, sizes, strict=True)):
            return None
        values[index] = entry["value"]
        at = entry.end()
    zero = "(0, 0)" if any(value.startswith("(") for value in values.values()) else "0"
    # A dimension of size 0 is written as {}, regardless of the dimensions inside it.
    outer = sizes[: sizes.index(0)] if 0 in sizes else sizes
    rows = ["{}"] * prod(outer) if 0 in sizes else [values.get(index, zero) for index in product(*map(range, sizes))]
    for size in reversed(outer):
        rows = [f"{{{', '.join(rows[k : k + size])}}}" for k in range(0, len(rows), size)]
    return rows[0]
