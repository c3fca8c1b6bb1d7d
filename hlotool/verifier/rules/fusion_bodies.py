"""C012, C015 to C018 and C042: operands and bodies of fusions."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.analysis.effects import has_own_effect
from hlotool.ir.model import Computation, Instruction
from hlotool.opdefs.inference import count
from hlotool.verifier.facts import Facts
from hlotool.verifier.registry import Finding, module_rule

__all__: list[str] = []


@module_rule("C012", "C015", "C016", "C017", "C018", "C042", stage="calls")
def fusion_bodies(facts: Facts) -> Iterator[Finding]:
    """A fused computation belongs to one fusion, and all of its instructions are needed.

    Checks: a fusion has no more operands than its body has parameters (C012; only a warning if each
    extra operand is passed just once, since XLA accepts this); the body of a fusion is called
    only by that fusion (C017, C018); each of its instructions other than the root is used or has an
    effect (C015); the root is not used (C016); the entry computation is never called (C042).
    """
    for called, calls in facts.callers.items():
        if called is facts.module.entry:
            computation, x = calls[0]
            yield Finding("C042", computation, x, _attribute(x, called), f"'{called.name}' is the ENTRY computation, which must not be called")
        fusions = [(computation, x) for computation, x in calls if x.op.name == "fusion"]
        if not fusions:
            continue
        first = fusions[0][1]
        for computation, x in fusions:
            yield from _extra_operands(facts, computation, x, called)
        for computation, x in fusions[1:]:
            yield Finding(
                "C017", computation, x, "operands", f"'{called.name}' is already the body of fusion '{first.name}'", "use a copy of the computation"
            )
        for computation, x in calls:
            if x.op.name != "fusion":
                yield Finding(
                    "C018",
                    computation,
                    x,
                    _attribute(x, called),
                    f"'{called.name}' is the body of fusion '{first.name}' and must not be called elsewhere",
                    "call a copy of the computation",
                )
        yield from _unused(facts, called)


def _extra_operands(facts: Facts, computation: Computation, x: Instruction, called: Computation) -> Iterator[Finding]:
    parameters = len(facts.program_shape(called).parameters)
    extra = x.operands[parameters:]
    if extra:
        message = f"'{called.name}' has {count(parameters, 'parameter')}, so nothing takes operand '{extra[0].name}'"
        is_repeated = any(x.operands.count(operand) > 1 for operand in extra)
        yield Finding("C012", computation, x, "operands", message, "remove it", severity=None if is_repeated else "warning")


def _attribute(x: Instruction, called: Computation) -> str:
    """Returns the name of the attribute that refers to the computation."""
    return next((name for name, value in x.attributes.items() if value is called or (isinstance(value, tuple) and called in value)), "opcode")


def _unused(facts: Facts, body: Computation) -> Iterator[Finding]:
    users, root = facts.users(body), body.root
    if root in users:
        # Users of the root cannot contribute to the fusion's result; one finding is enough.
        yield Finding("C016", body, root, "instruction", f"fused ROOT '{root.name}' must not be used, but is an operand of '{users[root][0].name}'")
        return
    for x in body.instructions:
        if x is not root and x not in users and not has_own_effect(x):
            yield Finding("C015", body, x, "name", f"'{x.name}' is never used in fused computation '{body.name}'", "remove it")
