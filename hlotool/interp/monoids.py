"""Recognizes computations that only apply one associative operation to their two parameters.

Other computations are run as they are written. Monoids are an optimization with the same results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hlotool.analysis.simplify import identity_of
from hlotool.interp.dtypes import NUMBERS, Array, number_type
from hlotool.ir.model import Computation
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import IDEMPOTENT
from hlotool.record import Record
from hlotool.shapes.dtype import ELEMENT_TYPES

__all__ = ["Monoid", "monoid_of"]


class Monoid(Record):
    """An operation for which NumPy has a reduction: one ufunc for numbers, one for pred.

    `opcode` is the operation, whose algebra is known to the op table.
    `winning_zero` is the sign bit of the zero that is the result for zeros of both signs if the operation compares, else None.
    """

    opcode: str
    numbers: Any
    preds: Any
    winning_zero: bool | None = None

    @property
    def is_sum(self) -> bool:
        return self.numbers is np.add

    def may_repeat(self, init: Array) -> bool:
        """Whether it makes no difference how often init enters a reduction."""
        number, op = number_type(init), OPS[self.opcode]
        if number.kind == "pred" or IDEMPOTENT in op.traits:
            return True
        # Of either part of a complex number.
        identity = identity_of(op, ELEMENT_TYPES["f32"] if number.kind == "complex" else number.element)
        return identity is not None and bool(init.astype(number.computed) == identity)

    def reduced(self, x: Array, init: Array, axes: tuple[int, ...]) -> Array:
        """init combined with all elements along the axes, in the type that both are held in.

        Narrow floats are combined in f32 and rounded once at the end.
        """
        number = number_type(x)
        wide, start = x.astype(number.computed, copy=False), init.astype(number.computed, copy=False)
        ufunc = self.preds if number.kind == "pred" else self.numbers
        # Without a type NumPy sums small integers in 64 bits.
        result = np.asarray(ufunc.reduce(wide, axis=axes, dtype=number.computed, initial=start[()]))
        if number.kind == "float" and self.winning_zero is not None and (result == 0).any():
            result = self._with_signs(result, wide, start, axes)
        return result.astype(number.held, copy=False)

    def works_in_place(self, target: Array) -> bool:
        """Whether `combine_at` equals repeated application: no rounding between the steps is lost, and zeros have the right sign."""
        number = number_type(target)
        return number.computed == number.held and (self.winning_zero is None or number.kind != "float")

    def combine_at(self, target: Array, places: Array, updates: Array) -> None:
        """Combines updates, one after the other, into a flat array at indices that may be repeated."""
        ufunc = self.preds if number_type(target).kind == "pred" else self.numbers
        ufunc.at(target, places, updates)

    def _with_signs(self, result: Array, x: Array, init: Array, axes: tuple[int, ...]) -> Array:
        """Gives zeros, of which NumPy has picked any, the sign of the one that wins."""

        def wins(part: Array) -> Array:
            return np.asarray((part == 0) & (np.signbit(part) == self.winning_zero))

        sign = result.dtype.type(-1.0 if self.winning_zero else 1.0)
        won = wins(x).any(axis=axes) | wins(init)
        return np.where(result == 0, np.copysign(result, np.where(won, sign, -sign)), result)


_MONOIDS = {
    "add": Monoid("add", np.add, np.logical_or),
    "multiply": Monoid("multiply", np.multiply, np.logical_and),
    "maximum": Monoid("maximum", np.maximum, np.logical_or, winning_zero=False),
    "minimum": Monoid("minimum", np.minimum, np.logical_and, winning_zero=True),
    "and": Monoid("and", np.bitwise_and, np.logical_and),
    "or": Monoid("or", np.bitwise_or, np.logical_or),
    "xor": Monoid("xor", np.bitwise_xor, np.logical_xor),
}


def monoid_of(computation: Computation) -> Monoid | None:
    """The monoid of a computation `{ a, b -> op(a, b) }`; None for all others.

    >>> import hlotool
    >>> text = "f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(b, a) } ENTRY e { ROOT p = f32[] parameter(0) }"
    >>> monoid_of(hlotool.parse(text).computations[0]).numbers
    <ufunc 'add'>
    """
    root = computation.root
    monoid = _MONOIDS.get(root.opcode)
    if monoid is None or {x.parameter_number for x in root.operands} != {0, 1} or len(computation.parameters) != 2:
        return None
    # NumPy would convert operands of different types, and it orders complex numbers, which HLO does not.
    types = {x.shape.element_type for x in (root, *root.operands)}
    compares_complex = monoid.winning_zero is not None and NUMBERS[root.shape.element_type].kind == "complex"
    return monoid if len(types) == 1 and not compares_complex else None
