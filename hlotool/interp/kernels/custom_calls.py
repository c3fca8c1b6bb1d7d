"""The kernel of custom-call: calls the handler of the target and checks its result.

The handlers are in `interp.custom_calls`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.custom_calls import CustomCall, handler_of, takes_call
from hlotool.interp.kernels.base import kernel
from hlotool.interp.options import RunOptions
from hlotool.interp.values import Token, Value, checked_argument
from hlotool.opdefs.kinds import Text
from hlotool.shapes.shape import Shape

__all__: list[str] = []


@kernel("custom-call")
def custom_call(
    *operands: Value, custom_call_target: Text, options: RunOptions, result: Shape, operand_shapes: tuple[Shape, ...], backend_config: str | None
) -> Value:
    handler = handler_of(custom_call_target, options)
    if handler is None:
        raise Violation("R001", "custom_call_target", f"hlotool does not know what the custom-call target '{custom_call_target}' computes")
    keywords: dict[str, Any] = {}
    if takes_call(handler):
        keywords["call"] = CustomCall(custom_call_target, result, operand_shapes, backend_config or "")
    try:
        value = handler(*_read_only(operands), **keywords)
    except Violation:
        raise
    except Exception as error:
        # Handlers of users may raise anything.
        raise Violation("R004", "custom_call_target", f"the handler of '{custom_call_target}' raised {type(error).__name__}: {error}") from error
    if result.element_type == "token":
        return Token()
    try:
        return checked_argument(value, result, f"the result of {custom_call_target}")
    except Violation as violation:
        raise Violation("R004", "custom_call_target", f"the handler's value does not fit: {violation.message}", violation.hint) from None


def _read_only(operands: tuple[Value, ...]) -> list[Value]:
    """Read-only views of the operands, since others may hold them, too."""
    views = []
    for operand in operands:
        if isinstance(operand, np.ndarray):
            operand = operand.view()
            operand.flags.writeable = False
        views.append(operand)
    return views
