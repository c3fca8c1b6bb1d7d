"""Operations on single numbers as text, for Python, for machine code, and for NumPy scalars.

Python's numbers are faster than NumPy's scalars, but they must be converted from and to arrays.
They are therefore used only in loops that contain nothing but numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np

from hlotool.interp.arrays.dtypes import NUMBERS, NumberType
from hlotool.interp.arrays.expressions import Expression, Range
from hlotool.interp.arrays.monoids import Monoid
from hlotool.interp.kernels.elementwise import ROWS
from hlotool.interp.plan.forms import Form, form_of
from hlotool.interp.plan.operations import Operation, Variable
from hlotool.interp.plan.writer import Writer

__all__ = ["NumberTemplate", "NumberTemplates", "can_hold", "fill", "is_held", "limits_of", "native_wrap_statement", "wrap_statement"]


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


_DISTANCES = {"LT": (None, -1), "LE": (None, 0), "GT": (1, None), "GE": (0, None), "EQ": (0, 0)}
"""Bounds of an operand, relative to the constant in a comparison that is true.

None means that there is no bound.
"""


class NumberTemplates:
    """A factory for the templates of operations, for Python or for machine code.

    The operations must be passed in the order in which they run.

    For machine code, there are no templates for operations that only NumPy computes.
    """

    def __init__(self, writer: Writer, *, is_native: bool) -> None:
        self._writer = writer
        self._kind: Literal["python", "native"] = "native" if is_native else "python"
        self._ranges: dict[Variable, Range] = {}

    def name(self, variable: Variable) -> str:
        """Returns the expression for a number: the name of a variable, or a literal."""
        if variable.constant is None:
            return self._writer.name(variable)
        number = variable.constant.item()
        if isinstance(number, float):
            # Machine code needs the name, which is bound to a float of the right width.
            return self._writer.name(variable) if self._kind == "native" else self._writer.bind(number)
        return f"({number})" if number < 0 else str(number)

    def assume(self, comparison: Operation) -> None:
        """Restricts the range of a variable, given that its comparison with a constant is true."""
        x = comparison.instruction
        variable, limit = comparison.reads[0], comparison.reads[-1].constant
        ends = _DISTANCES.get(str(x.attributes.get("direction")))
        if ends is None or limit is None or variable.constant is not None or not NUMBERS[variable.shape.element_type].element.is_integral:
            return
        bounds = [bound if end is None else int(limit) + end for bound, end in zip(limits_of(variable), ends, strict=True)]
        if bounds[0] <= bounds[1]:
            self._ranges[variable] = bounds[0], bounds[1]

    def template(self, operation: Operation) -> NumberTemplate | None:
        """Returns the template of an operation; None if there is none.

        For an operation on arrays, the template is for a single element.
        """
        form = form_of(operation)
        if form is None or len(operation.results) != 1 or not all(map(self._is_held, (*operation.reads, *operation.results))):
            return None
        (result,) = operation.results
        ranges = [self._range_of(variable) for variable in operation.reads]
        number = NUMBERS[result.shape.element_type]
        ends = form.expression.range_of(ranges)
        template = NumberTemplate("{0}") if form.is_narrow and form.copies else self._template(form.expression, ranges, ends, number)
        if template is None:
            return None
        # The result of a selection is exact, but LLVM selects from f16 only if it is rounded.
        if form.is_narrow and (form.rounds or (self._kind == "native" and result.shape.element_type == "f16")):
            template = template._replace(text=f"round_{result.shape.element_type}({template.text})")
        if ends is not None and template.wraps is None and number.element.is_integral:
            self._ranges[result] = ends
        return template._replace(text=fill(template.text, self._kind, form, operation, self._writer))

    def _is_held(self, variable: Variable) -> bool:
        """Returns whether there are expressions for a variable's type.

        Machine code represents narrow floats as f32. Its integers are signed, so that u64 is
        excluded.
        """
        number = NUMBERS.get(variable.shape.element_type)
        if self._kind == "native" and number is not None:
            return number.computed.kind in "bif" or (number.computed.kind == "u" and number.bits < 64)
        return is_held(variable)

    def _range_of(self, variable: Variable) -> Range:
        source = variable.view_source[0]
        return self._ranges.get(variable) or self._ranges.get(source) or limits_of(source)

    def combination(self, monoid: Monoid, number: NumberType) -> NumberTemplate | None:
        """Returns the template for the combining function of a reduction; None if there is none."""
        return self._template(ROWS[monoid.opcode].function_for(number).expression, [_limits(number)] * 2, None, number)

    def _template(self, expression: Expression, ranges: Sequence[Range], ends: Range | None, result: NumberType) -> NumberTemplate | None:
        """Returns the template for operands in these ranges, with some names in braces.

        `ends` is the range of the value before it is wrapped, or None if it is unknown.
        """
        own = expression.native if self._kind == "native" else expression.python
        text = expression.text_for(ranges) if own is None else own
        if self._kind == "native" and "{call}" in text:
            return None
        low, high = _limits(result)
        fits = ends is not None and low <= ends[0] <= ends[1] <= high
        rounds = expression.rounds and result.bits == 32 and self._kind == "python"
        return NumberTemplate(text, result if expression.overflows and not fits else None, rounds)


def limits_of(variable: Variable) -> Range:
    """Returns the smallest and largest number that an integer or a truth value can be.

    A scalar constant can only be itself. For floats, the result has no meaning.
    """
    number = NUMBERS[variable.shape.element_type]
    if variable.is_scalar and variable.constant is not None and number.kind != "float":
        return int(variable.constant), int(variable.constant)
    return _limits(number)


def _limits(number: NumberType) -> Range:
    return (number.element.minimum, number.element.maximum) if number.element.is_integral else (0, 1)


def fill(text: str, kind: Literal["python", "native", "scalar"], form: Form, operation: Operation, writer: Writer) -> str:
    """Returns the text of an expression with the names in braces replaced, except for operands."""
    for name, replacement in _REPLACEMENTS.items():
        if name in text:
            text = text.replace(name, replacement(kind, form, operation, writer))
    return text


def _constant(kind: str, operation: Operation, writer: Writer, value: int) -> str:
    """Returns the expression for a constant of the operands' type."""
    number = NUMBERS[operation.reads[0].shape.element_type]
    if kind == "scalar" or (kind == "native" and number.kind == "float"):
        return writer.bind(number.held.type(value))
    return str(float(value) if number.kind == "float" else value)


