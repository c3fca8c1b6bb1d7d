"""Turns literals into bytes and bytes into literals, with XLA's rounding, wrapping and treatment of NaNs.

Works on leaves only and knows neither XLA's print nor NumPy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isnan

from hlotool.errors import HlotoolError
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.shapes.literal import Literal, element_bytes
from hlotool.text.literals.floats import (
    DOUBLE_QUIET,
    encode_floats,
    nan_code,
    pack_numbers,
    payload_mask,
)
from hlotool.text.literals.parse import INDEX_COMMENT, int64_value

__all__ = ["PART_TYPES", "decode", "element_tokens"]

PART_TYPES = {"c64": "f32", "c128": "f64"}
"""Type of the real and imaginary parts of the complex types."""

# In normalised text every number, word and NaN stands between these characters; the parts of complex numbers come out one by one.
_ELEMENT = re.compile(r"[^ {},()]++(?:\(0x[0-9a-fA-F]++\))?+")
# Integers that float() reads differently from XLA: -0, and those that wrap.
_ODD_INTEGER = re.compile(r"-0+(?![0-9.eE])|[0-9]{19}")


def element_tokens(literal: Literal) -> list[str]:
    """The spellings of all elements of an array literal with text, in row-major order; complex numbers give two each.

    XLA takes a bare `7` or `,` for an array of many elements; the list is then shorter than the array, and the rest are zeros.
    """
    text = literal.text if literal.shape.rank <= 3 else INDEX_COMMENT.sub("", literal.text)
    return _ELEMENT.findall(text)


def decode(literal: Literal) -> bytes:
    """The values of an array literal, in the form that `literal_from_bytes` takes.

    >>> from hlotool.shapes.shape import array_shape
    >>> decode(Literal(array_shape("f32", (2,)), "{1, -0.0}")).hex()
    '0000803f00000080'
    """
    if literal.data is not None:
        return literal.data
    if literal.shape.is_tuple:
        raise ValueError("a tuple literal is decoded element by element")
    if literal.elided:
        raise HlotoolError(f"the values of an elided constant of shape {literal.shape.text_without_layout} are not known")
    element = ELEMENT_TYPES[literal.shape.element_type]
    data = _encoded(element, element_tokens(literal))
    # Only a value without braces leaves elements open.
    return data if literal.text[0] == "{" else data.ljust(literal.element_count * element_bytes(element), b"\0")


def _encoded(element: ElementType, tokens: list[str]) -> bytes:
    if element.kind == "pred":
        return bytes([known if (known := _PRED.get(token)) is not None else int64_value(token) != 0 for token in tokens])
    if element.is_integral:
        return _integers(element, tokens)
    return _complexes(element, tokens) if element.kind == "complex" else _floats(element.name, tokens)


_PRED = {"false": 0, "true": 1, "0": 0, "1": 1}
_ARRAY_CODES = {8: "b", 16: "h", 32: "i", 64: "q"}


def _integers(element: ElementType, tokens: list[str]) -> bytes:
    code = _ARRAY_CODES[max(element.bits, 8)]
    if element.kind == "unsigned":
        code = code.upper()
    try:
        return pack_numbers(code, map(int, tokens))
    except (OverflowError, ValueError):
        # Numbers from 2^63 on wrap, those with thousands of leading zeros are too long for int(), and u64 takes negative ones.
        mask = 0xFFFF_FFFF_FFFF_FFFF if element.name == "u64" else -1
        return pack_numbers(code, [(int64_value(token) or 0) & mask for token in tokens])


def _numbers(tokens: list[str]) -> list[float]:
    """The doubles that XLA's lexer makes of the tokens; NaNs without their payload."""
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
    """The payload of a NaN token, as the double that XLA's lexer makes of it holds it."""
    return int(token[token.index("x") + 1 : -1], 16) if "(" in token else DOUBLE_QUIET


def _floats(name: str, tokens: list[str]) -> bytes:
    data = encode_floats(name, _numbers(tokens))
    if not payload_mask(name):
        return data
    patterns = {k: _nan_pattern(name, token) for k, token in enumerate(tokens) if "nan" in token}
    return _patched(data, patterns, element_bytes(ELEMENT_TYPES[name]))


def _nan_pattern(name: str, token: str) -> int:
    payload = _payload(token)
    return nan_code(name, token[0] == "-", None if payload == DOUBLE_QUIET else payload)


def _patched(data: bytes, patterns: dict[int, int], size: int) -> bytes:
    if not patterns:
        return data
    patched = bytearray(data)
    for k, pattern in patterns.items():
        patched[k * size : (k + 1) * size] = pattern.to_bytes(size, "little")
    return bytes(patched)


def _complexes(element: ElementType, tokens: Sequence[str]) -> bytes:
    """Real and imaginary parts; where the real part is a NaN, XLA stores the same NaN as the imaginary part."""
    part = PART_TYPES[element.name]
    numbers = _numbers(list(tokens))
    patterns: dict[int, int] = {}
    for k in range(0, len(tokens), 2):
        if isnan(numbers[k]):
            patterns[k] = patterns[k + 1] = _nan_pattern(part, tokens[k])
        elif isnan(numbers[k + 1]):
            patterns[k + 1] = _converted_nan(part, tokens[k + 1])
    return _patched(encode_floats(part, numbers), patterns, element_bytes(ELEMENT_TYPES[part]))


def _converted_nan(name: str, token: str) -> int:
    """An imaginary NaN is converted as the processor does it: its payload's upper bits, made quiet."""
    payload = _payload(token)
    return nan_code(name, token[0] == "-", payload if name == "f64" else payload >> 29 | 1 << 22)
