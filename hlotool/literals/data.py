"""Converts array literals to bytes and back, with XLA's rounding, wrapping and treatment of NaNs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import isnan

from hlotool.errors import HlotoolError
from hlotool.literals.floats import (
    QUIET_PAYLOAD,
    encode_floats,
    nan_code,
    pack_numbers,
    payload_mask,
)
from hlotool.literals.parse import INDEX_COMMENT, int64_value
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.shapes.literal import Literal, element_bytes
from hlotool.shapes.shape import array_shape

__all__ = ["MOST_WRITTEN", "PART_TYPES", "abbreviated", "decode", "element_tokens", "is_abbreviated", "same_values", "value_key"]

PART_TYPES = {"c64": "f32", "c128": "f64"}
"""The type of the real and the imaginary part of each complex type."""

# One number, word or NaN of normalized text; a complex number gives two matches.
_ELEMENT = re.compile(r"[^ {},()]++(?:\(0x[0-9a-fA-F]++\))?+")
# Integers that float() may read differently from XLA: -0, which is +0.0 in XLA, and those that wrap.
_ODD_INTEGER = re.compile(r"-0+(?![0-9.eE])|[0-9]{19}")


def element_tokens(literal: Literal) -> list[str]:
    """The text of every element of an array literal that has text, in row-major order; complex numbers give two tokens each.

    The list is shorter than the array for a bare `7` or `,`, which XLA completes with zeros.
    """
    text = literal.text if literal.shape.rank <= 3 else INDEX_COMMENT.sub("", literal.text)
    return _ELEMENT.findall(text)


def decode(literal: Literal) -> bytes:
    """The values of an array literal as bytes, in the format of `literal_from_bytes`.

    Raises ValueError for a tuple, and HlotoolError if the values are elided.

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
    data = _encoded(ELEMENT_TYPES[literal.shape.element_type], element_tokens(literal))
    return data.ljust(_byte_count(literal), b"\0") if is_abbreviated(literal) else data


MOST_WRITTEN = 1 << 20
"""The elements of an array beyond which all but the first are not written out if they are 0."""


def is_abbreviated(literal: Literal) -> bool:
    """Whether an array literal is written without braces, as `7` or `,`, so that all elements after the first are 0."""
    return literal.data is None and bool(literal.text) and literal.text[0] != "{" and not literal.shape.is_tuple


def abbreviated(literal: Literal) -> Literal:
    """The array literal with at most one element for each that is written, if it is abbreviated; else the literal itself.

    >>> from hlotool.shapes.shape import array_shape
    >>> abbreviated(Literal(array_shape("s8", (3000, 100000)), "1")).shape.text
    's8[1]{0}'
    """
    if not is_abbreviated(literal) or literal.element_count < 2:
        return literal
    return Literal(array_shape(literal.shape.element_type, (1,)), literal.text)


def value_key(literal: Literal) -> bytes:
    """A key that array literals of one element type have in common if their values and the numbers of their elements are equal.

    Zeros at the end, of which a short text may stand for a billion, are only counted. Raises what `decode` raises.

    >>> from hlotool.shapes.shape import array_shape
    >>> shape = array_shape("s8", (3,))
    >>> value_key(Literal(shape, "1")) == value_key(Literal(shape, "{1, 0, 0}"))
    True
    """
    return decode(abbreviated(literal)).rstrip(b"\0") + _byte_count(literal).to_bytes(16, "little")


def _byte_count(literal: Literal) -> int:
    return literal.element_count * element_bytes(ELEMENT_TYPES[literal.shape.element_type])


def same_values(first: Literal, second: Literal) -> bool:
    """Whether two literals are equal, or one has the spelling of the bytes that the other has.

    Two spellings are compared as they are: `1.0` and `1` are the same number, but not the same text.

    >>> from hlotool.shapes.shape import array_shape
    >>> shape = array_shape("s16", (2,))
    >>> same_values(Literal(shape, "{1, 2}"), Literal(shape, data=b"\\1\\0\\2\\0"))
    True
    """
    if first == second:
        return True
    if first.shape != second.shape:
        return False
    for a, b in zip(first.leaves(), second.leaves(), strict=True):
        if a == b:
            continue
        if a.elided or b.elided or (a.data is None) == (b.data is None) or value_key(a) != value_key(b):
            return False
    return True


def _encoded(element: ElementType, tokens: list[str]) -> bytes:
    if element.kind == "pred":
        return bytes([value if (value := _PRED.get(token)) is not None else int64_value(token) != 0 for token in tokens])
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
        # Numbers from 2^63 on wrap, u64 accepts negative numbers, and int() refuses thousands of leading zeros.
        mask = 0xFFFF_FFFF_FFFF_FFFF if element.name == "u64" else -1
        return pack_numbers(code, [(int64_value(token) or 0) & mask for token in tokens])


def _numbers(tokens: list[str]) -> list[float]:
    """The tokens as doubles, as in XLA's lexer; NaNs without their payloads."""
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
    """The payload of a NaN token in the double to which XLA's lexer converts it."""
    return int(token[token.index("x") + 1 : -1], 16) if "(" in token else QUIET_PAYLOAD


def _floats(name: str, tokens: list[str]) -> bytes:
    data = encode_floats(name, _numbers(tokens))
    if not payload_mask(name):
        return data
    nan_bits = {k: _nan_bits(name, token) for k, token in enumerate(tokens) if "nan" in token}
    return _with_bits(data, nan_bits, element_bytes(ELEMENT_TYPES[name]))


def _nan_bits(name: str, token: str) -> int:
    payload = _payload(token)
    return nan_code(name, token[0] == "-", None if payload == QUIET_PAYLOAD else payload)


def _with_bits(data: bytes, bits: dict[int, int], size: int) -> bytes:
    """`data` with other bits in some elements, given by their numbers; `size` is the number of bytes of an element."""
    if not bits:
        return data
    result = bytearray(data)
    for k, value in bits.items():
        result[k * size : (k + 1) * size] = value.to_bytes(size, "little")
    return bytes(result)


def _complexes(element: ElementType, tokens: Sequence[str]) -> bytes:
    """Encodes pairs of real and imaginary parts. If the real part is a NaN, XLA stores the same NaN as the imaginary part."""
    part = PART_TYPES[element.name]
    numbers = _numbers(list(tokens))
    nan_bits: dict[int, int] = {}
    for k in range(0, len(tokens), 2):
        if isnan(numbers[k]):
            nan_bits[k] = nan_bits[k + 1] = _nan_bits(part, tokens[k])
        elif isnan(numbers[k + 1]):
            nan_bits[k + 1] = _converted_nan_bits(part, tokens[k + 1])
    return _with_bits(encode_floats(part, numbers), nan_bits, element_bytes(ELEMENT_TYPES[part]))


def _converted_nan_bits(name: str, token: str) -> int:
    """The bits of an imaginary NaN, converted as a processor does: the upper bits of the payload, as a quiet NaN."""
    payload = _payload(token)
    return nan_code(name, token[0] == "-", payload if name == "f64" else payload >> 29 | 1 << 22)
