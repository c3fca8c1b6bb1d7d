"""Kernels of opcodes that group values: tuple and get-tuple-element.

Parameters and constants have no kernels: their values exist before the first step.
"""

from __future__ import annotations

from hlotool.interp.arrays.values import Value
from hlotool.interp.kernels.base import kernel
from hlotool.opdefs.kinds import Int

__all__: list[str] = []


@kernel("tuple", batch="same")
def tuple_(*operands: Value) -> Value:
    return operands


@kernel("get-tuple-element", batch="same")
def get_tuple_element(operand: Value, *, index: Int) -> Value:
    return operand[index]