def _call(kind: str, form: Form, operation: Operation, writer: Writer) -> str:
    """Returns a call of the function on arrays with numbers as arguments."""
    arguments = [f"{{{k}}}" for k in range(len(operation.reads))]
    if kind == "python":
        arguments = [f"{_type_of(variable, writer)}({text})" for variable, text in zip(operation.reads, arguments, strict=True)]
    is_ufunc = isinstance(form.function, np.ufunc)
    function = writer.bind(form.function, form.function.__name__ if is_ufunc else None)
    call = f"{function}({', '.join(arguments if is_ufunc else [f'asarray({text})' for text in arguments])})"
    if kind == "python":
        number = NUMBERS[operation.results[0].shape.element_type]
        return f"{_PYTHON_TYPES.get(number.kind, 'int')}({call})"
    return call if is_ufunc else f"{call}[()]"


_PYTHON_TYPES = {"pred": "bool", "float": "float"}


def _type_of(variable: Variable, writer: Writer) -> str:
    held = NUMBERS[variable.shape.element_type].held
    return writer.bind(held.type, held.name)


_REPLACEMENTS: dict[str, Callable[[str, Form, Operation, Writer], str]] = {
    "{zero}": lambda kind, form, operation, writer: _constant(kind, operation, writer, 0),
    "{one}": lambda kind, form, operation, writer: _constant(kind, operation, writer, 1),
    "{type}": lambda kind, form, operation, writer: _type_of(operation.results[0], writer),
    "{source}": lambda kind, form, operation, writer: _type_of(operation.reads[0], writer),
    "{function}": lambda kind, form, operation, writer: writer.bind(form.function),
    "{sqrt}": lambda kind, form, operation, writer: writer.bind(np.sqrt, "sqrt"),
    "{call}": _call,
}
"""The names in the text of expressions (see `arrays.expressions`)."""


def wrap_statement(target: str, number: NumberType) -> str:
    """Returns the statement that wraps one of Python's numbers to the range of its type."""
    values, half = 1 << number.bits, 1 << (number.bits - 1)
    if number.kind == "unsigned":
        return f"{target} &= {values - 1}"
    return f"if not {-half} <= {target} <= {half - 1}: {target} = ({target} + {half} & {values - 1}) - {half}"


def native_wrap_statement(target: str, number: NumberType) -> str:
    """Returns the statement that wraps a machine number to the range of its type."""
    return wrap_statement(target, number) if number.kind == "unsigned" else f"{target} = wrap({target}, {number.bits})"
