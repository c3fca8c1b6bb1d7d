"""Algebra of opcodes with two operands: which elements change nothing, and which decide alone, by element type.

Exact: an identity gives back every value of the type, -0.0, infinities and NaN included, bit for bit (but which NaN a NaN is). What holds
of the reals only, as that x + 0 is x, is not said here: -0.0 + 0.0 is 0.0. Complex numbers have no such elements, since inf * 0 is NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from hlotool.record import Record
from hlotool.shapes.dtype import ElementType

__all__ = ["NO_ALGEBRA", "Algebra", "Element", "Number", "greatest", "least", "ones", "value", "zero"]

Number = int | float
"""The value of an element: an integer for integral types and pred (1 for true), a float for floats, where -0.0 and 0.0 are two values."""

Element = Callable[[ElementType], Number | None]
"""An element of each type; None for types that have no such element."""


def _none(row: ElementType) -> Number | None:
    return None


class Algebra(Record):
    """What an opcode of two operands does with certain elements.

    `identity` as second operand gives back the first one; `absorbing` as first operand is the result whatever the second one is. Where the
    opcode is COMMUTATIVE, either may be the other operand. `of_itself` is the result for two equal operands. `on_pred` is the opcode that
    computes the same of pred, and whose algebra holds there.
    """

    identity: Element = _none
    absorbing: Element = _none
    of_itself: Element = _none
    on_pred: str | None = None


NO_ALGEBRA = Algebra()


def value(of_integers: int | None, of_floats: float | None) -> Element:
    """The same number in all integral types and pred, another one in all floats; None where there is none.

    >>> from hlotool.shapes.dtype import ELEMENT_TYPES
    >>> element = value(0, -0.0)
    >>> [element(ELEMENT_TYPES[name]) for name in ("s8", "pred", "f32", "c64")]
    [0, 0, -0.0, None]
    """

    def element(row: ElementType) -> Number | None:
        if row.kind == "float":
            return of_floats
        return of_integers if row.is_integral or row.kind == "pred" else None

    return element


zero = value(0, None)
"""Zero of integers and pred; of floats there are two, so rules about them name one."""


def ones(row: ElementType) -> Number | None:
    """The integer, or pred, with all bits set."""
    if row.kind == "pred":
        return 1
    return (-1 if row.kind == "signed" else row.maximum) if row.is_integral else None


def least(row: ElementType) -> Number | None:
    """The number that no other is smaller than: -inf where the type has infinities.

    >>> from hlotool.shapes.dtype import ELEMENT_TYPES
    >>> [least(ELEMENT_TYPES[name]) for name in ("s8", "u8", "bf16", "f8e4m3fn", "pred")]
    [-128, 0, -inf, None, None]
    """
    if row.float_format is not None:
        return -inf if row.float_format.nonfinite == "ieee" else None
    return row.minimum if row.is_integral else None


def greatest(row: ElementType) -> Number | None:
    """The number that no other is larger than: inf where the type has infinities."""
    if row.float_format is not None:
        return inf if row.float_format.nonfinite == "ieee" else None
    return row.maximum if row.is_integral else None
