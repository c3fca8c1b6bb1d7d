"""Elementwise operations on single numbers as expressions on NumPy scalars.

Python's operators on NumPy scalars take a tenth of the time of NumPy's functions.
"""

from __future__ import annotations

from hlotool.interp.plan.forms import form_of
from hlotool.interp.plan.numbers import fill, limits_of
from hlotool.interp.plan.operations import Operation
from hlotool.interp.plan.writer import Writer

__all__ = ["scalar_expression"]


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
    text = form.expression.scalar or form.expression.text_for([limits_of(variable) for variable in operation.reads])
    return fill(text, "scalar", form, operation, writer).format(*map(writer.name, operation.reads))
