"""Operations on single numbers as expressions on Python's own numbers.

Integers are unbounded and are wrapped explicitly; there are also truth values and floats. Python's
numbers are faster than NumPy's scalars, for which `scalars` writes expressions, but they must be
converted from and to arrays. Python's numbers are therefore used only in loops that contain nothing
but numbers. Python's floats are doubles; sums, products and quotients of f32 numbers in double
precision have so many digits that rounding them to f32 is the same as computing in f32.

For Numba, which has 64-bit integers that wrap and floats of both widths, only the expressions for
floats differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from operator import add, mul, neg, sub
from typing import Any, NamedTuple

import numpy as np

from hlotool.interp.arrays import arithmetic as functions
from hlotool.interp.arrays.dtypes import NUMBERS, NumberType
from hlotool.interp.arrays.monoids import Monoid
from hlotool.interp.plan.forms import Form, form_of
from hlotool.interp.plan.operations import Leaves, Operation, Variable
from hlotool.interp.plan.scalars import INTEGER_CLAMP, OPERATORS, PARTIAL_OPERATORS
from hlotool.interp.plan.writer import Writer

__all__ = ["NumberTemplate", "NumberTemplates", "can_hold", "is_held", "wrap_statement"]


class NumberTemplate(NamedTuple):
    """An expression for the result of an operation, where `{0}`, `{1}`, ... stand for its operands.

    `wraps` is the type to whose range the value must be wrapped, modulo two to the power of its
    width, or None if the value is in range. `rounds` is true if the value must be rounded to f32.
    """

    text: str
    wraps: NumberType | None = None
    rounds: bool = False


def can_hold(variable: Variable) -> bool:
    """Returns whether a variable is a number that these expressions can represent."""
    return variable.is_scalar and is_held(variable)


def is_held(variable: Variable) -> bool:
    """Returns whether a variable is a number or an array whose type NumPy computes in.

    Complex types are excluded.
    """
    number = NUMBERS.get(variable.shape.element_type)
    return number is not None and number.kind != "complex" and number.held == number.computed


class _Exact:
    """An expression whose value is the result of the operation."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class _Wrapped(_Exact):
    """An expression whose value equals the result modulo two to the power of its width."""

    __slots__ = ()


