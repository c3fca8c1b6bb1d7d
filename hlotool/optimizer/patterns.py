"""What rules ask of instructions: constants, element types, and operands in either order."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.simplify import constant_value, is_same_number
from hlotool.ir.model import Instruction
from hlotool.opdefs.algebra import Number
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType

__all__ = ["both_orders", "element_type", "is_constant", "is_float", "is_integral", "is_splat"]


def element_type(x: Instruction) -> ElementType | None:
    """The element type of an array; None for tuples, tokens and buffers."""
    return ELEMENT_TYPES.get(x.shape.element_type)


def is_integral(x: Instruction) -> bool:
    """Whether the elements are integers or pred, whose arithmetic is exact in any order.

    >>> from hlotool.text.parse.parser import parse
    >>> [is_integral(parse("ENTRY e { ROOT p = %s[] parameter(0) }" % name).entry.root) for name in ("s4", "pred", "bf16", "c64")]
    [True, True, False, False]
    """
    row = element_type(x)
    return row is not None and (row.is_integral or row.kind == "pred")


def is_float(x: Instruction) -> bool:
    """Whether the elements are real floating-point numbers."""
    row = element_type(x)
    return row is not None and row.kind == "float"


def is_constant(x: Instruction) -> bool:
    """Whether all elements are known: a constant whose values are in the text, or one number everywhere."""
    return (x.literal is not None and not x.literal.elided) or constant_value(x) is not None


def is_splat(x: Instruction, number: Number) -> bool:
    """Whether all elements are this number; 0.0 and -0.0 differ.

    >>> from hlotool.text.parse.parser import parse
    >>> root = parse("ENTRY e { z = f32[] constant(-0.0) ROOT b = f32[4] broadcast(z), dimensions={} }").entry.root
    >>> is_splat(root, -0.0), is_splat(root, 0.0)
    (True, False)
    """
    value = constant_value(x)
    return value is not None and is_same_number(value, number)


def both_orders(x: Instruction) -> Iterator[tuple[Instruction, Instruction]]:
    """The two operands of an instruction, and again swapped."""
    first, second = x.operands
    yield first, second
    if first is not second:
        yield second, first
