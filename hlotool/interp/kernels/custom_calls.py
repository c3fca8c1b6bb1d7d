"""The kernel of custom-call: calls the handler of the target and checks its result.

The handlers are in `interp.custom_calls`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from hlotool.errors import Violation
from hlotool.interp.custom_calls.base import CustomCall
from hlotool.interp.custom_calls.partitions import join, partitioned_call, split
from hlotool.interp.custom_calls.table import handler_of, takes_call
from hlotool.interp.devices import Device
from hlotool.interp.kernels.base import Run, kernel
from hlotool.interp.options import RunOptions
from hlotool.interp.values import Token, Value, checked_argument
from hlotool.opdefs.kinds import DimLabels, Int, Text, Window
from hlotool.shapes.shape import Shape
from hlotool.shapes.sharding import Sharding

__all__: list[str] = []


@kernel("custom-call")
def custom_call(
    *operands: Value,
    custom_call_target: Text,
    window: Window | None,
    dim_labels: DimLabels | None,
    feature_group_count: Int,
    batch_group_count: Int,
    options: RunOptions,
    result: Shape,
    operand_shapes: tuple[Shape, ...],
    backend_config: str | None,
    frontend_attributes: Mapping[str, str],
    shardings: tuple[Sharding | None, ...],
    site: Hashable,
    device: Device,
) -> Run:
    handler = handler_of(custom_call_target, options)
    if handler is None:
        raise Violation("R001", "custom_call_target", f"hlotool does not know what the custom-call target '{custom_call_target}' computes")
    call = CustomCall(
        custom_call_target, result, operand_shapes, backend_config or "", window or (), dim_labels, feature_group_count, batch_group_count
    )
    is_own = custom_call_target not in (options.custom_calls or {})
    placed = partitioned_call(call, device, shardings, frontend_attributes) if is_own else None
    if placed is not None:
        splits, placements = placed
        if splits:
            return split(operands, placements, call, device)
        return (yield from join(operands, placements, call, device, site))
    keywords: dict[str, Any] = {"call": call} if takes_call(handler) else {}
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
