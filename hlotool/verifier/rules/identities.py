"""W019, W021, W033 and W046: arithmetic whose result is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

from hlotool.analysis.constants import uniform_value
from hlotool.analysis.sizes import elements_of
from hlotool.ir.model import Instruction
from hlotool.opdefs.traits import FOLDABLE
from hlotool.shapes.dtype import ELEMENT_TYPES, ElementType
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_MOST_FOLDED = 1 << 24
_TWICE = frozenset({"not", "negate"})
_IDEMPOTENT = frozenset({"maximum", "minimum", "and", "or"})
_COMMUTATIVE = frozenset({"add", "multiply", "and", "or", "xor", "maximum", "minimum"})


@module_rule("W019", stage="lint")
def identities(facts: Facts) -> Iterator[Finding]:
    """Arithmetic changes its operand.

    Checks: a neutral operand (adding 0, multiplying by 1, maximum with the least value ...), the same operand twice (`x - x`, `and(x, x)`),
    not of a not, negate of a negate. Of floats only what holds for each value: `x + 0` is not `x`, since -0 + 0 is 0.
    Why: the result is known without computing it.
    Bad: `multiply(p, one)` with `one = f32[] constant(1)`
    Good: p
    """
    for computation, x in facts.instructions_of(*_NEUTRAL, *_TWICE):
        row = ELEMENT_TYPES.get(x.shape.element_type)
        said = _identity(x, row) if row is not None and row.kind != "complex" else None
        if said is not None:
            yield Finding("W019", computation, x, "opcode", said)


def _identity(x: Instruction, row: ElementType) -> str | None:
    opcode = x.op.name
    if opcode in _TWICE:
        before = x.operands[0]
        return f"{opcode} of a {opcode}: this is '{before.operands[0].name}'" if before.op.name == opcode else None
    first, second = x.operands
    if first is second:
        if opcode in _IDEMPOTENT:
            return f"{opcode} of '{first.name}' with itself"
        if opcode in ("subtract", "xor") and row.kind != "float":
            return f"{opcode} of '{first.name}' and itself is 0"
        return None
    neutral = _NEUTRAL[opcode](row)
    if neutral is None:
        return None
    for operand, other in ((second, first), *([(first, second)] if opcode in _COMMUTATIVE else [])):
        value = uniform_value(operand)
        if value is not None and value == neutral:
            return f"{_DOING[opcode]} {_spelled(value, row)}: this is '{other.name}'"
    return None


def _spelled(value: float, row: ElementType) -> str:
    return ("true" if value else "false") if row.kind == "pred" else f"{value:g}" if isinstance(value, float) else str(value)


def _zero_of_integers(row: ElementType) -> float | None:
    return None if row.kind == "float" else 0


def _ones(row: ElementType) -> float | None:
    if row.kind == "float":
        return None
    return 1 if row.kind == "pred" else row.maximum if row.kind == "unsigned" else -1


def _least(row: ElementType) -> float | None:
    return -inf if row.kind == "float" else 0 if row.kind == "pred" else row.minimum


def _greatest(row: ElementType) -> float | None:
    return inf if row.kind == "float" else 1 if row.kind == "pred" else row.maximum


_NEUTRAL: dict[str, Callable[[ElementType], float | None]] = {
    "add": _zero_of_integers, "subtract": lambda row: 0, "multiply": lambda row: 1, "divide": lambda row: 1, "and": _ones, "or": _zero_of_integers,
    "xor": _zero_of_integers, "maximum": _least, "minimum": _greatest, "power": lambda row: 1, "shift-left": lambda row: 0,
    "shift-right-logical": lambda row: 0, "shift-right-arithmetic": lambda row: 0,
}  # fmt: skip
"""The second operand that leaves the first one as it is, by element type; None where there is none."""
_DOING = {
    "add": "addition of", "subtract": "subtraction of", "multiply": "multiplication by", "divide": "division by", "and": "and with",
    "or": "or with", "xor": "xor with", "maximum": "maximum with", "minimum": "minimum with", "power": "power of", "shift-left": "shift by",
    "shift-right-logical": "shift by", "shift-right-arithmetic": "shift by",
}  # fmt: skip


@module_rule("W021", stage="lint")
def foldable(facts: Facts) -> Iterator[Finding]:
    """What follows from constants alone is a constant.

    Checks: elementwise operations, reductions, slices and the like of constants with known values, up to 16 Mi elements.
    Why: it is computed whenever the program runs, or whenever it is compiled.
    Bad: `add(a, b)` with two constants
    Good: the sum as a constant
    """
    for computation, x in facts.instructions_with(FOLDABLE):
        literals = [operand.literal for operand in x.operands]
        if literals and all(literal is not None and not literal.elided for literal in literals) and elements_of(x.shape) <= _MOST_FOLDED:
            yield Finding("W021", computation, x, "opcode", "all operands are constants: the value is known")


@module_rule("W033", stage="lint")
def divisions_by_zero(facts: Facts) -> Iterator[Finding]:
    """Nothing is divided by zero.

    Checks: divide and remainder by a constant that is zero, broadcast or not.
    Why: integers give -1 and the dividend, floats infinities or NaN, and no error stops the program.
    Bad: `divide(p, z)` with `z = s32[] constant(0)`
    Good: a divisor that is not zero
    """
    for computation, x in facts.instructions_of("divide", "remainder"):
        value = uniform_value(x.operands[1])
        if value is None or value != 0:
            continue
        row = ELEMENT_TYPES[x.shape.element_type]
        hint = "XLA defines the quotient as all ones and the remainder as the dividend" if row.is_integral else None
        kind = "integer division" if row.is_integral else "division"
        yield Finding(
            "W033", computation, x, "opcode", f"{kind} by constant 0" if x.op.name == "divide" else "remainder of a division by constant 0", hint
        )


@module_rule("W046", stage="lint")
def constant_selectors(facts: Facts) -> Iterator[Finding]:
    """A choice depends on something.

    Checks: select and conditional by a constant, clamp of a constant.
    Why: one side is never taken.
    Bad: `select(t, a, b)` with `t = pred[] constant(true)`
    Good: a
    """
    for computation, x in facts.instructions_of("select", "conditional"):
        value = uniform_value(x.operands[0])
        if value is not None:
            said = ("true" if value else "false") if x.operands[0].shape.element_type == "pred" else str(value)
            yield Finding("W046", computation, x, "opcode", f"selector is constant {said}")
    for computation, x in facts.instructions_of("clamp"):
        if uniform_value(x.operands[1]) is not None:
            yield Finding("W046", computation, x, "opcode", "clamp of a constant")
