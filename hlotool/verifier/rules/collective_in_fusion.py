"""C043: instructions with effects inside fusions."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.effects import has_own_effect
from hlotool.ir.walk import is_fusion_computation
from hlotool.opdefs.traits import COMMUNICATES
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("C043", stage="lint")
def collective_in_fusion(facts: Facts) -> Iterator[Finding]:
    """A fusion computes, but does not communicate.

    Checks: the body of a fusion contains no collective, transfer or custom call with side effects.
    """
    bodies = {called for called, calls in facts.callers.items() if is_fusion_computation(x for _, x in calls)}
    for computation, x in facts.instructions_where(lambda op: COMMUNICATES in op.traits or op.effect_if is not None):
        if computation in bodies and (COMMUNICATES in x.op.traits or has_own_effect(x)):
            yield Finding(
                "C043", computation, x, "instruction", f"'{x.op.name}' cannot be part of a fusion, but is in fused computation '{computation.name}'"
            )
