"""Expressions for operations whose results are views.

Indices and shapes, which kernels compute in each call, are computed at compile time.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from hlotool.interp.arrays.memory_order import is_row_major
from hlotool.interp.plan.operations import Operation, Variable
from hlotool.interp.plan.writer import Writer
from hlotool.ir.model import Instruction

__all__ = ["view_expression"]

Sizes = tuple[int, ...]


def view_expression(operation: Operation, writer: Writer) -> str | None:
    """Returns the expression for a reshape, broadcast, transpose or slice of a static array.

    Returns None for other operations, and if the declared shape of the result does not match.

    >>> import hlotool
    >>> module = hlotool.parse("ENTRY e { x = f32[2,3] parameter(0) ROOT r = f32[3,2] transpose(x), dimensions={1,0} }")
    >>> x, r = [Variable(x.shape) for x in module.entry.instructions]
    >>> view_expression(Operation(module.entry.root, [(x,)], (r,)), Writer())
    'v1.transpose(k0)'
    """
    make = _VIEWS.get(operation.instruction.opcode)
    if make is None:
        return None
    ((operand,),) = operation.operands
    (result,) = operation.results
    if not (_is_static(operand) and _is_static(result)) or operand.shape.element_type != result.shape.element_type:
        return None
    expression = make(operation.instruction, operand.shape.dimensions, result.shape.dimensions, writer)
    if expression is None:
        return None
    # Scalars are not arrays in generated code.
    name = f"asarray({writer.name(operand)})" if operand.is_scalar else writer.name(operand)
    return name + expression


def _is_static(variable: Variable) -> bool:
    return variable.shape.is_array and not any(variable.shape.dynamic or ())


def _reshape(x: Instruction, sizes: Sizes, result: Sizes, writer: Writer) -> str | None:
    if prod(sizes) != prod(result):
        return None
    return f".reshape({writer.bind(result)})" if result else f"[{writer.bind((0,) * len(sizes))}]"


def _bitcast(x: Instruction, sizes: Sizes, result: Sizes, writer: Writer) -> str | None:
    """Returns a reshape if both arrays are in row-major order; None otherwise."""
    if not all(map(is_row_major, (x.shape, x.operands[0].shape))):
        return None
    return _reshape(x, sizes, result, writer)


def _broadcast(x: Instruction, sizes: Sizes, result: Sizes, writer: Writer) -> str | None:
    """Returns a reshape if the broadcast only adds dimensions of size 1; None otherwise."""
    dimensions = tuple(x.attributes.get("dimensions", ()))
    if list(dimensions) != sorted(set(dimensions)) or any(not 0 <= k < len(result) for k in dimensions):
        return None
    return _reshape(x, sizes, result, writer) if tuple([result[k] for k in dimensions]) == sizes else None


def _transpose(x: Instruction, sizes: Sizes, result: Sizes, writer: Writer) -> str | None:
    order = x.attributes["dimensions"]
    if sorted(order) != list(range(len(sizes))) or tuple([sizes[k] for k in order]) != result:
        return None
    return f".transpose({writer.bind(tuple(order))})"


def _slice(x: Instruction, sizes: Sizes, result: Sizes, writer: Writer) -> str | None:
    ranges = x.attributes["slice"]
    if len(ranges) != len(sizes) or any(not 0 <= r.start <= r.limit <= size or r.stride < 1 for r, size in zip(ranges, sizes, strict=True)):
        return None
    if tuple([-(-(r.limit - r.start) // r.stride) for r in ranges]) != result:
        return None
    return f"[{writer.bind(tuple([slice(r.start, r.limit, r.stride) for r in ranges]))}]"


_VIEWS: dict[str, Callable[[Instruction, Sizes, Sizes, Writer], str | None]] = {
    "bitcast": _bitcast,
    "broadcast": _broadcast,
    "reshape": _reshape,
    "slice": _slice,
    "transpose": _transpose,
}
