"""Binary floating-point formats: rounding, bit patterns, and the digits that XLA prints."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import cache
from math import ceil, copysign, floor, inf, isnan, ldexp, log10, nan, nextafter
from struct import pack, unpack

from hlotool.shapes.dtype import ELEMENT_TYPES, FloatFormat

__all__ = [
    "QUIET_PAYLOAD",
    "decode_floats",
    "encode_floats",
    "float_digits",
    "nan_code",
    "pack_numbers",
    "payload_mask",
    "representable_range",
    "unpack_numbers",
]

QUIET_PAYLOAD = 1 << 51
"""The payload of a NaN written without a payload, in the double that XLA's parser uses."""


def pack_numbers(code: str, values: Iterable[int] | Iterable[float]) -> bytes:
    """Returns `values` as little-endian bytes.

    `code` is a type code of `array`. Raises OverflowError for integers that do not fit the type.
    """
    packed = array(code, values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def unpack_numbers(code: str, data: bytes) -> array[int] | array[float]:
    """Returns the numbers in little-endian `data`; the inverse of `pack_numbers`."""
    numbers: array[int] | array[float] = array(code)
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _format(name: str) -> FloatFormat:
    form = ELEMENT_TYPES[name].float_format
    if form is None:
        raise ValueError(f"{name} is not a floating-point type")
    return form


def payload_mask(name: str) -> int:
    """Returns the largest NaN payload of a floating-point type; 0 if its NaNs have no payload."""
    form = _format(name)
    return (1 << form.mantissa_bits) - 1 if form.nonfinite == "ieee" else 0


def nan_code(name: str, negative: bool, payload: int | None = None) -> int:
    """Returns the bit pattern of a NaN that XLA converts from double.

    Without `payload`, the NaN is the quiet NaN.

    >>> hex(nan_code("f32", True, 1)), hex(nan_code("f8e4m3fnuz", False)), hex(nan_code("f4e2m1fn", False))
    ('0xff800001', '0x80', '0x8')
    """
    form, bits = _format(name), ELEMENT_TYPES[name].bits
    sign = 1 << (bits - 1) if negative else 0
    if form.nonfinite == "ieee":
        exponent = ((1 << form.exponent_bits) - 1) << form.mantissa_bits
        return sign | exponent | (payload or 1 << (form.mantissa_bits - 1))
    if form.nonfinite == "fn":
        return sign | ((1 << (bits - 1)) - 1)
    if form.nonfinite == "fnuz":
        return 1 << (bits - 1)
    if form.nonfinite == "none":
        # The format has no NaN; XLA converts a NaN to a zero of the opposite sign.
        return 0 if negative else 1 << (bits - 1)
    return 0xFF


@cache
def _narrow_values(name: str) -> tuple[float, ...]:
    """Returns the value of every bit pattern of a format with at most eight bits."""
    form, bits = _format(name), ELEMENT_TYPES[name].bits
    if form.nonfinite == "e8m0":
        return (*(ldexp(1.0, code - form.bias) for code in range(255)), nan)
    values = []
    for code in range(1 << (bits - 1)):
        exponent, mantissa = code >> form.mantissa_bits, code & ((1 << form.mantissa_bits) - 1)
        significand = mantissa + (1 << form.mantissa_bits if exponent else 0)
        value = ldexp(float(significand), max(exponent, 1) - form.bias - form.mantissa_bits)
        if form.nonfinite == "ieee" and exponent == (1 << form.exponent_bits) - 1:
            value = nan if mantissa else inf
        elif form.nonfinite == "fn" and code == (1 << (bits - 1)) - 1:
            value = nan
        values.append(value)
    negative = [-value for value in values]
    if form.nonfinite == "fnuz":
        negative[0] = nan
    return (*values, *negative)


@cache
def _thresholds(name: str) -> tuple[float, ...]:
    """Returns the thresholds at which rounding to a format changes the bit pattern.

    Element k is the smallest double that rounds to bit pattern k + 1 instead of k. Values at or
    above the last threshold are out of range. Ties go to the even bit pattern, which has the even
    mantissa.
    """
    form = _format(name)
    if form.nonfinite == "e8m0":
        # XLA's conversion rounds ties up, and everything above the smallest value 2^-127 up to
        # 2^-126.
        return (nextafter(ldexp(1.0, -127), inf), *(ldexp(1.5, code - 127) for code in range(1, 255)))
    values = _narrow_values(name)
    largest = max(code for code in range(len(values) // 2) if values[code] < inf)
    upper = [*values[1 : largest + 1], 2 * values[largest] - values[largest - 1]]
    midpoints = [(low + high) / 2 for low, high in zip(values, upper, strict=False)]
    thresholds = [midpoint if code % 2 else nextafter(midpoint, inf) for code, midpoint in enumerate(midpoints)]
    return (*thresholds[:-1], inf) if form.nonfinite == "none" else tuple(thresholds)


def representable_range(name: str) -> tuple[float, float]:
    """Returns two doubles; the finite values that XLA accepts for a type are strictly between them.

    >>> representable_range("f8e4m3fn")[1], representable_range("f8e8m0fnu")[0]
    (464.00000000000006, 0.0)
    """
    if name == "f64":
        return -inf, inf
    if name == "f32":
        high = ldexp(1.0, 128) - ldexp(1.0, 103)
    elif name in ("f16", "bf16"):
        # The limit would be half a unit of the type above its largest value. But XLA rounds to f32
        # first, so the limit is half a unit of f32 below that double.
        high = 65520 - ldexp(1.0, -9) if name == "f16" else ldexp(1.0, 128) - ldexp(1.0, 119) - ldexp(1.0, 103)
    else:
        high = _thresholds(name)[-1]
    return (-high if _format(name).signed else 0.0), high


@cache
def _infinity_code(name: str) -> int:
    """Returns the bit pattern of inf, or of its substitute in a format without infinities."""
    form = _format(name)
    if form.nonfinite == "ieee":
        return ((1 << form.exponent_bits) - 1) << form.mantissa_bits
    return len(_thresholds(name)) - 1 if form.nonfinite == "none" else nan_code(name, negative=False)


def _narrow_code(name: str, value: float) -> int:
    negative = copysign(1.0, value) < 0
    if isnan(value):
        return nan_code(name, negative)
    thresholds, magnitude = _thresholds(name), abs(value)
    code = bisect_right(thresholds, magnitude) if magnitude < thresholds[-1] else _infinity_code(name)
    nonfinite = _format(name).nonfinite
    if not negative or (nonfinite == "fnuz" and code == 0):
        return code
    return 0xFF if nonfinite == "e8m0" else code | 1 << (ELEMENT_TYPES[name].bits - 1)


def encode_floats(name: str, values: Iterable[float]) -> bytes:
    """Returns the bytes of `values` rounded to a type as in XLA.

    Ties round to even, f16 and bf16 values are rounded through f32, and NaN payloads are dropped.

    >>> encode_floats("bf16", [1.0, -0.1]).hex()
    '803fcdbd'
    """
    if name == "f64":
        return pack_numbers("d", values)
    if name == "f32":
        return pack_numbers("f", values)
    if name == "f16":
        singles = array("f", values)
        return pack(f"<{len(singles)}e", *singles)
    if name == "bf16":
        patterns = unpack_numbers("I", pack_numbers("f", values))
        return pack_numbers("H", [(int(bits) + 0x7FFF + (int(bits) >> 16 & 1)) >> 16 for bits in patterns])
    # Weights often contain repeated values, and a lookup in the memo is faster than the search.
    memo: dict[tuple[float, float], int] = {}
    codes = bytearray()
    for value in values:
        key = (value, copysign(1.0, value))
        code = memo.get(key)
        if code is None:
            code = memo[key] = _narrow_code(name, value)
        codes.append(code)
    return bytes(codes)


def decode_floats(name: str, data: bytes) -> Sequence[float]:
    """Returns the exact values of the elements in `data`, as doubles."""
    if name in ("f64", "f32"):
        return unpack_numbers("d" if name == "f64" else "f", data)
    if name == "f16":
        return unpack(f"<{len(data) // 2}e", data)
    if name == "bf16":
        return unpack_numbers("f", b"".join(b"\0\0" + data[k : k + 2] for k in range(0, len(data), 2)))
    values = _narrow_values(name)
    return [values[code] for code in data]


def _nan_text(name: str, code: int) -> str:
    bits, mask = ELEMENT_TYPES[name].bits, payload_mask(name)
    sign = "-" if code >> (bits - 1) and _format(name).nonfinite != "e8m0" else ""
    payload = code & mask
    return f"{sign}nan(0x{payload:x})" if mask and payload != (mask + 1) >> 1 else f"{sign}nan"


@cache
def _narrow_texts(name: str, exact: bool) -> tuple[str, ...]:
    return tuple(_narrow_text(name, code, value, exact) for code, value in enumerate(_narrow_values(name)))


def _narrow_text(name: str, code: int, value: float, exact: bool) -> str:
    if isnan(value):
        return _nan_text(name, code)
    digits = _precision(name)[1]
    text = f"{value:.{digits}g}"
    if not exact:
        return text
    # Only the smallest f8e8m0fnu value needs more digits: XLA reads 5.9e-39 back as the next value.
    while _narrow_code(name, float(text)) != code:
        digits += 1
        text = f"{value:.{digits}g}"
    return "-0.0" if text == "-0" else text


def _precision(name: str) -> tuple[int, int]:
    """Returns C++'s digits10 and max_digits10 of the format."""
    mantissa = _format(name).mantissa_bits
    return floor(mantissa * log10(2)), ceil(1 + (mantissa + 1) * log10(2))


def float_digits(name: str, data: bytes, *, exact: bool = False) -> list[str]:
    """Returns the digits that XLA prints for each element.

    With `exact`, returns digits that XLA reads back bit for bit (`-0.0` instead of XLA's `-0`).

    >>> float_digits("f32", encode_floats("f32", [0.1, 0.1234567, -0.0]))
    ['0.1', '0.123456702', '-0']
    """
    bits = ELEMENT_TYPES[name].bits
    if bits <= 8:
        texts = _narrow_texts(name, exact)
        return [texts[code] for code in data]
    values = decode_floats(name, data)
    few, many = (f"%.{digits}g" for digits in _precision(name))
    if name in ("f16", "bf16"):
        digits = [many % value for value in values]
    else:
        digits = [few % value for value in values]
        read_back = array("d" if name == "f64" else "f", map(float, digits))
        digits = [text if value == again else many % value for text, value, again in zip(digits, values, read_back, strict=True)]
    if "nan" in digits:
        patterns = unpack_numbers({16: "H", 32: "I", 64: "Q"}[bits], data)
        digits = [_nan_text(name, int(code)) if text == "nan" else text for text, code in zip(digits, patterns, strict=True)]
    return ["-0.0" if text == "-0" else text for text in digits] if exact else digits
