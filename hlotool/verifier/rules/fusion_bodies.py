"""C015 to C018 and C042: whose bodies computations are."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.effects import has_own_effect
from hlotool.ir.model import Computation, Instruction
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("C015", "C016", "C017", "C018", "C042", stage="calls")
def fusion_bodies(facts: Facts) -> Iterator[Finding]:
    """A fused computation belongs to one fusion and holds nothing that the fusion does not need.

    Checks: the body of a fusion is called by that fusion only (C017, C018), each of its instructions but the root is used or
    has an effect (C015), the root is not (C016); the entry computation is called by nobody (C042).
    Why: compilers emit a fusion as one kernel and rewrite its body in place.
    Bad: two fusions with `calls=f`
    Good: a copy of `f` for the second fusion
    """
    for called, calls in facts.callers.items():
        if called is facts.module.entry:
            computation, x = calls[0]
            yield Finding("C042", computation, x, _attribute(x, called), f"'{called.name}' is the ENTRY computation, which nobody may call")
        fusions = [(computation, x) for computation, x in calls if x.op.name == "fusion"]
        if not fusions:
            continue
        first = fusions[0][1]
        for computation, x in fusions[1:]:
            yield Finding(
                "C017", computation, x, "operands", f"'{called.name}' is already the body of fusion '{first.name}'", "duplicate the computation"
            )
        for computation, x in calls:
            if x.op.name != "fusion":
                yield Finding("C018", computation, x, _attribute(x, called), f"'{called.name}' is the body of fusion '{first.name}'")
        yield from _unused(facts, called)


def _attribute(x: Instruction, called: Computation) -> str:
    """The attribute that names the computation."""
    return next((name for name, value in x.attributes.items() if value is called or (isinstance(value, tuple) and called in value)), "opcode")


def _unused(facts: Facts, body: Computation) -> Iterator[Finding]:
    users, root = facts.users(body), body.root
    if root in users:
        # What uses the root is not in the fusion's result: no further finding.
        yield Finding("C016", body, root, "instruction", f"fused ROOT '{root.name}' is used by '{users[root][0].name}'")
        return
    for x in body.instructions:
        if x is not root and x not in users and not has_own_effect(x):
            yield Finding("C015", body, x, "name", f"'{x.name}' has no users inside fused computation '{body.name}'", "remove it")
