"""W006, W022, W032 and W061: constants that are large, uniform, not finite, or not written out."""

from __future__ import annotations

from collections.abc import Iterator
from math import isinf

from hlotool.analysis.simplify import constant_value
from hlotool.analysis.sizes import bytes_of
from hlotool.ir.model import Computation, Instruction
from hlotool.literals.literal import has_nan_or_infinity, splat_bytes
from hlotool.literals.print import literal_text
from hlotool.opdefs.traits import IDEMPOTENT, MOVES
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.shapes.memory import format_bytes
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_MAX_WRITTEN = 1 << 16
_MIN_EQUAL = 8
_FLOATING = frozenset({"float", "complex"})
_STARTS = {"reduce": 2, "reduce-window": 2, "select-and-scatter": 3, "pad": 2}


@module_rule("W006", "W022", stage="lint")
def large_constants(facts: Facts) -> Iterator[Finding]:
    """Constants are small, and not written out if all elements are equal.

    Checks: constants are smaller than constant_size_limit and have at most 65,536 elements that are
    written out (W006); no constant writes out eight or more elements that are all equal (W022).
    """
    for computation, x in facts.instructions_of("constant"):
        literal = x.literal
        if literal is None or not literal.shape.is_array:
            continue
        count = literal.element_count
        if bytes_of(literal.shape) >= facts.modes.constant_size_limit or (count > _MAX_WRITTEN and not literal.elided):
            message = f"this constant takes {format_bytes(bytes_of(literal.shape))}"
            yield Finding("W006", computation, x, "shape", message, "pass it as a parameter")
        if count >= _MIN_EQUAL and splat_bytes(literal) is not None:
            yield Finding("W022", computation, x, "literal", f"all {count} elements are equal", "broadcast a scalar")


@module_rule("W061", stage="lint")
def incomplete_literals(facts: Facts) -> Iterator[Finding]:
    """A constant array has a number for each element.

    Checks: no array constant consists of a single number without braces, unless the number is 0 or
    the array has only one element.
    """
    for computation, x in facts.instructions_of("constant"):
        literal = x.literal
        if literal is None or not literal.is_abbreviated or literal.element_count < 2:
            continue
        if splat_bytes(literal) is None:
            rest = literal.element_count - 1
            elements = "the other element" if rest == 1 else f"the other {rest} elements"
            message = f"only the first element is {literal_text(literal)[:40]}; {elements} of {literal.shape.text_without_layout} will be 0"
            yield Finding("W061", computation, x, "literal", message, "write all elements in braces, or broadcast a scalar")


@module_rule("W032", stage="lint")
def nonfinite_constants(facts: Facts) -> Iterator[Finding]:
    """Constants are finite numbers.

    Checks: no constant contains a NaN, and infinities occur only as scalars that are init values,
    bounds or padding values.
    """
    for computation, x in facts.instructions_of("constant"):
        literal = x.literal
        if literal is None or literal.elided or not literal.shape.is_array or ELEMENT_TYPES[literal.shape.element_type].kind not in _FLOATING:
            continue
        has_nan, has_infinity = has_nan_or_infinity(literal)
        if has_nan:
            yield Finding("W032", computation, x, "literal", "this constant contains a NaN")
        elif has_infinity and not _is_bound(facts, computation, x):
            yield Finding("W032", computation, x, "literal", "this constant contains an infinity")


def _is_bound(facts: Facts, computation: Computation, x: Instruction) -> bool:
    """Returns whether all users take the scalar as an init or padding value, or as a bound."""
    if x.shape.dimensions or not isinf(constant_value(x) or 0):
        return False
    users = facts.users(computation).get(x, ())
    return bool(users) and all(_takes_as_start(user, x) or _bounds(user) for user in users)


def _bounds(user: Instruction) -> bool:
    """Returns whether an instruction compares, or chooses the larger or smaller of its operands."""
    return user.op.name == "compare" or {IDEMPOTENT, MOVES} <= user.op.traits


def _takes_as_start(user: Instruction, x: Instruction) -> bool:
    total = _STARTS.get(user.op.name)
    if total is None:
        return False
    values = len(user.operands) // 2 if total == 2 else total - 1
    return x not in user.operands[:values]
