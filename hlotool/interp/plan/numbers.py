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
from hlotool.interp.plan.scalars import CLAMPED, OPERATORS, float_expression
from hlotool.interp.plan.writer import Writer

__all__ = ["NumberStatements", "can_hold"]


def can_hold(variable: Variable) -> bool:
    """Whether a variable is a number that these statements can compute with: of a type that NumPy has, and not complex."""
    number = NUMBERS.get(variable.shape.element_type)
    return variable.is_scalar and number is not None and number.kind != "complex" and number.held == number.computed


class _Exact:
    """An expression whose value is the result of the operation."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class _Wrapped(_Exact):
    """An expression whose value is the result but for multiples of two to the power of the width."""

    __slots__ = ()


_MAY_OVERFLOW = {np.add, np.subtract, np.multiply, np.negative, np.invert}
_OF_INTEGERS: dict[Any, _Exact] = {
    **{function: (_Wrapped if function in _MAY_OVERFLOW else _Exact)(text) for function, text in OPERATORS.items()},
    np.abs: _Wrapped("{0} if {0} >= 0 else -{0}"),
    np.sign: _Exact("1 if {0} > 0 else 0 if {0} == 0 else -1"),
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
    **{function: _Exact(text) for function, text in OPERATORS.items()},
    np.logical_and: _Exact("{0} and {1}"),
    np.logical_or: _Exact("{0} or {1}"),
    np.logical_xor: _Exact("{0} != {1}"),
    np.logical_not: _Exact("not {0}"),
}
"""Of operations whose first operand is a truth value, so that a selection is one of them."""
_COMBINED: dict[str, Callable[[int, int], int]] = {"add": add, "subtract": sub, "multiply": mul}


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
        if opcode == "convert":
            return self._converted(target, operands[0], source, number)
        if source.kind == "float":
            expression, is_native = float_expression(form, operands, number, self._writer.bind)
            self.is_native &= is_native
            return [f"{target} = {expression}"]
        if opcode == "clamp":
            return [f"{target} = {CLAMPED.format(*operands)}"]
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
        low, high = _limits(result)
        if not low <= min(ends) <= max(ends) <= high:
            return False
        self._ranges[result] = min(ends), max(ends)
        return True

    def _range(self, variable: Variable) -> tuple[int, int]:
        """The smallest and the largest integer that a variable may be."""
        if variable.constant is not None:
            return int(variable.constant), int(variable.constant)
        operation = variable.source
        if variable not in self._ranges and operation is not None:
            divisor = operation.reads[-1].constant if operation.reads else None
            low, high = _limits(variable)
            if operation.instruction.opcode == "remainder" and divisor:
                largest = abs(int(divisor)) - 1
                low, high = max(low, -largest), min(high, largest)
            elif operation.instruction.opcode == "divide" and divisor is not None and divisor > 1:
                low, high = -(-low // int(divisor)), high // int(divisor)
            self._ranges[variable] = low, high
        return self._ranges.get(variable, _limits(variable))

    def _converted(self, target: str, operand: str, source: NumberType, result: NumberType) -> list[str] | None:
        if result.kind == "float":
            if source.bits == 64 and source.kind != "float":
                # Via a double, there would be two roundings.
                operand = f"{self._writer.bind(source.held.type, source.held.name)}({operand})"
            return [f"{target} = {self._writer.bind(result.held.type, result.held.name)}({operand})"]
        if result.kind == "pred":
            return [f"{target} = {operand} != 0"]
        if source.kind == "float":
            low, high = result.element.minimum, result.element.maximum
            # Powers of two, which all floats contain. The fraction of a number that is less than the smallest integer is cut off, too.
            in_range = f"{float(low)} <= {operand} < {float(high + 1)}"
            return [f"{target} = int({operand}) if {in_range} else {high} if {operand} > 0 else {low} if {operand} < 0 else 0"]
        if source.kind == "pred":
            return [f"{target} = 1 if {operand} else 0"]
        return [f"{target} = {operand}", *_wrapped(target, result, source.held != result.held)]


def _limits(variable: Variable) -> tuple[int, int]:
    """The smallest and the largest integer of a variable's type."""
    element = NUMBERS[variable.shape.element_type].element
    return element.minimum, element.maximum


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