_MAY_OVERFLOW = {np.add, np.subtract, np.multiply, np.negative, np.invert}
_INTEGER_TEMPLATES: dict[Any, _Exact] = {
    **{function: (_Wrapped if function in _MAY_OVERFLOW else _Exact)(text) for function, text in OPERATORS.items()},
    np.abs: _Wrapped("{0} if {0} >= 0 else -{0}"),
    np.sign: _Exact("1 if {0} > 0 else 0 if {0} == 0 else -1"),
    # Python rounds down, HLO toward zero. In HLO, all bits of the result of a division by zero are
    # set.
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
_UNSIGNED_TEMPLATES = {
    # As for signed integers, the highest bit acts as the sign.
    functions.shift_right_arithmetic: _Wrapped("({0} - {values} if 2 * {0} >= {values} else {0}) >> ({1} if {1} < {bits} else {bits})"),
}
_POSITIVE_DIVISOR_TEMPLATES = {
    functions.divide_integers: _Exact("{0} // {1} if {0} >= 0 else -(-{0} // {1})"),
    functions.remainder_integers: _Exact("{0} % {1} if {0} >= 0 else -(-{0} % {1})"),
}
_CONSTANT_SHIFT_TEMPLATES = {
    functions.shift_left: _Wrapped("{0} << {1}"),
    functions.shift_right_logical: _Wrapped("({0} & {mask}) >> {1}"),
}
_UNSUPPORTED_64_BIT = {functions.divide_integers, functions.remainder_integers, functions.shift_right_logical}
"""Functions that Numba computes differently for some 64-bit integers.

The mask does not fit into a signed 64-bit integer, and the smallest integer cannot be negated.
"""

_PRED_TEMPLATES: dict[Any, _Exact] = {
    **{function: _Exact(text) for function, text in OPERATORS.items()},
    np.logical_and: _Exact("{0} and {1}"),
    np.logical_or: _Exact("{0} or {1}"),
    np.logical_xor: _Exact("{0} != {1}"),
    np.logical_not: _Exact("not {0}"),
}
"""Templates for operations whose first operand is a truth value, including selects."""
_ARITHMETIC: dict[str, Callable[..., int]] = {"add": add, "subtract": sub, "multiply": mul, "negate": neg}
_Range = tuple[int, int]


def _remainder_range(ranges: Sequence[_Range], bits: int) -> _Range | None:
    largest = max(map(abs, ranges[1]))
    # The remainder of a division by zero is the dividend.
    return (-largest + 1, largest - 1) if 0 not in range(ranges[1][0], ranges[1][1] + 1) else None


def _quotient_range(ranges: Sequence[_Range], bits: int) -> _Range | None:
    dividends, (divisor, other) = ranges
    if not divisor == other > 1:
        return None
    low, high = [-(-number // divisor) if number < 0 else number // divisor for number in dividends]
    return low, high


def _and_range(ranges: Sequence[_Range], bits: int) -> _Range | None:
    masks = [high for low, high in ranges if low >= 0]
    return (0, min(masks)) if masks else None


def _logical_shift_range(ranges: Sequence[_Range], bits: int) -> _Range | None:
    least, most = ranges[1]
    return (0, (1 << (bits - least)) - 1) if 0 < least <= most < bits else None


def _select_range(ranges: Sequence[_Range], bits: int) -> _Range | None:
    lows, highs = zip(*ranges[1:], strict=True)
    return min(lows), max(highs)


_RANGES: dict[str, Callable[[Sequence[_Range], int], _Range | None]] = {
    "and": _and_range,
    "divide": _quotient_range,
    "remainder": _remainder_range,
    "select": _select_range,
    "shift-right-logical": _logical_shift_range,
}
"""Functions from the operands' ranges and the bit width to the result's range.

They return None if the range is unknown.
"""


_FLOAT_TEMPLATES: dict[Any, str] = {np.abs: "abs({0})", np.divide: "{0} / {1} if {1} else {call}"}
# The sum of two zeros is positive if either zero is positive. The sum of a NaN and a number has the
# bits of the NaN.
_LARGER = "{0} if {0} > {1} or ({0} == {1} and {0} != 0) else {1} if {1} > {0} else {0} + {1}"
_SMALLER = "{0} if {0} < {1} or ({0} == {1} and {0} != 0) else {1} if {1} < {0} else {0} + {1} if {0} != {1} else -(-{0} - {1})"
_NATIVE_FLOAT_TEMPLATES: dict[Any, str] = {
    np.abs: "abs({0})",
    functions.maximum_floats: _LARGER,
    functions.minimum_floats: _SMALLER,
}
"""Templates for machine code that differ from those for Python."""
_NATIVE_FLOAT_CLAMP = _SMALLER.format("{2}", f"({_LARGER})")
_ROUNDED = {np.add, np.subtract, np.multiply, np.divide}
_DISTANCES = {"LT": (None, -1), "LE": (None, 0), "GT": (1, None), "GE": (0, None), "EQ": (0, 0)}
"""Bounds of an operand, relative to the constant in a comparison that is true.

None means that there is no bound.
"""


class NumberTemplates:
    """A factory for the templates of operations, for Python or for Numba.

    The operations must be passed in the order in which they run.

    For Numba, there are no templates for operations that Numba lacks or computes differently.
    """

    def __init__(self, writer: Writer, *, for_numba: bool) -> None:
        self._writer = writer
        self._for_numba = for_numba
        self._ranges: dict[Variable, tuple[int, int]] = {}

    def name(self, variable: Variable) -> str:
        """Returns the expression for a number: the name of a variable, or a literal."""
        if variable.constant is None:
            return self._writer.name(variable)
        number = variable.constant.item()
        if isinstance(number, float):
            # Numba requires the name, which is bound to a float of the right width.
            return self._writer.name(variable) if self._for_numba else self._writer.bind(number)
        return f"({number})" if number < 0 else str(number)

    def assume(self, comparison: Operation) -> None:
        """Restricts the range of a variable, given that its comparison with a constant is true."""
        x = comparison.instruction
        variable, limit = comparison.reads[0], comparison.reads[-1].constant
        ends = _DISTANCES.get(str(x.attributes.get("direction"))) if x.opcode == "compare" else None
        if ends is None or limit is None or variable.constant is not None or not NUMBERS[variable.shape.element_type].element.is_integral:
            return
        bounds = [bound if end is None else int(limit) + end for bound, end in zip(_limits(variable), ends, strict=True)]
        if bounds[0] <= bounds[1]:
            self._ranges[variable] = bounds[0], bounds[1]

    def template(self, operation: Operation) -> NumberTemplate | None:
        """Returns the template of an operation; None if there is none.

        For an operation on arrays, the template is for a single element.
        """
        form = form_of(operation)
        if form is None or len(operation.results) != 1 or not all(map(is_held, (*operation.reads, *operation.results))):
            return None
        (result,) = operation.results
        self._note_range(operation)
        number, source = NUMBERS[result.shape.element_type], NUMBERS[operation.reads[0].shape.element_type]
        opcode = operation.instruction.opcode
        if opcode == "convert":
            return self._conversion_template(source, number)
        if source.kind == "float":
            is_clamped = self._for_numba and opcode == "clamp"
            return NumberTemplate(_NATIVE_FLOAT_CLAMP) if is_clamped else self._float_template(form, len(operation.reads), source, number)
        if opcode == "clamp":
            return NumberTemplate(INTEGER_CLAMP)
        template = self._template(form, operation.reads, source)
        if template is None:
            return None
        return NumberTemplate(_for_width(template, source), number if isinstance(template, _Wrapped) and not self._fits(operation) else None)

    def combination(self, monoid: Monoid, number: NumberType) -> NumberTemplate | None:
        """Returns the template for the combining function of a reduction; None if there is none."""
        if number.kind == "float":
            float_functions = {"maximum": functions.maximum_floats, "minimum": functions.minimum_floats}
            function = float_functions.get(monoid.opcode, monoid.numbers)
            return self._float_template(Form(function), 2, number, number)
        if number.kind == "pred":
            template = _PRED_TEMPLATES.get(monoid.preds)
        else:
            template = _INTEGER_TEMPLATES.get(monoid.numbers)
        if template is None:
            return None
        return NumberTemplate(_for_width(template, number), number if isinstance(template, _Wrapped) else None)

    def _float_template(self, form: Form, count: int, source: NumberType, result: NumberType) -> NumberTemplate | None:
        function = self._writer.bind(form.function)
        is_ufunc = isinstance(form.function, np.ufunc)
        partial_operator = None if is_ufunc else PARTIAL_OPERATORS.get(form.function)
        text = OPERATORS.get(form.function) if form.function not in (np.maximum, np.minimum) else None
        if self._for_numba:
            native = _NATIVE_FLOAT_TEMPLATES.get(form.function, text)
            return None if native is None else NumberTemplate(native)
        own = _FLOAT_TEMPLATES.get(form.function, partial_operator)
        scalar_type = self._writer.bind(source.held.type, source.held.name)
        operands = [f"{scalar_type}({{{k}}})" for k in range(count)]
        arguments = ", ".join(operands if is_ufunc else [f"asarray({operand})" for operand in operands])
        call = f"{'bool' if result.kind == 'pred' else 'float'}({function}({arguments}))"
        rounds = form.function in _ROUNDED and result.bits == 32
        return NumberTemplate(_fill(own or text or call, {"call": call}), None, rounds)

    def _template(self, form: Form, operands: Leaves, source: NumberType) -> _Exact | None:
        function = form.function.func if isinstance(form.function, partial) else form.function
        if source.kind == "pred":
            truth = _constant(operands[-1])
            is_itself = truth is not None and function is (np.equal if truth else np.not_equal)
            return _Exact("{0}") if is_itself else _PRED_TEMPLATES.get(function)
        if self._for_numba and source.bits == 64 and function in _UNSUPPORTED_64_BIT:
            return None
        second = _constant(operands[-1])
        if source.kind == "signed" and function in _POSITIVE_DIVISOR_TEMPLATES and second is not None and second > 0:
            return _POSITIVE_DIVISOR_TEMPLATES[function]
        if function in _CONSTANT_SHIFT_TEMPLATES and second is not None and 0 <= second < source.bits:
            is_plain = function is functions.shift_right_logical and self._range(operands[0])[0] >= 0
            return _Exact("{0} >> {1}") if is_plain else _CONSTANT_SHIFT_TEMPLATES[function]
        return (_UNSIGNED_TEMPLATES.get(function) if source.kind == "unsigned" else None) or _INTEGER_TEMPLATES.get(function)

    def _fits(self, operation: Operation) -> bool:
        """Returns whether the template's value is always in the range of the type."""
        combine = _ARITHMETIC.get(operation.instruction.opcode)
        if combine is None:
            return operation.results[0] in self._ranges
        (result,) = operation.results
        ends = [combine(*numbers) for numbers in product(*(self._range(variable) for variable in operation.reads))]
        low, high = _limits(result)
        if not low <= min(ends) <= max(ends) <= high:
            return False
        self._ranges[result] = min(ends), max(ends)
        return True

    def _range(self, variable: Variable) -> tuple[int, int]:
        """Returns the smallest and the largest possible value of an integer variable."""
        constant = _constant(variable)
        if constant is not None:
            return int(constant), int(constant)
        return self._ranges.get(variable, _limits(variable))

    def _note_range(self, operation: Operation) -> None:
        """Records the range of an integer result if it is easy to compute."""
        find = _RANGES.get(operation.instruction.opcode)
        (result,) = operation.results
        if find is None or not NUMBERS[result.shape.element_type].element.is_integral:
            return
        ends = find([self._range(variable) for variable in operation.reads], NUMBERS[result.shape.element_type].bits)
        if ends is not None:
            low, high = _limits(result)
            self._ranges[result] = max(low, ends[0]), min(high, ends[1])

    def _conversion_template(self, source: NumberType, result: NumberType) -> NumberTemplate | None:
        if result.kind == "float":
            return self._to_float(source, result)
        if result.kind == "pred":
            return NumberTemplate("{0} != 0")
        if source.kind == "float":
            low, high = result.element.minimum, result.element.maximum
            # The limits are powers of two, which all float types represent exactly. A number just
            # below the smallest integer is truncated to it, too.
            in_range = f"{float(low)} <= {{0}} < {float(high + 1)}"
            return NumberTemplate(f"int({{0}}) if {in_range} else {high} if {{0}} > 0 else {low} if {{0}} < 0 else 0")
        if source.kind == "pred":
            return NumberTemplate("1 if {0} else 0")
        return NumberTemplate("{0}", result if source.held != result.held else None)

    def _to_float(self, source: NumberType, result: NumberType) -> NumberTemplate:
        scalar_type = self._writer.bind(result.held.type, result.held.name)
        operand = "{0}"
        if source.bits == 64 and source.kind != "float":
            # A conversion via double would round twice.
            operand = f"{self._writer.bind(source.held.type, source.held.name)}({{0}})"
        if self._for_numba:
            return NumberTemplate(f"{scalar_type}({operand})")
        if source.kind == "float":
            return NumberTemplate("{0}", None, result.bits < source.bits)
        if source.kind == "pred":
            return NumberTemplate("1.0 if {0} else 0.0")
        if source.bits == 64:
            return NumberTemplate(f"float({scalar_type}({operand}))")
        return NumberTemplate("{0}", None, True) if result.bits == 32 else NumberTemplate("float({0})")


def _constant(variable: Variable) -> Any:
    """Returns the value of a scalar constant; None for other numbers and for arrays."""
    return variable.constant if variable.is_scalar else None


def _limits(variable: Variable) -> tuple[int, int]:
    """Returns the smallest and largest integer of a variable's type; 0 and 1 for truth values."""
    element = NUMBERS[variable.shape.element_type].element
    return (element.minimum, element.maximum) if element.is_integral else (0, 1)


def _for_width(template: _Exact, number: NumberType) -> str:
    """Returns the text of a template for integers of this width."""
    values = {"bits": str(number.bits), "values": str(1 << number.bits), "mask": str((1 << number.bits) - 1)}
    return _fill(template.text, values)


def _fill(template: str, values: dict[str, str]) -> str:
    """Returns the template with some of the names in braces replaced."""
    for name, value in values.items():
        template = template.replace(f"{{{name}}}", value)
    return template


def wrap_statement(target: str, number: NumberType) -> str:
    """Returns the statement that wraps a number to the range of its type."""
    values, half = 1 << number.bits, 1 << (number.bits - 1)
    if number.kind == "unsigned":
        return f"{target} &= {values - 1}"
    # Numba's 64-bit integers are always in range, and the mask does not fit into them.
    inside = f"wrap({target})" if number.bits == 64 else f"({target} + {half} & {values - 1}) - {half}"
    return f"if not {-half} <= {target} <= {half - 1}: {target} = {inside}"
