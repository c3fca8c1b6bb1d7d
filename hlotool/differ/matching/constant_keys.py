"""Keys for the values of constants: equal values have equal keys, regardless of spelling."""

from __future__ import annotations

from collections.abc import Hashable

from hlotool.errors import HlotoolError
from hlotool.literals.data import element_bytes
from hlotool.literals.literal import Literal, value_key
from hlotool.shapes.dtype import ELEMENT_TYPES

__all__ = ["ConstantKeys"]

# Decoding text longer than this would take more time than the rest of a comparison.
_MAX_SHORT_TEXT = 1 << 16


class ConstantKeys:
    """Keys of constants: the decoded bytes, or the text if it is long and need not be decoded.

    >>> from hlotool.shapes.shape import array_shape
    >>> keys, shape = ConstantKeys(), array_shape("f32", (2,))
    >>> keys.of(Literal(shape, "{1, 2}")) == keys.of(Literal(shape, "{1.0, 2e0}"))
    True
    """

    def __init__(self) -> None:
        self._is_second = False
        # For the first module: the spellings of long literals; the long literals not decoded so
        # far, by the size of their values in bytes; the values of all other literals; and the sizes
        # of all values.
        self._texts: set[str] = set()
        self._undecoded: dict[int, list[Literal]] = {}
        self._values: set[bytes] = set()
        self._sizes: set[int] = set()
        # The spellings of long literals, by decoded value.
        self._text_of: dict[bytes, str] = {}

    def begin_second(self) -> None:
        """Begins the second module: all further literals belong to it."""
        self._is_second = True

    def of(self, literal: Literal) -> Hashable:
        """Returns the key of a literal."""
        key = self._of_second if self._is_second else self._of_first
        return tuple([key(leaf) if leaf.shape.is_array and not leaf.elided else leaf.spelling for leaf in literal.leaves()])

    def _of_first(self, leaf: Literal) -> Hashable:
        self._sizes.add(_size(leaf))
        if not _is_long(leaf):
            value = _decoded(leaf)
            if isinstance(value, bytes):
                self._values.add(value)
            return value
        if leaf.spelling not in self._texts:
            self._texts.add(leaf.spelling)
            self._undecoded.setdefault(_size(leaf), []).append(leaf)
        return leaf.spelling

    def _of_second(self, leaf: Literal) -> Hashable:
        if _is_long(leaf) and (leaf.spelling in self._texts or _size(leaf) not in self._sizes):
            return leaf.spelling
        value = _decoded(leaf)
        if isinstance(value, str) or (value in self._values and not _is_long(leaf)):
            return value
        for other in self._undecoded.pop(_size(leaf), ()):
            first = _decoded(other)
            if isinstance(first, bytes):
                self._text_of.setdefault(first, other.spelling)
        return self._text_of.get(value, value)


def _is_long(leaf: Literal) -> bool:
    return leaf.packed is None and len(leaf.spelling) > _MAX_SHORT_TEXT


def _size(leaf: Literal) -> int:
    return leaf.element_count * element_bytes(ELEMENT_TYPES[leaf.shape.element_type])


def _decoded(leaf: Literal) -> bytes | str:
    """Returns the value of an array, or its text if the text is not a valid value."""
    try:
        return value_key(leaf)
    except (HlotoolError, ValueError, OverflowError):
        return leaf.spelling
