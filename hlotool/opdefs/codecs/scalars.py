"""Codecs for numbers, strings, words and lists of them."""

from __future__ import annotations

import math
import struct
from typing import Any

from hlotool.errors import Violation
from hlotool.opdefs.codecs.base import WriteStyle, builds, codec
from hlotool.shapes.shape import Shape, join_elements
from hlotool.shapes.strings import quote, unquote

__all__ = ["braces", "decimal", "float_text", "integer", "integer_at", "integers", "shape_list", "sizes", "string"]

_MAX_DIGITS = 25
_INT64 = range(-(1 << 63), 1 << 63)


def integer(token: Any, *, bits: int = 64) -> int:
    """Returns the value of an INT token; raises Violation if it does not fit in `bits` bits.

    As in XLA, values from 2**63 on wrap around.
    """
    return integer_at(str(token), token.start_pos, bits)


def integer_at(text: str, position: int, bits: int = 64) -> int:
    """Like `integer`, for digits that may be only a part of the token at `position`.

    >>> integer_at("-12", 0), integer_at("18446744073709551615", 0)
    (-12, -1)
    """
    # int() rejects thousands of digits. A number that fits has at most twenty digits, not counting
    # leading zeros.
    digits = text if len(text) < _MAX_DIGITS else text[:1].strip("0123456789") + text.lstrip("-0")
    value = int(digits or "0") if len(digits) < _MAX_DIGITS else 1 << 70
    if value in _INT64 and (bits == 64 or -(1 << (bits - 1)) <= value < 1 << (bits - 1)):
        return value
    if bits == 64 and 0 < value < 1 << 64:
        return value - (1 << 64)
    raise Violation("S017", position, f"{text[:40]} does not fit in {bits} bits")


def sizes(token: Any) -> tuple[int, ...]:
    """Returns the numbers of a DXD token such as `2x3`."""
    return tuple([integer_at(number, token.start_pos) for number in token.split("x")])


def integers(tokens: list[Any]) -> tuple[int, ...]:
    """Returns the values of INT tokens."""
    return tuple([integer(token) for token in tokens])


def decimal(token: Any) -> float:
    """Returns the value of a token of type INT, DECIMAL, NAN, INF or NEGATIVE_INF."""
    text = str(token)
    if "nan" in text:
        return -math.nan if text[0] == "-" else math.nan
    return float(text)


def string(token: Any) -> str:
    """Returns the value of a STRING token; raises Violation for an invalid escape."""
    try:
        return unquote(token)
    except ValueError as error:
        raise Violation("S001", token.start_pos, f"invalid string: {error}", "write a backslash as two backslashes") from None


def float_text(value: float, style: WriteStyle) -> str:
    """Returns the text of a number, with six digits as in XLA.

    In exact style, the text has enough digits to read back the same value.
    """
    if math.isnan(value):
        return "-nan" if math.copysign(1, value) < 0 else "nan"
    return repr(value) if style.exact else f"{value:g}"


def braces(value: tuple[int, ...]) -> str:
    """Returns the text of a list of numbers: `{1,2}`."""
    return "{" + ",".join(map(str, value)) + "}"


@builds("bool")
def build_bool(children: list[Any]) -> bool:
    return bool(children[0].type == "TRUE")


@builds("bools")
def build_bools(children: list[Any]) -> tuple[bool, ...]:
    return tuple(child if isinstance(child, bool) else child.type == "TRUE" for child in children)


@builds("int")
def build_int(children: list[Any]) -> int:
    return integer(children[0])


@builds("number")
def build_number(children: list[Any]) -> float:
    return decimal(children[0])


@builds("string")
def build_string(children: list[Any]) -> str:
    return string(children[0])


@builds("enum")
def build_enum(children: list[Any]) -> Any:
    return children[0]


@builds("enums")
def build_enums(children: list[Any]) -> list[Any]:
    return children


@builds("ints")
def build_ints(children: list[Any]) -> tuple[int, ...]:
    return integers(children)


@builds("int_lists")
def build_int_lists(children: list[Any]) -> tuple[tuple[int, ...], ...]:
    return tuple(children)


