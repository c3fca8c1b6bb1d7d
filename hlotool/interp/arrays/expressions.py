"""Functions on single numbers as expressions, from which plans generate code.

An expression is Python source in which `{0}`, `{1}`, ... stand for the operands. Plans evaluate the
same expression with three kinds of numbers:

* Python's own numbers: unbounded integers, truth values, and doubles;
* NumPy's scalars, which wrap and round like arrays;
* machine numbers, which LLVM compiles: 64-bit integers that wrap, truth values, and floats of both
  widths.

`{zero}` and `{one}` stand for constants of the operands' type, `{type}` for the NumPy type of the
result, `{source}` for that of the operands, `{function}` for the function on arrays, and `{call}`
for a call of this function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

from hlotool.interp.arrays.dtypes import NumberType
from hlotool.record import Record

__all__ = [
    "CALL",
    "LARGER",
    "SMALLER",
    "Bound",
    "Case",
    "Expression",
    "Range",
    "arithmetic_shift",
    "chosen_range",
    "clamped_range",
    "corner_range",
    "left_shift",
    "logical_shift",
    "magnitude_range",
    "masked_range",
    "quotient",
    "remainder",
    "sign",
]

Range: TypeAlias = tuple[int, int]
"""The smallest and the largest possible value of an integer."""


class Bound(NamedTuple):
    """A condition: the operand with this number is between two integers, inclusive.

    None means that there is no limit.
    """

    operand: int
    least: int | None = None
    most: int | None = None

    def holds(self, ranges: Sequence[Range]) -> bool | None:
        """Returns whether the condition holds for operands in these ranges; None if it depends."""
        low, high = ranges[self.operand]
        if (self.least is not None and high < self.least) or (self.most is not None and low > self.most):
            return False
        return True if (self.least is None or low >= self.least) and (self.most is None or high <= self.most) else None

    @property
    def text(self) -> str:
        operand = f"{{{self.operand}}}"
        if self.least == self.most:
            return f"{operand} == {self.least}"
        if self.most is None:
            return f"{operand} >= {self.least}"
        return f"{operand} <= {self.most}" if self.least is None else f"{self.least} <= {operand} <= {self.most}"


class Case(NamedTuple):
    """The text of an expression for operands that meet all of these conditions."""

    text: str
    bounds: tuple[Bound, ...]


class Expression(Record):
    """A function on numbers of one kind.

    The first case whose conditions hold determines the text, and `text` is used if there is none.
    `python`, `native` and `scalar` replace it for one kind of numbers. `overflows` is true if the
    value of Python's integers must be wrapped to the type. `rounds` is true if the value of
    Python's doubles must be rounded if the type is f32: doubles have so many digits that rounding a
    sum, product or quotient of f32 numbers twice is the same as rounding it once.

    `range_of` computes the range of the value, before it is wrapped, from the ranges of the
    operands; it returns None if the range is unknown.
    """

    text: str
    cases: tuple[Case, ...] = ()
    overflows: bool = False
    rounds: bool = False
    range_of: Callable[[Sequence[Range]], Range | None] = lambda ranges: None
    python: str | None = None
    native: str | None = None
    scalar: str | None = None

    def text_for(self, ranges: Sequence[Range]) -> str:
        """Returns the text for integers in these ranges.

        >>> remainder.text_for([(0, 9), (4, 4)])
        '{0} % {1}'
        """
        branches: list[str] = []
        for text, bounds in self.cases:
            known = [bound.holds(ranges) for bound in bounds]
            if False in known:
                continue
            if all(known):
                return " else ".join([*branches, text])
            conditions = [bound.text for bound, holds in zip(bounds, known, strict=True) if not holds]
            branches.append(f"{text} if {' and '.join(conditions)}")
        return " else ".join([*branches, self.text])


CALL = Expression("{call}")
"""The expression of functions that only NumPy computes."""

LARGER = (
    # The sum of two zeros is positive if either zero is positive. The sum of a NaN and a number has
    # the bits of the NaN.
    "{0} if {0} > {1} else {1} if {1} > {0} else {0} if {0} == {1} and {0} != 0 else {0} + {1}"
)
"""The larger of two floats."""
SMALLER = "{0} if {0} < {1} else {1} if {1} < {0} else {0} if {0} == {1} and {0} != 0 else {0} + {1} if {0} != {1} else -(-{0} - {1})"
"""The smaller of two floats."""


def corner_range(combine: Callable[..., int]) -> Callable[[Sequence[Range]], Range]:
    """Returns the range function of an operation that is monotonic in each operand."""

    def find_range(ranges: Sequence[Range]) -> Range:
        ends = [combine(*numbers) for numbers in product(*ranges)]
        return min(ends), max(ends)

    return find_range


def magnitude_range(ranges: Sequence[Range]) -> Range:
    """Returns the range of absolute values."""
    ((low, high),) = ranges
    return max(low, -high, 0), max(high, -low)


def masked_range(ranges: Sequence[Range]) -> Range | None:
    """Returns the range of numbers that have only bits which all operands have."""
    masks = [high for low, high in ranges if low >= 0]
    return (0, min(masks)) if masks else None


def chosen_range(ranges: Sequence[Range]) -> Range:
    """Returns the range of one of two numbers, which a truth value selects."""
    lows, highs = zip(*ranges[1:], strict=True)
    return min(lows), max(highs)


def clamped_range(ranges: Sequence[Range]) -> Range:
    """Returns the range of numbers between two limits; the operands are limit, number, limit."""
    lows, highs = zip(*ranges, strict=True)
    return min(lows[2], max(lows[:2])), min(highs[2], max(highs[:2]))


# ---- integers ----------------------------------------------------------------------------------

# Python rounds quotients down, HLO toward zero. The quotient is rounded up again if it is negative
# and inexact, which cannot overflow, unlike a division of absolute values.
_POSITIVE, _NEGATIVE = (Bound(0, 0), Bound(1, 1)), (Bound(0, None, -1), Bound(1, None, -1))


def _truncated(dividend: int, divisor: int) -> int:
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)


def _quotient_range(ranges: Sequence[Range]) -> Range | None:
    return corner_range(_truncated)(ranges) if ranges[1][0] > 0 else None


quotient = Expression(
    "{0} // {1} + ({0} % {1} != 0)",
    (
        Case("{0} // {1}", _POSITIVE),
        # All bits of a quotient by zero are set.
        Case("~{zero}", (Bound(1, 0, 0),)),
        # The division of the smallest integer by -1 would trap.
        Case("-{0}", (Bound(1, -1, -1),)),
        Case("{0} // {1}", _NEGATIVE),
    ),
    overflows=True,
    range_of=_quotient_range,
)
"""The quotient of integers, rounded toward zero."""


def _remainder_range(ranges: Sequence[Range]) -> Range | None:
    (low, high), (least, most) = ranges
    if least <= 0 <= most:
        # The remainder of a division by zero is the dividend.
        return min(low, 0), max(high, 0)
    largest = max(abs(least), abs(most)) - 1
    return max(min(low, 0), -largest), min(max(high, 0), largest)


remainder = Expression(
    "{0} % {1} - ({1} if {0} % {1} else {zero})",
    (
        Case("{0} % {1}", _POSITIVE),
        Case("{0}", (Bound(1, 0, 0),)),
        Case("{zero}", (Bound(1, -1, -1),)),
        Case("{0} % {1}", _NEGATIVE),
    ),
    range_of=_remainder_range,
)
"""The remainder of integers, with the sign of the dividend."""

sign = Expression("{one} if {0} > 0 else {zero} if {0} == 0 else -{one}")
"""The sign of an integer."""


def left_shift(number: NumberType) -> Expression:
    """Returns the expression of a shift of integers to the left."""
    return Expression("{zero}", (Case("{0} << {1}", (_below_width(number),)),), overflows=True)


def logical_shift(number: NumberType) -> Expression:
    """Returns the expression of a shift of integers to the right, which inserts zeros."""
    bits = number.bits

    def find_range(ranges: Sequence[Range]) -> Range | None:
        (low, high), (least, most) = ranges
        if not 0 <= least <= most < bits:
            return None
        return (low >> most, high >> least) if low >= 0 else (0, ((1 << bits) - 1) >> least) if least > 0 else None

    cases = (
        Case("{0} >> {1}", (Bound(0, 0), _below_width(number))),
        Case(f"({{0}} >> {{1}}) & (({{one}} << ({bits} - {{1}})) - {{one}})", (Bound(1, 1, bits - 1),)),
        Case("{0}", (Bound(1, 0, 0),)),
    )
    return Expression("{zero}", cases, range_of=find_range)


def arithmetic_shift(number: NumberType) -> Expression:
    """Returns the expression of a shift to the right, which inserts copies of the highest bit.

    This bit is the sign of signed integers, but the shift treats it in the same way for unsigned
    ones.
    """
    bits, below = number.bits, _below_width(number)
    if number.kind == "signed":
        return Expression("~{zero}", (Case("{0} >> {1}", (below,)), Case("{zero}", (Bound(0, 0),))))
    is_low = Bound(0, 0, (1 << (bits - 1)) - 1)
    cases = (
        Case("{0} >> {1}", (is_low, below)),
        Case("{zero}", (is_low,)),
        Case("{0}", (Bound(1, 0, 0),)),
        Case(f"({{0}} >> {{1}}) | (~{{zero}} << ({bits} - {{1}}))", (below,)),
    )
    return Expression("~{zero}", cases, overflows=True)


def _below_width(number: NumberType) -> Bound:
    """Returns the condition that a shift moves bits by less than the width of the type."""
    return Bound(1, 0, number.bits - 1)
