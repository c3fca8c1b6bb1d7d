"""A001, A005, A007 and A010: what asynchronous operations run, and that they end."""

from __future__ import annotations

from collections.abc import Iterator

from hlotool.verify.facts import Facts
from hlotool.verify.registry import Finding, module_rule

__all__: list[str] = []

_MAIN = "main"
_GROUPED = "_collectives_group"


@module_rule("A001", "A005", "A007", "A010", stage="module")
def async_computations(facts: Facts) -> Iterator[Finding]:
    """An asynchronous operation runs one instruction, has all its operands when it ends, and does end.

    Checks: an async-start (A001) or async-update (A010) that nobody uses, or that is what the program returns; operands that are still
    missing at the async-done (A005); a computation on the main thread with more than parameters and a root (A007), unless it is marked as
    a group of collectives.
    Why: what is started must be waited for, and the main thread's asynchronous operations are single instructions.
    Bad: an async-start as ROOT of the entry computation
    Good: `d = f32[4] async-done(s)`
    """
    entry_root = facts.module.entry.root
    for opcode, code in (("async-start", "A001"), ("async-update", "A010")):
        for computation, x in facts.instructions_of(opcode):
            if x is entry_root or (x is not computation.root and x not in facts.users(computation)):
                yield Finding(code, computation, x, "operands", f"'{x.name}' has no async-done")
    for computation, x in facts.instructions_of("async-done"):
        held = x.operands[0].shape
        needed, bound = len(facts.program_shape(x.called[0]).parameters), len(held.elements[0].elements)
        if bound < needed:
            yield Finding("A005", computation, x, "operands", f"'{x.called[0].name}' has {needed} parameters, {bound} are bound")
    for _, x in facts.instructions_of("async-start"):
        called = x.called[0]
        if called.execution_thread != _MAIN or _GROUPED in (x.attributes.get("frontend_attributes") or {}):
            continue
        extra = next((y for y in called.instructions if y is not called.root and y.op.name != "parameter"), None)
        if extra is not None:
            message = f"'{called.name}' runs asynchronously and must contain only parameters and one operation"
            yield Finding("A007", called, extra, "instruction", message)
