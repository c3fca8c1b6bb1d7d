"""Conversion of array elements from text to bytes, with XLA's rounding, wrapping and NaN handling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isnan

from hlotool.literals.floats import (
    QUIET_PAYLOAD,
    encode_floats,
    nan_code,
    pack_numbers,
    payload_mask,
)
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType

__all__ = ["INDEX_COMMENT", "PART_TYPES", "each_token", "element_bytes", "element_tokens", "encoded", "int64_value"]

INDEX_COMMENT = re.compile(r"/\*i[0-9]++=[0-9]++\*/ ?")
"""A comment in which XLA numbers a part of an array with more than three dimensions."""

PART_TYPES = {"c64": "f32", "c128": "f64"}
"""The type of the real part and of the imaginary part, for each complex type."""

# A number, word or NaN in normalized text; a complex number yields two matches.
_ELEMENT = re.compile(r"[^ {},()]++(?:\(0x[0-9a-fA-F]++\))?+")
# Integers that float() may read differently from XLA: -0, which is +0.0 in XLA, and integers that
# wrap around.
_ODD_INTEGER = re.compile(r"-0+(?![0-9.eE])|[0-9]{19}")


def element_tokens(text: str) -> list[str]:
    """Returns the text of every array element, in row-major order; two tokens per complex number.

    >>> element_tokens("{ { (1, -2) }, { (nan(0x7fc00001), 4) } }")
    ['1', '-2', 'nan(0x7fc00001)', '4']
    """
    return _ELEMENT.findall(INDEX_COMMENT.sub("", text) if "/*" in text else text)


def each_token(text: str) -> Iterator[str]:
    """Yields the same tokens as `element_tokens`, for callers that may not need all of them."""
    return (token for match in _ELEMENT.finditer(text) if not (token := match[0]).startswith("/*"))


def encoded(element: ElementType, tokens: Sequence[str]) -> bytes:
    """Returns the bytes of elements of a type.

    The bytes are little-endian, with a whole byte for each element of less than eight bits.

    >>> encoded(ELEMENT_TYPES["f32"], ["1", "-0.0"]).hex()
    '0000803f00000080'
    """
    if element.kind == "pred":
        return bytes([value if (value := _PRED.get(token)) is not None else int64_value(token) != 0 for token in tokens])
    if element.is_integral:
        return _integers(element, tokens)
    return _complexes(element, tokens) if element.kind == "complex" else _floats(element.name, tokens)


def element_bytes(element: ElementType) -> int:
    """Returns the size of one element in a literal's data, in bytes."""
    return max(element.bits, 8) // 8


def int64_value(token: str) -> int | None:
    """Returns the value of an INT as XLA stores it, or None if it does not fit.

    XLA stores 64 bits and wraps values from 2^63 on.

    >>> int64_value("18446744073709551615"), int64_value("-0"), int64_value("18446744073709551616")
    (-1, 0, None)
    """
    # int() rejects thousands of digits, but most of the digits may be leading zeros.
    if len(token) > 20:
        digits = token.lstrip("-").lstrip("0") or "0"
        token = ("-" if token[0] == "-" else "") + digits
        if len(digits) > 20:
            return None
    value = int(token)
    if not -(1 << 63) <= value < 1 << 64:
        return None
    return value - (1 << 64) if value >= 1 << 63 else value


_PRED = {"false": 0, "true": 1, "0": 0, "1": 1}
_ARRAY_CODES = {8: "b", 16: "h", 32: "i", 64: "q"}


def _integers(element: ElementType, tokens: Sequence[str]) -> bytes:
    code = _ARRAY_CODES[max(element.bits, 8)]
    if element.kind == "unsigned":
        code = code.upper()
    try:
        return pack_numbers(code, map(int, tokens))
    except (OverflowError, ValueError):
        # Numbers from 2^63 on wrap, u64 accepts negative numbers, and int() rejects thousands of
        # leading zeros.
        mask = 0xFFFF_FFFF_FFFF_FFFF if element.name == "u64" else -1
        return pack_numbers(code, [(int64_value(token) or 0) & mask for token in tokens])


def _numbers(tokens: Sequence[str]) -> list[float]:
    """Returns the values of the tokens as doubles, like XLA's lexer; NaNs lose their payloads."""
    joined = " ".join(tokens)
    if "nan" not in joined and not _ODD_INTEGER.search(joined):
        return list(map(float, tokens))
    values = []
    for token in tokens:
        if "nan" in token:
            token = token[: token.index("nan") + 3]
        elif token.lstrip("-").isdigit():
            values.append(float(int64_value(token) or 0))
            continue
        values.append(float(token))
    return values


def _payload(token: str) -> int:
    """Returns the payload of a NaN token in the double to which XLA's lexer converts it."""
    return int(token[token.index("x") + 1 : -1], 16) if "(" in token else QUIET_PAYLOAD


def _floats(name: str, tokens: Sequence[str]) -> bytes:
    data = encode_floats(name, _numbers(tokens))
    if not payload_mask(name):
        return data
    nan_bits = {k: _nan_bits(name, token) for k, token in enumerate(tokens) if "nan" in token}
    return _with_bits(data, nan_bits, element_bytes(ELEMENT_TYPES[name]))


def _nan_bits(name: str, token: str) -> int:
    payload = _payload(token)
    return nan_code(name, token[0] == "-", None if payload == QUIET_PAYLOAD else payload)


def _with_bits(data: bytes, bits: dict[int, int], size: int) -> bytes:
    """Returns `data` with the bits of some elements replaced.

    `bits` maps the numbers of elements to their new bits; `size` is the number of bytes per
    element.
    """
    if not bits:
        return data
    result = bytearray(data)
    for k, value in bits.items():
        result[k * size : (k + 1) * size] = value.to_bytes(size, "little")
    return bytes(result)


def _complexes(element: ElementType, tokens: Sequence[str]) -> bytes:
    """Encodes pairs of real and imaginary parts.

    If the real part is a NaN, XLA stores the same NaN as the imaginary part.
    """
    part = PART_TYPES[element.name]
    numbers = _numbers(tokens)
    nan_bits: dict[int, int] = {}
    for k in range(0, len(tokens), 2):
        if isnan(numbers[k]):
            nan_bits[k] = nan_bits[k + 1] = _nan_bits(part, tokens[k])
        elif isnan(numbers[k + 1]):
            nan_bits[k + 1] = _converted_nan_bits(part, tokens[k + 1])
    return _with_bits(encode_floats(part, numbers), nan_bits, element_bytes(ELEMENT_TYPES[part]))


def _converted_nan_bits(name: str, token: str) -> int:
    """Returns the bits of an imaginary NaN, converted as by a processor.

    The result is a quiet NaN with the upper bits of the payload.
    """
    payload = _payload(token)
    return nan_code(name, token[0] == "-", payload if name == "f64" else payload >> 29 | 1 << 22)
