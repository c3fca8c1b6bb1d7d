"""A036: redundant control dependencies."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.model import Instruction
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

# The search for a path from a predecessor to its successor stops after this many steps, to keep the
# rule cheap.
_MAX_STEPS = 500
# If an instruction has more predecessors than this, only the first ones are examined.
_MAX_PREDECESSORS = 32


@module_rule("A036", stage="lint")
def control_dependencies(facts: Facts) -> Iterator[Finding]:
    """A control predecessor orders instructions that nothing else orders.

    Checks: a control predecessor is not an operand, and would not come first anyway because of
    other operands and control predecessors.
    """
    for computation in facts.module.computations:
        locations: dict[Instruction, int] = {}
        for x in computation.instructions:
            for number, predecessor in enumerate(x.control_predecessors[:_MAX_PREDECESSORS]):
                if not locations:
                    locations = {y: k for k, y in enumerate(computation.instructions)}
                reason = _reason(x, predecessor, locations)
                if reason is not None:
                    yield Finding("A036", computation, x, _location(x, number), reason, "remove this control predecessor")


def _location(x: Instruction, number: int) -> str:
    return "control-predecessors" if len(x.control_predecessors) == 1 else f"control-predecessors[{number}]"


def _reason(x: Instruction, predecessor: Instruction, locations: dict[Instruction, int]) -> str | None:
    """Returns the reason why `x` follows the predecessor even without this dependency, or None."""
    if predecessor in x.operands:
        return f"'{predecessor.name}' is already an operand, so it comes first anyway"
    earliest = locations.get(predecessor, 0)
    pending = [y for y in (*x.operands, *x.control_predecessors) if y is not predecessor]
    seen: set[Instruction] = set()
    while pending and len(seen) < _MAX_STEPS:
        y = pending.pop()
        # No instruction depends on a later one.
        if y in seen or locations.get(y, 0) <= earliest:
            continue
        seen.add(y)
        if predecessor in y.operands or predecessor in y.control_predecessors:
            return f"'{y.name}', which '{x.name}' waits for, already comes after '{predecessor.name}'"
        pending += y.operands
        pending += y.control_predecessors
    return None
