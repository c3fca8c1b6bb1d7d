"""A036: control dependencies that say nothing new."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.model import Instruction
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

# A longer way from a predecessor to its successor is not looked for: the search must not cost more than it tells.
_MOST_STEPS = 500


@module_rule("A036", stage="lint")
def control_dependencies(facts: Facts) -> Iterator[Finding]:
    """A control predecessor orders what nothing else orders.

    Checks: a control predecessor that is an operand too, or from which a way leads over operands and other control predecessors.
    Why: it constrains nothing, and hides those that do.
    Bad: `n = f32[4] negate(a), control-predecessors={a}`
    Good: `n = f32[4] negate(a)`
    """
    for computation in facts.module.computations:
        places: dict[Instruction, int] = {}
        for x in computation.instructions:
            for number, predecessor in enumerate(x.control_predecessors):
                if not places:
                    places = {y: k for k, y in enumerate(computation.instructions)}
                said = _already_said(x, predecessor, places)
                if said is not None:
                    yield Finding("A036", computation, x, _place(x, number), said, "drop it")


def _place(x: Instruction, number: int) -> str:
    return "control-predecessors" if len(x.control_predecessors) == 1 else f"control-predecessors[{number}]"


def _already_said(x: Instruction, predecessor: Instruction, places: dict[Instruction, int]) -> str | None:
    """Why x comes after a predecessor anyway."""
    if predecessor in x.operands:
        return f"'{predecessor.name}' is already an operand"
    earliest = places.get(predecessor, 0)
    pending = [y for y in (*x.operands, *x.control_predecessors) if y is not predecessor]
    seen: set[Instruction] = set()
    while pending and len(seen) < _MOST_STEPS:
        y = pending.pop()
        # Nothing depends on what stands after it.
        if y in seen or places.get(y, 0) <= earliest:
            continue
        seen.add(y)
        if predecessor in y.operands or predecessor in y.control_predecessors:
            return f"'{y.name}', which '{x.name}' waits for, already comes after '{predecessor.name}'"
        pending += y.operands
        pending += y.control_predecessors
    return None
