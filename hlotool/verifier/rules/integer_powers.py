"""W062: integer powers whose results differ between XLA:CPU and constant folding."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.simplify import constant_value
from hlotool.shapes.dtype import ELEMENT_TYPES
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_LARGEST = 63


@module_rule("W062", stage="lint")
def doubtful_exponents(facts: Facts) -> Iterator[Finding]:
    """Constant exponents of integers are from 0 to 63.

    Checks: no power of integers has an exponent that is the same constant for all elements and is
    negative or larger than 63.
    """
    for computation, x in facts.instructions_of("power"):
        row = ELEMENT_TYPES.get(x.shape.element_type)
        if row is None or not row.is_integral or len(x.operands) != 2:
            continue
        exponent = constant_value(x.operands[1])
        if exponent is None or 0 <= exponent <= _LARGEST:
            continue
        # XLA:CPU reads exponents as signed numbers, even those of unsigned types.
        is_negative = exponent < 0 or (row.kind == "unsigned" and exponent > row.maximum // 2)
        how = "XLA:CPU returns 0 unless the base is 1 or -1" if is_negative else f"XLA:CPU uses the exponent {int(exponent) % (_LARGEST + 1)} instead"
        message = f"the exponent is {int(exponent)}; {how}, except in constant folding"
        yield Finding("W062", computation, x, "operand 1", message, "use an exponent from 0 to 63, or compute in floats")