@builds("slice_sizes")
def build_slice_sizes(children: list[Any]) -> tuple[Any, ...]:
    return tuple(child if isinstance(child, tuple) else integer(child) for child in children)


@builds("shapes")
def build_shapes(children: list[Any]) -> tuple[Shape, ...]:
    return tuple(children)


def _write_bool(value: bool, style: WriteStyle) -> str:
    return "true" if value else "false"


def _write_bools(value: tuple[bool, ...], style: WriteStyle) -> str:
    return "{" + ",".join("true" if x else "false" for x in value) + "}"


def _write_int(value: int, style: WriteStyle) -> str:
    return str(value)


def _write_ints(value: tuple[int, ...], style: WriteStyle) -> str:
    return braces(value)


def _write_int_lists(value: tuple[tuple[int, ...], ...], style: WriteStyle) -> str:
    return "{" + ",".join(map(braces, value)) + "}"


def _write_string(value: str, style: WriteStyle) -> str:
    return quote(value)


def _write_shapes(value: tuple[Shape, ...], style: WriteStyle) -> str:
    return "{" + ", ".join(shape.text for shape in value) + "}"


def _to_float32(value: float) -> float:
    """Returns the value rounded to a 32-bit float, as XLA stores it.

    Raises Violation if the value is out of range.
    """
    if math.isnan(value) or math.isinf(value):
        return value
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        raise Violation("S017", "", f"{value:g} is out of range for a 32-bit float") from None


def _write_number(value: float, style: WriteStyle) -> str:
    if style.exact and value == value and abs(value) != math.inf:
        # The shortest decimal that rounds to the same float.
        return next(text for digits in range(6, 10) if _to_float32(float(text := f"{value:.{digits}g}")) == value)
    return float_text(value, style)


def _one_entry(value: tuple[int, ...]) -> tuple[int, ...]:
    if len(value) != 1:
        raise Violation("S017", "", f"expected a list of exactly one dimension, found {len(value)}")
    return value


def _first_entry(value: tuple[int, ...]) -> tuple[int, ...]:
    if not value:
        raise Violation("S017", "", "expected a dimension, found an empty list")
    return value[:1]


def _to_int32(value: int) -> int:
    """Returns the lower 32 bits as a signed number; XLA keeps only these."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _pairs(value: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    for pair in value:
        if len(pair) != 2:
            raise Violation("S017", "", f"expected pairs {{source,target}}, found {{{','.join(map(str, pair))}}}")
    return value


def _flat(value: tuple[Any, ...]) -> tuple[int, ...]:
    if value and isinstance(value[0], tuple):
        raise Violation("S017", "", "expected a list of sizes, found a list of lists")
    return value


def _lists(value: tuple[Any, ...]) -> tuple[tuple[int, ...], ...]:
    if value and not isinstance(value[0], tuple):
        raise Violation("S017", "", "expected a list of lists of sizes, found a list of sizes")
    return value


codec("Int", "int", _write_int)
codec("Int32", "int", _write_int, _to_int32)
codec("Bool", "bool", _write_bool)
codec("Number", "number", _write_number, _to_float32)
codec("Text", "string", _write_string)
codec("Dims", "ints", _write_ints)
codec("SingleDim", "ints", _write_ints, _one_entry)
codec("FirstDim", "ints", _write_ints, _first_entry)
codec("IgnoredDims", "ints", _write_ints, _one_entry)
codec("Pairs", "int_lists", _write_int_lists, _pairs)
codec("SliceSizes", "slice_sizes", _write_ints, _flat)
codec("SliceSizeLists", "slice_sizes", _write_int_lists, _lists)
codec("Bools", "bools", _write_bools)
codec("Replication", "bools", _write_bools)
codec("ShapeValue", "shape", lambda value, style: value.text)
codec("Shapes", "shapes", _write_shapes)


def shape_list(shapes: tuple[Shape, ...]) -> str:
    """Returns the text of shapes with layouts and index marks, as in entry_computation_layout."""
    return join_elements(shape.text for shape in shapes)
