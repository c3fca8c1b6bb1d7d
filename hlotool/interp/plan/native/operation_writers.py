"""Writes the statements for elementwise operations and moves.

Other modules write the statements for all other operations.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hlotool.interp.arrays.dtypes import NUMBERS
from hlotool.interp.plan.forms import form_of
from hlotool.interp.plan.native.indexing import write_dynamic_slice, write_dynamic_update_slice, write_gather, write_scatter
from hlotool.interp.plan.native.moves import Move, moves_of
from hlotool.interp.plan.native.native_statements import CannotCompile, NativeStatements, dtype_of, size_of
from hlotool.interp.plan.native.products import write_dot
from hlotool.interp.plan.native.reduction_loops import write_reduce
from hlotool.interp.plan.operations import Operation

__all__ = ["write_operation"]


def write_operation(self: NativeStatements, operation: Operation) -> None:
    """Writes the statements for an operation. Raises CannotCompile if it is unsupported."""
    if len(operation.results) != 1:
        raise CannotCompile
    _WRITERS.get(operation.instruction.opcode, _write_elementwise)(self, operation)


def _write_elementwise(self: NativeStatements, operation: Operation) -> None:
    form, (result,) = form_of(operation), operation.results
    if form is None:
        raise CannotCompile
    template = self.templates.template(operation)
    if template is None:
        if not isinstance(form.function, np.ufunc) or NUMBERS[result.shape.element_type].kind != "float":
            raise CannotCompile
        _write_ufunc(self, operation, form.function)
    elif result.is_scalar:
        self.write_value(self.name(result), template, [self.name(variable) for variable in operation.reads])
    else:
        target = self.array(result)
        with self.writer.block(f"for i in range({size_of(result)}):"):
            self.write_value(f"{target}[i]", template, [self.element(variable, "i") for variable in operation.reads])


def _write_ufunc(self: NativeStatements, operation: Operation, ufunc: np.ufunc) -> None:
    """Writes a call to NumPy's own loop, which takes numbers as arrays of one element."""
    (result,) = operation.results
    count = size_of(result)
    addresses = [(f"{self.store(variable, count)}.ctypes.data", dtype_of(variable)) for variable in operation.reads]
    target = self.allocate(dtype_of(result), 1) if result.is_scalar else self.array(result)
    addresses.append((f"{target}.ctypes.data", dtype_of(result)))
    self.call_loop(ufunc, addresses, [count], [np.dtype(dtype).itemsize for _, dtype in addresses])
    if result.is_scalar:
        self.writer.line(f"{self.name(result)} = {target}[0]")


def _write_moves(self: NativeStatements, operation: Operation) -> None:
    (operand, *others), (result,) = operation.reads, operation.results
    moves = moves_of(operation, self.bindings[operation.instruction])
    if moves is None:
        raise CannotCompile
    number = None if others or result.is_scalar else self.uniform_number(operand)
    if number is not None:
        self.repeat(number, result)
    elif result.is_scalar:
        (move,) = moves
        self.writer.line(f"{self.name(result)} = {self.element(operation.reads[move.operand], str(move.first))}")
    elif moves == [Move(0, size_of(result), 0, 0, 1)] and size_of(operand) == size_of(result):
        self.share(operand, result)
    else:
        target = self.array(result)
        for move in moves:
            position = str(move.first) if move.length == 1 else f"{move.first} + {move.step} * i"
            position = position if move.positions is None else f"{self.writer.bind(move.positions)}[i]"
            text = self.element(operation.reads[move.operand], position)
            self.writer.line(f"for i in range({move.length}): {target}[{move.start} + i] = {text}")


_WRITERS: dict[str, Callable[[NativeStatements, Operation], None]] = {
    "bitcast": _write_moves,
    "broadcast": _write_moves,
    "concatenate": _write_moves,
    "copy": _write_moves,
    "dot": write_dot,
    "dynamic-slice": write_dynamic_slice,
    "dynamic-update-slice": write_dynamic_update_slice,
    "gather": write_gather,
    "pad": _write_moves,
    "reduce": write_reduce,
    "reshape": _write_moves,
    "reverse": _write_moves,
    "scatter": write_scatter,
    "slice": _write_moves,
    "transpose": _write_moves,
}
