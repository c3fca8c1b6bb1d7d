"""Statements for operations on single numbers as Python's own: integers without bounds that are wrapped, truth values, and NumPy's floats.

This is faster than NumPy's scalars, which `scalars` writes, but values have to be converted where they come from or go to arrays. So it is for
loops in which there is nothing else. The statements are also what Numba compiles, if they are `is_native`: it knows integers of 64 bits, which
wrap, and the same floats.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import add, mul, sub
from typing import Any

import numpy as np

from hlotool.interp import functions
from hlotool.interp.dtypes import NUMBERS, NumberType
from hlotool.interp.plan.forms import Form, form_of
from hlotool.interp.plan.graph import Leaves, Operation, Variable
from hlotool.interp.plan.scalars import float_expression
from hlotool.interp.plan.writer import Writer

__all__ = ["NumberStatements", "can_hold"]

_INTEGER_KINDS = ("signed", "unsigned")
_FLOATS = ("f32", "f64")


def can_hold(variable: Variable) -> bool:
    """Whether a variable is a number that these statements can compute with."""
    number = NUMBERS.get(variable.shape.element_type)
    return variable.is_scalar and number is not None and (number.element.name in _FLOATS or number.kind == "pred" or _is_whole(number))


def _is_whole(number: NumberType) -> bool:
    return number.kind in _INTEGER_KINDS and number.bits >= 8


class _Exact:
    """An expression whose value is the result of the operation."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class _Wrapped(_Exact):
    """An expression whose value is the result but for multiples of two to the power of the width."""

    __slots__ = ()


_COMPARISONS = {
    np.equal: _Exact("{0} == {1}"),
    np.not_equal: _Exact("{0} != {1}"),
    np.less: _Exact("{0} < {1}"),
    np.less_equal: _Exact("{0} <= {1}"),
    np.greater: _Exact("{0} > {1}"),
    np.greater_equal: _Exact("{0} >= {1}"),
}
_OF_INTEGERS: dict[Any, _Exact] = {
    **_COMPARISONS,
    np.add: _Wrapped("{0} + {1}"),
    np.subtract: _Wrapped("{0} - {1}"),
    np.multiply: _Wrapped("{0} * {1}"),
    np.negative: _Wrapped("-{0}"),
    np.abs: _Wrapped("{0} if {0} >= 0 else -{0}"),
    np.sign: _Exact("1 if {0} > 0 else 0 if {0} == 0 else -1"),
    np.invert: _Wrapped("~{0}"),
    np.bitwise_and: _Exact("{0} & {1}"),
    np.bitwise_or: _Exact("{0} | {1}"),
    np.bitwise_xor: _Exact("{0} ^ {1}"),
    np.maximum: _Exact("{0} if {0} > {1} else {1}"),
    np.minimum: _Exact("{0} if {0} < {1} else {1}"),
    # Python rounds down, HLO toward zero. Dividing by zero gives a number all of whose bits are set.
    functions.divide_integers: _Wrapped(
        "{0} // {1} if {0} >= 0 and {1} > 0 else -1 if {1} == 0 else -(-{0} // {1}) if {1} > 0 else -{0} // -{1} if {0} < 0 else -({0} // -{1})"
    ),
    functions.remainder_integers: _Exact(
        "{0} % {1} if {0} >= 0 and {1} > 0 else {0} if {1} == 0 else -(-{0} % ({1} if {1} > 0 else -{1})) if {0} < 0 else {0} % -{1}"
    ),
    functions.shift_left: _Wrapped("{0} << {1} if 0 <= {1} < {bits} else 0"),
    functions.shift_right_arithmetic: _Exact("{0} >> {1} if 0 <= {1} < {bits} else -1 if {0} < 0 else 0"),
    functions.shift_right_logical: _Wrapped("({0} & {mask}) >> {1} if 0 <= {1} < {bits} else 0"),
}
_OF_UNSIGNED = {
    # The highest bit is a sign here, too.
    functions.shift_right_arithmetic: _Wrapped("({0} - {values} if 2 * {0} >= {values} else {0}) >> ({1} if {1} < {bits} else {bits})"),
}
_DIVIDED_BY_POSITIVE = {
    functions.divide_integers: _Exact("{0} // {1} if {0} >= 0 else -(-{0} // {1})"),
    functions.remainder_integers: _Exact("{0} % {1} if {0} >= 0 else -(-{0} % {1})"),
}
_NOT_IN_64_BITS = {functions.divide_integers, functions.remainder_integers, functions.shift_right_logical}
"""What Numba computes otherwise for some integers of 64 bits: the mask does not fit, and the smallest one has no negative."""

