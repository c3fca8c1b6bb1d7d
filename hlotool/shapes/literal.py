"""Literals: the values of constants, as source spelling or as bytes.

Reading, writing and converting them is the work of `text.literals.parse` and its neighbours; nothing here knows a digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from hlotool.record import Record, replace
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.shapes.shape import UNBOUNDED, Shape, tuple_shape

__all__ = ["ELIDED", "Literal", "element_bytes", "literal_from_bytes", "literal_shape", "tuple_literal"]

ELIDED = "{...}"
"""Spelling of an array whose values were left out."""


class Literal(Record):
    """The value of a constant: an array held as `text` or as `data`, or a tuple of `elements`.

    `text` is the source spelling with normalised braces, whitespace and index comments (a bare `7` or `,`, which XLA fills up with zeros,
    stays as it is for more than one element); `data` are the values in row-major order and
    little-endian, one byte for each element under eight bits (integers sign-extended), complex as real part, imaginary part.
    Two literals are equal when they hold the same shape and spelling or the same shape and bytes, not when they mean the same numbers.
    The shape is static but for dimensions written `?`, has no `element_size_in_bits`, and is what the constant's own shape becomes.

    >>> from hlotool.shapes.shape import array_shape
    >>> Literal(array_shape("f32", (2,)), "{1, 2.5}").elided
    False
    """

    shape: Shape
    text: str = ""
    data: bytes | None = None
    elements: tuple[Literal, ...] = ()
    _array: object = None

    # Tuples nest deeper than Python recurses, so values are compared leaf by leaf.

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return self.shape == other.shape and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((self.shape, tuple(self._parts())))

    def __repr__(self) -> str:
        return f"<literal {self.shape.text} {self.text[:60]}>"

    def _parts(self) -> list[tuple[str, bytes | None]]:
        return [(leaf.text, leaf.data) for leaf in self.leaves()]

    @property
    def array(self) -> object:
        """What the interpreter keeps here, to decode a constant only once; None before."""
        return self._array

    def keep_array(self, array: object) -> None:
        object.__setattr__(self, "_array", array)

    @property
    def elided(self) -> bool:
        """Whether the values are unknown: a `{...}`, or a tuple with one inside."""
        return any(leaf.text == ELIDED for leaf in self.leaves()) if self.elements else self.text == ELIDED

    @property
    def element_count(self) -> int:
        """How many elements the array holds; those of a tuple are counted together."""
        # A dimension written ? holds nothing: XLA gives such a literal no elements.
        return sum(prod(max(size, 0) for size in leaf.shape.dimensions) for leaf in self.leaves() if not leaf.shape.is_tuple)

    def leaves(self) -> Iterator[Literal]:
        """The arrays below, in order, and empty tuples; the literal itself when it is an array."""
        stack = [self]
        while stack:
            literal = stack.pop()
            if literal.elements:
                stack.extend(reversed(literal.elements))
            else:
                yield literal


def tuple_literal(elements: Iterable[Literal]) -> Literal:
    """The tuple of `elements`.

    >>> tuple_literal(()).shape.text
    '()'
    """
    elements = tuple(elements)
    return Literal(tuple_shape(element.shape for element in elements), elements=elements)


def literal_shape(shape: Shape) -> Shape:
    """The shape of a constant's value: without bounds, element sizes in bits and buffers.

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


def element_bytes(element: ElementType) -> int:
    """Size of one element in a literal's data."""
    return max(element.bits, 8) // 8


def literal_from_bytes(shape: Shape, data: bytes) -> Literal:
    """The array literal with these values: row-major, little-endian, one byte for each element under eight bits.

    >>> from hlotool.shapes.shape import array_shape
    >>> literal_from_bytes(array_shape("s16", (2,)), b"\1\0\2\0").element_count
    2
    """
    literal = Literal(literal_shape(shape), data=bytes(data))
    expected = literal.element_count * element_bytes(ELEMENT_TYPES[literal.shape.element_type])
    if len(data) != expected:
        raise ValueError(f"{shape.text_without_layout} holds {expected} bytes, not {len(data)}")
    return literal
