"""Literals: the values of constants, as text or as bytes.

`literals` parses, prints and decodes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod

from hlotool.record import Record, replace
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.shapes.shape import UNBOUNDED, Shape, tuple_shape

__all__ = ["ELIDED", "Literal", "element_bytes", "literal_from_bytes", "literal_shape", "tuple_literal"]

ELIDED = "{...}"
"""The text of an array whose values have been left out."""


class Literal(Record):
    """The value of a constant: an array held as `text` or as `data`, or a tuple of `elements`.

    `text` has the elements as written, with normalized braces, whitespace and index comments. A bare `7` or `,`, which XLA completes with
    zeros, is not expanded. `data` has the values in row-major order, little-endian, with a whole byte for each element of less than eight
    bits (integers sign-extended), and complex numbers as real part and imaginary part.

    Literals are equal if they have the same shape and text, or the same shape and bytes; the numbers are not compared. `shape` is the result
    of `literal_shape`: static except for dimensions written `?`, and without `element_size_in_bits`.

    >>> from hlotool.shapes.shape import array_shape
    >>> Literal(array_shape("f32", (2,)), "{1, 2.5}").elided
    False
    """

    shape: Shape
    text: str = ""
    data: bytes | None = None
    elements: tuple[Literal, ...] = ()
    _array: object = None

    # Compared leaf by leaf, since tuples may nest deeper than Python recurses.

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
        """The decoded values, cached here by the interpreter; None if it has not decoded them yet."""
        return self._array

    def cache_array(self, array: object) -> None:
        """Caches the decoded values as `array`."""
        object.__setattr__(self, "_array", array)

    @property
    def elided(self) -> bool:
        """Whether the values are unknown: an array written `{...}`, or a tuple that contains one."""
        return any(leaf.text == ELIDED for leaf in self.leaves()) if self.elements else self.text == ELIDED

    @property
    def element_count(self) -> int:
        """The number of elements of the array, or of all arrays of the tuple together."""
        # As in XLA, a dimension written `?` has size 0 in a literal.
        return sum(prod(max(size, 0) for size in leaf.shape.dimensions) for leaf in self.leaves() if not leaf.shape.is_tuple)

    def leaves(self) -> Iterator[Literal]:
        """The arrays and empty tuples that the literal consists of, in order; the literal itself if it is an array."""
        stack = [self]
        while stack:
            literal = stack.pop()
            if literal.elements:
                stack.extend(reversed(literal.elements))
            else:
                yield literal


def tuple_literal(elements: Iterable[Literal]) -> Literal:
    """The tuple literal of `elements`.

    >>> tuple_literal(()).shape.text
    '()'
    """
    elements = tuple(elements)
    return Literal(tuple_shape(element.shape for element in elements), elements=elements)


def literal_shape(shape: Shape) -> Shape:
    """The shape of the value of a constant: static and without a buffer or a layout's `element_size_in_bits`, as in XLA.

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
    """The size of one element in a literal's data, in bytes."""
    return max(element.bits, 8) // 8


def literal_from_bytes(shape: Shape, data: bytes) -> Literal:
    """The array literal with these values: row-major, little-endian, with a whole byte for each element of less than eight bits.

    Raises ValueError if `data` does not have the size of the shape.

    >>> from hlotool.shapes.shape import array_shape
    >>> literal_from_bytes(array_shape("s16", (2,)), b"\\1\\0\\2\\0").element_count
    2
    """
    literal = Literal(literal_shape(shape), data=bytes(data))
    expected = literal.element_count * element_bytes(ELEMENT_TYPES[literal.shape.element_type])
    if len(data) != expected:
        raise ValueError(f"{shape.text_without_layout} holds {expected} bytes, not {len(data)}")
    return literal