_OF_TRUTH_VALUES: dict[Any, _Exact] = {
    **_COMPARISONS,
    np.logical_and: _Exact("{0} and {1}"),
    np.logical_or: _Exact("{0} or {1}"),
    np.logical_xor: _Exact("{0} != {1}"),
    np.logical_not: _Exact("not {0}"),
}


class NumberStatements:
    """Writes operations as statements on numbers.

    `is_native` becomes false with a statement that Numba does not know, or knows with another meaning.
    """

    def __init__(self, writer: Writer) -> None:
        self.is_native = True
        self._writer = writer
        self._ranges: dict[Variable, tuple[int, int]] = {}

    def name(self, variable: Variable) -> str:
        """The expression for a number: the name of a variable, or an integer or truth value itself."""
        if variable.constant is None or NUMBERS[variable.shape.element_type].kind == "float":
            return self._writer.name(variable)
        number = variable.constant.item()
        return f"({number})" if number < 0 else str(number)

    def write(self, operation: Operation) -> bool:
        """Writes the statements that compute an operation's result; returns whether there are any."""
        statements = self._statements(operation)
        if statements is None:
            return False
        self._writer.comment(operation.instruction)
        for statement in statements:
            self._writer.line(statement)
        return True

    def _statements(self, operation: Operation) -> list[str] | None:
        form = form_of(operation)
        if form is None or len(operation.results) != 1 or not all(map(can_hold, (*operation.reads, *operation.results))):
            return None
        (result,) = operation.results
        # Numba has no integers of 64 bits without sign that it would not mix with floats.
        self.is_native &= all(variable.shape.element_type != "u64" for variable in (*operation.reads, result))
        number, source = NUMBERS[result.shape.element_type], NUMBERS[operation.reads[0].shape.element_type]
        target, operands = self.name(result), [self.name(variable) for variable in operation.reads]
        opcode = operation.instruction.opcode
        if opcode == "select":
            return [f"{target} = {operands[1]} if {operands[0]} else {operands[2]}"]
        if opcode == "convert":
            return self._converted(target, operands[0], source, number)
        if source.kind == "float":
            expression, is_native = float_expression(form, operands, number, self._writer.bind)
            self.is_native &= is_native
            return [f"{target} = {expression}"]
        if opcode == "clamp":
            low, x, high = operands
            return [f"{target} = {high} if {x} > {high} or {low} > {high} else {low} if {x} < {low} else {x}"]
        template = self._template(form, operation.reads, source)
        if template is None:
            return None
        expression = template.text.format(*operands, bits=source.bits, values=1 << source.bits, mask=(1 << source.bits) - 1)
        return [f"{target} = {expression}", *_wrapped(target, number, isinstance(template, _Wrapped) and not self._fits(operation))]

    def _template(self, form: Form, operands: Leaves, source: NumberType) -> _Exact | None:
        function = form.function.func if isinstance(form.function, partial) else form.function
        if source.kind == "pred":
            is_itself = operands[-1].constant is not None and function is (np.equal if operands[-1].constant else np.not_equal)
            return _Exact("{0}") if is_itself else _OF_TRUTH_VALUES.get(function)
        if source.bits == 64 and function in _NOT_IN_64_BITS:
            self.is_native = False
        divisor = operands[-1].constant
        if source.kind == "signed" and function in _DIVIDED_BY_POSITIVE and divisor is not None and divisor > 0:
            return _DIVIDED_BY_POSITIVE[function]
        return (_OF_UNSIGNED.get(function) if source.kind == "unsigned" else None) or _OF_INTEGERS.get(function)

    def _fits(self, operation: Operation) -> bool:
        """Whether no result of an addition, a subtraction or a multiplication is out of the range of its type."""
        combine = _COMBINED.get(operation.instruction.opcode)
        if combine is None:
            return False
        (result,) = operation.results
        first, second = [self._range(variable) for variable in operation.reads]
        ends = [combine(a, b) for a in first for b in second]
        low, high = _range_of(result)
        self._ranges[result] = max(min(ends), low), min(max(ends), high)
        if low <= min(ends) and max(ends) <= high:
            return True
        del self._ranges[result]
        return False

    def _range(self, variable: Variable) -> tuple[int, int]:
        """The smallest and the largest integer that a variable may be."""
        if variable.constant is not None:
            return int(variable.constant), int(variable.constant)
        operation = variable.source
        if variable not in self._ranges and operation is not None:
            divisor = operation.reads[-1].constant if operation.reads else None
            limits = _range_of(variable)
            if operation.instruction.opcode == "remainder" and divisor:
                limit = abs(int(divisor)) - 1
                limits = max(limits[0], -limit), min(limits[1], limit)
            elif operation.instruction.opcode == "divide" and divisor is not None and divisor > 1:
                limits = -(-limits[0] // int(divisor)), limits[1] // int(divisor)
            self._ranges[variable] = limits
        return self._ranges.get(variable, _range_of(variable))

    def _converted(self, target: str, operand: str, source: NumberType, result: NumberType) -> list[str] | None:
        if result.kind == "float":
            if source.bits == 64 and source.kind != "float":
                # Via a double, there would be two roundings.
                operand = f"{self._writer.bind(source.held.type, source.held.name)}({operand})"
            return [f"{target} = {self._writer.bind(result.held.type, result.held.name)}({operand})"]
        if result.kind == "pred":
            return [f"{target} = {operand} != 0"]
        if source.kind == "float":
            low, high = _limits(result)
            # Powers of two, which all floats contain. The fraction of a number that is less than the smallest integer is cut off, too.
            in_range = f"{float(low)} <= {operand} < {float(high + 1)}"
            return [f"{target} = int({operand}) if {in_range} else {high} if {operand} > 0 else {low} if {operand} < 0 else 0"]
        if source.kind == "pred":
            return [f"{target} = 1 if {operand} else 0"]
        return [f"{target} = {operand}", *_wrapped(target, result, source.held != result.held)]


_COMBINED: dict[str, Callable[[int, int], int]] = {"add": add, "subtract": sub, "multiply": mul}


def _range_of(variable: Variable) -> tuple[int, int]:
    return _limits(NUMBERS[variable.shape.element_type])


def _limits(number: NumberType) -> tuple[int, int]:
    return (-(1 << (number.bits - 1)), (1 << (number.bits - 1)) - 1) if number.kind == "signed" else (0, (1 << number.bits) - 1)


def _wrapped(target: str, number: NumberType, may_overflow: bool) -> list[str]:
    """The statements that bring a number into the range of its type."""
    if not may_overflow:
        return []
    values, half = 1 << number.bits, 1 << (number.bits - 1)
    if number.kind == "unsigned":
        return [f"{target} &= {values - 1}"]
    # Numba's integers of 64 bits are always in range, and the mask is none of them.
    wrapped = f"wrapped({target})" if number.bits == 64 else f"({target} + {half} & {values - 1}) - {half}"
    return [f"if not {-half} <= {target} <= {half - 1}: {target} = {wrapped}"]
