"""Helpers shared by rules for constants, element types and commuted operands."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.simplify import constant_value
from hlotool.ir.model import Instruction
from hlotool.opdefs.traits import COMMUTATIVE
from hlotool.optimizer.pattern_rewriter import PatternRewriter
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType

__all__ = ["both_orders", "element_type", "is_complex", "is_constant", "is_float", "is_integral", "orders", "with_constants_together"]


def element_type(x: Instruction) -> ElementType:
    """Returns the element type of an array; tuples and buffers count as opaque."""
    return ELEMENT_TYPES.get(x.shape.element_type, ELEMENT_TYPES["opaque"])


def is_integral(x: Instruction) -> bool:
    """Returns whether the elements are integers or pred, so that arithmetic is exact in any order.

    >>> from hlotool.text.parse.parser import parse
    >>> [is_integral(parse("ENTRY e { ROOT p = %s[] parameter(0) }" % name).entry.root) for name in ("s4", "pred", "bf16", "c64")]
    [True, True, False, False]
    """
    row = element_type(x)
    return row.is_integral or row.kind == "pred"


def is_float(x: Instruction) -> bool:
    """Returns whether the elements are real floating-point numbers."""
    return element_type(x).kind == "float"


def is_complex(x: Instruction) -> bool:
    """Returns whether the elements are complex, so that most laws of real numbers do not hold."""
    return element_type(x).kind == "complex"


def is_constant(x: Instruction) -> bool:
    """Returns whether all elements are known.

    This is true for constants that are not elided, and for arrays whose elements are all the same
    known number.
    """
    return (x.literal is not None and not x.literal.elided) or constant_value(x) is not None


def both_orders(x: Instruction) -> Iterator[tuple[Instruction, Instruction]]:
    """Yields the two operands of an instruction, in both orders."""
    first, second = x.operands
    yield first, second
    yield second, first


def orders(x: Instruction) -> Iterator[tuple[Instruction, Instruction]]:
    """Yields the two operands of an instruction, in both orders if the operation is commutative."""
    return both_orders(x) if COMMUTATIVE in x.op.traits else iter(((x.operands[0], x.operands[1]),))


def with_constants_together(x: Instruction, rewriter: PatternRewriter) -> Instruction | None:
    """Rewrites op(op(a, c1), c2) as op(a, op(c1, c2)), or returns None if `x` has a different form.

    The operation must be commutative and associative.
    """
    for inner, last in both_orders(x):
        if inner.op is not x.op or not is_constant(last) or not rewriter.has_one_user(inner):
            continue
        for a, first in both_orders(inner):
            if is_constant(first) and not is_constant(a):
                return rewriter.with_operands(x, [a, rewriter.add(x.op.name, [first, last], x.shape)])
    return None
