"""Kernels of opcodes that order, mark or move values without changing them: tokens, barriers, domains and asynchronous copies.

Transfers between devices and hosts are not here: a run has one device and no host queue.
"""

from __future__ import annotations

from hlotool.interp.kernels.base import kernel, unchanged
from hlotool.interp.values import Token, Value, zeros
from hlotool.shapes.shape import Shape

__all__: list[str] = []


@kernel("after-all", lanes="same")
def after_all(*operands: Value) -> Value:
    return Token()


@kernel("add-dependency", lanes="same")
def add_dependency(operand: Value, token: Value) -> Value:
    return operand


@kernel("copy-start")
def copy_start(operand: Value, *, result: Shape) -> Value:
    """Destination, source and a context that nobody reads."""
    return operand, operand, *(zeros(shape) for shape in result.elements[2:])


@kernel("copy-done")
def copy_done(operand: Value) -> Value:
    return operand[0]


kernel("opt-barrier", "domain", lanes="same")(unchanged)
