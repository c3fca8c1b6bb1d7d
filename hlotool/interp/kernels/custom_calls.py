"""The kernel of custom-call: asks the handler of its target and checks what that gives.

Which targets have a handler is `interp.custom_calls`' table.
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
    assert handler is not None, "targets without a handler are found before a run"
    keywords: dict[str, Any] = {}
    if takes_call(handler):
        keywords["call"] = CustomCall(custom_call_target, result, operand_shapes, backend_config or "")
    try:
        made = handler(*_read_only(operands), **keywords)
    except Violation:
        raise
    except Exception as error:
        # It may be anybody's function, and so may be what it raises.
        raise Violation("R004", "custom_call_target", f"the handler of '{custom_call_target}' raised {type(error).__name__}: {error}") from error
    if result.element_type == "token":
        return Token()
    try:
        return checked_argument(made, result, f"the result of {custom_call_target}")
    except Violation as violation:
        raise Violation("R004", "custom_call_target", f"the handler's value does not fit: {violation.message}", violation.hint) from None


def _read_only(operands: tuple[Value, ...]) -> list[Value]:
    """Views of the operands that a handler cannot write into, since others hold them too."""
    seen = []
    for operand in operands:
        if isinstance(operand, np.ndarray):
            operand = operand.view()
            operand.flags.writeable = False
        seen.append(operand)
    return seen
