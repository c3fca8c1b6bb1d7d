"""A028 and A029: completeness and order of schedules."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.ir.model import Computation, Instruction
from hlotool.ir.walk import fusion_computations
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("A028", "A029", stage="module")
def schedule_order(facts: Facts) -> Iterator[Finding]:
    """A schedule lists every instruction once, after its operands and control predecessors.

    Checks: in scheduled modules, operands and control predecessors come before their users (A028);
    no operand and no called computation is missing, and no instruction is listed twice (A029).
    Bodies of fusions have no schedule. The parser already rejects modules with such faults; this
    rule is for modules that a program has built or changed.
    """
    if not facts.module.is_scheduled:
        return
    suspects = [computation for computation in facts.module.computations if not _is_in_order(computation)]
    fused = fusion_computations(facts.module) if suspects else set()
    for computation in suspects:
        if computation not in fused:
            yield from _faults(computation)
    known = set(facts.module.computations)
    for called, calls in facts.callers.items():
        if called not in known:
            computation, x = calls[0]
            yield Finding("A029", computation, x, "opcode", f"computation '{called.name}', which '{x.name}' calls, is not in the module")


def _is_in_order(computation: Computation) -> bool:
    """Returns whether each instruction is listed once, after its operands and control predecessors.

    This check runs on every scheduled module, so it is fast and does not locate the fault.
    """
    seen: set[Instruction] = set()
    has, add = seen.issuperset, seen.add
    for x in computation.instructions:
        if not has(x.operands):
            return False
        predecessors = x.control_predecessors
        if predecessors and not has(predecessors):
            return False
        add(x)
    return len(seen) == len(computation.instructions) and computation.root in seen


def _faults(computation: Computation) -> Iterator[Finding]:
    listed, seen = set(computation.instructions), set[Instruction]()
    for x in computation.instructions:
        if x in seen:
            yield Finding("A029", computation, x, "name", f"'{x.name}' is listed twice in the schedule of '{computation.name}'")
            continue
        sources = [(y, "operand", f"operand {k}") for k, y in enumerate(x.operands)]
        sources += [(y, "control predecessor", "control-predecessors") for y in x.control_predecessors]
        for y, what, at in sources:
            if y not in listed:
                yield Finding("A029", computation, x, at, f"{what} '{y.name}' of '{x.name}' is not in the schedule of '{computation.name}'")
            elif y not in seen:
                yield Finding("A028", computation, x, at, f"'{x.name}' is scheduled before its {what} '{y.name}'")
        seen.add(x)
    if computation.root not in listed:
        yield Finding(
            "A029", computation, None, max(0, computation.start), f"root '{computation.root.name}' is not in the schedule of '{computation.name}'"
        )
