"""L012: reshapes that would move data."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.walk import is_fusion_computation
from hlotool.shapes.memory import is_physical_reshape
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("L012", stage="module")
def reshape_bitcasts(facts: Facts) -> Iterator[Finding]:
    """Outside fusions, a reshape does not move elements in memory.

    Checks: in the mode `reshape_is_bitcast`, the elements of a reshape's operand and result are in
    the same order in memory.
    """
    if not facts.modes.reshape_is_bitcast:
        return
    for computation, x in facts.instructions_of("reshape"):
        operand, result = x.operands[0].shape, x.shape
        if is_physical_reshape(operand, result) or is_fusion_computation(caller for _, caller in facts.callers.get(computation, ())):
            continue
        message = f"{operand.text} cannot be viewed as {result.text} without moving elements"
        yield Finding("L012", computation, x, "opcode", message, "insert a copy before the reshape")
