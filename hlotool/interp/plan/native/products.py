"""Dot products of floats, computed by the inner loop of NumPy's matrix product."""

from __future__ import annotations

from math import prod

import numpy as np

from hlotool.interp.arrays.memory_order import is_row_major
from hlotool.interp.plan.native.native_statements import CannotCompile, NativeStatements, dtype_of, size_of
from hlotool.interp.plan.operations import Operation
from hlotool.interp.plan.products import product_form

__all__ = ["write_dot"]


def write_dot(self: NativeStatements, operation: Operation) -> None:
    """Writes a dot. Raises CannotCompile if it is unsupported."""
    form = product_form(operation)
    if form is None or not all(is_row_major(operand.shape) for operand in operation.instruction.operands):
        raise CannotCompile
    (lhs, rhs), (result,) = operation.reads, operation.results
    dtype = dtype_of(result)
    *batch, rows, contracted = form.lhs_sizes
    columns = form.rhs_sizes[-1]
    names, matrices = [], []
    for variable, order, sizes in ((lhs, form.lhs_order, form.lhs_sizes), (rhs, form.rhs_order, form.rhs_sizes)):
        # Find the strides of matrices in memory. If the reshape copies, they do not apply to the
        # operand.
        array = np.empty(variable.shape.dimensions, dtype)
        matrix = array.transpose(order).reshape(prod(batch), *sizes[-2:])
        if not np.shares_memory(array, matrix):
            raise CannotCompile
        matrices.append(matrix.strides)
        names.append(self.store(variable, size_of(variable)))
    if names[0] == names[1]:
        # Copy the operand, since NumPy has a separate function for the product of a matrix and its
        # own transpose.
        names[1] = self.allocate(dtype, size_of(rhs))
        self.writer.line(f"for i in range({size_of(rhs)}): {names[1]}[i] = {names[0]}[i]")
    target = self.allocate(dtype, 1) if result.is_scalar else self.array(result)
    size = np.dtype(dtype).itemsize
    (left, *left_steps), (right, *right_steps) = matrices
    steps = [left, right, rows * columns * size, *left_steps, *right_steps, columns * size, size]
    addresses = [(f"{name}.ctypes.data", dtype) for name in (*names, target)]
    self.call_loop(np.matmul, addresses, [prod(batch), rows, contracted, columns], steps)
    if result.is_scalar:
        self.writer.line(f"{self.name(result)} = {target}[0]")
