"""C043: instructions with effects inside fusions."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_COMMUNICATING = (
    "all-gather", "all-reduce", "all-to-all", "collective-broadcast", "collective-permute", "ragged-all-to-all", "reduce-scatter", "infeed",
    "outfeed", "send", "send-done", "recv", "recv-done",
)  # fmt: skip


@module_rule("C043", stage="lint")
def collective_in_fusion(facts: Facts) -> Iterator[Finding]:
    """A fusion computes and does not communicate.

    Checks: no collective, transfer or custom call with side effects in the body of a fusion.
    Why: a fusion becomes one kernel, which cannot wait for other devices or the host.
    Bad: an all-reduce in a computation that `fusion(p), calls=f` names
    Good: the all-reduce after the fusion
    """
    bodies = {called for called, calls in facts.callers.items() if any(x.op.name == "fusion" for _, x in calls)}
    for computation, x in facts.instructions_of(*_COMMUNICATING, "custom-call"):
        effect = x.op.name != "custom-call" or x.attributes.get("custom_call_has_side_effect", False)
        if computation in bodies and effect:
            yield Finding("C043", computation, x, "instruction", f"'{x.op.name}' inside fused computation '{computation.name}'")
