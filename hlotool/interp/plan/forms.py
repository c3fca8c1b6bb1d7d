"""Operations that may be computed block by block: the function for a block, made from the rows and functions of the elementwise kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from inspect import signature
from math import prod
from typing import Any

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.array_reductions import SHORT_ROW, SHORT_ROW_TO_TRANSPOSE
from hlotool.interp.dtypes import NUMBERS, Array, NumberType
from hlotool.interp.functions import cast
from hlotool.interp.kernels.conversion import converted
from hlotool.interp.kernels.elementwise import COMPARISONS, ELEMENTWISE, Elementwise
from hlotool.interp.memory_order import is_row_major, row_major
from hlotool.interp.monoids import monoid_of
from hlotool.interp.plan.graph import UNKNOWN, Operation
from hlotool.interp.plan.writer import Writer
from hlotool.record import Record

__all__ = ["Form", "Reduction", "form_of", "reduction_of"]

_NARROW = ("f16", "bf16")
"""Floats that are held in blocks as f32 and rounded after each operation. Smaller ones are not: their kernels round twice."""


class Form(Record):
    """How a block of the result is computed from blocks of the operands, all in the types that are computed in.

    `function` takes the blocks, and `out` as NumPy's functions do if it `fills`. `rounds` tells whether the result must be rounded to its
    element type, since it is computed in a wider one. A `copies` form is its operand, in another type at most. `is_narrow` tells whether any
    of the arrays is held in a type that is not computed in. One that `selects` may be computed by `select_by_mask`, too.
    """

    function: Callable[..., Any]
    fills: bool = False
    rounds: bool = False
    copies: bool = False
    is_narrow: bool = False
    selects: bool = False

    @property
    def works_in_place(self) -> bool:
        """Whether `out` may be one of the operands."""
        return isinstance(self.function, np.ufunc)

    def call(self, writer: Writer, operands: Sequence[str], target: str | None = None) -> str:
        """The call of the function; with a target, which it must fill, into that array."""
        name = self.function.__name__ if isinstance(self.function, np.ufunc) else None
        arguments = ", ".join(operands)
        if target is not None:
            # NumPy has reasons to want a name here for these two alone; for all others, the position is faster.
            arguments += f", out={target}" if self.function in (np.maximum, np.minimum) else f", {target}"
        return f"{writer.bind(self.function, name)}({arguments})"


class Reduction(Record):
    """A reduction of blocks: `function(block)` gives the result without the dimensions `axes`."""

    function: Callable[[Array], Array]
    axes: tuple[int, ...]


def form_of(operation: Operation) -> Form | None:
    """The form of an elementwise operation, None for all others and for types that cannot be held in blocks."""
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
    """The form for element types: that of the result, and those of the operands."""
    if not all(map(_is_blockwise, element_types)):
        return None
    numbers = [NUMBERS[name] for name in element_types]
    form = _compare_form(direction, comparison, numbers[1:]) if opcode == "compare" else _FORMS[opcode](numbers[0], numbers[1:])
    if form is not None and any(number.held != number.computed for number in numbers):
        form = Form(form.function, form.fills, form.rounds, form.copies, True, form.selects)
    return form


def _is_blockwise(element_type: str) -> bool:
    """Whether numbers of a type can be held in blocks: NumPy computes in it, or f32 contains it.

    Complex numbers are not, because the functions that take them apart return views, which must not be overwritten.
    """
    number = NUMBERS.get(element_type)
    return number is not None and number.kind != "complex" and (number.held == number.computed or element_type in _NARROW)


def _has_out(function: Any) -> bool:
    return isinstance(function, np.ufunc) or "out" in signature(function).parameters


def _row_form(row: Elementwise, result: NumberType, operands: Sequence[NumberType]) -> Form | None:
    if len({number.computed for number in operands}) != 1:
        return None
    widest = max(operands, key=lambda number: number.bits)
    try:
        function = row.of_kind(widest)
    except Violation:
        # The kernel says so when it is called.
        return None
    is_exact = row.exact and all(number.held == result.held for number in operands)
    return Form(function, _has_out(function), result.computed != result.held and not is_exact)


def _compare_form(direction: str | None, comparison: str | None, operands: Sequence[NumberType]) -> Form | None:
    if direction is None or comparison == "TOTALORDER" or operands[0].computed != operands[1].computed:
        return None
    return Form(COMPARISONS[direction], True)


def _select_form(result: NumberType, operands: Sequence[NumberType]) -> Form | None:
    return Form(np.where, selects=True) if operands[1].held == operands[2].held == result.held else None


def _clamp_form(result: NumberType, operands: Sequence[NumberType]) -> Form | None:
    if any(number.held != result.held for number in operands):
        return None
    larger, smaller = (_ROWS[name].of_kind(result) for name in ("maximum", "minimum"))
    return Form(lambda low, x, high, out=None: np.asarray(smaller(high, larger(low, x), out=out)), True)


def _convert_form(result: NumberType, operands: Sequence[NumberType]) -> Form | None:
    (source,) = operands
    if source.computed == result.computed:
        # Between f32 and what it contains; everything else of one type is of one width.
        return Form(np.positive, True, source.held != result.held and result.held != result.computed, True)
    if result.computed == result.held:
        if source.computed == source.held and result.kind != "pred" and (source.kind != "float" or result.kind == "float"):
            return Form(partial(cast, dtype=result.held), True)
        return Form(partial(converted, number=result))
    wide = NUMBERS["f32"]
    return Form(partial(converted, number=wide), False, True) if source.kind in ("signed", "unsigned", "pred") else None


_ROWS = {row.opcode: row for row in ELEMENTWISE}
_FORMS: dict[str, Callable[..., Form | None]] = {
    # No complex number is computed in blocks, whatever is written.
    **{name: partial(_row_form, row) for name, row in _ROWS.items() if name != "complex"},
    "compare": _compare_form,
    "select": _select_form,
    "clamp": _clamp_form,
    "convert": _convert_form,
}


def reduction_of(operation: Operation) -> Reduction | None:
    """The reduction of one array by a monoid from its identity, which gives the same result however many elements are reduced at once."""
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
    # Narrow sums are rounded after every step, in an order that depends on the whole array.
    if (number.computed != number.held and monoid.winning_zero is None) or kept != result.shape.dimensions:
        return None
    has_long_rows = len(axes) == 1 and axes[0] == len(sizes) - 1 and sizes[-1] > (SHORT_ROW_TO_TRANSPOSE if monoid.compares else SHORT_ROW)
    function = monoid.rows_reduced if has_long_rows and number.computed == number.held else monoid.reduced
    reduce = partial(function, init=init.constant, size=prod(sizes))
    return Reduction(_of_row_major(reduce) if in_layout else reduce, axes)


def _of_row_major(reduce: Callable[..., Array]) -> Callable[..., Array]:
    return lambda x, axes: reduce(row_major(x), axes=axes)
