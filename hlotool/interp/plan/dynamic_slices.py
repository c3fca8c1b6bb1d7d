"""Statements for slices and updates at computed positions.

Slices become views, and updates become assignments to parts of arrays. The limits of positions are
known at compile time.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hlotool.interp.arrays.dtypes import NUMBERS, NUMPY_TYPES
from hlotool.interp.plan.operations import Operation, Variable
from hlotool.interp.plan.writer import Writer

__all__ = ["fits", "write_dynamic_slice", "write_dynamic_update_slice"]


def write_dynamic_slice(writer: Writer, operation: Operation) -> bool:
    """Writes a dynamic-slice of a static array at scalar positions.

    Returns False without writing anything for any other operation.
    """
    if operation.instruction.opcode != "dynamic-slice":
        return False
    (operand, *indices), (result,) = operation.reads, operation.results
    if operand.shape.element_type != result.shape.element_type:
        return False
    lengths = tuple(operation.instruction.attributes.get("dynamic_slice_sizes") or ())
    if lengths != result.shape.dimensions or not fits(operand, lengths, indices, [operand, result]):
        return False
    index = _index(writer, operand, lengths, indices)
    writer.line(f"{writer.name(result)} = {writer.name(operand)}[{index}]")
    return True


def write_dynamic_update_slice(writer: Writer, operation: Operation, dying: Sequence[Variable]) -> tuple[bool, Variable | None]:
    """Writes a dynamic-update-slice of a static array at scalar positions.

    Returns whether the operation was written, and the operand whose array the statements may
    overwrite, if any. The statements delete the name of this operand.
    """
    if operation.instruction.opcode != "dynamic-update-slice":
        return False, None
    (operand, update, *indices), (result,) = operation.reads, operation.results
    if len({variable.shape.element_type for variable in (operand, update, result)}) != 1 or operand.shape.dimensions != result.shape.dimensions:
        return False, None
    if not fits(operand, update.shape.dimensions, indices, [operand, update, result]):
        return False, None
    index = _index(writer, operand, update.shape.dimensions, indices)
    name, copy = writer.name(operand), writer.bind(np.array, "array")
    passed = operand if operand in dying and operand is not update and operand.constant is None else None
    if passed is None:
        writer.line(f"{writer.name(result)} = {copy}({name})")
    else:
        writer.line(f"o = [{name}]; del {name}; can = can_alias(o)")
        writer.line(f"{writer.name(result)} = o.pop() if can else {copy}(o.pop())")
    writer.line(f"{writer.name(result)}[{index}] = {writer.name(update)}")
    return True, passed


def fits(operand: Variable, lengths: Sequence[int], indices: Sequence[Variable], arrays: Sequence[Variable]) -> bool:
    """Returns whether a slice of these lengths at `indices` is valid for the operand.

    All `arrays`, including the operand, must be static.
    """
    sizes = operand.shape.dimensions
    if not sizes or not len(sizes) == len(lengths) == len(indices) or any(length > size for length, size in zip(lengths, sizes, strict=True)):
        return False
    if any(variable.shape.element_type not in NUMPY_TYPES or any(variable.shape.dynamic or ()) for variable in arrays):
        return False
    return all(variable.is_scalar and variable.shape.element_type in _INDEX_TYPES for variable in indices)


_INDEX_TYPES = {name for name, number in NUMBERS.items() if number.element.is_integral and number.bits >= 8}


def _index(writer: Writer, operand: Variable, lengths: Sequence[int], indices: Sequence[Variable]) -> str:
    """Writes the statements that clamp the positions; returns the index of the slice."""
    parts = []
    for size, length, variable in zip(operand.shape.dimensions, lengths, indices, strict=True):
        most = size - length
        if not most:
            parts.append(":")
        elif variable.constant is not None:
            start = min(max(int(variable.constant), 0), most)
            parts.append(f"{start}:{start + length}")
        else:
            start_name = writer.local("s")
            writer.line(f"{start_name} = {writer.name(variable)}.item()")
            writer.line(f"if not 0 <= {start_name} <= {most}: {start_name} = 0 if {start_name} < 0 else {most}")
            parts.append(f"{start_name}:{start_name} + {length}")
    return ", ".join(parts)
