"""Dot products of floats, by the loop of NumPy's matrix product."""

from __future__ import annotations

from math import prod

import numpy as np

from hlotool.interp.plan.graph import Operation
from hlotool.interp.plan.native.moves import is_contiguous
from hlotool.interp.plan.native.statements import CannotCompile, NativeStatements, dtype_of, size_of
from hlotool.interp.plan.products import product_form

__all__ = ["write_dot"]


def write_dot(self: NativeStatements, operation: Operation) -> None:
    """Writes a dot. Raises CannotCompile."""
    form = product_form(operation)
    if form is None or not all(is_contiguous(variable, self.bindings) for variable in operation.reads):
        raise CannotCompile
    (lhs, rhs), (result,) = operation.reads, operation.results
    dtype = dtype_of(result)
    *batch, rows, contracted = form.lhs_sizes
    columns = form.rhs_sizes[-1]
    addresses, matrices = [], []
    for variable, order, sizes in ((lhs, form.lhs_order, form.lhs_sizes), (rhs, form.rhs_order, form.rhs_sizes)):
        # The distances of elements in memory; where a reshape copies, they are not those of the operand.
        array = np.empty(variable.shape.dimensions, dtype)
        matrix = array.transpose(order).reshape(prod(batch), *sizes[-2:])
        if not np.shares_memory(array, matrix):
            raise CannotCompile
        matrices.append(matrix.strides)
        addresses.append((f"{self.in_memory(variable, size_of(variable))}.ctypes.data", dtype))
    target = self.allocate(dtype, 1) if result.is_scalar else self.array(result)
    size = np.dtype(dtype).itemsize
    (left, *of_left), (right, *of_right) = matrices
    steps = [left, right, rows * columns * size, *of_left, *of_right, columns * size, size]
    self.call_loop(np.matmul, [*addresses, (f"{target}.ctypes.data", dtype)], [prod(batch), rows, contracted, columns], steps)
    if result.is_scalar:
        self.writer.line(f"{self.name(result)} = {target}[0]")
