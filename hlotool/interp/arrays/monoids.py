"""Recognizes computations that only apply one associative operation to their two parameters.

Other computations are run as written. Recognizing a monoid only saves time; the results are the
same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hlotool.analysis.simplify import identity_of, same_value
from hlotool.interp.arrays.array_reductions import reduce_along, reduce_long_rows
from hlotool.interp.arrays.dtypes import NUMBERS, Array, NumberType, number_type
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.table import OPS
from hlotool.opdefs.traits import ANY_SIGNATURE, IDEMPOTENT, RETURNS
from hlotool.record import Record
from hlotool.shapes.dtype import ELEMENT_TYPES

__all__ = ["Monoid", "independent_results", "monoid_of", "sign_keys"]


class Monoid(Record):
    """An operation for which NumPy has a reduction: one ufunc for numbers, and one for pred.

    `opcode` names the operation; the op table describes its algebra. For a maximum or minimum,
    `winning_zero` is the sign bit of the result for two zeros of different signs; for other
    operations, it is None.
    """

    opcode: str
    numbers: Any
    preds: Any
    winning_zero: bool | None = None

    @property
    def is_sum(self) -> bool:
        return self.numbers is np.add

    @property
    def compares(self) -> bool:
        return self.winning_zero is not None

    def may_repeat(self, init: Array) -> bool:
        """Returns whether a reduction has the same result if `init` enters it more than once."""
        number, op = number_type(init), OPS[self.opcode]
        if number.kind == "pred" or IDEMPOTENT in op.traits:
            return True
        # The identity for complex numbers is the same as for f32.
        identity = identity_of(op, ELEMENT_TYPES["f32"] if number.kind == "complex" else number.element)
        return identity is not None and bool(init.astype(number.computed) == identity)

    def reduce(self, x: Array, init: Array, axes: tuple[int, ...], size: int | None = None) -> Array:
        """Combines `init` and all elements along the axes; the result has the type of `x`.

        Narrow floats are combined in f32 and rounded once at the end. Sums consist of partial sums
        (see `reduce_along`). If `x` is a block of an array of `size` elements, the result is the
        same as in a reduction of the whole array.
        """
        number = number_type(x)
        start = init.astype(number.computed, copy=False)
        kept = [size for k, size in enumerate(x.shape) if k not in axes]
        if not x.size:
            return np.full(kept, start).astype(number.held, copy=False)
        ufunc = self.ufunc(number)
        total = reduce_along(ufunc, x, axes, number.computed, size)
        result = np.asarray(ufunc(total, start))
        if self.may_have_wrong_zeros(result, x, init):
            keys = sign_keys(x)
            result = self.with_signs(result, np.asarray(ufunc(reduce_along(ufunc, keys, axes, keys.dtype), sign_keys(init))))
        return result.astype(number.held, copy=False)

    def reduce_rows(self, x: Array, init: Array, axes: tuple[int, ...], size: int | None = None) -> Array:
        """Reduces the last axis of long rows, like `reduce`, but with `reduce_long_rows`.

        The rows must have a type that is used for arithmetic.
        """
        ufunc = self.preds if x.dtype == np.bool_ else self.numbers
        result: Array = ufunc(reduce_long_rows(ufunc, x), init)
        return self.reduce(x, init, axes) if self.compares and np.count_nonzero(result) < result.size else result

    def ufunc(self, number: NumberType) -> Any:
        return self.preds if number.kind == "pred" else self.numbers

    def may_have_wrong_zeros(self, result: Array, *arguments: Array) -> bool:
        """Returns whether a maximum or minimum from NumPy may be a zero with the wrong sign.

        NumPy may return either of two zeros, so a wrong sign requires a negative zero among the
        arguments.
        """
        if self.winning_zero is None or number_type(arguments[0]).kind != "float":
            return False
        return bool((result == 0).any()) and any(_has_negative_zero(x) for x in arguments)

    def with_signs(self, result: Array, keys: Array) -> Array:
        """Returns `result` with each zero given the sign of its key.

        `keys` is the result of the same reduction, applied to `sign_keys`. If a result is zero, all
        nonzero elements are on one side of zero, so that the key has the sign of the correct zero.
        """
        zeros = np.where(keys < 0, result.dtype.type(-0.0), result.dtype.type(0.0))
        return np.where(result == 0, zeros, result)

    def works_in_place(self, target: Array) -> bool:
        """Returns whether `combine_at` has the same result as applying the reducer repeatedly.

        The results are the same if nothing is rounded between the steps and zeros have the right
        sign.
        """
        number = number_type(target)
        return number.computed == number.held and (self.winning_zero is None or number.kind != "float")

    def combine_at(self, target: Array, positions: Array, updates: Array) -> None:
        """Combines updates one by one into a flat array, at indices that may repeat."""
        self.ufunc(number_type(target)).at(target, positions, updates)


def sign_keys(x: Array) -> Array:
    """Returns the bits of floats as signed integers. The bits of -0 are the smallest integer.

    >>> sign_keys(np.array([0.0, -1.0, -0.0], np.float32)).tolist()
    [0, -1082130432, -2147483648]
    """
    wide = x if x.dtype.itemsize > 1 else x.astype(np.float32)
    return wide.view(f"i{wide.dtype.itemsize}")


def _has_negative_zero(x: Array) -> bool:
    keys = sign_keys(x)
    return bool(keys.size) and bool(keys.min() == np.iinfo(keys.dtype).min)


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
    """Returns the monoid of a computation that applies an operation to its two parameters, or None.

    >>> import hlotool
    >>> text = "f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(b, a) } ENTRY e { ROOT p = f32[] parameter(0) }"
    >>> monoid_of(hlotool.parse(text).computations[0]).numbers
    <ufunc 'add'>
    """
    return _monoid(computation.root, {0, 1}) if len(computation.parameters) == 2 else None


def independent_results(reducer: Computation) -> dict[int, Monoid | None]:
    """Returns the monoids of the results that do not depend on other results, by result number.

    The value is None for a result that no monoid computes.

    >>> import hlotool
    >>> text = "f { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2) d = f32[] parameter(3) s = f32[] add(a, c) "
    >>> reducer = hlotool.parse(text + "m = f32[] multiply(s, d) ROOT t = (f32[], f32[]) tuple(s, m) }").entry
    >>> {number: monoid.numbers for number, monoid in independent_results(reducer).items()}
    {0: <ufunc 'add'>}
    """
    count = len(reducer.parameters) // 2
    if count == 1:
        return {0: monoid_of(reducer)}
    if reducer.root.op.name != "tuple":
        return {}
    needed = [_parameters_of(x) for x in reducer.root.operands]
    return {k: _monoid(x, {k, count + k}) for k, x in enumerate(reducer.root.operands) if needed[k] <= {k, count + k}}


def _parameters_of(x: Instruction) -> set[int]:
    """Returns the numbers of the parameters that a value is computed from."""
    seen, stack = {x}, [x]
    while stack:
        new = [y for y in stack.pop().operands if y not in seen]
        seen.update(new)
        stack += new
    return {y.immediate for y in seen if y.op.name == "parameter"}


def _monoid(value: Instruction, numbers: set[int]) -> Monoid | None:
    """Returns the monoid that computes a value from the two parameters with these numbers."""
    root, operands, numbers = _skip_forwarding(value, numbers)
    monoid = _MONOIDS.get(root.opcode)
    if monoid is None or {x.parameter_number for x in operands} != numbers:
        return None
    # Unlike HLO, NumPy converts operands of different types, and orders complex numbers.
    types = {x.shape.element_type for x in (root, *operands)}
    compares_complex = monoid.winning_zero is not None and NUMBERS[root.shape.element_type].kind == "complex"
    return monoid if len(types) == 1 and not compares_complex else None


def _skip_forwarding(value: Instruction, numbers: set[int]) -> tuple[Instruction, list[Instruction], set[int]]:
    """Returns the instruction that computes a value, its operands, and their parameter numbers.

    Skips calls that only forward both parameters, and instructions that do not change the value.
    The optimizer removes these instructions, and this must not change the order of additions in a
    sum, and thus its rounding.
    """
    seen = set[Computation]()
    while True:
        root = _source(value)
        operands = [_source(x) for x in root.operands]
        forwards_parameters = root.op.traits >= {RETURNS, ANY_SIGNATURE} and len(operands) == 2 and {x.parameter_number for x in operands} == numbers
        if not forwards_parameters or root.called[0] in seen:
            return root, operands, numbers
        seen.add(root.called[0])
        value, numbers = root.called[0].root, {0, 1}


def _source(x: Instruction) -> Instruction:
    """Returns the earliest instruction with the same value."""
    while (before := same_value(x)) is not None:
        x = before
    return x
