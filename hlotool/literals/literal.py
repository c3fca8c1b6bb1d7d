"""Literals: the values of constants, as text or as bytes.

Literals are compared by value, independently of their representation. Only the files listed in
`tests/test_layers.py` use the fields of the representation; all other files use `==`, `decode`,
`splat_bytes` and `literals.print.literal_text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import islice
from math import isfinite, isnan, prod

from hlotool.errors import HlotoolError
from hlotool.literals.data import PART_TYPES, each_token, element_bytes, element_tokens, encoded
from hlotool.literals.floats import decode_floats
from hlotool.record import Record, replace
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.shapes.shape import UNBOUNDED, Shape, array_shape, tuple_shape

__all__ = [
    "ELIDED", "MAX_WRITTEN", "Literal", "abbreviated", "decode", "has_nan_or_infinity", "literal_from_bytes", "literal_shape", "splat_bytes",
    "tuple_literal", "value_key",
]  # fmt: skip

ELIDED = "{...}"
"""The text of an array whose values are omitted."""

MAX_WRITTEN = 1 << 20
"""The number of elements above which an array with zeros after the first element is abbreviated."""

# A longer array is hashed by its first elements. The other elements are decoded only to compare two
# arrays with the same beginning.
_MAX_HASHED = 1 << 14
_FIRST_HASHED = 64


class Literal(Record):
    """The value of a constant: an array or a tuple.

    An array is either text, in `spelling`, or bytes, in `packed`. A tuple has `elements`.

    `spelling` contains the elements as written, with normalized braces, whitespace and index
    comments. A bare `7` or `,`, which XLA completes with zeros, is not expanded. `packed` contains
    the values in row-major order, little-endian, with a whole byte for each element of less than
    eight bits (integers are sign-extended). Complex numbers are stored as real part and imaginary
    part.

    Literals are equal if they have the same shape and the same values, bit for bit: a NaN is equal
    to itself, and 0.0 is not equal to -0.0. An array with elided values is equal only to another
    elided array. `shape` is the result of `literal_shape`: static except for dimensions written
    `?`, and without `element_size_in_bits`.

    >>> from hlotool.shapes.shape import array_shape
    >>> shape = array_shape("s16", (2,))
    >>> Literal(shape, "{1, 2}") == Literal(shape, "{01, 2}") == literal_from_bytes(shape, b"\\1\\0\\2\\0")
    True
    >>> Literal(shape, "{...}").elided
    True
    """

    shape: Shape
    spelling: str = ""
    packed: bytes | None = None
    elements: tuple[Literal, ...] = ()
    _array: object = None
    _compared: bytes | str | None = None
    _hash: int | None = None
    # False until computed.
    _splat: bytes | bool | None = False

    # Literals are compared leaf by leaf, because tuples may be nested more deeply than Python's
    # recursion limit allows.

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Literal):
            return NotImplemented
        # Equal shapes have the same number of leaves, in the same order.
        return self.shape == other.shape and all(map(_are_equal, self.leaves(), other.leaves()))

    def __hash__(self) -> int:
        if self._hash is None:
            object.__setattr__(self, "_hash", hash((self.shape, *map(_values_to_hash, self.leaves()))))
        known: int = self._hash  # type: ignore[assignment]  # it has just been set
        return known

    def __repr__(self) -> str:
        return f"<literal {self.shape.text} {self.spelling[:60] or (self.packed or b'')[:30].hex()}>"

    def _significant(self) -> bytes | str:
        """Returns the bytes of an array without trailing zeros, or text if the bytes are unknown.

        For arrays with the same shape, the bytes are equal only if all elements are equal.
        """
        values = self._compared
        if values is None:
            values = _compute_significant(self)
            object.__setattr__(self, "_compared", values)
        return values

    @property
    def data(self) -> bytes | None:
        """The values of an array as bytes, in the format of `literal_from_bytes`.

        None for a tuple, and for an array with elided values. A short text may stand for many
        bytes, which are created again at each access.

        >>> from hlotool.shapes.shape import array_shape
        >>> Literal(array_shape("s16", (2,)), "{1, 2}").data
        b'\\x01\\x00\\x02\\x00'
        """
        return None if self.shape.is_tuple or self.elided else decode(self)

    @property
    def text(self) -> str:
        """The values as they are printed in full.

        >>> from hlotool.shapes.shape import array_shape
        >>> literal_from_bytes(array_shape("s16", (2,)), b"\\1\\0\\2\\0").text
        '{1, 2}'
        """
        # Imported on use, since the printer of literals needs this module.
        text: str = import_module("hlotool.literals.print").literal_text(self)
        return text

    @property
    def array(self) -> object:
        """The decoded values, cached here by the interpreter; None if not decoded yet."""
        return self._array

    def cache_array(self, array: object) -> None:
        """Caches the decoded values as `array`."""
        object.__setattr__(self, "_array", array)

    @property
    def elided(self) -> bool:
        """True if values are unknown: an array written `{...}`, or a tuple that contains one."""
        return any(leaf.spelling == ELIDED for leaf in self.leaves()) if self.elements else self.spelling == ELIDED

    @property
    def is_abbreviated(self) -> bool:
        """True if an array is written as a bare number or `,`, which XLA completes with zeros."""
        return bool(self.shape.dimensions) and self.packed is None and self.spelling[:1] != "{"

    @property
    def element_count(self) -> int:
        """The number of elements of the array, or of all arrays in the tuple."""
        # As in XLA, a dimension written `?` has size 0 in a literal.
        return sum(prod(max(size, 0) for size in leaf.shape.dimensions) for leaf in self.leaves() if not leaf.shape.is_tuple)

    def leaves(self) -> Iterator[Literal]:
        """Yields the arrays and empty tuples in the literal, in order.

        If the literal is an array, yields the literal itself.
        """
        stack = [self]
        while stack:
            literal = stack.pop()
            if literal.elements:
                stack.extend(reversed(literal.elements))
            else:
                yield literal


def tuple_literal(elements: Iterable[Literal]) -> Literal:
    """Returns the tuple literal with these elements.

    >>> tuple_literal(()).shape.text
    '()'
    """
    elements = tuple(elements)
    return Literal(tuple_shape(element.shape for element in elements), elements=elements)


def literal_shape(shape: Shape) -> Shape:
    """Returns the shape of a constant's value.

    As in XLA, the shape is static, it is not a buffer, and its layout has no
    `element_size_in_bits`.

    >>> from hlotool.shapes.shape import array_shape
    >>> literal_shape(array_shape("f32", (2,), (True,))).text
    'f32[2]{0}'
    """
    if shape.element_type == "buffer":
        return literal_shape(shape.elements[0])
    layout = shape.layout
    if layout is not None and (layout.element_size_in_bits or layout.dynamic_shape_metadata_prefix_bytes < 0):
        layout = replace(layout, element_size_in_bits=0, dynamic_shape_metadata_prefix_bytes=max(layout.dynamic_shape_metadata_prefix_bytes, 0))
    elif not shape.dynamic:
        return shape
    unbounded = tuple(size == UNBOUNDED for size in shape.dimensions)
    return replace(shape, dynamic=unbounded if any(unbounded) else (), layout=layout)


def literal_from_bytes(shape: Shape, data: bytes) -> Literal:
    """Returns the array literal with these values.

    The values are row-major and little-endian, with a whole byte for each element of less than
    eight bits. Raises ValueError if `data` does not have the size of the shape.

    >>> from hlotool.shapes.shape import array_shape
    >>> literal_from_bytes(array_shape("s16", (2,)), b"\\1\\0\\2\\0").element_count
    2
    """
    literal = Literal(literal_shape(shape), packed=bytes(data))
    expected = literal.element_count * element_bytes(ELEMENT_TYPES[literal.shape.element_type])
    if len(data) != expected:
        raise ValueError(f"expected data of length {expected} for {shape.text_without_layout}, got {len(data)}")
    return literal


# ---- values ------------------------------------------------------------------------------------


def decode(literal: Literal) -> bytes:
    """Returns the values of an array literal as bytes, in the format of `literal_from_bytes`.

    Raises ValueError for a tuple, and HlotoolError if the values are elided.

    >>> from hlotool.shapes.shape import array_shape
    >>> decode(Literal(array_shape("f32", (2,)), "{1, -0.0}")).hex()
    '0000803f00000080'
    """
    if literal.packed is not None:
        return literal.packed
    if literal.shape.is_tuple:
        raise ValueError("cannot decode a tuple literal; decode its elements")
    if literal.elided:
        raise HlotoolError(f"the values of an elided constant of shape {literal.shape.text_without_layout} are not known")
    element = ELEMENT_TYPES[literal.shape.element_type]
    data = encoded(element, element_tokens(literal.spelling))
    return data.ljust(literal.element_count * element_bytes(element), b"\0") if literal.is_abbreviated else data


def abbreviated(literal: Literal) -> Literal:
    """Returns an abbreviated array with only its first element; returns other literals unchanged.

    >>> from hlotool.shapes.shape import array_shape
    >>> abbreviated(Literal(array_shape("s8", (3000, 100000)), "1")).shape.text
    's8[1]{0}'
    """
    if not literal.is_abbreviated or literal.element_count < 2:
        return literal
    return Literal(array_shape(literal.shape.element_type, (1,)), literal.spelling)


def value_key(literal: Literal) -> bytes:
    """Returns a key for an array literal's values, for comparison within one element type.

    Two literals have the same key if they have the same number of elements and the same values.
    Trailing zeros are only counted, because a short text may stand for a billion of them. Raises
    the same errors as `decode`.

    >>> from hlotool.shapes.shape import array_shape
    >>> shape = array_shape("s8", (3,))
    >>> value_key(Literal(shape, "1")) == value_key(Literal(shape, "{1, 0, 0}"))
    True
    """
    count = literal.element_count * element_bytes(ELEMENT_TYPES[literal.shape.element_type])
    return decode(abbreviated(literal)).rstrip(b"\0") + count.to_bytes(16, "little")


def _are_equal(a: Literal, b: Literal) -> bool:
    if a.spelling == b.spelling and a.packed == b.packed:
        return True
    return a._significant() == b._significant()


def _compute_significant(leaf: Literal) -> bytes | str:
    if leaf.packed is not None:
        return leaf.packed.rstrip(b"\0")
    if leaf.elided or not leaf.shape.is_array:
        return leaf.spelling
    return _encode_significant(leaf.shape.element_type, leaf.spelling, element_tokens(leaf.spelling))


def _values_to_hash(leaf: Literal) -> bytes | str:
    """Returns the values to hash: all values of a small array, or the first of a large array."""
    if leaf.element_count <= _MAX_HASHED or leaf.elided:
        return leaf._significant()
    row = ELEMENT_TYPES[leaf.shape.element_type]
    if leaf.packed is not None:
        return leaf.packed[: _FIRST_HASHED * element_bytes(row)].rstrip(b"\0")
    parts = 2 if row.kind == "complex" else 1
    return _encode_significant(row.name, "", list(islice(each_token(leaf.spelling), _FIRST_HASHED * parts)))


def _encode_significant(element_type: str, spelling: str, tokens: list[str]) -> bytes | str:
    """Returns the bytes of elements without trailing zeros; `spelling` if an element is invalid."""
    try:
        return encoded(ELEMENT_TYPES[element_type], tokens).rstrip(b"\0")
    except (HlotoolError, ValueError, OverflowError):
        return spelling


def splat_bytes(literal: Literal) -> bytes | None:
    """Returns the bytes of the element if all elements of an array are the same.

    Returns None if the elements differ or are unknown, or if the array is empty.

    >>> from hlotool.shapes.shape import array_shape
    >>> splat_bytes(Literal(array_shape("s8", (2,)), "{7, 07}")), splat_bytes(Literal(array_shape("s8", (2,)), "{7, 8}"))
    (b'\\x07', None)
    """
    known = literal._splat
    if known is False:
        known = _splat_bytes(literal)
        object.__setattr__(literal, "_splat", known)
    return known if isinstance(known, bytes) else None


def _splat_bytes(literal: Literal) -> bytes | None:
    shape, count = literal.shape, literal.element_count
    if not shape.is_array or literal.elided or not count:
        return None
    row = ELEMENT_TYPES[shape.element_type]
    if literal.packed is not None:
        size, data = element_bytes(row), literal.packed
        first = data[:size]
        return first if first and data[size : 2 * size] in (first, b"") and data == first * count else None
    if literal.is_abbreviated or not shape.dimensions:
        first = _number_bytes(row.name, literal.spelling)
        return first if count == 1 or not any(first) else None
    elements = _first_distinct(row, literal.spelling)
    return elements[0] if len(elements) == 1 else None


def _number_bytes(element_type: str, spelling: str) -> bytes:
    """Returns the bytes of a number, or of a zero for `,`."""
    row = ELEMENT_TYPES[element_type]
    return next(iter(_first_distinct(row, spelling)), bytes(element_bytes(row)))


def _first_distinct(row: ElementType, spelling: str) -> list[bytes]:
    """Returns the first element of an array, and the first different element if there is one."""
    tokens = each_token(spelling)
    known: dict[tuple[str, ...], bytes] = {}
    for element in zip(tokens, tokens, strict=False) if row.kind == "complex" else zip(tokens, strict=False):
        if element not in known:
            data = encoded(row, element)
            if known and data != next(iter(known.values())):
                return [next(iter(known.values())), data]
            known[element] = data
    return [*known.values()][:1]


def has_nan_or_infinity(literal: Literal) -> tuple[bool, bool]:
    """Returns whether a floating-point or complex array has NaNs, and whether it has infinities.

    >>> from hlotool.shapes.shape import array_shape
    >>> has_nan_or_infinity(Literal(array_shape("f32", (2,)), "{-inf, 1}"))
    (False, True)
    """
    if literal.packed is None:
        return "nan" in literal.spelling, "inf" in literal.spelling
    name = literal.shape.element_type
    numbers = [number for number in decode_floats(PART_TYPES.get(name, name), literal.packed) if not isfinite(number)]
    has_nan = any(map(isnan, numbers))
    return has_nan, not all(map(isnan, numbers))
