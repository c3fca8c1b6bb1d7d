"""Expressions for operations on single numbers, as Python operators on NumPy scalars.

An operator takes a tenth of the time of a NumPy function. A table maps the functions of the
elementwise kernels to operators. If an operator returns a different result for some numbers, the
expression calls the kernel's function for these numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from hlotool.interp.arrays import arithmetic as functions
from hlotool.interp.arrays.dtypes import NUMBERS, NumberType
from hlotool.interp.plan.forms import Form, form_of
from hlotool.interp.plan.operations import Operation
from hlotool.interp.plan.writer import Writer

__all__ = ["INTEGER_CLAMP", "OPERATORS", "PARTIAL_OPERATORS", "scalar_expression"]

OPERATORS: dict[Any, str] = {
    np.add: "{0} + {1}",
    np.subtract: "{0} - {1}",
    np.multiply: "{0} * {1}",
    np.divide: "{0} / {1}",
    np.negative: "-{0}",
    np.invert: "~{0}",
    np.logical_not: "~{0}",
    np.bitwise_and: "{0} & {1}",
    np.bitwise_or: "{0} | {1}",
    np.bitwise_xor: "{0} ^ {1}",
    np.logical_and: "{0} & {1}",
    np.logical_or: "{0} | {1}",
    np.logical_xor: "{0} ^ {1}",
    np.equal: "{0} == {1}",
    np.not_equal: "{0} != {1}",
    np.less: "{0} < {1}",
    np.less_equal: "{0} <= {1}",
    np.greater: "{0} > {1}",
    np.greater_equal: "{0} >= {1}",
    # For integers only: kernels compare floats with other functions.
    np.maximum: "{0} if {0} > {1} else {1}",
    np.minimum: "{0} if {0} < {1} else {1}",
    np.where: "{1} if {0} else {2}",
}
"""Operator expressions by the function that computes arrays."""
INTEGER_CLAMP = "{2} if {1} > {2} or {0} > {2} else {0} if {1} < {0} else {1}"
"""The template for clamping integers; its operands are lower limit, number and upper limit."""
PARTIAL_OPERATORS: dict[Any, str] = {
    functions.maximum_floats: "{0} if {0} > {1} else {1} if {1} > {0} else {call}",
    functions.minimum_floats: "{0} if {0} < {1} else {1} if {1} < {0} else {call}",
    # Python rounds down, HLO toward zero. Only HLO defines division by zero.
    functions.divide_integers: "{0} // {1} if {0} >= 0 and {1} > 0 else {call}",
    functions.remainder_integers: "{0} % {1} if {0} >= 0 and {1} > 0 else {call}",
    # Only HLO defines shifts by more than the width. Its logical right shift fills with zeros;
    # Python's fills with the sign.
    functions.shift_left: "{0} << {1} if 0 <= {1} < {bits} else {call}",
    functions.shift_right_logical: "{0} >> {1} if {0} >= 0 and 0 <= {1} < {bits} else {call}",
    # NumPy's function takes ten times as long on a single number.
    np.sign: "{one} if {0} > 0 else {zero} if {0} == 0 else {call}",
}


def scalar_expression(operation: Operation, writer: Writer) -> str | None:
    """Returns the expression for an elementwise operation on scalars; None for other operations.

    Also returns None for types that NumPy does not compute in.

    >>> import hlotool
    >>> from hlotool.interp.plan.operations import Variable
    >>> module = hlotool.parse("ENTRY e { x = s32[] parameter(0) y = s32[] parameter(1) ROOT r = s32[] add(x, y) }")
    >>> x, y, r = [Variable(x.shape) for x in module.entry.instructions]
    >>> scalar_expression(Operation(module.entry.root, [(x,), (y,)], (r,)), Writer())
    'v1 + v2'
    """
    variables = [*operation.reads, *operation.results]
    form = form_of(operation) if all(variable.is_scalar for variable in variables) else None
    if form is None or form.is_narrow:
        return None
    numbers = [NUMBERS[variable.shape.element_type] for variable in variables]
    operands = [writer.name(variable) for variable in operation.reads]
    if operation.instruction.opcode == "convert":
        source, result = numbers
        if form.copies:
            return operands[0]
        if result.kind != "pred" and (source.kind != "float" or result.kind == "float"):
            return _cast(writer, operands[0], source.held, result.held)
    if operation.instruction.opcode == "clamp" and numbers[0].element.is_integral:
        return INTEGER_CLAMP.format(*operands)
    return _expression(writer.bind, form, operands, numbers[-1])


def _cast(writer: Writer, operand: str, source: np.dtype[Any], result: np.dtype[Any]) -> str:
    if source == result:
        return operand
    return f"{writer.bind(result.type, result.name)}({operand})"


def _expression(bind: Callable[[Any], str], form: Form, operands: list[str], result: NumberType) -> str:
    template = OPERATORS.get(form.function)
    if template is not None:
        return template.format(*operands)
    function = bind(form.function)
    call = f"{function}({', '.join(f'asarray({operand})' for operand in operands)})[()]"
    # Integer functions may be bound to their width by `partial`.
    partial_operator = PARTIAL_OPERATORS.get(form.function.func if isinstance(form.function, partial) else form.function)
    if partial_operator is not None and (result.kind != "float" or not isinstance(form.function, np.ufunc)):
        zero, one = (bind(result.held.type(number)) for number in (0, 1))
        return partial_operator.format(*operands, call=call, bits=result.bits, zero=zero, one=one)
    return f"{function}({', '.join(operands)})" if isinstance(form.function, np.ufunc) else call
