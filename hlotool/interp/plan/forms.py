"""Operations that can be computed block by block.

Each operation has a function that computes a block. The function is derived from the rows and
functions of the elementwise kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from inspect import signature
from math import prod
from typing import Any

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays.arithmetic import cast
from hlotool.interp.arrays.array_reductions import SHORT_ROW, SHORT_ROW_TO_TRANSPOSE
from hlotool.interp.arrays.dtypes import NUMBERS, Array, NumberType
from hlotool.interp.arrays.expressions import CALL, Expression
from hlotool.interp.arrays.memory_order import is_row_major, row_major
from hlotool.interp.arrays.monoids import Monoid, monoid_of
from hlotool.interp.kernels.conversion import conversion_expression, convert_values
from hlotool.interp.kernels.elementwise import COMPARISONS, ROWS, SELECT, Elementwise, Function, clamp_function
from hlotool.interp.plan.operations import UNKNOWN, Operation
from hlotool.interp.plan.writer import Writer
from hlotool.record import Record, replace

__all__ = ["Form", "Reduction", "form_of", "reduction_of"]

_NARROW = ("f16", "bf16")
"""Floats that are represented as f32 in blocks, and rounded after each operation.

Smaller floats are excluded: their kernels round twice.
"""


class Form(Record):
    """A function that computes a block of the result from blocks of the operands.

    All blocks have their computation types.

    `function` takes the blocks; if `fills` is true, it also takes an array `out`, like NumPy's
    functions. `rounds` is true if the result must be rounded to its element type because it is
    computed in a wider type. If `copies` is true, the result is the operand, possibly in another
    type. `is_narrow` is true if any array has an element type that differs from its computation
    type. If `selects` is true, `select_by_mask` is an alternative to `function`. `expression` is
    the same function on single numbers.
    """

    function: Callable[..., Any]
    expression: Expression = CALL
    fills: bool = False
    rounds: bool = False
    copies: bool = False
    is_narrow: bool = False
    selects: bool = False

    @property
    def works_in_place(self) -> bool:
        """True if `out` may be one of the operands."""
        return isinstance(self.function, np.ufunc)

    def call(self, writer: Writer, operands: Sequence[str], target: str | None = None) -> str:
        """Returns a call to the function, which fills the target if there is one.

        There may be a target only if `fills` is true.
        """
        name = self.function.__name__ if isinstance(self.function, np.ufunc) else None
        arguments = ", ".join(operands)
        if target is not None:
            # NumPy expects `out` as a keyword for these two functions only; for all others, a
            # positional argument is faster.
            arguments += f", out={target}" if self.function in (np.maximum, np.minimum) else f", {target}"
        return f"{writer.bind(self.function, name)}({arguments})"


class Reduction(Record):
    """A reduction of blocks: `function(block, axes=...)` removes the reduced dimensions.

    `axes` lists the dimensions of the whole array that are reduced. `has_long_rows` is true if the
    function calls `reduce_long_rows`.
    """

    function: Callable[[Array], Array]
    axes: tuple[int, ...]
    monoid: Monoid
    init: Array
    has_long_rows: bool


def form_of(operation: Operation) -> Form | None:
    """Returns the form of an elementwise operation.

    Returns None for all other operations, and for types that blocks do not support.
    """
    if operation.form is UNKNOWN:
        operation.form = _new_form(operation)
    form: Form | None = operation.form
    return form


def _new_form(operation: Operation) -> Form | None:
    x = operation.instruction
    if x.opcode not in _FORMS or len(operation.results) != 1:
        return None
    shapes = [variable.shape for variable in (*operation.results, *operation.reads)]
    if any(shape.dynamic and any(shape.dynamic) for shape in shapes):
        return None
    return _form(x.opcode, x.attributes.get("direction"), x.attributes.get("type"), *[shape.element_type for shape in shapes])


@cache
def _form(opcode: str, direction: str | None, comparison: str | None, *element_types: str) -> Form | None:
    """Returns the form for element types: the result's, followed by those of the operands."""
    if not all(map(_is_blockwise, element_types)):
        return None
    numbers = [NUMBERS[name] for name in element_types]
    form = _compare_form(direction, comparison, numbers[1:]) if opcode == "compare" else _FORMS[opcode](numbers[0], numbers[1:])
    if form is not None and not form.copies and form.function(*[np.empty(0, number.computed) for number in numbers[1:]]).dtype != numbers[0].computed:
        # The declared type is another one. The kernel converts the result or reports the error.
        return None
    if form is not None and any(number.held != number.computed for number in numbers):
        form = replace(form, is_narrow=True)
    return form


def _is_blockwise(element_type: str) -> bool:
    """Returns whether blocks can have an element type.

    This is the case if NumPy computes in the type, or if it is a narrow float type whose numbers
    are exact in f32. Complex numbers are excluded, because the functions for their parts return
    views, which must not be overwritten.
    """
    number = NUMBERS.get(element_type)
    return number is not None and number.kind != "complex" and (number.held == number.computed or element_type in _NARROW)


