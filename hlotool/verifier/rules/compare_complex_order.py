"""T011: order of complex numbers."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.opdefs.inference import kind_of
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("T011", stage="lint")
def compare_complex_order(facts: Facts) -> Iterator[Finding]:
    """Complex numbers are compared for equality only.

    Checks: compare of complex operands has the direction EQ or NE. A violation is only a warning,
    since XLA's verifier accepts other directions, although backends do not.
    """
    for computation, x in facts.instructions_of("compare"):
        direction = x.attributes["direction"]
        if direction not in ("EQ", "NE") and kind_of(x.operands[0].shape.element_type) == "complex":
            message = f"complex numbers cannot be ordered: direction={direction}"
            yield Finding("T011", computation, x, "direction", message, "use EQ or NE")
