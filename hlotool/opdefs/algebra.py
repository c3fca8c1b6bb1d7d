"""The algebra of opcodes with two operands: identities, absorbing elements and the like, by type.

The algebra is exact: an identity preserves every value of the type bit for bit, including -0.0 and
infinities; only NaNs may be replaced by other NaNs. Laws of real arithmetic that floats violate are
left out: x + 0 is not always x, since -0.0 + 0.0 is 0.0. Complex types have no identities or
absorbing elements, since inf * 0 is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from hlotool.record import Record
from hlotool.shapes.dtype import ElementType

__all__ = ["NO_ALGEBRA", "Algebra", "Element", "Number", "greatest", "least", "ones", "value", "zero"]

Number = int | float
"""The value of an element: an integer for integral types and pred (1 for true), a float for floats.

The floats -0.0 and 0.0 are different values.
"""

Element = Callable[[ElementType], Number | None]
"""A special element as a function of the element type; None for types that do not have it."""


def _none(row: ElementType) -> Number | None:
    return None


class Algebra(Record):
    """The special elements of an opcode with two operands.

    If the second operand is `identity`, the result is the first operand. If the first operand is
    `absorbing`, it is the result. If the opcode is COMMUTATIVE, both statements also hold with the
    operands swapped. `of_itself` is the result for two equal operands. `on_pred` is the opcode that
    performs the same operation on pred; for pred, the algebra of that opcode applies.
    """

    identity: Element = _none
    absorbing: Element = _none
    of_itself: Element = _none
    on_pred: str | None = None


NO_ALGEBRA = Algebra()


def value(integer: int | None, floating: float | None) -> Element:
    """Returns an element with one number for integral types and pred, and another for floats.

    The element is None for types that do not have it.

    >>> from hlotool.shapes.dtype import ELEMENT_TYPES
    >>> element = value(0, -0.0)
    >>> [element(ELEMENT_TYPES[name]) for name in ("s8", "pred", "f32", "c64")]
    [0, 0, -0.0, None]
    """

    def element(row: ElementType) -> Number | None:
        if row.kind == "float":
            return floating
        return integer if row.is_integral or row.kind == "pred" else None

    return element


zero = value(0, None)
"""Zero for integers and pred; None for floats, which have two zeros."""


def ones(row: ElementType) -> Number | None:
    """Returns the value with all bits set; None unless the type is integral or pred."""
    if row.kind == "pred":
        return 1
    return (-1 if row.kind == "signed" else row.maximum) if row.is_integral else None


def least(row: ElementType) -> Number | None:
    """Returns the smallest number of a type, which is -inf for floats.

    Returns None for pred, complex types, and floats without infinities.

    >>> from hlotool.shapes.dtype import ELEMENT_TYPES
    >>> [least(ELEMENT_TYPES[name]) for name in ("s8", "u8", "bf16", "f8e4m3fn", "pred")]
    [-128, 0, -inf, None, None]
    """
    if row.float_format is not None:
        return -inf if row.float_format.nonfinite == "ieee" else None
    return row.minimum if row.is_integral else None


def greatest(row: ElementType) -> Number | None:
    """Returns the largest number of a type, which is inf for floats.

    Returns None for pred, complex types, and floats without infinities.
    """
    if row.float_format is not None:
        return inf if row.float_format.nonfinite == "ieee" else None
    return row.maximum if row.is_integral else None
