"""Conversion of Python numbers, nested lists and arrays to literals.

An array is any object that supports the buffer protocol or has the attributes of a NumPy array.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import isfinite
from operator import index
from typing import Any

from hlotool.errors import Violation
from hlotool.literals.data import PART_TYPES, element_bytes
from hlotool.literals.floats import decode_floats, encode_floats, pack_numbers, representable_range, unpack_numbers
from hlotool.literals.literal import Literal, decode, literal_from_bytes
from hlotool.literals.parse import parse_literal
from hlotool.opdefs.inference import count, kind_of
from hlotool.record import replace
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.shapes.shape import Shape, array_shape

__all__ = ["as_literal", "extreme_literal", "shaped_literal"]

# Type prefixes by buffer format character (see `struct`); the item size completes the type name.
_FORMAT_KINDS = {**dict.fromkeys("bhilqn", "s"), **dict.fromkeys("BHILQN", "u"), **dict.fromkeys("efd", "f")}
_COMPLEX_FORMATS = {"Zf": "c64", "Zd": "c128"}
_BOOL_FORMAT = "?"
_ARRAY_CODES = {8: "b", 16: "h", 32: "i", 64: "q"}
_NAMES = {"bool": "pred", "complex64": "c64", "complex128": "c128", "bfloat16": "bf16"}
_PREFIXES = (("float8_", "f8"), ("float6_", "f6"), ("float4_", "f4"), ("float", "f"), ("uint", "u"), ("int", "s"))
# The default element types of Python numbers, from narrow to wide.
_DEFAULTS: tuple[tuple[type, str], ...] = ((bool, "pred"), (int, "s32"), (float, "f32"), (complex, "c64"))
_NUMBER = (int, float, complex)
_NUMBER_TYPES = frozenset({bool, *_NUMBER})


def as_literal(value: Any, element_type: str | None = None) -> Literal:
    """Returns the literal for a number, a nested list of numbers, an array or a Literal.

    Unless `element_type` is given, numbers become pred, s32, f32 or c64, and arrays keep their
    type. Raises Violation for nested lists of different lengths, for values that the type cannot
    hold, and for unsupported objects.

    >>> as_literal([[1, 2], [3, 4]], "s8").shape.text
    's8[2,2]{1,0}'
    >>> import array
    >>> as_literal(array.array("d", [0.5])).shape.text
    'f64[1]{0}'
    """
    if element_type is not None:
        _element(element_type)
    if isinstance(value, Literal):
        return _convert(value, element_type)
    if type(value) in _NUMBER_TYPES:
        # As part of the cache key, the text distinguishes 0.0 from -0.0 and True from 1.
        return _number_literal(value, repr(value), element_type)
    if not isinstance(value, (*_NUMBER, list, tuple)):
        return _convert(_array_literal(value), element_type)
    return _list_literal(value, element_type)


def shaped_literal(value: Any, shape: Shape) -> Literal:
    """Returns a literal of the given shape.

    `value` is HLO text, the bytes of the elements, or any value that `as_literal` accepts. Raises
    Violation for values that the shape cannot hold.

    >>> shaped_literal(b"\\1\\2", array_shape("s8", (2,))) == shaped_literal("{1, 2}", array_shape("s8", (2,)))
    True
    """
    if isinstance(value, str):
        return parse_literal(shape, value)
    if isinstance(value, (bytes, bytearray)):
        if not (shape.is_array and ELEMENT_TYPES[shape.element_type].bits):
            raise Violation("S036", "shape", f"bytes can only be the elements of an array, not of {shape.text_without_layout}")
        try:
            return literal_from_bytes(shape, bytes(value))
        except ValueError as error:
            raise Violation("S030", "literal", str(error)) from error
    literal = as_literal(value, shape.element_type if shape.is_array else None)
    if literal.shape.text_without_layout != shape.text_without_layout:
        raise Violation("S030", "literal", f"the values are {literal.shape.text_without_layout}, not {shape.text_without_layout}")
    return replace(literal, shape=shape)


@lru_cache(maxsize=4096)
def _number_literal(value: complex, text: str, element_type: str | None) -> Literal:
    return _list_literal(value, element_type)


def _list_literal(value: Any, element_type: str | None) -> Literal:
    sizes, numbers = _flatten(value)
    element = ELEMENT_TYPES[element_type or _default_type(numbers)]
    return literal_from_bytes(array_shape(element.name, sizes), _encode(element, numbers))


def extreme_literal(element_type: str, *, largest: bool) -> Literal:
    """Returns the smallest or the largest value of a type: an infinity if the type has one.

    Raises Violation for complex types, whose values have no order.

    >>> from hlotool.literals.print import literal_text
    >>> literal_text(extreme_literal("f32", largest=False)), literal_text(extreme_literal("u8", largest=True))
    ('-inf', '255')
    """
    element = _element(element_type)
    if element.kind == "pred":
        return as_literal(largest, element_type)
    if element.is_integral:
        return as_literal(element.maximum if largest else element.minimum, element_type)
    form = element.float_format
    if form is None:
        raise Violation("S036", "element_type", f"the values of type '{element_type}' have no order")
    if form.nonfinite == "ieee":
        return as_literal(float("inf" if largest else "-inf"), element_type)
    return as_literal(_finite_extreme(element, largest=largest), element_type)


def _element(name: Any) -> ElementType:
    """Returns the element type with this name. Raises Violation if no array can have it."""
    element = ELEMENT_TYPES.get(name) if isinstance(name, str) else None
    if element is None or not element.bits:
        raise Violation("S036", "element_type", f"'{name}' is not an element type of arrays")
    return element


def _finite_extreme(element: ElementType, *, largest: bool) -> float:
    finite = [value for value in decode_floats(element.name, bytes(range(1 << element.bits))) if isfinite(value)]
    return max(finite) if largest else min(finite)


# ---- numbers and lists -------------------------------------------------------------------------


def _flatten(value: Any) -> tuple[tuple[int, ...], list[Any]]:
    """Returns the dimension sizes of a nested list, and its numbers in order."""
    sizes: list[int] = []
    level: list[Any] = [value]
    while level and isinstance(level[0], (list, tuple)):
        lengths = {len(part) if isinstance(part, (list, tuple)) else -1 for part in level}
        if len(lengths) != 1:
            shown = " and ".join(count(length, "element") for length in sorted(lengths))
            differ = "mix numbers and lists" if -1 in lengths else f"differ in length: {shown}"
            what = "values" if -1 in lengths else "lists"
            raise Violation("S030", "literal", f"the {what} at depth {len(sizes)} {differ}", "give all lists at the same depth the same length")
        sizes.append(len(level[0]))
        level = [part for whole in level for part in whole]
    for part in level:
        if not isinstance(part, _NUMBER) and not hasattr(part, "__index__") and not hasattr(part, "__float__"):
            raise Violation("S032", "literal", f"expected a number, found {type(part).__name__}", "use concat_in_dim or tuple to join operations")
    return tuple(sizes), level


def _default_type(numbers: Sequence[Any]) -> str:
    """Returns the type of the widest number: pred, s32, f32 or c64."""
    kinds = [max((k for k, (kind, _) in enumerate(_DEFAULTS) if isinstance(number, kind)), default=2) for number in numbers]
    # In Python, a bool is also an int; here it has the narrower type, pred.
    kinds = [0 if isinstance(number, bool) else kind for number, kind in zip(numbers, kinds, strict=True)]
    return _DEFAULTS[max(kinds, default=2)][1]


def _encode(element: ElementType, numbers: Sequence[Any]) -> bytes:
    if element.kind == "complex":
        part = ELEMENT_TYPES[PART_TYPES[element.name]]
        parts = [x for number in map(complex, numbers) for x in (number.real, number.imag)]
        return _encode(part, parts)
    for number in numbers:
        _check_kind(element, number)
    if element.kind == "pred":
        return bytes(map(int, numbers))
    if element.is_integral:
        return _encode_integers(element, list(map(index, numbers)))
    low, high = representable_range(element.name)
    floats = list(map(float, numbers))
    for number in floats:
        if isfinite(number) and number and not low < number < high:
            raise Violation("S031", "literal", f"{number} is out of range for {element.name}")
    return encode_floats(element.name, floats)


def _encode_integers(element: ElementType, numbers: Iterable[int]) -> bytes:
    code = _ARRAY_CODES[max(element.bits, 8)]
    numbers = list(numbers)
    for number in numbers:
        if not element.minimum <= number <= element.maximum:
            wider = "s64" if element.name == "s32" and -(1 << 63) <= number < 1 << 63 else None
            hint = f'give the element type, as in constant({number}, "{wider}")' if wider else None
            raise Violation("S031", "literal", f"{number} is out of range for {element.name}", hint)
    return pack_numbers(code if element.kind == "signed" else code.upper(), numbers)


def _check_kind(element: ElementType, number: Any) -> None:
    """Raises Violation for a number that the type can hold only after a conversion."""
    if element.kind == "pred":
        fits = isinstance(number, bool) or number in (0, 1)
    elif element.is_integral:
        fits = hasattr(number, "__index__") and not isinstance(number, bool)
    else:
        fits = not isinstance(number, (bool, complex))
    if not fits:
        raise Violation("S032", "literal", f"{number!r} is not a value of {element.name}", "use convert_element_type to convert values")


# ---- arrays ------------------------------------------------------------------------------------


def _array_literal(value: Any) -> Literal:
    """Returns the literal for an array.

    The array is read through the buffer protocol or, for types that buffers do not support, through
    the attributes of a NumPy array.
    """
    try:
        view = memoryview(value)
    except (TypeError, ValueError):
        return _named_array(value)
    name, size = _buffer_type(view.format), view.itemsize
    if name is None:
        raise Violation("S032", "literal", f"no element type has the buffer format '{view.format}'")
    data = view.tobytes()
    return literal_from_bytes(array_shape(name(size), tuple(view.shape or ())), _little_endian(data, view.format, size, name(size)))


def _buffer_type(code: str) -> Callable[[int], str] | None:
    """Returns a function from item size to element type; None for non-numeric formats."""
    bare = code.lstrip("@=<>!")
    if bare == _BOOL_FORMAT:
        return lambda size: "pred"
    if bare in _COMPLEX_FORMATS:
        return lambda size: _COMPLEX_FORMATS[bare]
    prefix = _FORMAT_KINDS.get(bare)
    return None if prefix is None else lambda size: f"{prefix}{8 * size}"


def _little_endian(data: bytes, code: str, size: int, name: str) -> bytes:
    swapped = code[:1] in (">", "!") or (code[:1] not in ("<", ">", "!") and sys.byteorder == "big")
    if not swapped:
        return data
    width = size // 2 if name in PART_TYPES else size
    return b"".join(data[k : k + width][::-1] for k in range(0, len(data), width))


def _named_array(value: Any) -> Literal:
    name = str(getattr(getattr(value, "dtype", None), "name", ""))
    element = ELEMENT_TYPES.get(_element_type_name(name))
    if element is None or not hasattr(value, "tobytes"):
        raise Violation("S032", "literal", f"expected a number, a list or an array, found {type(value).__name__}" + f" of {name}" * bool(name))
    data: bytes = value.tobytes()
    if element.bits < 8:
        data = data.translate(_whole_bytes(element))
    return literal_from_bytes(array_shape(element.name, tuple(value.shape)), data)


def _whole_bytes(element: ElementType) -> bytes:
    """Returns a table that translates the bytes of narrow array elements to those of a literal.

    The table sets the upper bits of each byte, which ml_dtypes leaves undefined.
    """
    mask, top = (1 << element.bits) - 1, 1 << (element.bits - 1)
    extension = 0xFF & ~mask if element.kind == "signed" else 0
    return bytes([byte & mask | (extension if byte & top else 0) for byte in range(256)])


def _element_type_name(name: str) -> str:
    """Returns the HLO name of a NumPy or ml_dtypes type.

    >>> _element_type_name("float8_e4m3fn"), _element_type_name("uint4"), _element_type_name("bfloat16")
    ('f8e4m3fn', 'u4', 'bf16')
    """
    if name in _NAMES:
        return _NAMES[name]
    prefix = next((pair for pair in _PREFIXES if name.startswith(pair[0])), None)
    return name if prefix is None else prefix[1] + name.removeprefix(prefix[0])


def _convert(literal: Literal, element_type: str | None) -> Literal:
    """Converts the values of a literal to another type, which must be able to hold them."""
    if element_type is None or literal.shape.element_type == element_type:
        return literal
    element = ELEMENT_TYPES[element_type]
    shape = array_shape(element_type, literal.shape.dimensions)
    return literal_from_bytes(shape, _encode(element, _numbers(literal)))


def _numbers(literal: Literal) -> list[Any]:
    element, data = ELEMENT_TYPES[literal.shape.element_type], decode(literal)
    kind = kind_of(element.name)
    if kind == "pred":
        return [bool(value) for value in data]
    if kind == "float":
        return list(decode_floats(element.name, data))
    if kind == "complex":
        parts = decode_floats(PART_TYPES[element.name], data)
        return [complex(real, imag) for real, imag in zip(parts[::2], parts[1::2], strict=True)]
    code = _ARRAY_CODES[8 * element_bytes(element)]
    return list(unpack_numbers(code if kind == "signed" else code.upper(), data))