def _form_from(function: Function, **rest: bool) -> Form:
    apply, expression = function
    return Form(apply, expression, isinstance(apply, np.ufunc) or "out" in signature(apply).parameters, **rest)


def _row_form(row: Elementwise, result: NumberType, operands: Sequence[NumberType]) -> Form | None:
    if len({number.computed for number in operands}) != 1:
        return None
    widest = max(operands, key=lambda number: number.bits)
    try:
        function = row.function_for(widest)
    except Violation:
        # The kernel reports the error when it is called.
        return None
    is_exact = row.exact and all(number.held == result.held for number in operands)
    return _form_from(function, rounds=result.computed != result.held and not is_exact)


def _compare_form(direction: str | None, comparison: str | None, operands: Sequence[NumberType]) -> Form | None:
    if direction is None or comparison == "TOTALORDER" or operands[0].computed != operands[1].computed:
        return None
    return _form_from(COMPARISONS[direction])


def _select_form(result: NumberType, operands: Sequence[NumberType]) -> Form | None:
    return Form(*SELECT, selects=True) if operands[1].held == operands[2].held == result.held else None


def _clamp_form(result: NumberType, operands: Sequence[NumberType]) -> Form | None:
    if any(number.held != result.held for number in operands):
        return None
    return _form_from(clamp_function(result))


def _convert_form(result: NumberType, operands: Sequence[NumberType]) -> Form | None:
    (source,) = operands
    expression = conversion_expression(source, result)
    if source.computed == result.computed:
        # Either both types are f32 or narrower floats, or the types are equal.
        return Form(np.positive, expression, True, source.held != result.held and result.held != result.computed, True)
    if result.computed == result.held:
        if source.computed == source.held and result.kind != "pred" and (source.kind != "float" or result.kind == "float"):
            return Form(partial(cast, dtype=result.held), expression, True)
        return Form(partial(convert_values, number=result), expression)
    wide = NUMBERS["f32"]
    return Form(partial(convert_values, number=wide), rounds=True) if source.kind in ("signed", "unsigned", "pred") else None


_FORMS: dict[str, Callable[..., Form | None]] = {
    # `complex` is left out: complex numbers are never computed in blocks, regardless of the
    # declared type.
    **{name: partial(_row_form, row) for name, row in ROWS.items() if name != "complex"},
    "compare": _compare_form,
    "select": _select_form,
    "clamp": _clamp_form,
    "convert": _convert_form,
}


def reduction_of(operation: Operation) -> Reduction | None:
    """Returns an operation as a reduction of one array with a monoid.

    The result does not depend on how often the init value is included, or on how many elements are
    reduced at a time. Returns None for all other operations.
    """
    x = operation.instruction
    if x.opcode != "reduce" or len(operation.operands) != 2 or len(operation.results) != 1:
        return None
    source, init, result = (*operation.reads, *operation.results)
    reducer = x.attributes["to_apply"]
    monoid = monoid_of(reducer)
    types = {shape.element_type for shape in (source.shape, init.shape, result.shape, reducer.root.shape)}
    if monoid is None or init.constant is None or len(types) != 1:
        return None
    if source.shape.dynamic or not _is_blockwise(source.shape.element_type):
        return None
    number, sizes = NUMBERS[source.shape.element_type], source.shape.dimensions
    in_layout = x.op.kernel.takes_in_layout(x)
    if in_layout and not is_row_major(x.operands[0].shape):
        return None
    axes = tuple(sorted(x.attributes["dimensions"]))
    if any(not 0 <= k < len(sizes) for k in axes):
        return None
    if not monoid.may_repeat(init.constant) or 0 in sizes or all(sizes[k] == 1 for k in axes):
        return None
    kept = tuple([size for k, size in enumerate(sizes) if k not in axes])
    # Narrow sums are rounded after each step, in an order that depends on the whole array.
    if (number.computed != number.held and monoid.winning_zero is None) or kept != result.shape.dimensions:
        return None
    has_long_rows = len(axes) == 1 and axes[0] == len(sizes) - 1 and sizes[-1] > (SHORT_ROW_TO_TRANSPOSE if monoid.compares else SHORT_ROW)
    has_long_rows &= number.computed == number.held
    reduce = partial(monoid.reduce_rows if has_long_rows else monoid.reduce, init=init.constant, size=prod(sizes))
    return Reduction(_with_row_major_operand(reduce) if in_layout else reduce, axes, monoid, init.constant, has_long_rows)


def _with_row_major_operand(reduce: Callable[..., Array]) -> Callable[..., Array]:
    return lambda x, axes: reduce(row_major(x), axes=axes)
