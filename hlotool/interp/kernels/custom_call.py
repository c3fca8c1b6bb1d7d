"""The kernel of custom-call: calls the handler of the target and checks its result.

The handlers are in `interp.kernels.libraries`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.arrays.values import Token, Value, checked_argument
from hlotool.interp.devices import Device
from hlotool.interp.kernels.base import Run, kernel
from hlotool.interp.kernels.libraries.handlers import Target, no_handler
from hlotool.interp.kernels.libraries.partitions import join, partitioned_call, split
from hlotool.shapes.shape import Shape
from hlotool.shapes.sharding import Sharding

__all__: list[str] = []


@kernel("custom-call", in_layout=True)
def custom_call(
    *operands: Value,
    target: Target,
    result: Shape,
    frontend_attributes: Mapping[str, str],
    shardings: tuple[Sharding | None, ...],
    instruction_key: Hashable,
    device: Device,
) -> Run:
    call, handler = target.call, target.function
    if handler is None:
        message, hint = no_handler(call.target)
        raise Violation("R001", "custom_call_target", message, hint)
    placed = partitioned_call(call, device, shardings, frontend_attributes) if target.is_own else None
    if placed is not None:
        splits, placements = placed
        if splits:
            return split(operands, placements, call, device)
        return (yield from join(operands, placements, call, device, instruction_key))
    try:
        value = handler(*_read_only_views(operands), **target.keywords)
    except Violation:
        raise
    except Exception as error:
        # User-defined handlers may raise anything.
        raise Violation("R004", "custom_call_target", f"the handler of '{call.target}' raised {type(error).__name__}: {error}") from error
    if result.element_type == "token":
        return Token()
    try:
        return checked_argument(value, result, "result")
    except Violation as violation:
        wanted = result.text_without_layout
        problem = violation.message.removeprefix(f"'result' takes {wanted}, ")
        message = f"the handler of '{call.target}' must return {wanted}: {problem}"
        raise Violation("R004", "custom_call_target", message, violation.hint) from None


def _read_only_views(operands: tuple[Value, ...]) -> list[Value]:
    """Returns read-only views of the operands, since they may be in use elsewhere."""
    views = []
    for operand in operands:
        if isinstance(operand, np.ndarray):
            operand = operand.view()
            operand.flags.writeable = False
        views.append(operand)
    return views
