"""What a called computation does with two scalars, where that is one operation.

Reads graphs, computes nothing.
"""

from __future__ import annotations

from hlotool.ir.model import Computation, Instruction

__all__ = ["binary_root", "is_associative", "without_converts"]

_ASSOCIATIVE = frozenset({"add", "multiply", "minimum", "maximum", "and", "or", "xor"})


def without_converts(x: Instruction) -> Instruction:
    """The instruction whose value arrives through any number of conversions."""
    while x.op.name in ("convert", "bitcast", "copy", "reshape") and x.operands:
        x = x.operands[0]
    return x


def binary_root(computation: Computation) -> Instruction | None:
    """The one operation that combines both parameters into the result, conversions apart; None where there is no such thing.

    >>> from hlotool.text.parse.parser import parse
    >>> module = parse("f { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] subtract(a, b) } ENTRY e { ROOT p = f32[] parameter(0) }")
    >>> binary_root(module.computations[0]).opcode
    'subtract'
    """
    root = without_converts(computation.root)
    operands = [without_converts(operand) for operand in root.operands]
    both = len(operands) == 2 and operands[0] is not operands[1] and all(operand.op.name == "parameter" for operand in operands)
    return root if both else None


def is_associative(x: Instruction) -> bool:
    """Whether the operation gives the same whatever the order of its operands and of repeated application, rounding apart."""
    return x.op.name in _ASSOCIATIVE
