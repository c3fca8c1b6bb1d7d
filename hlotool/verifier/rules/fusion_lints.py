"""W041, W042 and W044: results of fusion and rematerialization."""

from __future__ import annotations

import re
from collections.abc import Iterator

from hlotool.opdefs.inference import count
from hlotool.opdefs.traits import ELEMENTWISE
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []

_CLONE = re.compile(r"(.+?)\.(remat|clone)[0-9]*(?:\.[0-9]+)*")


@module_rule("W041", "W042", stage="lint")
def fusions(facts: Facts) -> Iterator[Finding]:
    """Optimized modules have fusions of limited size.

    Checks: in computations with fusions, no elementwise operation on arrays has another such
    operation as its only user unless they are fused (W041); no fusion has more operands than
    fusion_operand_limit (W042). Modules are not checked if the mode `stage` is before-opt.
    """
    if facts.modes.stage == "before-opt":
        return
    fused = facts.instructions_of("fusion")
    bodies = facts.bodies
    for computation in dict.fromkeys(computation for computation, _ in fused):
        users = facts.users(computation)
        for x in computation.instructions if computation not in bodies else ():
            if ELEMENTWISE in x.op.traits and x.shape.dimensions:
                before = next((y for y in x.operands if ELEMENTWISE in y.op.traits and y.shape.dimensions and len(users[y]) == 1), None)
                if before is not None:
                    message = f"'{before.name}' and '{x.name}' are elementwise, but not fused"
                    yield Finding("W041", computation, x, "opcode", message)
    for computation, x in fused:
        if len(x.operands) > facts.modes.fusion_operand_limit:
            message = f"fusion has {count(len(x.operands), 'operand')}, more than {facts.modes.fusion_operand_limit}"
            yield Finding("W042", computation, x, "opcode", message)


@module_rule("W044", stage="lint")
def clones(facts: Facts) -> Iterator[Finding]:
    """Values are computed only once.

    Checks: no name shows that a compiler pass duplicated the instruction: `.remat`, or `.clone` if
    the original still exists.
    """
    for computation in facts.module.computations:
        names = None
        for x in computation.instructions:
            match = _CLONE.fullmatch(x.name) if "." in x.name else None
            if match is None or x.op.name == "parameter":
                continue
            if names is None:
                names = {y.name for y in computation.instructions}
            if match[2] == "remat" or match[1] in names:
                yield Finding("W044", computation, x, "instruction", f"{'rematerialized copy' if match[2] == 'remat' else 'clone'} of '{match[1]}'")
