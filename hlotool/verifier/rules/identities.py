"""W019, W021, W033 and W046: operations whose result is known."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.simplify import constant_value, identity_of, same_value, value_of_itself
from hlotool.analysis.sizes import elements_of
from hlotool.ir.model import Instruction
from hlotool.opdefs.algebra import NO_ALGEBRA, Number
from hlotool.opdefs.base import OpDef
from hlotool.opdefs.traits import COMMUTATIVE, FOLDABLE, IDEMPOTENT, INVOLUTION
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_MAX_FOLDED = 1 << 24


@module_rule("W019", stage="lint")
def identities(facts: Facts) -> Iterator[Finding]:
    """No arithmetic operation is redundant.

    Checks: no operand is an identity element (0 in an addition, 1 in a multiplication, the smallest
    value in a maximum); no operation with two equal operands has a known result (`x - x`, `and(x,
    x)`); and no operation undoes or repeats another one (not of not, negate of negate, abs of abs).
    For floats, only identities that hold for every value are reported: `x + 0` is not `x`, since
    -0 + 0 is 0.
    """
    for computation, x in facts.instructions_where(_is_algebraic):
        row = ELEMENT_TYPES.get(x.shape.element_type)
        message = _identity(x, row) if row is not None and row.kind != "complex" else None
        if message is not None:
            yield Finding("W019", computation, x, "opcode", message)


def _is_algebraic(op: OpDef) -> bool:
    return op.algebra is not NO_ALGEBRA or not op.traits.isdisjoint((IDEMPOTENT, INVOLUTION))


def _identity(x: Instruction, row: ElementType) -> str | None:
    opcode, source = x.op.name, same_value(x)
    if len(x.operands) == 1:
        return None if source is None else f"{opcode} of {opcode}: the result is '{source.name}'"
    first, second = x.operands
    if source is None:
        number = value_of_itself(x.op, row) if first is second else None
        return f"{opcode} of '{first.name}' with itself: the result is {_number_text(number, row)}" if number is not None else None
    if first is second:
        return f"{opcode} of '{first.name}' with itself: the result is '{source.name}'"
    value = constant_value(second if source is first else first)
    if value is None or value != identity_of(x.op, row):
        # The constant absorbs the other operand, so it is the result.
        value = constant_value(source)
        if source is first and COMMUTATIVE not in x.op.traits:
            return f"{opcode} of {_number_text(value, row)}: the result is '{source.name}'"
    return f"{_PHRASES.get(opcode, f'{opcode} with')} {_number_text(value, row)}: the result is '{source.name}'"


def _number_text(value: Number | None, row: ElementType) -> str:
    return ("true" if value else "false") if row.kind == "pred" else f"{value:g}" if isinstance(value, float) else str(value)


_PHRASES = {
    "add": "addition of", "subtract": "subtraction of", "multiply": "multiplication by", "divide": "division by", "and": "and with",
    "or": "or with", "xor": "xor with", "maximum": "maximum with", "minimum": "minimum with", "power": "power with exponent",
    "shift-left": "shift by", "shift-right-logical": "shift by", "shift-right-arithmetic": "shift by",
}  # fmt: skip


@module_rule("W021", stage="lint")
def foldable(facts: Facts) -> Iterator[Finding]:
    """Instructions whose operands are all constants are replaced with their results.

    Checks: no elementwise operation, reduction, slice or the like has only constants with known
    values as operands, unless its result has more than 16 Mi elements.
    """
    for computation, x in facts.instructions_with(FOLDABLE):
        literals = [operand.literal for operand in x.operands]
        if literals and all(literal is not None and not literal.elided for literal in literals) and elements_of(x.shape) <= _MAX_FOLDED:
            yield Finding("W021", computation, x, "opcode", "all operands are constants, so the result is known")


@module_rule("W033", stage="lint")
def divisions_by_zero(facts: Facts) -> Iterator[Finding]:
    """Divisors are not zero.

    Checks: no divide or remainder has the constant zero as its divisor, whether broadcast or not.
    """
    for computation, x in facts.instructions_of("divide", "remainder"):
        value = constant_value(x.operands[1])
        if value is None or value != 0:
            continue
        row = ELEMENT_TYPES[x.shape.element_type]
        hint = "XLA defines the quotient as all ones and the remainder as the dividend" if row.is_integral else None
        kind = "integer division" if row.is_integral else "division"
        message = f"{kind} by the constant 0" if x.op.name == "divide" else "remainder of division by the constant 0"
        yield Finding("W033", computation, x, "opcode", message, hint)


@module_rule("W046", stage="lint")
def constant_selectors(facts: Facts) -> Iterator[Finding]:
    """A selector is not a constant.

    Checks: no select or conditional has a constant selector, and no clamp limits a constant.
    """
    for computation, x in facts.instructions_of("select", "conditional"):
        value = constant_value(x.operands[0])
        if value is not None:
            text = ("true" if value else "false") if x.operands[0].shape.element_type == "pred" else str(value)
            yield Finding("W046", computation, x, "opcode", f"the selector is the constant {text}")
    for computation, x in facts.instructions_of("clamp"):
        if constant_value(x.operands[1]) is not None:
            yield Finding("W046", computation, x, "opcode", "the value to clamp is a constant")
